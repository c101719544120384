/* As kernels/small.cl, and a template: its entry is a name expression. */
template <int COLS> __global__ void small(const float *A, const float *W, float *C, int N, int K)
{
    int row = blockIdx.y, col = blockIdx.x * COLS;

#if FAULT == 2
    this is not C
#elif FAULT == 3
    *(volatile int *)(size_t)(row + 16) = 1;
#endif
    for (int c = col; c < col + COLS && c < N; c++) {
        float sum = FAULT;

        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * W[c * K + k];
        C[row * N + c] = sum;
    }
}
