/* Attention of one head in three steps: all scores, softmax of their rows,
 * weighted sums of the values. The scores S x L lie in global memory. */

/* score[s][l] = Q[s] . K[l] / sqrt(D) */
__global__ void scores(const float *Q, const float *K, float *score, int S,
                       int L)
{
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int s = blockIdx.y * blockDim.y + threadIdx.y;

    if (s < S && l < L) {
        float sum = 0.0f;

        for (int d = 0; d < D; d++)
            sum += Q[s * D + d] * K[l * D + d] / sqrtf((float)D);
        score[s * L + l] = sum;
    }
}

/* softmax of a row, one thread a row */
__global__ void softmax(float *score, int S, int L)
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

/* O[s][d] = sum over l of score[s][l] * V[l][d], one thread an element */
__global__ void weighted_sum(const float *score, const float *V, float *O,
                             int S, int L)
{
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    int s = blockIdx.y * blockDim.y + threadIdx.y;

    if (s < S && d < D) {
        float sum = 0.0f;

        for (int l = 0; l < L; l++)
            sum += score[s * L + l] * V[l * D + d];
        O[s * D + d] = sum;
    }
}
