/* softmax of a row, one thread a row USED */
__global__ void plain(float *score, int S, int L)
{
    int s = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;

    if (s >= S)
        return;

    /* the largest score, so that expf does not overflow */
    float largest = score[s * L];
    for (int l = lane; l < L; l += 32)
        largest = fmaxf(largest, score[s * L + l]);
    for (int step = 16; step > 0; step /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));

    float sum = 0.0f;
    for (int l = lane; l < L; l += 32)
        sum += expf(score[s * L + l] - largest);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);

    __syncwarp();
    for (int l = lane; l < L; l += 32)
        score[s * L + l] = expf(score[s * L + l] - largest) / sum;
}
