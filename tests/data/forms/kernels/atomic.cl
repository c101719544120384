/* Everything is added by atomic operations: the order differs every time. */
#include "ws_dialect.h"

/* OpenCL C 1.2 has atomics for whole numbers only. */
static void add(volatile __global float *p, float v)
{
    volatile __global uint *bits = (volatile __global uint *)p;
    uint before, seen = *bits;

    do {
        before = seen;
        seen = atomic_cmpxchg(bits, before, as_uint(as_float(before) + v));
    } while (seen != before);
}

__kernel void clear(__global float *sums)
{
    sums[get_global_id(0)] = 0.0f;
}

__kernel void add_terms(__global const ws_T *A, __global const float *W,
                        __global float *sum, __global float *sums, int M,
                        int N, int K)
{
    const int m = get_global_id(1), n = get_global_id(0);
    float s = 0.0f;

    if (m >= M || n >= N)
        return;
    for (int k = get_global_id(2); k < K; k += get_global_size(2))
        s += ws_load_T(A, m * (K + PAD) + k) * W[n + k * N];
    add(&sum[m * N + n], s);
    add(&sums[m], s);
}

__kernel void finish(__global const float *sum, __global const float *bias,
                     float alpha, int beta, __global float *C, int N)
{
    const int m = get_group_id(1);

    for (int n = get_local_id(0); n < N; n += get_local_size(0))
        C[m * (N + PAD) + n] =
            alpha * sum[m * N + n] + beta * C[m * (N + PAD) + n] + bias[n];
}
