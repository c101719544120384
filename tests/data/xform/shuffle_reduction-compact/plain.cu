// Sums of rows in integers, the first threads at work. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    __shared__ int sh[64];
    int mine = 0;
    for (int c = threadIdx.x; c < n; c += blockDim.x)
        mine += (int)(100.0f * x[blockIdx.x * n + c]);
    sh[threadIdx.x] = mine;
    for (int s = 1; s < blockDim.x; s *= 2) {
        __syncthreads();
        int index = 2 * s * threadIdx.x;
        if (index < blockDim.x)
            sh[index] = sh[index] + sh[index + s];
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = sh[0];
}
