// Rotary embedding. One work item does one head of one token, pair by pair: element i
// of the first half and element i of the second half are turned by angle i.
__kernel void rotary(__global const float *x, __global const float *angle, __global float *y,
                     int tokens, int heads, int dim)
{
    int id = get_global_id(0);
    int half_dim = dim / 2;

    if (id >= tokens * heads)
        return;

    int token = id / heads;
    int base = id * dim;
    for (int i = 0; i < half_dim; i++) {
        float a = angle[token * half_dim + i];
        float x1 = x[base + i];
        float x2 = x[base + half_dim + i];

        y[base + i] = x1 * cos(a) - x2 * sin(a);
        y[base + half_dim + i] = x2 * cos(a) + x1 * sin(a);
    }
}
