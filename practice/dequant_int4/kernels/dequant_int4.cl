// Unpacks a matrix of 4 bit numbers: y = (q - zero) * scale. There are two numbers
// in a byte, the first one in the low bits. GROUP neighbours of a row share a
// scale and a zero point. One work item makes one element.
__kernel void dequant_int4(__global const uchar *q, __global const uchar *zero,
                           __global const float *scale, __global float *y, int m, int n)
{
    uint i = get_global_id(0);
    int groups = (n + GROUP - 1) / GROUP;

    if (i < (uint)m * n) {
        int row = i / n;
        int col = i % n;
        int group = row * groups + col / GROUP;
        int byte = q[row * (n / 2) + col / 2];
        int v;

        if (col % 2 == 0)
            v = byte & 15;
        else
            v = byte >> 4;
        y[row * n + col] = (float)(v - zero[group]) * scale[group];
    }
}
