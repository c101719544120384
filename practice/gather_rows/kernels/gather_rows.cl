/* Fetches rows of a table: Y[m] = table[ids[m] % rows].
 *
 * A group of 32 neighbouring threads copies one row. Rows whose length is a
 * multiple of 4 are copied 16 bytes a thread at a time. */
__kernel void gather_rows(__global const float *restrict table,
                          __global const int *restrict ids,
                          __global float *restrict Y, int rows, int M, int N)
{
    int lane = get_local_id(0) % 32;
    int m = get_group_id(0) * 8 + get_local_id(0) / 32;

    if (m >= M)
        return;

    __global const float *from = table + ids[m] % rows * N;
    __global float *to = Y + m * N;

    if (N % 4 == 0) {
        __global const float4 *from4 = (__global const float4 *)from;
        __global float4 *to4 = (__global float4 *)to;
        int n = N / 4;

        for (int i = lane; i < n; i += 32)
            to4[i] = from4[i];
    } else {
        for (int i = lane; i < N; i += 32)
            to[i] = from[i];
    }
}
