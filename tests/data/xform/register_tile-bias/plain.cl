// a layer: the sum begins with the column's bias and with what was there
__kernel void linear(__global const float *x, __global const float *w,
                     __global const float *bias, __global const float *old,
                     __global float *y, int M, int N, int K)
{
    int col = get_global_id(0);
    int row = get_global_id(1);

    if (row < M && col < N) {
        int at = row * N + col;
        float sum = bias[col] + old[at];

        for (int k = 0; k < K; k++)
            sum += x[row * K + k] * w[k * N + col];
        y[at] = sum;
    }
}
