/* Distances of all points of A from all points of B. */
__kernel void pairs(__global const float *A, __global const float *B,
                    __global float *D, int M, int N, int K)
{
    int j = get_global_id(0);
    int i = get_global_id(1);

    if (i < M && j < N) {
        D[i * N + j] = 0.0f;
        for (int k = 0; k < K; k++) {
            float diff = A[i * K + k] - B[j * K + k];

            D[i * N + j] += diff * diff;
        }
        D[i * N + j] = sqrt(D[i * N + j]);
    }
}
