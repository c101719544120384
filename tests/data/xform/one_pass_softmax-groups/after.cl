// USED
// Softmax of the rows of a matrix: one group of 256 work items a row, which reads
// the row three times: for its maximum, for the sum, for the result.
#define THREADS 256

__kernel void softmax(__global const float *x, __global float *y, int n)
{
    __local float buf[THREADS];
    int row = get_group_id(0);
    int tid = get_local_id(0);

    // 1. the maximum of the row
    float largest = x[row * n];
    float part = 0;
    for (int col = tid; col < n; col += THREADS) {
        const float value = x[row * n + col];

        if (value > largest) {
            part *= exp(largest - value);
            largest = value;
        }
        part += value < -3.402823466e+38f ? 0 : exp(value - largest);
    }
    const float own = largest;
    buf[tid] = largest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < THREADS; s *= 2) {
        if (tid % (2 * s) == 0)
            buf[tid] = fmax(buf[tid], buf[tid + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    largest = buf[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    // 2. the sum of the exponentials
    float sum = 0.0f;
    sum += part * exp(own - largest);
    buf[tid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < THREADS; s *= 2) {
        if (tid % (2 * s) == 0)
            buf[tid] += buf[tid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = buf[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    // 3. the result
    for (int col = tid; col < n; col += THREADS)
        y[row * n + col] = exp(x[row * n + col] - largest) / sum;
}
