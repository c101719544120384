/* layer norm with a helper. USED */
__device__ float dev(float a, float b) { float d = a - b; return d * d; }
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int idx = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (idx < m) {
        const float *p = &x[idx * n];
        float *q = y + idx * n;
        float mean = 0.0f, var = 0.0f;
        for (int j = lane; j < n; j += 32) { mean += p[j]; }
        for (int step = 16; step > 0; step /= 2)
            mean += __shfl_xor_sync(0xffffffffu, mean, step);
        mean /= n;
        for (int j = lane; j < n; j += 32) { var += dev(p[j], mean); }
        for (int step = 16; step > 0; step /= 2)
            var += __shfl_xor_sync(0xffffffffu, var, step);
        var /= n;
        float inv = 1.0f / sqrtf(var + 1e-5f);
        for (int j = lane; j < n; j += 32) {
            float h = (p[j] - mean) * inv;
            if (h < 0) h *= 0.1f;
            q[j] = h * w[j];
        }
    }
}
