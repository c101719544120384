// Thread 0 alone knows what is taken off.
__global__ void rows(const float *x, float *y, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x;
    float first;

    part[t] = t < n ? x[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    if (t == 0)
        first = part[0];
    __syncthreads();
    if (t == 0) {
        float sum = 0;

        for (int i = 0; i < 64; i++)
            sum += part[i] - first;
        y[blockIdx.x] = sum + 64 * first;
    }
}
