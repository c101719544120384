// A gate of two halves of a row: y = silu(left half) * right half, in half
// precision. One thread makes one element and computes in float.
#include <cuda_fp16.h>

__global__ void swiglu(const __half *x, __half *y, int m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < m * n) {
        int row = i / n;
        int col = i % n;
        float gate = __half2float(x[row * 2 * n + col]);
        float up = __half2float(x[row * 2 * n + n + col]);

        y[row * n + col] = __float2half(gate / (1.0f + expf(-gate)) * up);
    }
}
