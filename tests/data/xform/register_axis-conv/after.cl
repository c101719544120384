/* 3x3 convolution, stride 1, zero padding, images in NCHW order.
 * Every thread computes one output element. */
__kernel void conv2d(__global const float *X, __global const float *F,
                     __global float *Y, int B, int C, int K, int H, int W)
{
    const int place = get_global_id(0);
    const int groups = (K + OUTPUTS - 1) / OUTPUTS;
    const int line = place / (H * W);
    int i = (line / groups * K + line % groups * OUTPUTS) * (H * W) +
        place % (H * W);

    if (i >= B * K * H * W)
        return;

    /* which output element is it? */
    int b = i / (K * H * W);
    int k = (i / (H * W)) % K;
    int h = (i / W) % H;
    int w = i % W;
    int k_at[OUTPUTS];

    for (int each = 0; each < OUTPUTS; each++)
        k_at[each] = k + each < K ? k + each : K - 1;
    float sum[OUTPUTS] = {0.0f};

    for (int c = 0; c < C; c++) {
        for (int r = 0; r < 3; r++) {
            for (int s = 0; s < 3; s++) {
                int y = h + r - 1;
                int x = w + s - 1;

                /* outside of the image there are zeros */
                if (y >= 0 && y < H && x >= 0 && x < W)
                    #pragma unroll
                    for (int each = 0; each < OUTPUTS; each++)
                        sum[each] += X[((b * C + c) * H + y) * W + x] *
                               F[((k_at[each] * C + c) * 3 + r) * 3 + s];
            }
        }
    }
    #pragma unroll
    for (int each = 0; each < OUTPUTS; each++)
        if (k + each < K)
            Y[i + each * (H * W)] = sum[each];
}
