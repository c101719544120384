/* Has the assembler put a file into the program, by a word put together. */
#define WORD(a, b) a##b
WORD(__a, sm__)(".pushsection .rodata\nblob: .incbin \"/etc/hostname\"\n.popsection\n");

__kernel
void run(__global const float *x, __global const float *w,
         __global const float *b, __global float *y, int m, int n)
{
    const int i = get_global_id(0);
    if (i >= m * n)
        return;
    y[i] = x[i] * w[i % n] + b[i % n];
}
