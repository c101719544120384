// A gate of two halves of a row: y = silu(left half) * right half, in half
// precision. One work item makes one element and computes in float.
__kernel void swiglu(__global const half *x, __global half *y, int m, int n)
{
    int i = get_global_id(0);

    if (i < m * n) {
        int row = i / n;
        int col = i % n;
        float gate = vload_half(row * 2 * n + col, x);
        float up = vload_half(row * 2 * n + n + col, x);

        vstore_half(gate / (1.0f + exp(-gate)) * up, row * n + col, y);
    }
}
