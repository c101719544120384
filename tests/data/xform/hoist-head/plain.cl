/* A bag's begin is loaded once as it is: in the loop's head. */
__kernel void add_up(__global const float *table,
                     __global const int *ids, __global const int *starts,
                     __global float *Y, int rows, int bags, int D)
{
    int i = get_global_id(0);
    int bag = i / D;

    if (bag >= bags)
        return;

    int end = bag + 1 < bags ? bag * 16 + 16 + starts[bag + 1] : bags * 16;
    float sum = 0.0f;

    for (int j = bag * 16 + (bag > 0) * starts[bag]; j < end; j++)
        sum += table[ids[j] % rows * D + i % D];
    Y[i] = sum;
}
