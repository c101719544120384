#include <math.h>

/* Powers of all kinds. */
#define SHIFTED (v - HALF)

static __device__ double cube_double(double x)
{
    return x * x * x;
}

/* what is left of the half,
 * in double */
__device__ double shifted(double v)
{
    return cube_double(SHIFTED);
}

__global__ void powers(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float v = x[i], a = 1.0f + fabsf(v);
        float4 p = make_float4(a, v, HALF, 0.0f);

        y[i] = (p.x * p.x * sqrtf(p.x)) * rsqrtf(p.x) - (HALF * HALF) + 0.25f
            + 2 * (1 + (1.0f / (a * a)) * a * a) * (x[i] < 0 ? 1 - x[i] : a) / (a * a)
            - 2 / a + rsqrt((double)a) * sqrt((double)a) - 1
            + shifted(v) + (v * v) * (1.0f / (float)(i % 3 + 1)) * (i % 3 + 1);
    }
}
