__device__ int me() { return threadIdx.x; }
__global__ void k(const float *x, float *y, int n)
{
    __shared__ float part[128];
    int tid = threadIdx.x;
    int from = me();
    part[tid] = 0.0f;
    for (int col = tid; col < n; col += blockDim.x)
        part[tid] += x[blockIdx.x * n + col];
    __syncthreads();
    if (tid == 0) {
        float sum = 0.0f;
        for (int i = from; i < 128; i++)
            sum += part[i];
        y[blockIdx.x] = sum;
    }
}
