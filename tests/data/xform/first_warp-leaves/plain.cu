__device__ int me() { return threadIdx.x; }
__global__ void k(const float *x, float *y, int n)
{
    __shared__ float part[128];
    int tid = me();
    part[tid] = 0.0f;
    for (int col = tid; col < n; col += blockDim.x)
        part[tid] += x[blockIdx.x * n + col];
    if (tid >= 20 && tid < 32) return;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 128; i++)
            sum += part[i];
        y[blockIdx.x] = sum;
    }
}
