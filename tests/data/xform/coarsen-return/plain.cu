// y = x + 2 b
__global__ void add(const float *x, const float *b, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < n) {
        if (x[i] != x[i]) { y[i] = 0; return; }
        float two = 2.0f; // a comment of the body
        y[i] = x[i] + two * b[i];
    }
}
