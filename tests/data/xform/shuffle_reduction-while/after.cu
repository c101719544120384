// Mean squares of rows, and their largest elements. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    __shared__ float cache[128];
    int cacheIndex = threadIdx.x;
    float temp = 0;

    for (int c = cacheIndex; c < n; c += blockDim.x)
        temp += x[blockIdx.x * n + c] * x[blockIdx.x * n + c];
    cache[cacheIndex] = temp;
    __syncthreads();

    // the number of threads must be a power of 2
    {
        __shared__ float parts[32];
        float part = cache[cacheIndex];

        for (int step = 16; step > 0; step /= 2)
            part += __shfl_down_sync(0xffffffffu, part, step);
        if (cacheIndex % 32 == 0)
            parts[cacheIndex / 32] = part;
        __syncthreads();
        if (cacheIndex < 32) {
            part = cacheIndex < blockDim.x / 32 ? parts[cacheIndex] : 0;
            for (int step = 16; step > 0; step /= 2)
                part += __shfl_down_sync(0xffffffffu, part, step);
            if (cacheIndex == 0)
                cache[0] = part;
        }
        __syncthreads();
    }

    if (cacheIndex == 0)
        y[blockIdx.x] = cache[0] / n;
}
