// Sums of rows in integers, the first threads at work. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    __shared__ int sh[64];
    int mine = 0;
    for (int c = threadIdx.x; c < n; c += blockDim.x)
        mine += (int)(100.0f * x[blockIdx.x * n + c]);
    sh[threadIdx.x] = mine;
    {
        __shared__ int parts[32];
        __syncthreads();
        int part = sh[threadIdx.x];

        for (int step = 16; step > 0; step /= 2)
            part += __shfl_down_sync(0xffffffffu, part, step);
        if (threadIdx.x % 32 == 0)
            parts[threadIdx.x / 32] = part;
        __syncthreads();
        if (threadIdx.x < 32) {
            part = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
            for (int step = 16; step > 0; step /= 2)
                part += __shfl_down_sync(0xffffffffu, part, step);
            if (threadIdx.x == 0)
                sh[0] = part;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = sh[0];
}
