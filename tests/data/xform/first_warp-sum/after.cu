// Sums of rows: thread 0 adds what the others have.
#define THREADS 128

__global__ void rows(const float *x, float *y, int n)
{
    __shared__ float part[THREADS];
    int tid = threadIdx.x;

    part[tid] = 0.0f;
    for (int col = tid; col < n; col += THREADS)
        part[tid] += x[blockIdx.x * n + col];
    __syncthreads();

    if (tid < 32) {
        float sum = 0.0f;
        for (int i = tid; i < THREADS; i += 32)
            sum += part[i];
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, step);
        if (tid == 0) {
            // one after the other
            y[blockIdx.x] = sum;
        }
    }
}
