// A block a row, a thread an element.
template <typename T>
__global__ void plain(const T *X, T *Y)
{
    long long row = blockIdx.x * (long long)N;

    Y[row + threadIdx.x] = X[row + N - 1 - threadIdx.x];
}
