__global__ void add(const float *x, const float *b, float *y, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = x[i] + 2.0f * b[threadIdx.x];
}
