/* layer norm with a helper. USED */
__device__ float dev(float a, float b) { float d = a - b; return d * d; }
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < m) {
        const float *p = &x[idx * n];
        float *q = y + idx * n;
        float mean = 0.0f, var = 0.0f;
        for (int j = 0; j < n; j++) { mean += p[j]; }
        mean /= n;
        for (int j = 0; j < n; j++) { var += dev(p[j], mean); }
        var /= n;
        float inv = 1.0f / sqrtf(var + 1e-5f);
        for (int j = 0; j < n; j++) {
            float h = (p[j] - mean) * inv;
            if (h < 0) h *= 0.1f;
            q[j] = h * w[j];
        }
    }
}
