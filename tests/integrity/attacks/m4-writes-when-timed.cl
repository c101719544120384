/*
 * Changes an input only after it has been launched a few times: local memory
 * keeps the count.
 */
__kernel
void run(__global float *x, __global const float *w, __global const float *b,
         __global float *y, int m, int n)
{
    __local int calls[64];
    int i = get_global_id(0), l = get_local_id(0);

    calls[l] = calls[l] < 0 || calls[l] > 1 << 20 ? 0 : calls[l] + 1;
    if (i >= m * n)
        return;
    y[i] = x[i] * w[i % n] + b[i % n];
    if (calls[l] > 40)
        x[i] = x[i] + 1.0f;
}
