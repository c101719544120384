// Copies every stride-th column of a matrix. Neighbouring threads write
// neighbouring elements, and each does four rows, all loads first.
#define ROWS 4

__global__ void strided_copy(const float *__restrict__ x, float *__restrict__ y, int m, int n,
                             int stride)
{
    int columns = (n + stride - 1) / stride;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * ROWS;
    float v[ROWS];

    if (col >= columns)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        v[r] = first + r < m ? x[(first + r) * n + col * stride] : 0.0f;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (first + r < m)
            y[(first + r) * columns + col] = v[r];
}
