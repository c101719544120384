__kernel void sums(__global const float *x, __global float *y, int n)
{
    const int row = get_global_id(0);
    float sum = 0;

    for (int j = 0; j < n; ++j)
        sum += x[row * n + j] // one more
            ;
    y[row] = sum;
}
