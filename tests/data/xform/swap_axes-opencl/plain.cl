// C = A W^T
kernel void multiply(global const float *a, global const float *w, global float *c, const int M_, const int N_, const int K_)
{
    const size_t row = get_global_id(0);
    const size_t col = get_global_id(1);
    float acc = 0;

    if (row >= M_ || col >= N_)
        return;
    for (int k = 0; k < K_; ++k) {
        acc = fma(a[row * K_ + k], w[col * K_ + k], acc);
    }
    c[row * N_ + col] = acc;
}
