/* Two sums a thread, one of them of squares that are not stored. */
__kernel void mixed(__global const float *x, __global const float *w,
                  __global const float *v, __global float *y, int B, int C,
                  int K, int N)
{
    int i = get_global_id(0);

    if (i >= B * K * N)
        return;
    int k = (i / N) % K;
    int b = i / (K * N);
    float sum = 0;
    float squares = 0;

    for (int c = 0; c < C; c++) {
        float e = x[(b * C + c) * N + i % N];

        sum += w[k * C + c] * x[(b * C + c) * N + i % N];
        squares += w[k * C + c] * e *
                   w[k * C + c] * e;
    }
    y[i] = squares < 0 ? 0 : sum + v[k];
}
