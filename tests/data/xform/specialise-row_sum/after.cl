__kernel void sums(__global const float *x, __global float *y, const int n_given)
{
    const int n = N;
    int row = get_global_id(0);
    float sum = 0.0f;

    for (int j = 0; j < n; j++)
        sum += x[row * n + j];
    y[row] = sum;
}
