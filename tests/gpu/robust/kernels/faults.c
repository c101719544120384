/*
 * faults.c: a copy with the fault that FAULT names, or with none (ok0, ok1...).
 *
 * Most faults are done by one thread of the grid; the rest copies as ever.
 * What OpenCL C cannot say ends there as a kernel that does not compile.
 */
#include "ws_dialect.h"

#define F_ok0 0
#define F_ok1 0
#define F_ok2 0
#define F_ok3 0
#define F_ok4 0
#define F_ok5 0
#define F_ok6 0
#define F_ok7 0
#define F_ok8 0
#define F_ok9 0
#define F_ok10 0
#define F_ok11 0
#define F_ok12 0
#define F_ok13 0
#define F_ok14 0
#define F_ok15 0
#define F_wrong 1
#define F_outside 2
#define F_nocompile 3
#define F_address 4
#define F_misaligned 5
#define F_trap 6
#define F_assertion 7
#define F_stack 8
#define F_bounds 9
#define F_smem 10
#define F_dynamic 11
#define F_terabyte 12
#define F_slow 13
#define F_hang 14
#define F_bomb 15
#define IS(x) (WS_CAT(F_, FAULT) == x)

#if IS(F_nocompile)
#error this kernel never compiles
#endif

#if IS(F_assertion) && WS_CUDA
/* What the toolkit's assert() calls. */
extern "C" __device__ void __assertfail(const char *, const char *, unsigned,
                                        const char *, size_t);
#endif

/* Years for the compiler, at little memory: a tree of 2^40 types, and in each
 * leaf a loop that it runs itself. */
#if IS(F_bomb) && WS_CUDA
constexpr unsigned spin(unsigned x)
{
    for (int i = 0; i < 200000; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}
template <int depth, unsigned path> struct bomb {
    static constexpr unsigned value = bomb<depth - 1, 2 * path>::value +
                                      bomb<depth - 1, 2 * path + 1>::value;
};
template <unsigned path> struct bomb<0, path> {
    static constexpr unsigned value = spin(path);
};
#endif

#if IS(F_stack) && WS_CUDA
__device__ __noinline__ float deep(volatile float *x, int n)
{
    volatile float here[64];

    here[n & 63] = x[0];
    return n < 0 ? here[0] : deep(here, n + 1) + here[n & 63];
}
#endif

/* The block that the kernel says it is made for. */
#if IS(F_bounds)
#define MADE_FOR 32
#else
#define MADE_FOR THREADS
#endif

WS_KERNEL_BLOCK(MADE_FOR, 1, 1)
void copy(WS_GLOBAL const float *A, WS_GLOBAL const float *W,
          WS_GLOBAL float *C, WS_GLOBAL float *room, int M
#if IS(F_dynamic) && WS_OPENCL
          , WS_SHARED_PTR float *shared
#endif
)
{
    const int i = ws_block_x() * THREADS + ws_thread_x();
    const int first = i == 0;

#if IS(F_smem)
    WS_SHARED float tile[1 << 20];
    tile[i & 0xfffff] = A[0];
    ws_barrier();
    C[0] = tile[(i * 77) & 0xfffff];
#endif
    if (i < M)
        C[i] = A[i] * W[0];
#if IS(F_terabyte)
    if (first)
        room[0] = A[0];
#endif
    (void)first;
#if IS(F_wrong)
    if (i == M / 2)
        C[i] = 1e6f;
#elif IS(F_outside)
    if (first)
        C[M + 3] = 1.0f;
#elif IS(F_address)
    if (first)
        *(WS_GLOBAL volatile float *)64 = 1.0f;
#elif IS(F_misaligned) && WS_CUDA
    if (first)
        *(volatile float *)((char *)C + 1) = 1.0f;
#elif IS(F_trap) && WS_CUDA
    if (first)
        __trap();
#elif IS(F_assertion) && WS_CUDA
    if (first)
        __assertfail("i != 0", "faults.c", 1, "copy", 1);
#elif IS(F_stack) && WS_CUDA
    if (first)
        C[0] = deep(C, M);
#elif IS(F_slow)
    /* About a second on a GPU, within every limit. A volatile variable of the
     * thread's own would not do: it is put into a register. */
    if (first)
        for (int turn = 0; turn < 3000000; turn++)
            (void)((WS_GLOBAL const volatile float *)W)[0];
#elif IS(F_hang)
    if (first) {
        const float w = W[0];

        while (((WS_GLOBAL const volatile float *)W)[0] == w)
            ;
    }
#elif IS(F_bomb) && WS_CUDA
    if (first)
        C[0] = (float)bomb<40, 1>::value;
#elif WS_OPENCL && (IS(F_misaligned) || IS(F_trap) || IS(F_assertion) ||      \
                    IS(F_stack) || IS(F_bomb))
#error this fault needs CUDA C
#endif
}
