// C = A W^T, a work item an element. USED
__kernel void plain(__global const float *A, __global const float *W, __global float *C,
                    int M, int N, int K)
{
    int col = get_global_id(1);
    int row = get_global_id(0);

    if (row < M && col < N) {
        float sum = 0.0f;

        float sum_part[ACCUMULATORS] = {0};
        int next = 0;
        for (; next + (ACCUMULATORS - 1) < K; next += ACCUMULATORS) {
#pragma unroll
            for (int turn = 0; turn < ACCUMULATORS; turn++) {
                const int k = next + turn;

                sum_part[turn] += A[row * K + k] * W[col * K + k];
            }
        }
        for (int k = next; k < K; k++)
            sum += A[row * K + k] * W[col * K + k];
#pragma unroll
        for (int turn = 0; turn < ACCUMULATORS; turn++)
            sum += sum_part[turn];
        C[row * N + col] = sum;
    }
}
