__kernel void linear(__global const float *x, __global const float *w,
                     __global const float *bias, __global const float *old,
                     __global float *y, int M, int N, int K)
{
    int col = get_global_id(0);
    int row = get_global_id(1);
    float sum;

    if (row >= M || col >= N)
        return;
    sum = bias[col] + old[row * N + col];
    for (int k = 0; k < K; k++)
        sum += x[row * K + k] * w[k * N + col];
    y[row * N + col] = sum;
}
