// Sums and counts by key.
__global__ void clear(float *s, int *c, int k)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < k) {
        s[i] = 0;
        c[i] = 0;
    }
}

__global__ void counts(const int *keys, int *c, int n, unsigned int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(c + (keys[i] % k), 1); // any order
}

__global__ void sums(const float *x, const int *keys, float *s, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n) {
        return;
    }
    float v = x[i];
    if (v != 0)
        atomicAdd(&s[keys[i] % k], v);
}
