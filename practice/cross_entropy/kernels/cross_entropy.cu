// Cross entropy of logits in three kernels: the maximum of every row, then the
// sum of the exponentials, then the loss.
#define THREADS 64

// One block a row.
__global__ void row_maximum(const float *x, float *maxima, int n)
{
    __shared__ float buf[THREADS];
    int row = blockIdx.x;
    int tid = threadIdx.x;

    buf[tid] = x[row * n];
    for (int col = tid; col < n; col += THREADS)
        buf[tid] = fmaxf(buf[tid], x[row * n + col]);
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            buf[tid] = fmaxf(buf[tid], buf[tid + s]);
        __syncthreads();
    }
    if (tid == 0)
        maxima[row] = buf[0];
}

// One block a row.
__global__ void row_sum_of_exp(const float *x, const float *maxima, float *sums, int n)
{
    __shared__ float buf[THREADS];
    int row = blockIdx.x;
    int tid = threadIdx.x;

    buf[tid] = 0.0f;
    for (int col = tid; col < n; col += THREADS)
        buf[tid] += expf(x[row * n + col] - maxima[row]);
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            buf[tid] += buf[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        sums[row] = buf[0];
}

// One thread a row.
__global__ void row_loss(const float *x, const int *target, const float *maxima,
                         const float *sums, float *loss, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < m)
        loss[row] = logf(sums[row]) + (maxima[row] - x[row * n + target[row]]);
}
