__kernel void rows(__global const float *x, __global float *y, int m, int n)
{
    int r = get_global_id(0);
    __global float *q = y;

    if (r < m) {
        y[r] = 0.0f;
        for (int c = 0; c < n; ++c)
            y[r] += x[r * n + c] + q[r] - y[r];
    }
}
