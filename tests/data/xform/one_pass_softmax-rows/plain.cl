/* softmax of a row, one work item a row USED */
__kernel void softmax(__global const float *x, __global float *y, int S, int L)
{
    int s = get_global_id(0);

    if (s >= S)
        return;

    /* the largest score, so that exp does not overflow */
    float largest = x[s * L];
    for (int l = 1; l < L; l++)
        largest = fmax(largest, x[s * L + l]);

    float sum = 0.0f;
    for (int l = 0; l < L; l++)
        sum += exp(x[s * L + l] - largest);

    for (int l = 0; l < L; l++)
        y[s * L + l] = exp(x[s * L + l] - largest) / sum;
}
