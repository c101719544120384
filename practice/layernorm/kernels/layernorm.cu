// Layer norm of the rows of a matrix: one block of 128 threads a row.
#define THREADS 128

__global__ void layernorm(const float *x, const float *w, const float *b, float *y, int n)
{
    __shared__ float part[THREADS];
    __shared__ float mean, var;
    int row = blockIdx.x;
    int tid = threadIdx.x;

    // the mean: every thread adds its part, thread 0 adds the parts
    part[tid] = 0.0f;
    __syncthreads();
    for (int col = tid; col < n; col += THREADS)
        part[tid] += x[row * n + col];
    __syncthreads();
    if (tid == 0) {
        float sum = 0.0f;
        for (int i = 0; i < THREADS; i++)
            sum += part[i];
        mean = sum / n;
    }
    __syncthreads();

    // the variance in the same way
    part[tid] = 0.0f;
    __syncthreads();
    for (int col = tid; col < n; col += THREADS)
        part[tid] += (x[row * n + col] - mean) * (x[row * n + col] - mean);
    __syncthreads();
    if (tid == 0) {
        float sum = 0.0f;
        for (int i = 0; i < THREADS; i++)
            sum += part[i];
        var = sum / n;
    }
    __syncthreads();

    for (int col = tid; col < n; col += THREADS)
        y[row * n + col] = (x[row * n + col] - mean) / sqrtf(var + EPS) * w[col] + b[col];
}
