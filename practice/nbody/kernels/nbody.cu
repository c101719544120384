/* Gravity between N bodies: every thread adds up what all the bodies do to one
 * of them. P has x, y, z of each body, and so has the result A. */
__global__ void nbody(const float *P, const float *mass, float *A, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= N)
        return;

    float ax = 0.0f, ay = 0.0f, az = 0.0f;

    for (int j = 0; j < N; j++) {
        float dx = P[3 * j + 0] - P[3 * i + 0];
        float dy = P[3 * j + 1] - P[3 * i + 1];
        float dz = P[3 * j + 2] - P[3 * i + 2];
        float d2 = dx * dx + dy * dy + dz * dz + SOFTENING;

        ax += mass[j] * dx / powf(d2, 1.5f);
        ay += mass[j] * dy / powf(d2, 1.5f);
        az += mass[j] * dz / powf(d2, 1.5f);
    }
    A[3 * i + 0] = ax;
    A[3 * i + 1] = ay;
    A[3 * i + 2] = az;
}
