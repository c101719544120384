// Rotary embedding. One thread does one head of one token, pair by pair: element i
// of the first half and element i of the second half are turned by angle i.
__global__ void rotary(const float *x, const float *angle, float *y, int tokens, int heads, int dim)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int half_dim = dim / 2;

    if (id >= tokens * heads)
        return;

    int token = id / heads;
    int base = id * dim;
    for (int i = 0; i < half_dim; i++) {
        float a = angle[token * half_dim + i];
        float x1 = x[base + i];
        float x2 = x[base + half_dim + i];

        y[base + i] = x1 * cosf(a) - x2 * sinf(a);
        y[base + half_dim + i] = x2 * cosf(a) + x1 * sinf(a);
    }
}
