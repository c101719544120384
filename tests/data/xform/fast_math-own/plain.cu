__device__ int expi(int v) { return v / 2; }

__global__ void swish(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = x[i] / 2.0f + expi(i / n) + sqrtf(x[i]);
}
