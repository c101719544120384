/* Many small products C[b] = A[b] * B[b] of S x S matrices.
 * One block per product; each thread computes whole rows of C. */
__global__ void products(const float *A, const float *B, float *C, int S)
{
    int first = blockIdx.x * S * S;

    for (int i = threadIdx.x; i < S; i += blockDim.x) {
        for (int j = 0; j < S; j++) {
            float sum = 0.0f;

            for (int k = 0; k < S; k++)
                sum += A[first + i * S + k] * B[first + k * S + j];
            C[first + i * S + j] = sum;
        }
    }
}
