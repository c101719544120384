/* layer norm with a helper. USED */
__device__ float dev(float a, float b) { float d = a - b; return d * d; }
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int idx = blockIdx.x;
    int tid = threadIdx.x;
    if (idx < m) {
        const float *p = &x[idx * n];
        float *q = y + idx * n;
        float mean = 0.0f, var = 0.0f;
        __shared__ float mean_parts[32];
        for (int j = tid; j < n; j += blockDim.x) { mean += p[j]; }
        for (int step = 16; step > 0; step /= 2)
            mean += __shfl_xor_sync(0xffffffffu, mean, step);
        if (tid % 32 == 0)
            mean_parts[tid / 32] = mean;
        __syncthreads();
        mean = mean_parts[0];
        for (int warp = 1; warp < blockDim.x / 32; warp++)
            mean += mean_parts[warp];
        mean /= n;
        __shared__ float var_parts[32];
        for (int j = tid; j < n; j += blockDim.x) { var += dev(p[j], mean); }
        for (int step = 16; step > 0; step /= 2)
            var += __shfl_xor_sync(0xffffffffu, var, step);
        if (tid % 32 == 0)
            var_parts[tid / 32] = var;
        __syncthreads();
        var = var_parts[0];
        for (int warp = 1; warp < blockDim.x / 32; warp++)
            var += var_parts[warp];
        var /= n;
        float inv = 1.0f / sqrtf(var + 1e-5f);
        for (int j = tid; j < n; j += blockDim.x) {
            float h = (p[j] - mean) * inv;
            if (h < 0) h *= 0.1f;
            q[j] = h * w[j];
        }
    }
}
