__kernel void small(__global const float *A, __global const float *W,
                    __global float *C, int N, int K)
{
    int row = get_global_id(1), col = get_global_id(0) * COLS;

#if FAULT == 2
    this is not C
#elif FAULT == 3
    *(volatile __global int *)(ulong)(row + 16) = 1;
#endif
    for (int c = col; c < col + COLS && c < N; c++) {
        float sum = FAULT;

        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * W[c * K + k];
        C[row * N + c] = sum;
    }
}
