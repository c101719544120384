/* Matrix times vector: every thread computes one row of the result. */
__kernel void gemv(__global const float *A, __global const float *x,
                   __global float *y, int M, int N)
{
    int row = get_global_id(0);

    if (row >= M)
        return;

    float sum = 0.0f;
    for (int col = 0; col < N; col++)
        sum += A[row * N + col] * x[col];
    y[row] = sum;
}
