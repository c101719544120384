__global__ void k(const float *x, float *y, int n)
{
    __shared__ float part[256];
    int tid = threadIdx.x;
    float s = 0.0f;
    for (int col = tid; col < n; col += blockDim.x)
        s += x[blockIdx.x * n + col];
    part[tid] = s;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (tid < d) part[tid] += part[tid + d];
        __syncthreads();
    }
    if (tid == 0) y[blockIdx.x] = part[0];
}
