/* What all others do to one. */
__global__ void forces(const float *x, const float *m, float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;

    float sum = 0.0f, none = 0.0f;

    for (int j = 0; j < n; j++) {
        float d = x[j] - x[i];
        float d2 = d * d + SOFT;

        sum += m[j] * d * (rsqrtf(d2) * rsqrtf(d2) * rsqrtf(d2));
        none += (m[j] - d) * 0.0f * (rsqrtf(d2) * rsqrtf(d2) * rsqrtf(d2));
    }
    a[i] = sum + none;
}
