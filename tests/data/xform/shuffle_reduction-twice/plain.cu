// Each level takes a half of what it joins. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    __shared__ float a[128];
    int t = threadIdx.x;

    a[t] = t < n ? x[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s)
            a[t] += 0.5f * a[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = a[0];
}
