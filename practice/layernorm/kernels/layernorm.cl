// Layer norm of the rows of a matrix: one group of 128 work items a row.
#define THREADS 128

__kernel void layernorm(__global const float *x, __global const float *w,
                        __global const float *b, __global float *y, int n)
{
    __local float part[THREADS];
    __local float mean, var;
    int row = get_group_id(0);
    int tid = get_local_id(0);

    // the mean: every work item adds its part, number 0 adds the parts
    part[tid] = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int col = tid; col < n; col += THREADS)
        part[tid] += x[row * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) {
        float sum = 0.0f;
        for (int i = 0; i < THREADS; i++)
            sum += part[i];
        mean = sum / n;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // the variance in the same way
    part[tid] = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int col = tid; col < n; col += THREADS)
        part[tid] += (x[row * n + col] - mean) * (x[row * n + col] - mean);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) {
        float sum = 0.0f;
        for (int i = 0; i < THREADS; i++)
            sum += part[i];
        var = sum / n;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int col = tid; col < n; col += THREADS)
        y[row * n + col] = (x[row * n + col] - mean) / sqrt(var + EPS) * w[col] + b[col];
}
