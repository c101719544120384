// y = x + 2 b
__global__ void add(const float *x, const float *b, float *y, int n)
{
    for (long long item = blockDim.x * blockIdx.x + threadIdx.x; item < n; item += (long long)gridDim.x * blockDim.x) {
        const int i = item;

        float two = 2.0f; // a comment of the body
        y[i] = x[i] + two * b[i];
    }
}
