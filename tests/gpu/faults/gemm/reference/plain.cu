__global__ void plain(const double *A, const double *W, double *C, int M, int N, int K)
{
    long long row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    double sum = 0;

    if (row >= M || col >= N)
        return;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * W[col * K + k];
    C[row * N + col] = sum;
}
