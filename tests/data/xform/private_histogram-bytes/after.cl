/* Histogram of bytes: 256 counters in global memory. */
__kernel void clear(__global int *counts)
{
    counts[get_local_id(0)] = 0;
}

/* one thread per byte */
__kernel void histogram(__global const uchar *bytes, __global int *counts,
                        int N)
{
    __local int counts_of_block[256];

    for (int bin = get_local_id(0); bin < 256; bin += get_local_size(0))
        counts_of_block[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int part = 0; part < PARTS; part++) {
        int i = (get_group_id(0) * PARTS + part) * get_local_size(0) +
            get_local_id(0);

        if (i < N)
            atomic_add(&counts_of_block[bytes[i]], 1);
    }

    /* what the block has counted */
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int bin = get_local_id(0); bin < 256; bin += get_local_size(0))
        if (counts_of_block[bin])
            atomic_add(&counts[bin], counts_of_block[bin]);
}
