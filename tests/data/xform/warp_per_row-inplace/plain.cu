/* softmax of a row, one thread a row USED */
__global__ void plain(float *score, int S, int L)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;

    if (s >= S)
        return;

    /* the largest score, so that expf does not overflow */
    float largest = score[s * L];
    for (int l = 1; l < L; l++)
        largest = fmaxf(largest, score[s * L + l]);

    float sum = 0.0f;
    for (int l = 0; l < L; l++)
        sum += expf(score[s * L + l] - largest);

    for (int l = 0; l < L; l++)
        score[s * L + l] = expf(score[s * L + l] - largest) / sum;
}
