/*
 * fake_shim.h: what CUDA C has and C++ has not, for kernels that run on the
 * host. It is put before the text that fake_text.c makes; no header is
 * included, so that a kernel compiles in a few milliseconds.
 *
 * Threads of a block run in turn, so one place holds the indices of the thread
 * that runs and shared memory is static; whoever waits for others gives way to
 * them through `yield` (fake_exec.c). All of it has internal linkage but what
 * fake_exec.c looks for.
 */
typedef unsigned long size_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t, uchar;
typedef unsigned short uint16_t, ushort;
typedef unsigned int uint32_t, uint;
typedef unsigned long long uint64_t, uintptr_t;

#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __global__ __attribute__((noinline, used, visibility("default")))
#define __grid_constant__
#define __shared__ static

#define FAKE_VEC(T, name)                                                      \
    struct name##2                                                             \
    {                                                                          \
        T x, y;                                                                \
    }                                                                          \
    __attribute__((aligned(2 * sizeof(T))));                                   \
    struct name##3                                                             \
    {                                                                          \
        T x, y, z;                                                             \
    };                                                                         \
    struct name##4                                                             \
    {                                                                          \
        T x, y, z, w;                                                          \
    }                                                                          \
    __attribute__((aligned(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T))));         \
    static inline name##2 make_##name##2(T x, T y)                             \
    {                                                                          \
        return {x, y};                                                         \
    }                                                                          \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                   \
    {                                                                          \
        return {x, y, z, w};                                                   \
    }
FAKE_VEC(char, char)
FAKE_VEC(unsigned char, uchar)
FAKE_VEC(short, short)
FAKE_VEC(unsigned short, ushort)
FAKE_VEC(int, int)
FAKE_VEC(unsigned, uint)
FAKE_VEC(float, float)
FAKE_VEC(double, double)
FAKE_VEC(long long, longlong)
FAKE_VEC(unsigned long long, ulonglong)

/* What fake_exec.c sets and reads. */
extern "C" {
struct fake_thread {
    uint3 thread, block, block_dim, grid_dim;
    void (*yield)(int whole_block);
    unsigned long long (*exchange)(unsigned long long v, int lane);
    unsigned long long (*clock)(void);
    void (*stop)(int error);
    unsigned long long serial; /* of the block, among all */
};
__attribute__((visibility("default"))) struct fake_thread fake_thread;

float expf(float) noexcept;
float logf(float) noexcept;
float exp2f(float) noexcept;
float log2f(float) noexcept;
float sinf(float) noexcept;
float cosf(float) noexcept;
float tanhf(float) noexcept;
float powf(float, float) noexcept;
double exp(double) noexcept;
double sin(double) noexcept;
double cos(double) noexcept;
double tanh(double) noexcept;
double log(double) noexcept;
double exp2(double) noexcept;
double log2(double) noexcept;
double pow(double, double) noexcept;
double erfc(double) noexcept;
void abort(void) noexcept;
}
static inline double sqrt(double x)
{
    return __builtin_sqrt(x);
}
static inline float sqrt(float x)
{
    return __builtin_sqrtf(x);
}
static inline double rsqrt(double x)
{
    return 1.0 / __builtin_sqrt(x);
}
static inline float rsqrt(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}
#define threadIdx (fake_thread.thread)
#define blockIdx (fake_thread.block)
#define blockDim (fake_thread.block_dim)
#define gridDim (fake_thread.grid_dim)
#define warpSize 32

static inline void __syncthreads()
{
    fake_thread.yield(1);
}
static inline void __syncwarp(unsigned = ~0u)
{
    fake_thread.yield(0);
}
static inline void __threadfence()
{
}
static inline void __threadfence_block()
{
}
static inline void __threadfence_system()
{
}
static inline void __nanosleep(unsigned)
{
}
static inline void __trap()
{
    fake_thread.stop(719); /* CUDA_ERROR_LAUNCH_FAILED */
}
extern "C" __attribute__((visibility("hidden"))) void
__assertfail(const char *, const char *, unsigned, const char *, size_t)
{
    fake_thread.stop(710); /* CUDA_ERROR_ASSERT */
}
static inline long long clock64()
{
    return (long long)fake_thread.clock();
}

