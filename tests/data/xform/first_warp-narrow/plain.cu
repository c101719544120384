__global__ void k(const float *x, float *y, int n)
{
    __shared__ float part[250];
    int tid = threadIdx.x;
    part[tid] = 0.0f;
    if (tid < 122) part[tid + 128] = 0.0f;
    for (int col = tid; col < n; col += blockDim.x)
        part[tid] += x[blockIdx.x * n + col];
    __syncthreads();
    if (tid == 0) {
        float sum = 0.0f;
        for (unsigned char i = 0; i < 250; i++)
            sum += part[i];
        y[blockIdx.x] = sum;
    }
}
