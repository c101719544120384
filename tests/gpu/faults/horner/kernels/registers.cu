// BLOCKS blocks a multiprocessor, so 256 / BLOCKS registers a thread at most.
// Every thread keeps all coefficients in registers, and has one place at a
// time: a chain of D dependent steps. That C and Y might overlap (no
// __restrict__) keeps the compiler from reading C again.
__global__ void __launch_bounds__(256, BLOCKS) horner(const float *X, const float *C, float *Y, int N)
{
    float c[D];

#pragma unroll
    for (int k = 0; k < D; k++)
        c[k] = C[k];
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) {
        float x = X[i], y = c[D - 1];

#pragma unroll
        for (int k = D - 2; k >= 0; k--)
            y = y * x + c[k];
        Y[i] = y;
    }
}
