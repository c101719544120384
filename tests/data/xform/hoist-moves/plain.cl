__kernel void scale(__global const float *x, __global const float *w, __global float *y, int n)
{
    const size_t row = get_global_id(0);
    int j;

#pragma unroll 2
    for (j = 0; j < n; ++j) {
        y[row * n + j] = x[row * n + j]
            * w[row + 0 * j];
    }
}
