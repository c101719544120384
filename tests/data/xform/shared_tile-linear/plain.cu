#include <cuda_fp16.h>

// x times the transposed weights, in halves with a sum in float
__global__ void linear(const __half *__restrict__ x,
                       const __half *__restrict__ w, __half *__restrict__ y,
                       int tokens, int features, int inputs)
{
    const int token = blockIdx.y * TILE + threadIdx.y;
    const int feature = blockIdx.x * TILE + threadIdx.x;

    if (token >= tokens) return;
    if (feature >= features) return;

    float sum = 0.0f;
    for (int i = 0; i < inputs; i++)
        sum += __half2float(x[(size_t)token * inputs + i]) *
               __half2float(w[(size_t)feature * inputs + i]);

    y[(size_t)token * features + feature] = __float2half(sum);
}
