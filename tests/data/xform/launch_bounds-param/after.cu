// add
extern "C" __global__ void
__launch_bounds__(BLOCK, MIN_BLOCKS) add(const float *x, const float *b, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < n) {
        float two = 2.0f; // a comment of the body
        y[i] = x[i] + two * b[i];
    }
}
