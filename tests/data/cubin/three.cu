/* three.cu: kernels whose resources are known, for reading them from cubins.
 *     nvcc -arch=sm_90 -cubin -Xptxas -v -o three-90.cubin three.cu
 * with nvcc of CUDA 13.0, which says (8.0 and 9.0 alike): a: 10 registers, 1200
 * bytes of shared memory; b: 32 registers, 256 bytes of stack; c: 12 registers,
 * shared memory by the launch alone. */
extern "C" __global__ void a(float *x)
{
    __shared__ float s[300];

    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[299 - threadIdx.x];
}

extern "C" __global__ void b(float *x, int n)
{
    float t[64], sum = 0;

    for (int i = 0; i < 64; i++)
        t[i] = x[i * n];
    for (int i = 0; i < n; i++)
        sum += t[(i * n) & 63];
    x[0] = sum;
}

extern "C" __global__ void c(double *x)
{
    extern __shared__ double z[];

    z[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[1] = z[5];
}
