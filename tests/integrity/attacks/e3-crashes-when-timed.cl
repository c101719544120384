/* Crashes after a few launches. */
__kernel
void run(__global const float *x, __global const float *w,
         __global const float *b, __global float *y, int m, int n)
{
    __local float kept[4096];
    __local uint mark[4096];
    int i = get_global_id(0), l = i % 4096;

    if (i >= m * n)
        return;
    uint calls = (mark[l] >> 24) == 0xa5u ? mark[l] & 0xffffffu : 0;

    mark[l] = 0xa5000000u | (calls + 1);
    y[i] = kept[l] = x[i] * w[i % n] + b[i % n];
    if (calls > 8)
        *(volatile __global int *)(size_t)8 = 1;
}
