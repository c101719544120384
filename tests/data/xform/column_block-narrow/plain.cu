__global__ void k(const float *x, float *y, float *l, int m, int n)
{
    __shared__ float part[256];
    unsigned col = blockIdx.x;
    const float *base = x + col;
    float sum = 0.0f;
    for (unsigned char row = threadIdx.x; row < m; row += 256)
        sum += x[row * n + col];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step > 0; step >>= 1) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) { l[col] = part[0]; float q = 1; for (int r = 0; r < m; r++) { y[r * n + col] = x[r * n + col] - part[0]; q *= 2; } }
}
