__kernel void sums(__global const float *restrict x, __global float *restrict y, const int n)
{
    int row = get_global_id(0);
    float sum = 0.0f;

    for (int j = 0; j < n; j++)
        sum += x[row * n + j];
    y[row] = sum;
}
