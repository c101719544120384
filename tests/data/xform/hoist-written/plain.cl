/* Where a bag ends is written in the loop. */
__kernel void add_up(__global const float *table, __global const int *ids,
                     __global int *starts, __global float *y, int rows,
                     int bags, int D)
{
    int i = get_global_id(0);

    if (i < bags) {
        for (int j = 0; j < starts[i]; j++) {
            y[i * D] += table[ids[j] % rows * D];
            if (ids[j] == rows)
                starts[i]--;
        }
    }
}