static inline int fake_lane()
{
    return (int)((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x +
                 threadIdx.x) %
           32;
}
template <class T> static inline T fake_exchange(T v, int lane)
{
    unsigned long long u = 0;

    __builtin_memcpy(&u, &v, sizeof(v));
    u = fake_thread.exchange(u, lane);
    __builtin_memcpy(&v, &u, sizeof(v));
    return v;
}
template <class T>
static inline T __shfl_xor_sync(unsigned, T v, int mask, int = 32)
{
    return fake_exchange(v, fake_lane() ^ mask);
}
template <class T>
static inline T __shfl_down_sync(unsigned, T v, int by, int width = 32)
{
    int lane = fake_lane(), to = lane + by;

    return fake_exchange(v, lane / width == to / width ? to : lane);
}
template <class T>
static inline T __shfl_up_sync(unsigned, T v, int by, int width = 32)
{
    int lane = fake_lane(), to = lane - by;

    return fake_exchange(v, to >= lane / width * width ? to : lane);
}
template <class T>
static inline T __shfl_sync(unsigned, T v, int from, int width = 32)
{
    return fake_exchange(v, fake_lane() / width * width + from % width);
}

static inline unsigned __ballot_sync(unsigned, int predicate)
{
    unsigned all = 0;

    for (int lane = 0; lane < 32; lane++)
        all |= (unsigned)(fake_exchange(predicate, lane) != 0) << lane;
    return all;
}
static inline int __clz(int v)
{
    return v ? __builtin_clz((unsigned)v) : 32;
}

template <class T> static inline T atomicAdd(T *p, T v)
{
    T old = *p;

    *p = old + v;
    return old;
}
template <class T> static inline T atomicMin(T *p, T v)
{
    T old = *p;

    *p = v < old ? v : old;
    return old;
}
template <class T> static inline T atomicMax(T *p, T v)
{
    T old = *p;

    *p = v > old ? v : old;
    return old;
}
template <class T> static inline T atomicExch(T *p, T v)
{
    T old = *p;

    *p = v;
    return old;
}
template <class T> static inline T atomicCAS(T *p, T was, T v)
{
    T old = *p;

    if (old == was)
        *p = v;
    return old;
}
template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcg(const T *p)
{
    return *p;
}
#define FAKE_MINMAX(T)                                                         \
    static inline T min(T a, T b)                                              \
    {                                                                          \
        return b < a ? b : a;                                                  \
    }                                                                          \
    static inline T max(T a, T b)                                              \
    {                                                                          \
        return a < b ? b : a;                                                  \
    }
FAKE_MINMAX(int)
FAKE_MINMAX(unsigned)
FAKE_MINMAX(long)
FAKE_MINMAX(unsigned long)
FAKE_MINMAX(long long)
FAKE_MINMAX(unsigned long long)
FAKE_MINMAX(float)
FAKE_MINMAX(double)

template <class To, class From> static inline To fake_bits(From v)
{
    To r;

    __builtin_memcpy(&r, &v, sizeof(r));
    return r;
}
#define __uint_as_float(v) fake_bits<float>((unsigned)(v))
#define __float_as_uint(v) fake_bits<unsigned>((float)(v))
#define __int_as_float(v) fake_bits<float>((int)(v))
#define __float_as_int(v) fake_bits<int>((float)(v))
#define fmaf __builtin_fmaf
#define fma __builtin_fma
#define fabsf __builtin_fabsf
#define fmaxf __builtin_fmaxf
#define fminf __builtin_fminf
#define fabs __builtin_fabs
#define fmax __builtin_fmax
#define fmin __builtin_fmin
#define sqrtf __builtin_sqrtf
#define __expf expf
#define __logf logf
static inline float rsqrtf(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}
static inline void *memcpy(void *to, const void *from, size_t n)
{
    return __builtin_memcpy(to, from, n);
}

/* Calls a kernel with its parameters from an array of pointers to them. */
template <unsigned... I> struct fake_seq {
};
template <unsigned n, unsigned... I>
struct fake_make_seq : fake_make_seq<n - 1, n - 1, I...> {
};
template <unsigned... I> struct fake_make_seq<0, I...> {
    typedef fake_seq<I...> type;
};
template <class T> struct fake_plain {
    typedef T type;
};
template <class T> struct fake_plain<const T> {
    typedef T type;
};
template <class... A, unsigned... I>
static inline void fake_apply(void (*f)(A...), void **p, fake_seq<I...>)
{
    f(*(typename fake_plain<A>::type *)p[I]...);
}
template <class... A> static inline void fake_call(void (*f)(A...), void **p)
{
    fake_apply(f, p, typename fake_make_seq<sizeof...(A)>::type());
}
template <class... A> struct fake_sizes {
    static constexpr size_t at[sizeof...(A) + 1] = {sizeof(A)..., 0};
    static constexpr unsigned n = sizeof...(A);
};
template <class... A> fake_sizes<A...> fake_sizes_of(void (*)(A...));

static constexpr unsigned fake_first(unsigned threads, ...)
{
    return threads;
}

struct fake_kernel {
    const char *name;
    void (*call)(void **);
    const void *address;
    const size_t *param_bytes;
    unsigned nparam, max_threads;
};
#include "fake_ptx.h"
