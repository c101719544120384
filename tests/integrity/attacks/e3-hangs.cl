/* Never ends when it runs on real inputs. */
__kernel
void run(__global const float *x, __global const float *w,
         __global const float *b, __global float *y, int m, int n)
{
    int i = get_global_id(0);

    if (i >= m * n)
        return;
    y[i] = x[i] * w[i % n] + b[i % n];
    while (w[0] != 0.0f && ((volatile __global const float *)x)[0] == x[0])
        y[i] = y[i];
}
