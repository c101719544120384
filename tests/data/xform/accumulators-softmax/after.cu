// USED
// Softmax of the rows of a matrix: one block of 256 threads a row, which reads
// the row three times: for its maximum, for the sum, for the result.
#define THREADS 256

__global__ void softmax(const float *x, float *y, int n)
{
    __shared__ float buf[THREADS];
    int row = blockIdx.x;
    int tid = threadIdx.x;

    // 1. the maximum of the row
    float largest = x[row * n];
    float largest_part[ACCUMULATORS];
    int next = tid;
    for (int turn = 0; turn < ACCUMULATORS; turn++)
        largest_part[turn] = largest;
    for (; next + (ACCUMULATORS - 1) * THREADS < n; next += ACCUMULATORS * THREADS) {
#pragma unroll
        for (int turn = 0; turn < ACCUMULATORS; turn++) {
            const int col = next + turn * THREADS;

            largest_part[turn] = x[row * n + col] > largest_part[turn] ? x[row * n + col] : largest_part[turn];
        }
    }
    for (int col = next; col < n; col += THREADS)
        largest = x[row * n + col] > largest ? x[row * n + col] : largest;
#pragma unroll
    for (int turn = 0; turn < ACCUMULATORS; turn++)
        largest = fmaxf(largest, largest_part[turn]);
    buf[tid] = largest;
    __syncthreads();
    for (int s = 1; s < THREADS; s *= 2) {
        if (tid % (2 * s) == 0)
            buf[tid] = fmaxf(buf[tid], buf[tid + s]);
        __syncthreads();
    }
    largest = buf[0];
    __syncthreads();

    // 2. the sum of the exponentials
    float sum = 0.0f;
    for (int col = tid; col < n; col += THREADS)
        sum += expf(x[row * n + col] - largest);
    buf[tid] = sum;
    __syncthreads();
    for (int s = 1; s < THREADS; s *= 2) {
        if (tid % (2 * s) == 0)
            buf[tid] += buf[tid + s];
        __syncthreads();
    }
    sum = buf[0];
    __syncthreads();

    // 3. the result
    for (int col = tid; col < n; col += THREADS)
        y[row * n + col] = expf(x[row * n + col] - largest) / sum;
}
