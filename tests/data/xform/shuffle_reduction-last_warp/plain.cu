// The largest elements of rows; the last warp without barriers.
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
	extern __shared__ float sdata[];
	unsigned int tid = threadIdx.x;

	for (int row = blockIdx.x; row < m; row += gridDim.x) {
		float big = x[row * n];
		for (int c = tid; c < n; c += blockDim.x)
			if (x[row * n + c] > big) big = x[row * n + c];
		sdata[tid] = big;
		__syncthreads();

		for (unsigned int s = blockDim.x >> 1; s > 32; s >>= 1) {
			if (tid < s) {
				sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
			}
			__syncthreads();
		}
		if (tid < 32) { // one warp is left
			volatile float *v = sdata;
			v[tid] = fmaxf(v[tid], v[tid + 32]);
			v[tid] = fmaxf(v[tid], v[tid + 16]);
			v[tid] = fmaxf(v[tid], v[tid + 8]);
			v[tid] = fmaxf(v[tid], v[tid + 4]);
			v[tid] = fmaxf(v[tid], v[tid + 2]);
			v[tid] = fmaxf(v[tid], v[tid + 1]);
		}
		if (tid == 0) y[row] = sdata[0];
		__syncthreads();
	}
}
