/* Index of the largest element of each row. One block works on one row: every
 * thread looks at each 128th element, then the block compares in a tree.
 * Of equal elements the first one counts. */
#define BLOCK 128

__global__ void argmax(const float *X, int *index, int N)
{
    __shared__ float best[BLOCK];
    __shared__ int where[BLOCK];
    int t = threadIdx.x;
    int row = blockIdx.x;

    /* threads without an element take the first one */
    best[t] = X[row * N];
    where[t] = 0;
    for (int col = t; col < N; col += BLOCK) {
        if (X[row * N + col] > best[t]) {
            best[t] = X[row * N + col];
            where[t] = col;
        }
    }
    __syncthreads();

    for (int s = 1; s < BLOCK; s *= 2) {
        if (t % (2 * s) == 0) {
            float other = best[t + s];

            if (other > best[t] ||
                (other == best[t] && where[t + s] < where[t])) {
                best[t] = other;
                where[t] = where[t + s];
            }
        }
        __syncthreads();
    }
    if (t == 0)
        index[row] = where[0];
}
