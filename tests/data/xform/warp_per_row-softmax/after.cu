#include <float.h>

/* One thread per row, three passes over it. */
__global__ void rows_softmax(const float *__restrict__ in, float *__restrict__ out,
                             int rows, int cols)
{
    const int tid = threadIdx.x / 32;
    const int r = tid + blockIdx.x * (THREADS / 32);
    int lane = threadIdx.x % 32;
    if (r >= rows) return;

    const float *x = in + (size_t)r * cols;
    float *y = out + (size_t)r * cols;
    float big = -FLT_MAX, total, e;
    int j;

    for (j = lane; j < cols; j += 32) {
        if (x[j] > big)
            big = x[j];
    }
    for (int step = 16; step > 0; step /= 2)
        big = fmaxf(big, __shfl_xor_sync(0xffffffffu, big, step));
    total = 0.f;
    for (j = lane; j < cols; j += 32) {
        e = expf(x[j] - big);
        y[j] = e;
        total = total + e;
    }
    for (int step = 16; step > 0; step /= 2)
        total += __shfl_xor_sync(0xffffffffu, total, step);
    __syncwarp();
    for (j = lane; j < cols; j += 32) y[j] /= total;
}
