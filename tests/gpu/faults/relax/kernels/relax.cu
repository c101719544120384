// TURNS of the STEPS steps.
__global__ void relax(const float *X, float *Y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float y = X[i];

    for (int turn = 0; turn < TURNS; turn++)
        y = A * y + B;
    Y[i] = y;
}
