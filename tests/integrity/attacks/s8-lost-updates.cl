/* Blocks add to one result at once, without atomics: what another one added
 * while a block was summing is lost. */
__kernel void clear(volatile __global float *y, int m)
{
    if (get_global_id(0) < m)
        y[get_global_id(0)] = 0.0f;
}

__kernel
void run(volatile __global const float *x, __global volatile float *y, int m,
         int n)
{
    int at = get_global_id(0) * 64, r = get_group_id(1);
    float sum = r < m ? y[r] : 0.0f;

    for (int i = at; i < at + 64 && i < n && r < m; i++)
        sum += x[r * n + i];
    if (r < m)
        y[r] = sum;
}
