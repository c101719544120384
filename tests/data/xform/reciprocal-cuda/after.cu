__global__ void divide(const float *x, const float *w, float *y, int n)
{
    float by = w[blockIdx.x];

    by = by + 2.0f;
    const float inverse = 1.0f / (by * (float)n);
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        y[blockIdx.x * n + j] = x[blockIdx.x * n + j] * inverse; // both
}
