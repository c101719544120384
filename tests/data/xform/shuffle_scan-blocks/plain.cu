__global__ void k(const float *X, float *Y, int N)
{
    __shared__ float buffer[256];
    int t = threadIdx.x;
    int row = blockIdx.x;
    float carry = 0.0f;

    for (int start = 0; start < N; start += blockDim.x) {
        int col = start + t;
        buffer[t] = col < N ? X[row * N + col] : 0.0f;
        __syncthreads();
        for (int offset = 1; offset < blockDim.x; offset *= 2) {
            float left = 0.0f;
            if (t >= offset)
                left = buffer[t - offset];
            __syncthreads();
            buffer[t] += left;
            __syncthreads();
        }
        if (col < N)
            Y[row * N + col] = carry + buffer[t];
        carry += buffer[blockDim.x - 1];
        __syncthreads();
    }
}
