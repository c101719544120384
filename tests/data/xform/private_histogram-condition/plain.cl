/* Histogram of bytes: 256 counters in global memory. */
__kernel void clear(__global int *counts)
{
    counts[get_local_id(0)] = 0;
}

/* one thread per byte */
__kernel void histogram(__global const uchar *bytes, __global int *counts,
                        int N)
{
    int i = get_global_id(0);

    if (i < N)
        if (atomic_add(&counts[bytes[i]], 1)) {
        }
}
