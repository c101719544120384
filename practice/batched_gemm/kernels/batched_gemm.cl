/* Many small products C[b] = A[b] * B[b] of S x S matrices.
 * One block per product; each thread computes whole rows of C. */
__kernel void batched_gemm(__global const float *A, __global const float *B,
                           __global float *C, int S)
{
    int first = get_group_id(0) * S * S;

    for (int i = get_local_id(0); i < S; i += get_local_size(0)) {
        for (int j = 0; j < S; j++) {
            float sum = 0.0f;

            for (int k = 0; k < S; k++)
                sum += A[first + i * S + k] * B[first + k * S + j];
            C[first + i * S + j] = sum;
        }
    }
}
