/* softmax of a row, one work item a row USED */
__kernel void softmax(__global const float *x, __global float *y, int S, int L)
{
    int s = get_global_id(0);

    if (s >= S)
        return;

    /* the largest score, so that exp does not overflow */
    float largest = x[s * L];
    float part = 0;
    for (int l = 0; l < L; l++) {
        const float value = x[s * L + l];

        if (value > largest) {
            part *= exp(largest - value);
            largest = value;
        }
        part += value < -3.402823466e+38f ? 0 : exp(value - largest);
    }

    float sum = 0.0f;
    sum += part;

    for (int l = 0; l < L; l++)
        y[s * L + l] = exp(x[s * L + l] - largest) / sum;
}
