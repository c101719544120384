__kernel void matmul(__global const float *A, __global const float *B,
                     __global float *C, int M, int N, int K)
{
    int col = get_global_id(0), row = get_global_id(1);

    if (row < M) {
        if (col < N) {
            float acc = 0.0f;
            for (int k = 0; k < K; k++) {
                acc = fma(A[row * K + k], B[k * N + col], acc);
            }
            C[row * N + col] = acc;
        }
    }
}
