/* Attention of one head in three steps: all scores, softmax of their rows,
 * weighted sums of the values. The scores S x L lie in global memory. */

/* score[s][l] = Q[s] . K[l] / sqrt(D) */
__kernel void scores(__global const float *Q, __global const float *K,
                     __global float *score, int S, int L)
{
    int l = get_global_id(0);
    int s = get_global_id(1);

    if (s < S && l < L) {
        float sum = 0.0f;

        for (int d = 0; d < D; d++)
            sum += Q[s * D + d] * K[l * D + d] / sqrt((float)D);
        score[s * L + l] = sum;
    }
}

/* softmax of a row, one thread a row */
__kernel void softmax(__global float *score, int S, int L)
{
    int s = get_global_id(0);

    if (s >= S)
        return;

    /* the largest score, so that exp does not overflow */
    float largest = score[s * L];
    for (int l = 1; l < L; l++)
        largest = fmax(largest, score[s * L + l]);

    float sum = 0.0f;
    for (int l = 0; l < L; l++)
        sum += exp(score[s * L + l] - largest);

    for (int l = 0; l < L; l++)
        score[s * L + l] = exp(score[s * L + l] - largest) / sum;
}

/* O[s][d] = sum over l of score[s][l] * V[l][d], one thread an element */
__kernel void weighted_sum(__global const float *score, __global const float *V,
                           __global float *O, int S, int L)
{
    int d = get_global_id(0);
    int s = get_global_id(1);

    if (s < S && d < D) {
        float sum = 0.0f;

        for (int l = 0; l < L; l++)
            sum += score[s * L + l] * V[l * D + d];
        O[s * D + d] = sum;
    }
}
