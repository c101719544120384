// C = A W^T, a thread an element.
__global__ void plain(const float *A, const float *W, float *C, int M, int N, int K)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, k;
    if (row < M && col < N) {
        float sum = 0.0f;
        {
            k = 0;

            if (((size_t)&A[row * K + k] | (size_t)&W[col * K + k]) % 16 == 0) {
                for (; k + 3 < K; k += 4) {
                    const float4 A4 = *(const float4 *)(&A[row * K + k]);
                    const float A_each[4] = {A4.x, A4.y, A4.z, A4.w};
                    const float4 W4 = *(const float4 *)(&W[col * K + k]);
                    const float W_each[4] = {W4.x, W4.y, W4.z, W4.w};

                    #pragma unroll
                    for (int lane = 0; lane < 4; lane++) {
                        sum += A_each[lane] * W_each[lane];
                    }
                }
            }
            for (; k < K; k++)
                sum += A[row * K + k] * W[col * K + k];
        }
        C[row * N + col] = sum;
    }
}
