__device__ float powf2(float v, float e) { return v * v + 0 * e; }

__global__ void powers(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float v = x[i], a = 1.0f + fabsf(v), b = v - HALF;

        y[i] = powf2(a, 2.0f) + 2 / a + b * b * b + expf(0) * v * v;
    }
}
