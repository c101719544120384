// A row a work item; the sum stays in memory.
__kernel void rows(__global const float *x, __global float *y, int m, int n)
{
    int r = get_global_id(0);

    if (r < m) {
        y[r] = 0.0f; /* begins empty */
        #pragma unroll 4
        for (int c = 0; c < n; ++c) {
            float v = x[r * n + c];
            y[r] += v; // the sum
        }
    }
}
