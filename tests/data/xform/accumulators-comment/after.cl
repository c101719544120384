__kernel void sums(__global const float *x, __global float *y, int m, int n)
{
    int row = get_global_id(0);
    float sum = 0;

    if (row >= m)
        return;
    float sum_part[ACCUMULATORS] = {0};
    int next = 0;
    for (; next + (ACCUMULATORS - 1) < n; next += ACCUMULATORS) {
#pragma unroll
        for (int turn = 0; turn < ACCUMULATORS; turn++) {
            const int j = next + turn;

            sum_part[turn] += x[row * n + j];
        }
    }
    for (int j = next; j < n; j++)
        sum += x[row * n + j] /* one
                               * more */ ;
#pragma unroll
    for (int turn = 0; turn < ACCUMULATORS; turn++)
        sum += sum_part[turn]; // all of them
    y[row] = sum;
}
