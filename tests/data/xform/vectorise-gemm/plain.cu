// C = A W^T, a thread an element.
__global__ void plain(const float *A, const float *W, float *C, int M, int N, int K)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, k;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (k = 0; k < K; k++)
            sum += A[row * K + k] * W[col * K + k];
        C[row * N + col] = sum;
    }
}
