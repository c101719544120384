// Y[i] = X[i] + X[i + 1], by one warp a block, each with the fault of its name.
// No fault changes a result: what is read wrongly is thrown away, the lanes of
// a warp that is not divided come in the order in which they are written down,
// and a barrier that half of a warp waits at ends when the others are done.
__device__ float right(const float *X, int i, int N)
{
    return X[i + 1 < N ? i + 1 : i];
}

__global__ void clean(const float *X, float *Y, float *room, int N)
{
    __shared__ float s[33];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;

    s[t] = i < N ? X[i] : 0;
    if (t == 31)
        s[32] = i + 1 < N ? X[i + 1] : 0;
    __syncthreads();
    if (i >= N)
        return;
    room[i] = i + 1 < N ? s[t + 1] : s[t];
    Y[i] = s[t] + room[i];
}

__global__ void outside(const float *X, float *Y, float *room, int N)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    float next;

    if (i >= N)
        return;
    next = *(const volatile float *)(X + i + 1); // of the last one none of X
    Y[i] = X[i] + (i + 1 < N ? next : X[i]);
}

__global__ void race(const float *X, float *Y, float *room, int N)
{
    __shared__ volatile float s[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;

    s[t] = i < N ? X[i] : 0;
    float next = s[(t + 1) % 32]; // no barrier between
    if (i < N)
        Y[i] = X[i] + (t < 31 && i + 1 < N ? next : right(X, i, N));
}

__global__ void uninitialised(const float *X, float *Y, float *room, int N)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    float old;

    if (i >= N)
        return;
    old = *(const volatile float *)(room + i); // never written
    Y[i] = X[i] + right(X, i, N);
    if (old == 1.25f)
        room[i] = Y[i];
}

__global__ void divergent(const float *X, float *Y, float *room, int N)
{
    int t = threadIdx.x, i = blockIdx.x * 32 + t;

    if (i < N)
        Y[i] = X[i] + right(X, i, N);
    if (t < 16)
        __syncthreads();
}
