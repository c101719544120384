__global__ void divide(const float *x, const float *w, float *y, int n)
{
    double by = w[blockIdx.x];

    by = by + 2.0f;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        y[blockIdx.x * n + j] = x[blockIdx.x * n + j] / (by * (double)n); // both
}
