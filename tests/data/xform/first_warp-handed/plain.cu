__device__ void fill(float *v, const float *row, int n) { for (int i = 0; i < 128; i++) { v[i] = 0; for (int c = threadIdx.x * 128 + i; c < n; c += 128) if (threadIdx.x == 0) v[i] += row[c]; } }
__global__ void k(const float *x, float *y, int n)
{
    float part[128];
    int tid = threadIdx.x;
    fill(part, x + blockIdx.x * n, n);
    __syncthreads();
    if (tid == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 128; i++)
            sum += part[i];
        y[blockIdx.x] = sum;
    }
}
