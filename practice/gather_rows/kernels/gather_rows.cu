/* Fetches rows of a table: Y[m] = table[ids[m] % rows].
 *
 * A group of 32 neighbouring threads copies one row. Rows whose length is a
 * multiple of 4 are copied 16 bytes a thread at a time. */
__global__ void gather_rows(const float *__restrict__ table,
                            const int *__restrict__ ids, float *__restrict__ Y,
                            int rows, int M, int N)
{
    int lane = threadIdx.x % 32;
    int m = blockIdx.x * 8 + threadIdx.x / 32;

    if (m >= M)
        return;

    const float *from = table + ids[m] % rows * N;
    float *to = Y + m * N;

    if (N % 4 == 0) {
        const float4 *from4 = (const float4 *)from;
        float4 *to4 = (float4 *)to;
        int n = N / 4;

        for (int i = lane; i < n; i += 32)
            to4[i] = from4[i];
    } else {
        for (int i = lane; i < N; i += 32)
            to[i] = from[i];
    }
}
