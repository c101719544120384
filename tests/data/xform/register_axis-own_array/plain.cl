/* The result goes through an array of the item's own. */
__kernel void mixed(__global const float *x, __global const float *w,
                    __global const float *v, __global float *y,
                    int B, int C, int K, int N)
{
    const int i = get_global_id(0);

    if (i < B * K * N) {
        const int n = i % N, k = i / N % K;
        const int b = i / (N * K);
        float result[1];
        float sum = v[k];

        for (int c = 0; c < C; c++)
            sum += w[k * C + c] * x[(b * C + c) * N + n];
        result[0] = sum;
        y[i] = result[0];
    }
}
