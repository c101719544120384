#include <cuda_fp16.h>

// x times the transposed weights, in halves with a sum in float
__global__ void linear(const __half *__restrict__ x,
                       const __half *__restrict__ w, __half *__restrict__ y,
                       int tokens, int features, int inputs)
{
    __shared__ __align__(16) __half x_tile[BK][BM + 1];
    __shared__ __align__(16) __half w_tile[BK][BN + 1];
    const int ty = threadIdx.y, tx = threadIdx.x;
    const int tid = ty * BN + tx;
    const int token0 = blockIdx.y * BM;
    const int feature0 = blockIdx.x * BN;
    float sum = 0.0f;

    for (int i0 = 0; i0 < inputs; i0 += BK) {
        /* x, zeros where it ends */
        #pragma unroll
        for (int e = tid; e < BM * BK; e += BM * BN) {
            const int token = token0 + e / BK;
            const int i = i0 + e % BK;

            x_tile[i - i0][token - token0] =
                token < tokens && i < inputs ? x[(size_t)token * inputs + i] : (__half)0;
        }
        /* w, zeros where it ends */
        #pragma unroll
        for (int e = tid; e < BN * BK; e += BM * BN) {
            const int feature = feature0 + e / BK;
            const int i = i0 + e % BK;

            w_tile[i - i0][feature - feature0] =
                feature < features && i < inputs ? w[(size_t)feature * inputs + i] : (__half)0;
        }
        __syncthreads();

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++)
            sum += __half2float(x_tile[kk][ty]) *
                   __half2float(w_tile[kk][tx]);
        __syncthreads();
    }

    int token = token0 + ty;
    int feature = feature0 + tx;

    if (token < tokens && feature < features) {
        y[(size_t)token * features + feature] = __float2half(sum);
    }
}
