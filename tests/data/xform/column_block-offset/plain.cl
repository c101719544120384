/* Each thread's sum begins with 1: there are as many as threads. */
__kernel void offset(__global const float *x, __global float *y, int m, int n)
{
    __local float part[64];
    int col = get_group_id(0), t = get_local_id(0);
    float sum = 1.0f;

    for (int row = t; row < m; row += 64)
        sum += x[row * n + col];
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 32; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        y[col] = part[0] - 64;
}
