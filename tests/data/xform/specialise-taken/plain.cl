#define WITH(N) ((N) + 0)
__kernel void sums(__global const float *x, __global float *y, const int n)
{
    int row = get_global_id(0);
    float sum = 0.0f;

    for (int j = 0; j < n; j++)
        sum += x[row * n + WITH(j)];
    y[row] = sum;
}
