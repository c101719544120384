// The first place of the largest element of each row. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
	const unsigned int row = threadIdx.x / 32 + (blockDim.x / 32) * blockIdx.x;
	int lane = threadIdx.x % 32;

	if (row >= m)
		return;
	for (int k = 0; k < 2; k++) {
		float best = x[row * n];
		int at = 0;
		for (int i = 1 + lane; i < n; i += 32) {
			const float v = x[row * n + i] * w[k];
			if (v > best) {
				best = v;
				at = i;
			}
		}
		for (int step = 16; step > 0; step /= 2) {
			float other = __shfl_xor_sync(0xffffffffu, best, step);
			int other_at = __shfl_xor_sync(0xffffffffu, at, step);

			if (other > best || (other == best && other_at < at)) {
				best = other;
				at = other_at;
			}
		}
		if (lane == 0)
			y[row * 2 + k] = best + (float)at;
	}
}
