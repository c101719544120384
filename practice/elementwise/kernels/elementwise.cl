// Gelu of a scaled and shifted array. Each work item does four elements that
// lie side by side, with one load and one store of 16 bytes.
float gelu(float v)
{
    // 0.79788456 is sqrt(2 / pi)
    return 0.5f * v * (1.0f + tanh(0.79788456f * (v + 0.044715f * v * v * v)));
}

__kernel void elementwise(__global const float *restrict x, __global float *restrict y, int n)
{
    int i = 4 * (int)get_global_id(0);

    if (i + 3 < n) {
        float4 v = vload4(0, x + i);

        v.x = gelu(SCALE * v.x + BIAS);
        v.y = gelu(SCALE * v.y + BIAS);
        v.z = gelu(SCALE * v.z + BIAS);
        v.w = gelu(SCALE * v.w + BIAS);
        vstore4(v, 0, y + i);
    } else {
        // the last one to three elements
        for (; i < n; i++)
            y[i] = gelu(SCALE * x[i] + BIAS);
    }
}
