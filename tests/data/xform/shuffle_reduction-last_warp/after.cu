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

		{
			__shared__ float parts[32];
			float part = sdata[tid];

			for (int step = 16; step > 0; step /= 2)
				part = fmaxf(part, __shfl_down_sync(0xffffffffu, part, step));
			if (tid % 32 == 0)
				parts[tid / 32] = part;
			__syncthreads();
			if (tid < 32) {
				part = parts[tid < blockDim.x / 32 ? tid : 0];
				for (int step = 16; step > 0; step /= 2)
					part = fmaxf(part, __shfl_down_sync(0xffffffffu, part, step));
				if (tid == 0)
					sdata[0] = part;
			}
			__syncthreads();
		}
		if (tid == 0) y[row] = sdata[0];
		__syncthreads();
	}
}
