__global__ void sums(const float *x, float *y, int n)
{
    float sum = 0;

    for (int j = 0; j < n; j++) {
        sum += x[blockIdx.x * n + j];
        if (sum != sum)
            j = n;
    }
    y[blockIdx.x] = sum;
}
