/* Sums of segments. One thread takes one value, looks for its segment and adds
 * the value there. */

/* OpenCL C 1.2 adds whole numbers only: try until nobody came between */
static void add_float(volatile __global float *sum, float value)
{
    union {
        unsigned int bits;
        float number;
    } before, after;

    do {
        before.number = *sum;
        after.number = before.number + value;
    } while (atomic_cmpxchg((volatile __global unsigned int *)sum, before.bits,
                            after.bits) != before.bits);
}

__kernel void clear(__global float *sums, int segments)
{
    int i = get_global_id(0);

    if (i < segments)
        sums[i] = 0.0f;
}

__kernel void segmented_sum(__global const float *values,
                            __global const int *starts, __global float *sums,
                            int segments)
{
    int i = get_global_id(0);
    int low = 0;
    int high = segments - 1;

    if (i >= segments * AVERAGE)
        return;

    /* the last segment that begins at i or before */
    while (low < high) {
        int middle = (low + high + 1) / 2;

        if (middle * AVERAGE + starts[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    add_float(&sums[low], values[i]);
}
