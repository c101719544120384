__global__ void scale(const float *x, float *w, float *y, int n)
{
    int row = blockIdx.x;

    for (int j = threadIdx.x; j < n; j += blockDim.x)
        y[row * n + j] = x[row * n + j] * w[row];
    w[row] = w[row];
}
