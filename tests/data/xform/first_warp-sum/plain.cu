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

    if (tid == 0) {
        float sum = 0.0f;
        for (int i = 0; i < THREADS; i++)
            sum += part[i]; // one after the other
        y[blockIdx.x] = sum;
    }
}
