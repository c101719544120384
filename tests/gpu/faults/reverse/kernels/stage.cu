// ROWS rows of N floats are staged in shared memory, then written reversed.
#define QUADS (N / 4) // a row

__global__ void __launch_bounds__(128)
    reverse(const float4 *__restrict__ X, float4 *__restrict__ Y)
{
    extern __shared__ float4 stage[];
    long long base = blockIdx.x * (long long)(ROWS * QUADS);

    for (int i = threadIdx.x; i < ROWS * QUADS; i += 128)
        stage[i] = X[base + i];
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * QUADS; i += 128) {
        float4 q = stage[i / QUADS * QUADS + QUADS - 1 - i % QUADS];

        Y[base + i] = make_float4(q.w, q.z, q.y, q.x);
    }
}
