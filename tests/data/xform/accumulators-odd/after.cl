// RMS norm, 16 work items a row. USED
__kernel void plain(__global const float *x, __global const float *w, __global float *y,
                    int m, int n)
{
    __local float all[16];
    size_t row = get_group_id(0), lane = get_local_id(0);
    float sum = 0.0f;
    unsigned odd = 0;
    size_t i;

    unsigned odd_part[ACCUMULATORS] = {0};
    float sum_part[ACCUMULATORS] = {0};
    unsigned long next = lane;
    for (; next + (ACCUMULATORS - 1) * get_local_size(0) < n; next += ACCUMULATORS * get_local_size(0)) {
#pragma unroll
        for (int turn = 0; turn < ACCUMULATORS; turn++) {
            const unsigned long i = next + turn * get_local_size(0);

            float v = x[row * n + i]; // an element
            if (v == 0)
                continue;

            odd_part[turn] += v > 1.0f;
            sum_part[turn] = fma(v, v, sum_part[turn]);
        }
    }
    for (i = next; i < n; i += get_local_size(0)) {
        float v = x[row * n + i]; // an element
        if (v == 0)
            continue;

        odd += v > 1.0f;
        sum = fma(v, v, sum);
    }
#pragma unroll
    for (int turn = 0; turn < ACCUMULATORS; turn++) {
        odd += odd_part[turn];
        sum += sum_part[turn];
    }
    all[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0.0f;
    for (int k = 0; k < 16; k++)
        sum += all[k];
    if (odd > n || i < n)
        return;
    for (int k = lane; k < n; k += 16)
        y[row * n + k] = x[row * n + k] / sqrt(sum / n + 1e-6f) * w[k];
}
