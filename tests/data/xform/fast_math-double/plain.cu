__global__ void swish(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        double v = x[i];

        y[i] = v / (1 + exp(-v)) + log(1 + v * v) / sqrt(1 + v * v);
    }
}
