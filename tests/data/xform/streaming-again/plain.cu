__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        y[blockIdx.x * n + j] = x[blockIdx.x * n + j];
        y[blockIdx.x * n + j] *= w[blockIdx.x] * (x[blockIdx.x * n + j] != 0);
    }
}
