// Places of the largest elements of rows. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    __shared__ float best[128];
    __shared__ int where[128];
    int t = threadIdx.x;

    best[t] = x[blockIdx.x * n];
    where[t] = 0;
    for (int c = t; c < n; c += 128)
        if (x[blockIdx.x * n + c] > best[t]) {
            best[t] = x[blockIdx.x * n + c];
            where[t] = c;
        }
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s && best[t + s] > best[t]) {
            best[t] = best[t + s];
            where[t] = where[t + s];
        }
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = where[0];
}
