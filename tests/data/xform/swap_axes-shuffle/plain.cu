__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    float s = i < m ? w[i] : 0.0f;

    s = __shfl_sync(0xffffffffu, s, threadIdx.x % 32);
    if (i < m && j < n)
        y[i * n + j] = x[i * n + j] * s;
}
