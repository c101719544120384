// C = A W^T; M rows, N columns
__global__ void plain(const float *A, const float *W, float *C, int M_given, int N_given, size_t K_given)
{
    const int M_fixed = M;
    const int N_fixed = N;
    const size_t K_fixed = K;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < M_fixed && col < N_fixed) {
        float sum = 0.0f;

        for (int k = 0; k < K_fixed; k++)
            sum += A[row * K_fixed + k] * W[col * K_fixed + k];
        C[row * N_fixed + col] = sum;
    }
}
