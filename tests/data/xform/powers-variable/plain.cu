__global__ void powers(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float two = 2.0f;

    if (i < n) {
        float v = x[i], a = 1.0f + fabsf(v);

        y[i] = powf(a, two) + 2 * powf(a, -0.9f) / powf(a, 0.1f) + (v - HALF) * (v - HALF) * (v - HALF) + v * v;
    }
}
