__kernel void sums(__global const float *x, __global float *y, int n)
{
    const int row = get_global_id(0);
    float sum = 0;

    {
        int j = 0;

        for (; j + 3 < n; j += 4) {
            const float4 x4 = vload4(0, &x[row * n + j]);
            const float x_each[4] = {x4.x, x4.y, x4.z, x4.w};

            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const float v = x_each[lane];

                if (v > -1e30f)
                    sum += v;
            }
        }
        for (; j < n; ++j) {
            const float v = x[row * n + j];

            if (v > -1e30f)
                sum += v;
        }
    }
    y[row] = sum;
}
