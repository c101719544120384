/* 3x3 convolution, stride 1, zero padding, images in NCHW order.
 * Every thread computes one output element. */
__kernel void conv2d(__global const float *X, __global const float *F,
                     __global float *Y, int B, int C, int K, int H, int W)
{
    int i = get_global_id(0);

    if (i >= B * K * H * W)
        return;

    /* which output element is it? */
    int b = i / (K * H * W);
    int k = (i / (H * W)) % K;
    int h = (i / W) % H;
    int w = i % W;
    float sum = 0.0f;

    for (int c = 0; c < C; c++) {
        for (int r = 0; r < 3; r++) {
            for (int s = 0; s < 3; s++) {
                int y = h + r - 1;
                int x = w + s - 1;

                /* outside of the image there are zeros */
                if (y >= 0 && y < H && x >= 0 && x < W)
                    sum += X[((b * C + c) * H + y) * W + x] *
                           F[((k * C + c) * 3 + r) * 3 + s];
            }
        }
    }
    Y[i] = sum;
}
