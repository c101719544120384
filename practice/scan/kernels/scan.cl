/* Inclusive sums of each row. One block works on one row, 256 elements at a
 * time: a scan in shared memory that doubles the distance in each step
 * (Hillis and Steele), then on to the next 256 with the total carried over. */
#define BLOCK 256

__kernel void scan(__global const float *X, __global float *Y, int N)
{
    __local float buffer[BLOCK];
    int t = get_local_id(0);
    int row = get_group_id(0);
    float carry = 0.0f;

    for (int start = 0; start < N; start += BLOCK) {
        int col = start + t;

        buffer[t] = col < N ? X[row * N + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int offset = 1; offset < BLOCK; offset *= 2) {
            float left = 0.0f;

            if (t >= offset)
                left = buffer[t - offset];
            barrier(CLK_LOCAL_MEM_FENCE); /* all have read */
            buffer[t] += left;
            barrier(CLK_LOCAL_MEM_FENCE); /* all have written */
        }
        if (col < N)
            Y[row * N + col] = carry + buffer[t];
        carry += buffer[BLOCK - 1];
        barrier(CLK_LOCAL_MEM_FENCE); /* before the buffer is filled again */
    }
}
