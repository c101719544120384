// Thread 0 itself writes what it adds.
__global__ void rows(const float *x, float *y, int n)
{
    __shared__ float part[64];

    if (threadIdx.x == 0)
        for (int i = 0; i < 64; i++)
            part[i] = i < n ? x[blockIdx.x * n + i] : 0.0f;
    if (threadIdx.x == 0) {
        float sum = 0;

        for (int i = 0; i < 64; i++)
            sum += part[i];
        y[blockIdx.x] = sum;
    }
    __syncthreads();
}
