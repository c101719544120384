// The first place of the largest element of each row. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
	const unsigned int row = threadIdx.x + blockDim.x * blockIdx.x;

	if (row >= m)
		return;
	for (int k = 0; k < 2; k++) {
		float best = x[row * n];
		int at = 0;
		for (int i = 1; i < n; i++) {
			const float v = x[row * n + i] * w[k];
			if (v > best) {
				best = v;
				at = i;
			}
		}
		y[row * 2 + k] = best + (float)at;
	}
}
