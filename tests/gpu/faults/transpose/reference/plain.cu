// A block a row of X.
template <typename T>
__global__ void plain(const T *X, T *Y, int M, int N)
{
    long long row = blockIdx.x;

    for (long long col = threadIdx.x; col < N; col += blockDim.x)
        Y[col * M + row] = X[row * N + col];
}
