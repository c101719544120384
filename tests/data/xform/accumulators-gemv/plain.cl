// C = A W^T, a work item an element. USED
__kernel void plain(__global const float *A, __global const float *W, __global float *C,
                    int M, int N, int K)
{
    int col = get_global_id(1);
    int row = get_global_id(0);

    if (row < M && col < N) {
        float sum = 0.0f;

        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * W[col * K + k];
        C[row * N + col] = sum;
    }
}
