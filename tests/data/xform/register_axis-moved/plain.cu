// The other coordinate comes from the place along the axis, too.
__global__ void mixed(const float *x, const float *w, const float *v, float *y,
                    int B, int C, int K, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= B * K * N)
        return;
    int k = (i / N) % K;
    int row = i / N;
    float sum = v[k];

    for (int c = 0; c < C; c++)
        sum += w[k * C + c] * x[(row / K * C + c) * N + i % N];
    y[i] = sum;
}
