/* A group has a quarter of the rows, an item some of them. */
__kernel void scale(__global const float *x, __global const float *w, __global float *y, int m, int n)
{
    int part = (m + 3) / 4;
    int begin = get_group_id(0) * part;
    int rows = min(part, m - begin);

    if (rows <= 0)
        return;
    for (uint turn = get_local_id(0); turn < ((uint)rows) * n; turn += THREADS) {
        uint row = turn / n;
        int j = turn % n;

        // this row
        __global const float *from = x + (begin + row) * n;
        __global float *to = y + (begin + row) * n;
        float factor = w[begin + row];

        if (factor == 0) {
            to[j] = 0; /* nothing is left */
            continue;
        }
        to[j] = from[j] * factor;
        // the next one
    }
}
