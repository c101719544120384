// Gelu of a scaled and shifted array. Each thread does four elements that lie
// side by side, with one load and one store of 16 bytes.
__device__ float gelu(float v)
{
    // 0.79788456 is sqrt(2 / pi)
    return 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}

__global__ void elementwise(const float *__restrict__ x, float *__restrict__ y, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);

    if (i + 3 < n) {
        float4 v = *(const float4 *)(x + i);

        v.x = gelu(SCALE * v.x + BIAS);
        v.y = gelu(SCALE * v.y + BIAS);
        v.z = gelu(SCALE * v.z + BIAS);
        v.w = gelu(SCALE * v.w + BIAS);
        *(float4 *)(y + i) = v;
    } else {
        // the last one to three elements
        for (; i < n; i++)
            y[i] = gelu(SCALE * x[i] + BIAS);
    }
}
