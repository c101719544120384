__global__ void sums(const float *x, float *y, int n)
{
    float sum = 0;

    for (int j = 0; j < n; j++) {
        if (j > 3 && x[blockIdx.x * n + j] != x[blockIdx.x * n + j])
            break;
        sum += x[blockIdx.x * n + j];
    }
    y[blockIdx.x] = sum;
}
