// The function that says where a bag ends counts how often it was asked.
__device__ int end_of(const int *starts, float *asked, int bag, int bags)
{
    atomicAdd(asked, 1.0f);
    return bag + 1 < bags ? (bag + 1) * 16 + starts[bag + 1] : bags * 16;
}

__global__ void add_up(const float *table, const int *ids, const int *starts,
                       float *y, int rows, int bags, int D)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;

    if (i >= bags)
        return;
    for (int j = 0; j < end_of(starts, y, i, bags); j++)
        sum += ids[j];
    y[i] = sum;
}
