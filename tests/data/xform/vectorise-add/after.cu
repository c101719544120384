// y = x + 2 b
__global__ void add(const float *x, const float *b, float *y, int n)
{
    const int first = 4 * (blockDim.x * blockIdx.x + threadIdx.x);

    if (first < n && n - first >= 4) {
        const float4 x4 = *(const float4 *)(x + first);
        const float x_each[4] = {x4.x, x4.y, x4.z, x4.w};
        const float4 b4 = *(const float4 *)(b + first);
        const float b_each[4] = {b4.x, b4.y, b4.z, b4.w};
        float y_each[4];

        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            float two = 2.0f; // a comment of the body
            y_each[lane] = x_each[lane] + two * b_each[lane];
        }
        *(float4 *)(y + first) = make_float4(y_each[0], y_each[1], y_each[2], y_each[3]);
    } else {
        for (int i = first; i < n && i < first + 4; i++) {
            float two = 2.0f; // a comment of the body
            y[i] = x[i] + two * b[i];
        }
    }
}
