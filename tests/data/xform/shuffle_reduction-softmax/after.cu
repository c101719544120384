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
    for (int col = tid; col < n; col += THREADS)
        largest = fmaxf(largest, x[row * n + col]);
    buf[tid] = largest;
    __syncthreads();
    {
        __shared__ float parts[32];
        float part = buf[tid];

        for (int step = 16; step > 0; step /= 2)
            part = fmaxf(part, __shfl_down_sync(0xffffffffu, part, step));
        if (tid % 32 == 0)
            parts[tid / 32] = part;
        __syncthreads();
        if (tid < 32) {
            part = parts[tid < blockDim.x / 32 ? tid : 0];
            for (int step = 16; step > 0; step /= 2)
                part = fmaxf(part, __shfl_down_sync(0xffffffffu, part, step));
            if (tid == 0)
                buf[0] = part;
        }
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
