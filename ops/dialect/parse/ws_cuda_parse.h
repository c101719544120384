/*
 * ws_cuda_parse.h: CUDA C's own names, for reading a source.
 *
 * Source transformations read kernels through clang, with no CUDA toolkit
 * there. This file and its neighbours declare what kernels use of the language
 * and of the toolkit's headers: enough to know types, never to compile code.
 */
#ifndef WS_CUDA_PARSE_H
#define WS_CUDA_PARSE_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __CUDACC_RTC__ 1

typedef unsigned long size_t;
typedef long ptrdiff_t;
#define NULL 0
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define M_PI 3.14159265358979323846
#define CUDART_INF_F __builtin_inff()

struct uint3 { unsigned int x, y, z; };
struct dim3 { unsigned int x, y, z; };
#define WS_PARSE_VECTOR(T, N)                                                  \
    struct N##1 { T x; };                                                      \
    struct __attribute__((aligned(2 * sizeof(T)))) N##2 { T x, y; };           \
    struct N##3 { T x, y, z; };                                                \
    struct __attribute__((aligned(sizeof(T) * 4 > 16 ? 16 : sizeof(T) * 4))) N##4 { T x, y, z, w; };
WS_PARSE_VECTOR(char, char)
WS_PARSE_VECTOR(unsigned char, uchar)
WS_PARSE_VECTOR(short, short)
WS_PARSE_VECTOR(unsigned short, ushort)
WS_PARSE_VECTOR(int, int)
WS_PARSE_VECTOR(long, long)
WS_PARSE_VECTOR(long long, longlong)
WS_PARSE_VECTOR(float, float)
WS_PARSE_VECTOR(double, double)
struct uint1 { unsigned int x; };
struct __attribute__((aligned(8))) uint2 { unsigned int x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned int x, y, z, w; };
#define WS_PARSE_MAKE(T, N)                                                    \
    __device__ N##2 make_##N##2(T, T);                                         \
    __device__ N##3 make_##N##3(T, T, T);                                      \
    __device__ N##4 make_##N##4(T, T, T, T);
WS_PARSE_MAKE(float, float)
WS_PARSE_MAKE(double, double)
WS_PARSE_MAKE(int, int)
WS_PARSE_MAKE(unsigned int, uint)
WS_PARSE_MAKE(unsigned char, uchar)
WS_PARSE_MAKE(short, short)

extern __device__ const uint3 threadIdx, blockIdx;
extern __device__ const dim3 blockDim, gridDim;
extern __device__ const int warpSize;

__device__ void __syncthreads();
__device__ int __syncthreads_count(int);
__device__ int __syncthreads_and(int);
__device__ int __syncthreads_or(int);
__device__ void __syncwarp(unsigned = 0xffffffffu);
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ unsigned __activemask();
__device__ unsigned __ballot_sync(unsigned, int);
__device__ int __any_sync(unsigned, int);
__device__ int __all_sync(unsigned, int);
__device__ int __popc(unsigned);
__device__ int __popcll(unsigned long long);
__device__ int __ffs(int);
__device__ int __clz(int);
__device__ unsigned __brev(unsigned);
__device__ unsigned __byte_perm(unsigned, unsigned, unsigned);
__device__ void __trap();
__device__ void __nanosleep(unsigned);
__device__ long long clock64();
__device__ int printf(const char *, ...);

#define WS_PARSE_SHUFFLE(T)                                                    \
    __device__ T __shfl_sync(unsigned, T, int, int = 32);                      \
    __device__ T __shfl_up_sync(unsigned, T, unsigned, int = 32);              \
    __device__ T __shfl_down_sync(unsigned, T, unsigned, int = 32);            \
    __device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
WS_PARSE_SHUFFLE(int)
WS_PARSE_SHUFFLE(unsigned)
WS_PARSE_SHUFFLE(long)
WS_PARSE_SHUFFLE(unsigned long)
WS_PARSE_SHUFFLE(long long)
WS_PARSE_SHUFFLE(unsigned long long)
WS_PARSE_SHUFFLE(float)
WS_PARSE_SHUFFLE(double)
__device__ int __reduce_add_sync(unsigned, int);
__device__ int __reduce_max_sync(unsigned, int);

#define WS_PARSE_ATOMIC(T)                                                     \
    __device__ T atomicAdd(T *, T);                                            \
    __device__ T atomicExch(T *, T);                                           \
    __device__ T atomicMax(T *, T);                                            \
    __device__ T atomicMin(T *, T);                                            \
    __device__ T atomicCAS(T *, T, T);                                         \
    __device__ T atomicOr(T *, T);                                             \
    __device__ T atomicAnd(T *, T);                                            \
    __device__ T atomicXor(T *, T);                                            \
    __device__ T atomicSub(T *, T);                                            \
    __device__ T atomicInc(T *, T);
