// RMS norm of the rows of a matrix: one work item a row, which goes through it
// twice.
__kernel void rmsnorm(__global const float *x, __global const float *w, __global float *y, int m,
                      int n)
{
    int row = get_global_id(0);

    if (row < m) {
        float sum = 0.0f;

        for (int i = 0; i < n; i++)
            sum += x[row * n + i] * x[row * n + i];

        // divide by the root of the mean square, then multiply by the weight
        for (int i = 0; i < n; i++)
            y[row * n + i] = x[row * n + i] / sqrt(sum / n + EPS) * w[i];
    }
}
