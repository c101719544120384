// y = x + 2 b
__global__ void add(const float *x, const float *b, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < n) {
        float two = 2.0f; // a comment of the body
        __stcs(&y[i], __ldcs(&x[i]) + two * __ldcs(&b[i]));
    }
}
