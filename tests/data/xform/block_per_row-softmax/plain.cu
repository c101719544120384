#include <float.h>

/* One thread per row, three passes over it. */
__global__ void rows_softmax(const float *__restrict__ in, float *__restrict__ out,
                             int rows, int cols)
{
    const int tid = threadIdx.x;
    const int r = tid + blockIdx.x * THREADS;
    if (r >= rows) return;

    const float *x = in + (size_t)r * cols;
    float *y = out + (size_t)r * cols;
    float big = -FLT_MAX, total, e;
    int j;

    for (j = 0; j < cols; ++j) {
        if (x[j] > big)
            big = x[j];
    }
    total = 0.f;
    for (j = 0; j < cols; ++j) {
        e = expf(x[j] - big);
        y[j] = e;
        total = total + e;
    }
    for (j = 0; j < cols; ++j) y[j] /= total;
}
