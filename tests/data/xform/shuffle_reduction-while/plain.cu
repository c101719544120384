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
    int i = blockDim.x / 2;
    while (i != 0) {
        if (cacheIndex < i)
            cache[cacheIndex] += cache[cacheIndex + i];
        __syncthreads();
        i /= 2;
    }

    if (cacheIndex == 0)
        y[blockIdx.x] = cache[0] / n;
}
