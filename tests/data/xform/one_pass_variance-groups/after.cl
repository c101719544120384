// Layer norm, a group of 32 a row. USED
__kernel void norm(__global const float *x, __global float *y, const int n)
{
    __local float part[32];
    const int lid = get_local_id(0);
    __global const float *row = x + get_group_id(0) * n;
    float sum = 0;

    float own_mean = 0, own_squares = 0;
    int turns = 0;
    for (int i = lid; i < n; i += 32) {
        const float value = row[i];
        const float away = value - own_mean;

        sum += value;
        turns++;
        own_mean += away / turns;
        own_squares += away * (value - own_mean);
    }
    part[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (int k = 0; k < 32; ++k)
        sum += part[k];
    barrier(CLK_LOCAL_MEM_FENCE);

    float squares = 0;
    squares += own_squares + turns * (own_mean - (sum / n)) * (own_mean - (sum / n));
    part[lid] = squares;
    barrier(CLK_LOCAL_MEM_FENCE);
    squares = 0;
    for (int k = 0; k < 32; ++k)
        squares += part[k];

    for (int i = lid; i < n; i += 32)
        y[get_group_id(0) * n + i] = (row[i] - sum / n) / sqrt(squares / n + 1e-5f);
}
