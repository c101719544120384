// Where an element goes is what the counter was.
__global__ void slots(const float *x, const int *keys, float *s, int *c, int n,
                      int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        int at = atomicAdd(&c[keys[i] % k], 1);

        s[at % k] = x[i];
    }
}
