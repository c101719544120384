// Cross entropy of logits in three kernels: the maximum of every row, then the
// sum of the exponentials, then the loss.
#define THREADS 64

// One group a row.
__kernel void row_maximum(__global const float *x, __global float *maxima, int n)
{
    __local float buf[THREADS];
    int row = get_group_id(0);
    int tid = get_local_id(0);

    buf[tid] = x[row * n];
    for (int col = tid; col < n; col += THREADS)
        buf[tid] = fmax(buf[tid], x[row * n + col]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            buf[tid] = fmax(buf[tid], buf[tid + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0)
        maxima[row] = buf[0];
}

// One group a row.
__kernel void row_sum_of_exp(__global const float *x, __global const float *maxima,
                             __global float *sums, int n)
{
    __local float buf[THREADS];
    int row = get_group_id(0);
    int tid = get_local_id(0);

    buf[tid] = 0.0f;
    for (int col = tid; col < n; col += THREADS)
        buf[tid] += exp(x[row * n + col] - maxima[row]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            buf[tid] += buf[tid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0)
        sums[row] = buf[0];
}

// One work item a row.
__kernel void row_loss(__global const float *x, __global const int *target,
                       __global const float *maxima, __global const float *sums,
                       __global float *loss, int m, int n)
{
    int row = get_global_id(0);

    if (row < m)
        loss[row] = log(sums[row]) + (maxima[row] - x[row * n + target[row]]);
}
