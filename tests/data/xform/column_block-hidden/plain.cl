/* What is stored knows another n. */
__kernel void center(__global const float *x, __global float *y, __global float *l, int m, int n)
{
    __local float part[256];
    int col = get_group_id(0);
    int tid = get_local_id(0), stride = n;
    float sum = 0.0f, top = -1e30f;

    for (int row = tid; row < m; row += 256) {
        sum += x[row * n + col];
        top = fmax(top, x[row * n + col]);
    }
    part[tid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 128; step > 0; step /= 2) {
        if (tid < step)
            part[tid] += part[tid + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float mean = part[0] / m;
    barrier(CLK_LOCAL_MEM_FENCE);
    part[tid] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 128; step > 0; step /= 2) {
        if (tid < step)
            part[tid] = fmax(part[tid], part[tid + step]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0)
        l[col] = part[0];
    for (int row = tid; row < m; row += 256) {
        int n = row * stride;

        y[n + col] = x[n + col] - mean;
    }
}
