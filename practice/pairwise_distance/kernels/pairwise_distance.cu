/* Distances of all points of A from all points of B.
 * One thread computes one distance. */
__global__ void pairwise_distance(const float *A, const float *B, float *D,
                                  int M, int N, int K)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < M && j < N) {
        D[i * N + j] = 0.0f;
        for (int k = 0; k < K; k++) {
            float diff = A[i * K + k] - B[j * K + k];

            D[i * N + j] += diff * diff;
        }
        D[i * N + j] = sqrtf(D[i * N + j]);
    }
}
