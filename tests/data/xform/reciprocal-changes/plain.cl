__kernel void divide(__global const float *x, __global const float *w, __global float *y, int n)
{
    const size_t row = get_global_id(0);
    float by = w[row] + 2;

    for (int j = 0; j < n; j++) {
        float v = x[row * n + j];

        v /= by;
        by += 0;
        y[row * n + j] = v / (n + 0 * j);
    }
}
