/* The product in two steps: what a work item wrote it reads again. */
__kernel void products(__global const float *A, __global const float *B, __global float *C, int S)
{
    int first = get_group_id(0) * S * S;

    for (int i = get_local_id(0); i < S; i += get_local_size(0))
        for (int j = 0; j < S; j++)
            C[first + i * S + j] = A[first + i * S] * B[first + j];
    for (int i = get_local_id(0); i < S; i += get_local_size(0))
        for (int j = 0; j < S; j++)
            for (int k = 1; k < S; k++)
                C[first + i * S + j] += A[first + i * S + k] * B[first + k * S + j];
}
