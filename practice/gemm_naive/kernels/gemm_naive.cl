/* Matrix product C = A * B. All matrices are row-major.
 * Every thread computes one element of C. */
__kernel void gemm_naive(__global const float *A, __global const float *B,
                         __global float *C, int M, int N, int K)
{
    /* x walks over the rows, y over the columns */
    int row = get_global_id(0);
    int col = get_global_id(1);

    if (row < M && col < N) {
        float sum = 0.0f;

        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}
