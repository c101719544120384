/* n-body like: all threads read the same. USED */
__global__ void plain(const float *pos, const float *w, float *y, int m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float f = 0;
    if (i >= m) return;
    for (int j = 0; j < n; j++) {
        float d = pos[j] - pos[i];
        f += w[j] / (d * d + 1e-3f);
    }
    y[i] = f;
}
