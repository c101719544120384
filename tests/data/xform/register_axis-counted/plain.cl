/* Each term moves on to the next weight. */
__kernel void mixed(__global const float *x, __global const float *w,
                    __global const float *v, __global float *y,
                    int B, int C, int K, int N)
{
    const int i = get_global_id(0);

    if (i >= B * K * N)
        return;
    const int n = i % N, k = i / N % K;
    const int b = i / (N * K);
    float sum = 0.0f;
    int at = 0;

    for (int c = 0; c < C; c++)
        sum += w[k * C + at++] * x[(b * C + c) * N + n];
    y[(b * K + k) * N + n] = sum + v[k];
}
