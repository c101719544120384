/* Matrix product C = A * B, all row-major. */
__global__ void matmul(const float *A, const float *B, float *C, int M, int N,
                       int K)
{
    /* x walks over the rows, y over the columns */
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < M && col < N) {
        float sum = 0.0f;

        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        // one store a thread
        C[row * N + col] = sum;
    }
}
