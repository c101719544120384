__global__ void transpose(const float *__restrict__ X, float *__restrict__ Y, int M, int N)
{
    long long col = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;

    Y[col * M + row] = X[row * N + col];
}
