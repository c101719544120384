/* Sums of segments. One thread takes one value, looks for its segment and adds
 * the value there. */
__global__ void clear(float *sums, int segments)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < segments)
        sums[i] = 0.0f;
}

__global__ void segmented_sum(const float *values, const int *starts,
                              float *sums, int segments)
{
    float mine = 0.0f;
    int place = -1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = 0;
    int high = segments - 1;

    if (!(i >= segments * 64)) {
        /* the last segment that begins at i or before */
        while (low < high) {
            int middle = (low + high + 1) / 2;

            if (middle * 64 + starts[middle] <= i)
                low = middle;
            else
                high = middle - 1;
        }
        place = low;
        mine = values[i];
    }

    /* lanes in a row with one place: the last adds for all of them */
    const int lane = threadIdx.x % 32;
    const int left = __shfl_up_sync(0xffffffffu, place, 1);
    const unsigned int heads =
        __ballot_sync(0xffffffffu, lane == 0 || left != place);
    const int begin = 31 - __clz(heads & 0xffffffffu >> (31 - lane));

    for (int step = 1; step < 32; step *= 2) {
        const float other = __shfl_up_sync(0xffffffffu, mine, step);

        if (lane - step >= begin)
            mine += other;
    }
    if (place >= 0 && (lane == 31 || heads >> (lane + 1) & 1))
        atomicAdd(&sums[place], mine);
}
