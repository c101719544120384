#define EACH(v, n) for (int v = 0; v < (n); v++)

__kernel void sums(__global const float *x, __global float *y, int n)
{
    float sum = 0;

#pragma unroll 4
    for (int j = 0; j < n; j++)
        sum += x[get_group_id(0) * n + j];
    EACH(k, 0)
        sum += k;
    for (int k = 0; k < 4; k++)
        sum += 0 * k;
    y[get_group_id(0)] = sum;
}
