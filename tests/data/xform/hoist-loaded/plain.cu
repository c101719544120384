// Where a bag ends is loaded in each turn; the pragma stays with its loop.
__global__ void add_up(const float *table, const int *ids, const int *starts,
                       float *y, int rows, int bags, int D)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < bags * D) {
        int bag = i / D;
        float sum = 0.0f;
        int from = bag ? bag * 16 + starts[bag] : 0;

        #pragma unroll 1
        for (int j = from;
             j < (bag + 1 < bags ? (bag + 1) * 16 + starts[bag + 1] : bags * 16);
             j++) {
            sum += table[ids[j] % rows * D + i % D];
            y[i] = sum;
        }
    }
}
