// One block; one thread adds up what its threads have.
__global__ void plain(const int *X, long long *total, int N)
{
    __shared__ long long part[1024];
    long long sum = 0;

    for (int i = threadIdx.x; i < N; i += 1024)
        sum += X[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < 1024; i++)
        sum += part[i];
    *total = sum;
}
