// The coefficients are in shared memory, read four at a time for all PER
// places of a thread. A block of THREADS has CHUNK places.
__global__ void __launch_bounds__(THREADS)
    horner(const float *__restrict__ X, const float *__restrict__ C, float *__restrict__ Y, int N)
{
    __shared__ float4 c[D / 4];
    int begin = blockIdx.x * CHUNK, end = min(N, begin + CHUNK);

    for (int k = threadIdx.x; k < D / 4; k += THREADS)
        c[k] = ((const float4 *)C)[k];
    __syncthreads();
    for (int i = begin + threadIdx.x; i < end; i += THREADS * PER) {
        float x[PER], y[PER];

#pragma unroll
        for (int p = 0; p < PER; p++) {
            x[p] = i + p * THREADS < end ? X[i + p * THREADS] : 0;
            y[p] = 0;
        }
#pragma unroll 8
        for (int k = D / 4 - 1; k >= 0; k--) {
            float4 q = c[k];

#pragma unroll
            for (int p = 0; p < PER; p++)
                y[p] = (((y[p] * x[p] + q.w) * x[p] + q.z) * x[p] + q.y) * x[p] + q.x;
        }
#pragma unroll
        for (int p = 0; p < PER; p++)
            if (i + p * THREADS < end)
                Y[i + p * THREADS] = y[p];
    }
}
