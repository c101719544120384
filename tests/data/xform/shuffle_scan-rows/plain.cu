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
        for (int offset = 1; offset < BLOCK; offset *= 2) {
            float left = 0.0f;

            if (t >= offset)
                left = buffer[t - offset];
            __syncthreads(); /* all have read */
            buffer[t] += left;
            __syncthreads(); /* all have written */
        }
        if (col < N)
            Y[row * N + col] = carry + buffer[t];
        carry += buffer[BLOCK - 1];
        __syncthreads(); /* before the buffer is filled again */
    }
}
