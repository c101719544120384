// C = A W^T, 128 x 128 a block, 8 x 8 a thread, 16 of K a turn.
#include <cuda_bf16.h>

// Rows of bfloat16 to columns of float: 8 neighbours of one row a thread.
__device__ void stage(float (*to)[132], const __nv_bfloat16 *from, int K)
{
    int row = threadIdx.x / 2, k = threadIdx.x % 2 * 8;
    uint4 bits = *(const uint4 *)(from + (long long)row * K + k);
    const __nv_bfloat16 *value = (const __nv_bfloat16 *)&bits;

#pragma unroll
    for (int i = 0; i < 8; i++)
        to[k + i][row] = __bfloat162float(value[i]);
}

// 8 of 128: 4 neighbours in each half.
__device__ void take(float *v, const float *from, int which)
{
    *(float4 *)v = *(const float4 *)(from + which * 4);
    *(float4 *)(v + 4) = *(const float4 *)(from + 64 + which * 4);
}

__global__ void __launch_bounds__(256) product(const __nv_bfloat16 *__restrict__ A, const __nv_bfloat16 *__restrict__ W,
                                               __nv_bfloat16 *__restrict__ C, int N, int K)
{
    __shared__ __align__(16) float a[16][132], w[16][132];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    long long row = blockIdx.y * 128, col = blockIdx.x * 128;
    float sum[8][8] = {};

    for (int k = 0; k < K; k += 16) {
        stage(a, A + row * K + k, K);
        stage(w, W + col * K + k, K);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float x[8], y[8];

            take(x, a[i], ty);
            take(y, w[i], tx);
#pragma unroll
            for (int m = 0; m < 8; m++)
#pragma unroll
                for (int n = 0; n < 8; n++)
                    sum[m][n] += x[m] * y[n];
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < 8; m++)
#pragma unroll
        for (int n = 0; n < 8; n += 2) {
            long long r = row + m / 4 * 64 + ty * 4 + m % 4, c = col + n / 4 * 64 + tx * 4 + n % 4;

            *(__nv_bfloat162 *)(C + r * N + c) = __floats2bfloat162_rn(sum[m][n], sum[m][n + 1]);
        }
}
