/* Inclusive sums of each row. One block works on one row, 256 elements at a
 * time: a scan in shared memory that doubles the distance in each step
 * (Hillis and Steele), then on to the next 256 with the total carried over. */
#define BLOCK 256

__global__ void sums(const float *X, float *Y, int N)
{
    __shared__ float buffer[BLOCK];
    int t = threadIdx.x;
    int row = blockIdx.x;
    float carry = 0.0f;

    for (int start = 0; start < N; start += BLOCK) {
        int col = start + t;

        buffer[t] = col < N ? X[row * N + col] : 0.0f;
        __syncthreads();
        {
            __shared__ float totals[32];
            float sum = buffer[t];

            for (int distance2 = 1; distance2 < 32; distance2 *= 2) {
                const float other = __shfl_up_sync(0xffffffffu, sum, distance2);

                if (t % 32 >= distance2)
                    sum += other;
            }
            if (t % 32 == 31)
                totals[t / 32] = sum;
            __syncthreads();
            for (int warp = 0; warp < t / 32; warp++)
                sum += totals[warp];
            buffer[t] = sum;
            __syncthreads();
        }
        if (col < N)
            Y[row * N + col] = carry + buffer[t];
        carry += buffer[BLOCK - 1];
        __syncthreads(); /* before the buffer is filled again */
    }
}
