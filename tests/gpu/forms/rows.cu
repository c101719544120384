/*
 * rows.cu: y = x / rms(x) * w by rows, a row in dynamic shared memory. As a
 * template, under a plain name, and extern "C" for the ready-made forms.
 */
template <int THREADS> __device__ void rows_body(const float *x, const float *w, float *y, int n)
{
    extern __shared__ float row[];
    __shared__ float part[THREADS];
    const size_t at = (size_t)blockIdx.x * n;
    float sum = 0;

    for (int i = threadIdx.x; i < n; i += THREADS) {
        row[i] = x[at + i];
        sum += row[i] * row[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < THREADS; i++)
        sum += part[i];
    sum = rsqrtf(sum / n + 1e-6f);
    for (int i = threadIdx.x; i < n; i += THREADS)
        y[at + i] = row[i] * sum * w[i];
}

template <int THREADS> __global__ void rows(const float *x, const float *w, float *y, int n)
{
    rows_body<THREADS>(x, w, y, n);
}

__global__ void rows_plain(const float *x, const float *w, float *y, int n)
{
    rows_body<128>(x, w, y, n);
}

extern "C" __global__ void rows_c(const float *x, const float *w, float *y, int n)
{
    rows_body<256>(x, w, y, n);
}

#if HOPPER
/* Only sm_90a has it. */
extern "C" __global__ void rows_hopper(const float *x, const float *w, float *y, int n)
{
    asm volatile("wgmma.fence.sync.aligned;");
    rows_body<128>(x, w, y, n);
}
#endif
