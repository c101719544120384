/* Pointers lead to the channel's weights and to the image. */
__kernel void mixed(__global const float *x, __global const float *w,
                  __global const float *v, __global float *y, int B, int C,
                  int K, int N)
{
    int i = get_global_id(0);

    if (i >= B * K * N)
        return;
    int k = (i / N) % K;
    int b = i / (K * N);
    __global const float *mine = w + k * C, *image = x + b * C * N;
    float sum = 0;

    for (int c = 0; c < C; c++)
        sum += w[k * C + c] * x[(b * C + c) * N + i % N] +
               0 * mine[c] * image[c];
    y[i] = sum + v[k];
}
