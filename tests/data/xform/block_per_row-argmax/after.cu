// The first place of the largest element of each row. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
	const unsigned int row = blockIdx.x;
	int tid = threadIdx.x;

	if (row >= m)
		return;
	for (int k = 0; k < 2; k++) {
		float best = x[row * n];
		int at = 0;
		__shared__ float best_parts[32];
		__shared__ int at_parts[32];
		for (int i = 1 + tid; i < n; i += blockDim.x) {
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
		if (tid % 32 == 0) {
			best_parts[tid / 32] = best;
			at_parts[tid / 32] = at;
		}
		__syncthreads();
		best = best_parts[0];
		at = at_parts[0];
		for (int warp = 1; warp < blockDim.x / 32; warp++) {
			float other = best_parts[warp];
			int other_at = at_parts[warp];

			if (other > best || (other == best && other_at < at)) {
				best = other;
				at = other_at;
			}
		}
		__syncthreads();
		if (tid == 0)
			y[row * 2 + k] = best + (float)at;
	}
}
