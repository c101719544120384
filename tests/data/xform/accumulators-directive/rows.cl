__kernel void rows(__global const float *x, __global float *y, int m, int n)
{
    int r = get_global_id(0);

    if (r < m) {
        float s = 0.0f;
        for (int c = 0; c < n; ++c) {
#define TERM x[r * n + c]
            s += TERM;
#undef TERM
        }
        y[r] = s;
    }
}
