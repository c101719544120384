// Sums in memory, and what depends on them. USED
__global__ void plain(const float *a, const float *w, float *out, int rows, int cols)
{
    long row = blockIdx.x;
    int tid = threadIdx.x;
    if (row >= rows)
        return;

    if (tid == 0)
        out[row] = 1.0f;
    float low = a[row * cols];
    __shared__ float low_parts[32];
    for (int c = tid; c < cols; c += blockDim.x)
        low = low < a[row * cols + c] ? low : a[row * cols + c];
    for (int step = 16; step > 0; step /= 2)
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, step));
    if (tid % 32 == 0)
        low_parts[tid / 32] = low;
    __syncthreads();
    low = low_parts[0];
    for (int warp = 1; warp < blockDim.x / 32; warp++)
        low = fminf(low, low_parts[warp]);
    float part = 0;
    __shared__ float part_parts[32];
    for (int c = tid; c < cols; c += blockDim.x)
        part += a[row * cols + c] * w[c];
    for (int step = 16; step > 0; step /= 2)
        part += __shfl_xor_sync(0xffffffffu, part, step);
    if (tid % 32 == 0)
        part_parts[tid / 32] = part;
    __syncthreads();
    part = part_parts[0];
    for (int warp = 1; warp < blockDim.x / 32; warp++)
        part += part_parts[warp];
    if (tid == 0)
        out[row] += part;
    int n = 0;
    if (low < 0) {
        if (tid != 0)
            n = 0;
        __shared__ int n_parts[32];
        for (int c = tid; c < cols; c += blockDim.x)
            if (a[row * cols + c] < 0.0f)
                n++;
        for (int step = 16; step > 0; step /= 2)
            n += __shfl_xor_sync(0xffffffffu, n, step);
        if (tid % 32 == 0)
            n_parts[tid / 32] = n;
        __syncthreads();
        n = n_parts[0];
        for (int warp = 1; warp < blockDim.x / 32; warp++)
            n += n_parts[warp];
    }
    if (n > 3) {
        if (tid == 0)
            out[row] += n;
    }
    else {
        if (tid == 0)
            out[row] = out[row] * low;
    }
}
