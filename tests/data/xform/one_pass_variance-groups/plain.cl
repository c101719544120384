// Layer norm, a group of 32 a row. USED
__kernel void norm(__global const float *x, __global float *y, const int n)
{
    __local float part[32];
    const int lid = get_local_id(0);
    __global const float *row = x + get_group_id(0) * n;
    float sum = 0;

    for (int i = lid; i < n; i += 32)
        sum = sum + row[i];
    part[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (int k = 0; k < 32; ++k)
        sum += part[k];
    barrier(CLK_LOCAL_MEM_FENCE);

    float squares = 0;
    for (int i = lid; i < n; i += 32)
        squares += (row[i] - sum / n) * (row[i] - sum / n);
    part[lid] = squares;
    barrier(CLK_LOCAL_MEM_FENCE);
    squares = 0;
    for (int k = 0; k < 32; ++k)
        squares += part[k];

    for (int i = lid; i < n; i += 32)
        y[get_group_id(0) * n + i] = (row[i] - sum / n) / sqrt(squares / n + 1e-5f);
}
