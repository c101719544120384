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
                sum += x_each[lane] // one more
                ;
            }
        }
        for (; j < n; ++j)
            sum += x[row * n + j] // one more
                ;
    }
    y[row] = sum;
}
