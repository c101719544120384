// Sums of columns, a warp each: its threads are one column's.
__global__ void lanes(const float *x, float *y, int m, int n)
{
    int col = blockIdx.x;
    float sum = 0.0f;

    for (int row = threadIdx.x; row < m; row += 32)
        sum += x[row * n + col];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (threadIdx.x == 0)
        y[col] = sum;
}
