// The threads of a warp have not the same number of turns.
__global__ void strides(float *s, const int *keys, int *c, int n,
                        int k)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        atomicAdd(&c[keys[i] % k], 1);
}
