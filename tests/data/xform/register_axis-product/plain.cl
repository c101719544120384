/* A product, a work item an element; rows are the first axis. */
__kernel void product(__global const float *a, __global const float *w,
                      __global float *c, int M, int N, int K)
{
    const int at = get_global_id(0);
    if (at >= M * N)
        return;
    const int row = at / N;
    const int col = at % N;

    float sum;
    sum = 0;
    for (int k = 0; k < K; k++)
        sum += a[row * K + k] * w[col * K + k];
    c[row * N + col] = sum;
}
