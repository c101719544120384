__global__ void product(const float *A, const float *W, float *C, int N, int K)
{
    const int i = blockIdx.y;
    const int j = blockIdx.x * blockDim.x + threadIdx.x;

    if (j >= N)
        return;
    C[i * N + j] = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16)
        for (int k = k0; k < k0 + 16 && k < K; k++)
            C[i * N + j] += A[i * K + k] * W[j * K + k];
}
