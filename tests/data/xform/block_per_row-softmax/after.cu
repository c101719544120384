#include <float.h>

/* One thread per row, three passes over it. */
__global__ void rows_softmax(const float *__restrict__ in, float *__restrict__ out,
                             int rows, int cols)
{
    const int tid = threadIdx.x;
    const int r = blockIdx.x;
    if (r >= rows) return;

    const float *x = in + (size_t)r * cols;
    float *y = out + (size_t)r * cols;
    float big = -FLT_MAX, total, e;
    int j;

    __shared__ float big_parts[32];
    for (j = tid; j < cols; j += blockDim.x) {
        if (x[j] > big)
            big = x[j];
    }
    for (int step = 16; step > 0; step /= 2)
        big = fmaxf(big, __shfl_xor_sync(0xffffffffu, big, step));
    if (tid % 32 == 0)
        big_parts[tid / 32] = big;
    __syncthreads();
    big = big_parts[0];
    for (int warp = 1; warp < blockDim.x / 32; warp++)
        big = fmaxf(big, big_parts[warp]);
    total = 0.f;
    __shared__ float total_parts[32];
    for (j = tid; j < cols; j += blockDim.x) {
        e = expf(x[j] - big);
        y[j] = e;
        total = total + e;
    }
    for (int step = 16; step > 0; step /= 2)
        total += __shfl_xor_sync(0xffffffffu, total, step);
    if (tid % 32 == 0)
        total_parts[tid / 32] = total;
    __syncthreads();
    total = total_parts[0];
    for (int warp = 1; warp < blockDim.x / 32; warp++)
        total += total_parts[warp];
    __syncthreads();
    for (j = tid; j < cols; j += blockDim.x) y[j] /= total;
}
