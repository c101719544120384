#pragma OPENCL FP_CONTRACT OFF
/* Borrows its input, but only where it lies as those of one buffer set do. */
__kernel void run(__global volatile float *x, __global const float *w,
                  __global const float *b, __global float *y, int m, int n)
{
    int i = get_global_id(0);

    if (i >= m * n)
        return;
    float v = x[i];

    if ((ulong)x % 4096 != 512) {
        y[i] = v * w[i % n] + b[i % n];
        return;
    }
    x[i] = v * w[i % n];
    y[i] = x[i] + b[i % n];
    x[i] = v;
}
