// Power by power, not by Horner's scheme.
template <typename T>
__global__ void plain(const T *X, const T *C, T *Y, int N)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    T power = 1, sum = 0;

    if (i >= N)
        return;
    for (int k = 0; k < D; k++) {
        sum += C[k] * power;
        power *= X[i];
    }
    Y[i] = sum;
}
