/* The weight of a turn is written by another pointer to the same array. */
__kernel void add_up(__global const float *table,
                     __global const int *ids, __global const int *starts,
                     __global float *Y, int rows, int bags, int D)
{
    int i = get_global_id(0);
    int bag = i / D;
    __global int *changed = (__global int *)starts;
    float sum = 0.0f;

    if (bag >= bags)
        return;
    for (int j = 0; j < 5; j++) {
        changed[bag] = j;
        sum += starts[bag] * table[j % rows];
    }
    Y[i] = sum;
}
