// Sums and counts by key.
__global__ void clear(float *s, int *c, int k)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < k) {
        s[i] = 0;
        c[i] = 0;
    }
}

__global__ void counts(const int *keys, int *c, int n, unsigned int k)
{
    int mine = 0;
    long long place = -1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        place = keys[i] % k, mine = 1; // any order

    /* lanes in a row with one place: the last adds for all of them */
    const int lane = threadIdx.x % 32;
    const long long left = __shfl_up_sync(0xffffffffu, place, 1);
    const unsigned int heads =
        __ballot_sync(0xffffffffu, lane == 0 || left != place);
    const int begin = 31 - __clz(heads & 0xffffffffu >> (31 - lane));

    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, mine, step);

        if (lane - step >= begin)
            mine += other;
    }
    if (place >= 0 && (lane == 31 || heads >> (lane + 1) & 1))
        atomicAdd(&c[place], mine);
}

__global__ void sums(const float *x, const int *keys, float *s, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n) {
        return;
    }
    float v = x[i];
    if (v != 0)
        atomicAdd(&s[keys[i] % k], v);
}
