__global__ void sums(const float *x, float *__restrict__ y, int n)
{
    float sum = 0;

    for (int j = 0; j < n; j++) {
        sum += x[blockIdx.x * n + j];
        if (sum > 1e30f)
            ((float *)x)[j] = 0;
    }
    y[blockIdx.x] = sum;
}
