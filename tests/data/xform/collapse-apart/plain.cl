/* Factors are kept in the group's memory. */
__kernel void scale(__global const float *x, __global const float *w, __global float *y, int m, int n)
{
    __local float factor[32];
    int tid = get_local_id(0);

    for (int base = get_group_id(0) * 32; base < m; base += 4 * 32) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = tid; k < 32; k += get_local_size(0))
            factor[k] = base + k < m ? w[base + k] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = tid; i < 32; i += get_local_size(0))
            for (int j = 0; j < n; j++)
                if (base + i < m)
                    y[(base + i) * n + j] = x[(base + i) * n + j] * factor[i];
    }
}
