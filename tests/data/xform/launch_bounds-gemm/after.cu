// C = A W^T; M rows, N columns
__global__ void __launch_bounds__(16 * 16, MIN_BLOCKS) plain(const float *A, const float *W, float *C, int M, int N, size_t K)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < M && col < N) {
        float sum = 0.0f;

        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * W[col * K + k];
        C[row * N + col] = sum;
    }
}
