// Right only where a warp's threads go together: a level reads what others of
// it have written.
__global__ void sums(const float *x, float *y, int n)
{
    __shared__ float held[128];
    int t = threadIdx.x;

    held[t] = t < n ? x[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d)
            held[t] += held[t - d];
        __syncthreads();
        __syncthreads();
    }
    if (t < n)
        y[blockIdx.x * n + t] = held[t];
}
