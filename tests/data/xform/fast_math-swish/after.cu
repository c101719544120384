__device__ float sigmoid(float v)
{
    return __fdividef(1.0f, (1.0f + __expf(-v))); // the slow part
}

__global__ void swish(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float v = x[i], s = 1 + v * v;

        y[i] = v * sigmoid(v) + __logf(s) * (rsqrtf(s)) + __fdividef((v - v), s) / 3.0f;
    }
}
