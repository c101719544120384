// The epilogue of a matrix product: y = relu(x * scale + bias + residual), with a
// scale and a bias for every column. A thread stays in its column, so that it
// reads those once, and does eight rows; all loads come before the stores.
#define ROWS 8

__global__ void bias_relu_epilogue(const float *__restrict__ x, const float *__restrict__ scale,
                                   const float *__restrict__ bias,
                                   const float *__restrict__ residual, float *__restrict__ y,
                                   int m, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * ROWS;
    float v[ROWS];

    if (col >= n)
        return;

    float s = scale[col];
    float b = bias[col];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int at = (first + r) * n + col;

        v[r] = first + r < m ? x[at] * s + b + residual[at] : 0.0f;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (first + r < m)
            y[(first + r) * n + col] = fmaxf(v[r], 0.0f);
}
