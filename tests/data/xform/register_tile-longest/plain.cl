// the shortest of all ways over one stop: no sum
__kernel void matmul(__global const float *A, __global const float *B,
                     __global float *C, int M, int N, int K)
{
    int row = get_global_id(0);
    int col = get_global_id(1);

    if (row < M && col < N) {
        float best = 1e30f;
        for (int k = 0; k < K; k++)
            best = fmin(best, A[row * K + k] + B[k * N + col]);
        C[row * N + col] = best;
    }
}
