// a layer for each batch: relu(x W^T + bias)
__kernel void layer(__global const float *restrict X,
                    __global const float *restrict W,
                    __global const float *restrict bias,
                    __global float *restrict out, int batches, int rows,
                    int cols, int depth)
{
    const int b = get_group_id(2);
    const int r = get_group_id(1) * get_local_size(1) + get_local_id(1);
    const int c = get_group_id(0) * get_local_size(0) + get_local_id(0);
    if (b >= batches || r >= rows || c >= cols)
        return;

    X += (size_t)b * rows * depth;   // the batch's own matrices
    W += (size_t)b * cols * depth;
    __global const float *x = X + (size_t)r * depth;
    const int at = (b * rows + r) * cols + c;
    float total = 0;
    int d;

    for (d = 0; d < depth; ++d) {
        float w = W[c * depth + d];
        total = total + x[d] * w;
    }

    float v = total + bias[c];
    if (v < 0)
        v = 0;
    out[at] = v;
}
