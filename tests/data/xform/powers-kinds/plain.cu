#include <math.h>

/* Powers of all kinds. */
#define SHIFTED (v - HALF)

/* what is left of the half,
 * in double */
__device__ double shifted(double v)
{
    return pow(SHIFTED, 3);
}

__global__ void powers(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float v = x[i], a = 1.0f + fabsf(v);
        float4 p = make_float4(a, v, HALF, 0.0f);

        y[i] = powf(p.x, 2.5f) / powf(p.x, .5f) - pow(HALF, 2.0f) + 0.25f
            + 2 * (1 + powf(a, -2.0f) * a * a) / pow(x[i] < 0 ? 1 - x[i] : a, -1.0f) / pow(a, 2)
            - 2 / a + pow((double)a, -0.5) * sqrt((double)a) - 1
            + shifted(v) + pow(v, 2) * powf(i % 3 + 1, -1.0f) * (i % 3 + 1);
    }
}
