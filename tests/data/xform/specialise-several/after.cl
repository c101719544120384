/* Sums of rows in two steps: nothing, then what is even and what is odd. */
__kernel void clear(__global float *y, int M_given)
{
    const int M_fixed = M;
    int row = get_global_id(0);

    if (row < M_fixed)
        y[row] = 0.0f;
}

__kernel void sums(__global const float *x, __global float *y, int M_given, int columns_given)
{
    const int M_fixed = M;
    const int columns = N;
    int row = get_global_id(0);

    if (row >= M_fixed)
        return;

    float even = 0.0f, odd = 0.0f;

    for (int j = 0; j < columns; j += 2)
        even += x[row * columns + j];
    for (int j = 1; j < columns; j += 2) {
        odd += x[row * columns + j];
    }
    y[row] += even + odd;
}
