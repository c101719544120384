__global__ void bins(const float *x, const int *keys, float *s, int *c, int n, int nk)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    int a = keys[i] % nk;
    atomicAdd(&s[a], x[i]);
}