WS_PARSE_ATOMIC(int)
WS_PARSE_ATOMIC(unsigned)
WS_PARSE_ATOMIC(unsigned long long)
__device__ float atomicAdd(float *, float);
__device__ float atomicExch(float *, float);
__device__ double atomicAdd(double *, double);

template <typename T> struct ws_parse_same { typedef T type; };
template <typename T> __device__ T __ldg(const T *);
template <typename T> __device__ T __ldcs(const T *);
template <typename T> __device__ T __ldca(const T *);
template <typename T> __device__ T __ldcg(const T *);
template <typename T> __device__ void __stcs(T *, typename ws_parse_same<T>::type);
template <typename T> __device__ void __stcg(T *, typename ws_parse_same<T>::type);
template <typename T> __device__ void __stwt(T *, typename ws_parse_same<T>::type);

#define WS_PARSE_F1(name)                                                      \
    __device__ float name##f(float);                                           \
    __device__ double name(double);                                            \
    __device__ float name(float);
WS_PARSE_F1(exp) WS_PARSE_F1(exp2) WS_PARSE_F1(exp10) WS_PARSE_F1(expm1)
WS_PARSE_F1(log) WS_PARSE_F1(log2) WS_PARSE_F1(log10) WS_PARSE_F1(log1p)
WS_PARSE_F1(sqrt) WS_PARSE_F1(rsqrt) WS_PARSE_F1(cbrt) WS_PARSE_F1(sin)
WS_PARSE_F1(cos) WS_PARSE_F1(tan) WS_PARSE_F1(asin) WS_PARSE_F1(acos)
WS_PARSE_F1(atan) WS_PARSE_F1(sinh) WS_PARSE_F1(cosh) WS_PARSE_F1(tanh)
WS_PARSE_F1(erf) WS_PARSE_F1(erfc) WS_PARSE_F1(fabs) WS_PARSE_F1(floor)
WS_PARSE_F1(ceil) WS_PARSE_F1(round) WS_PARSE_F1(rint) WS_PARSE_F1(trunc)
WS_PARSE_F1(normcdf) WS_PARSE_F1(lgamma) WS_PARSE_F1(tgamma)
#define WS_PARSE_F2(name)                                                      \
    __device__ float name##f(float, float);                                    \
    __device__ double name(double, double);                                    \
    __device__ float name(float, float);
WS_PARSE_F2(pow) WS_PARSE_F2(fmod) WS_PARSE_F2(atan2) WS_PARSE_F2(fmax)
WS_PARSE_F2(fmin) WS_PARSE_F2(hypot) WS_PARSE_F2(copysign)
__device__ float pow(float, int);
__device__ double pow(double, int);
__device__ float fmaf(float, float, float);
__device__ double fma(double, double, double);
__device__ float fma(float, float, float);
__device__ void sincosf(float, float *, float *);
__device__ float fdividef(float, float);
__device__ float __fdividef(float, float);
__device__ float __expf(float);
__device__ float __exp10f(float);
__device__ float __logf(float);
__device__ float __log2f(float);
__device__ float __log10f(float);
__device__ float __sinf(float);
__device__ float __cosf(float);
__device__ float __tanf(float);
__device__ float __powf(float, float);
__device__ float __saturatef(float);
__device__ float __frcp_rn(float);
__device__ float __fsqrt_rn(float);
__device__ float __frsqrt_rn(float);
__device__ float __fdiv_rn(float, float);
__device__ float __fadd_rn(float, float);
__device__ float __fmul_rn(float, float);
__device__ float __fmaf_rn(float, float, float);
__device__ int __float2int_rn(float);
__device__ int __float2int_rz(float);
__device__ int __float2int_rd(float);
__device__ float __int2float_rn(int);
__device__ unsigned __float_as_uint(float);
__device__ int __float_as_int(float);
__device__ float __uint_as_float(unsigned);
__device__ float __int_as_float(int);
__device__ int __mul24(int, int);
__device__ int __mulhi(int, int);
__device__ unsigned __umulhi(unsigned, unsigned);
__device__ int __dp4a(int, int, int);
__device__ bool isnan(float);
__device__ bool isinf(float);
__device__ bool isfinite(float);
__device__ int abs(int);
__device__ long abs(long);
__device__ float abs(float);
#define WS_PARSE_MINMAX(T)                                                     \
    __device__ T min(T, T);                                                    \
    __device__ T max(T, T);
WS_PARSE_MINMAX(int)
WS_PARSE_MINMAX(unsigned)
WS_PARSE_MINMAX(long)
WS_PARSE_MINMAX(unsigned long)
WS_PARSE_MINMAX(long long)
WS_PARSE_MINMAX(unsigned long long)
WS_PARSE_MINMAX(float)
WS_PARSE_MINMAX(double)
__device__ void *memcpy(void *, const void *, size_t);
__device__ void *memset(void *, int, size_t);
__device__ size_t __cvta_generic_to_shared(const void *);

#endif
