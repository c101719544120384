/*
 * ws_dialect.h: one kernel source for OpenCL C 1.2 and CUDA C.
 *
 * A kernel that says `dialect: portable` includes this file and uses its
 * names where the two languages differ; everything else is the C they share.
 * Macros carry what C cannot (address spaces, attributes); vectors are
 * OpenCL's own there and small structures in CUDA. Nothing is included, so
 * that run-time compilers need no paths. docs/dialect.md describes each name.
 */
#ifndef WS_DIALECT_H
#define WS_DIALECT_H

#define WS_CAT_(a, b) a##b
#define WS_CAT(a, b) WS_CAT_(a, b)
#define WS_PRAGMA_(x) _Pragma(#x)
#define WS_PRAGMA(x) WS_PRAGMA_(x)
/* Before a loop: unroll n times, or completely. */
#define WS_UNROLL(n) WS_PRAGMA(unroll n)
#define WS_UNROLL_ALL WS_PRAGMA(unroll)

#define WS_INFINITY ws_float_of_bits(0x7f800000u)
#define WS_PI 3.14159265358979323846f
#define WS_LOG2E 1.44269504088896340736f

#ifdef __OPENCL_VERSION__
/* --- OpenCL C ------------------------------------------------------------ */
#define WS_OPENCL 1
#define WS_CUDA 0

#define WS_KERNEL __kernel
#define WS_KERNEL_BLOCK(x, y, z)                                              \
    __kernel __attribute__((reqd_work_group_size(x, y, z)))
#define WS_DEVICE static inline
#define WS_GLOBAL __global
#define WS_ALIGNED(n) __attribute__((aligned(n)))
#define WS_SHARED __attribute__((aligned(16))) __local
#define WS_SHARED_PTR __local
#define WS_CONSTANT __constant
#define WS_RESTRICT restrict

#define ws_thread_x() ((int)get_local_id(0))
#define ws_thread_y() ((int)get_local_id(1))
#define ws_thread_z() ((int)get_local_id(2))
#define ws_block_x() ((int)get_group_id(0))
#define ws_block_y() ((int)get_group_id(1))
#define ws_block_z() ((int)get_group_id(2))
#define ws_block_dim_x() ((int)get_local_size(0))
#define ws_block_dim_y() ((int)get_local_size(1))
#define ws_block_dim_z() ((int)get_local_size(2))
#define ws_grid_dim_x() ((int)get_num_groups(0))
#define ws_grid_dim_y() ((int)get_num_groups(1))
#define ws_grid_dim_z() ((int)get_num_groups(2))
#define ws_barrier() barrier(CLK_LOCAL_MEM_FENCE)

typedef half ws_f16;
typedef ushort ws_bf16;
#define ws_float_of_bits(u) as_float((uint)(u))
#define ws_bits_of_float(f) as_uint((float)(f))

#define ws_min(a, b) min(a, b)
#define ws_max(a, b) max(a, b)
#define ws_mad(a, b, c) ((a) * (b) + (c)) /* fused where it is fast */
#define ws_exp(x) exp(x)
#define ws_log(x) log(x)
#define ws_exp2(x) exp2(x)
#define ws_log2(x) log2(x)
#define ws_sqrt(x) sqrt(x)
#define ws_rsqrt(x) rsqrt(x)

#define ws_load_f32(p, i) ((p)[i])
#define ws_store_f32(p, i, v) ((p)[i] = (v))
#define ws_load_f16(p, i) vload_half(i, p)
#define ws_store_f16(p, i, v) vstore_half_rte(v, i, p)

#define WS_VEC_1 float
#define WS_VEC_2 float2
#define WS_VEC_4 float4
#define WS_VEC_8 float8
#define WS_VEC_16 float16
#define WS_VEC(n) WS_CAT(WS_VEC_, n)

#define ws_vload_f32_1(p) (*(p))
#define ws_vload_f32_2(p) vload2(0, p)
#define ws_vload_f32_4(p) vload4(0, p)
#define ws_vload_f32_8(p) vload8(0, p)
#define ws_vload_f32_16(p) vload16(0, p)
#define ws_vload_f16_1(p) vload_half(0, p)
#define ws_vload_f16_2(p) vload_half2(0, p)
#define ws_vload_f16_4(p) vload_half4(0, p)
#define ws_vload_f16_8(p) vload_half8(0, p)
#define ws_vload_f16_16(p) vload_half16(0, p)
#define ws_vload_bf16_1(p) as_float((uint)*(p) << 16)
#define ws_vload_bf16_2(p) as_float2(convert_uint2(vload2(0, p)) << 16u)
#define ws_vload_bf16_4(p) as_float4(convert_uint4(vload4(0, p)) << 16u)
#define ws_vload_bf16_8(p) as_float8(convert_uint8(vload8(0, p)) << 16u)
#define ws_vload_bf16_16(p) as_float16(convert_uint16(vload16(0, p)) << 16u)
#define ws_vload_f32(n, p) WS_CAT(ws_vload_f32_, n)(p)
#define ws_vload_f16(n, p) WS_CAT(ws_vload_f16_, n)(p)
#define ws_vload_bf16(n, p) WS_CAT(ws_vload_bf16_, n)(p)
/* vloadn asks for no more than the alignment of an element. */
#define ws_vload_aligned_f32(n, p) ws_vload_f32(n, p)
#define ws_vload_aligned_f16(n, p) ws_vload_f16(n, p)
#define ws_vload_aligned_bf16(n, p) ws_vload_bf16(n, p)

#define ws_vstore_f32_1(p, v) (*(p) = (v))
#define ws_vstore_f32_2(p, v) vstore2(v, 0, p)
#define ws_vstore_f32_4(p, v) vstore4(v, 0, p)
#define ws_vstore_f32_8(p, v) vstore8(v, 0, p)
#define ws_vstore_f32_16(p, v) vstore16(v, 0, p)
#define ws_vstore_f32(n, p, v) WS_CAT(ws_vstore_f32_, n)(p, v)

/* Whole vectors in device or shared memory that are aligned for pieces of 16
 * bytes: vloadn may not rely on that, and some compilers make it n loads. */
WS_DEVICE float8 ws_f32_8(__global const float4 *p)
{
    return (float8)(p[0], p[1]);
}
WS_DEVICE float16 ws_f32_16(__global const float4 *p)
{
    return (float16)(p[0], p[1], p[2], p[3]);
}
WS_DEVICE ushort16 ws_u16_16(__global const ushort8 *p)
{
    return (ushort16)(p[0], p[1]);
}
#define ws_vload_global_f32_1(p) (*(p))
#define ws_vload_global_f32_2(p) (*(__global const float2 *)(p))
#define ws_vload_global_f32_4(p) (*(__global const float4 *)(p))
#define ws_vload_global_f32_8(p) ws_f32_8((__global const float4 *)(p))
#define ws_vload_global_f32_16(p) ws_f32_16((__global const float4 *)(p))
#define ws_vload_global_f16_1(p) vload_half(0, p)
#define ws_vload_global_f16_2(p) vloada_half2(0, p)
#define ws_vload_global_f16_4(p) vloada_half4(0, p)
#define ws_vload_global_f16_8(p) vloada_half8(0, p)
#define ws_vload_global_f16_16(p)                                             \
    ((float16)(vloada_half8(0, p), vloada_half8(1, p)))
#define ws_vload_global_bf16_1(p) ws_vload_bf16_1(p)
#define ws_vload_global_bf16_2(p)                                             \
    as_float2(convert_uint2(*(__global const ushort2 *)(p)) << 16u)
#define ws_vload_global_bf16_4(p)                                             \
    as_float4(convert_uint4(*(__global const ushort4 *)(p)) << 16u)
#define ws_vload_global_bf16_8(p)                                             \
    as_float8(convert_uint8(*(__global const ushort8 *)(p)) << 16u)
#define ws_vload_global_bf16_16(p)                                            \
    as_float16(convert_uint16(ws_u16_16((__global const ushort8 *)(p)))       \
               << 16u)
#define ws_vload_global_f32(n, p) WS_CAT(ws_vload_global_f32_, n)(p)
#define ws_vload_global_f16(n, p) WS_CAT(ws_vload_global_f16_, n)(p)
#define ws_vload_global_bf16(n, p) WS_CAT(ws_vload_global_bf16_, n)(p)

#define ws_vload_shared_f32_1(p) (*(p))
#define ws_vload_shared_f32_2(p) (*(__local const float2 *)(p))
#define ws_vload_shared_f32_4(p) (*(__local const float4 *)(p))
WS_DEVICE float8 ws_vload_shared_f32_8(__local const float *p)
{
    __local const float4 *v = (__local const float4 *)p;

    return (float8)(v[0], v[1]);
}
WS_DEVICE float16 ws_vload_shared_f32_16(__local const float *p)
{
    __local const float4 *v = (__local const float4 *)p;

    return (float16)(v[0], v[1], v[2], v[3]);
}
#define ws_vload_shared_f32(n, p) WS_CAT(ws_vload_shared_f32_, n)(p)

/* As ws_float_to_bf16 below, by element. */
#define WS_BF16_OF(n)                                                         \
    WS_DEVICE ushort##n ws_bf16_of_##n(float##n v)                            \
    {                                                                         \
        const uint##n u = as_uint##n(v);                                      \
        const uint##n r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;             \
        return convert_ushort##n(select(r, (u >> 16) | 0x40u,                 \
                                        (u & 0x7fffffffu) > 0x7f800000u));    \
    }
WS_BF16_OF(2)
WS_BF16_OF(4)
WS_BF16_OF(8)
#define ws_vstore_global_f32_1(p, v) (*(p) = (v))
#define ws_vstore_global_f32_2(p, v) (*(__global float2 *)(p) = (v))
#define ws_vstore_global_f32_4(p, v) (*(__global float4 *)(p) = (v))
WS_DEVICE void ws_vstore_global_f32_8(__global float *p, float8 v)
{
    ws_vstore_global_f32_4(p, v.lo);
    ws_vstore_global_f32_4(p + 4, v.hi);
}
WS_DEVICE void ws_vstore_global_f32_16(__global float *p, float16 v)
{
    ws_vstore_global_f32_8(p, v.lo);
    ws_vstore_global_f32_8(p + 8, v.hi);
}
#define ws_vstore_global_f16_1(p, v) vstore_half_rte(v, 0, p)
#define ws_vstore_global_f16_2(p, v) vstorea_half2_rte(v, 0, p)
#define ws_vstore_global_f16_4(p, v) vstorea_half4_rte(v, 0, p)
#define ws_vstore_global_f16_8(p, v) vstorea_half8_rte(v, 0, p)
WS_DEVICE void ws_vstore_global_f16_16(__global half *p, float16 v)
{
    vstorea_half8_rte(v.lo, 0, p);
    vstorea_half8_rte(v.hi, 1, p);
}
#define ws_vstore_global_bf16_1(p, v) (*(p) = ws_float_to_bf16(v))
#define ws_vstore_global_bf16_2(p, v)                                         \
    (*(__global ushort2 *)(p) = ws_bf16_of_2(v))
#define ws_vstore_global_bf16_4(p, v)                                         \
    (*(__global ushort4 *)(p) = ws_bf16_of_4(v))
#define ws_vstore_global_bf16_8(p, v)                                         \
    (*(__global ushort8 *)(p) = ws_bf16_of_8(v))
WS_DEVICE void ws_vstore_global_bf16_16(__global ushort *p, float16 v)
{
    ws_vstore_global_bf16_8(p, v.lo);
    ws_vstore_global_bf16_8(p + 8, v.hi);
}
#define ws_vstore_global_f32(n, p, v) WS_CAT(ws_vstore_global_f32_, n)(p, v)
#define ws_vstore_global_f16(n, p, v) WS_CAT(ws_vstore_global_f16_, n)(p, v)
#define ws_vstore_global_bf16(n, p, v) WS_CAT(ws_vstore_global_bf16_, n)(p, v)

#define ws_vzero(n) ((WS_VEC(n))(0.0f))
#define ws_vsplat(n, x) ((WS_VEC(n))(x))
#define ws_vmul(a, b) ((a) * (b))
#define ws_vmad(a, b, c) ((a) * (b) + (c))
#define ws_vsum_1(v) (v)
#define ws_vsum_2(v) ((v).x + (v).y)
WS_DEVICE float ws_vsum_4(float4 v)
{
    return ws_vsum_2(v.lo + v.hi);
}
WS_DEVICE float ws_vsum_8(float8 v)
{
    return ws_vsum_4(v.lo + v.hi);
}
WS_DEVICE float ws_vsum_16(float16 v)
{
    return ws_vsum_8(v.lo + v.hi);
}
#define ws_vsum(n, v) WS_CAT(ws_vsum_, n)(v)
#define ws_vdot(n, a, b, s) ((s) + ws_vsum(n, (a) * (b)))

#else
/* --- CUDA C -------------------------------------------------------------- */
#define WS_OPENCL 0
#define WS_CUDA 1

#define WS_KERNEL extern "C" __global__
#define WS_KERNEL_BLOCK(x, y, z)                                              \
    extern "C" __global__ __launch_bounds__((x) * (y) * (z))
#define WS_DEVICE static __device__ __forceinline__
#define WS_GLOBAL
#define WS_ALIGNED(n) __align__(n)
#define WS_SHARED __shared__ __align__(16)
#define WS_SHARED_PTR
#define WS_CONSTANT static __constant__
#define WS_RESTRICT __restrict__

#define ws_thread_x() ((int)threadIdx.x)
#define ws_thread_y() ((int)threadIdx.y)
#define ws_thread_z() ((int)threadIdx.z)
#define ws_block_x() ((int)blockIdx.x)
#define ws_block_y() ((int)blockIdx.y)
#define ws_block_z() ((int)blockIdx.z)
#define ws_block_dim_x() ((int)blockDim.x)
#define ws_block_dim_y() ((int)blockDim.y)
#define ws_block_dim_z() ((int)blockDim.z)
#define ws_grid_dim_x() ((int)gridDim.x)
#define ws_grid_dim_y() ((int)gridDim.y)
#define ws_grid_dim_z() ((int)gridDim.z)
#define ws_barrier() __syncthreads()

struct ws_f16 {
    unsigned short u;
};
typedef unsigned short ws_bf16;
#define ws_float_of_bits(u) __uint_as_float(u)
#define ws_bits_of_float(f) __float_as_uint(f)

#define ws_min(a, b) min(a, b)
#define ws_max(a, b) max(a, b)
#define ws_mad(a, b, c) fmaf(a, b, c)
#define ws_exp(x) expf(x)
#define ws_log(x) logf(x)
#define ws_exp2(x) exp2f(x)
#define ws_log2(x) log2f(x)
#define ws_sqrt(x) sqrtf(x)
#define ws_rsqrt(x) rsqrtf(x)

WS_DEVICE float ws_f16_to_float(ws_f16 x)
{
    float f;

    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.u));
    return f;
}
WS_DEVICE ws_f16 ws_float_to_f16(float f)
{
    ws_f16 x;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.u) : "f"(f));
    return x;
}
#define ws_load_f32(p, i) ((p)[i])
#define ws_store_f32(p, i, v) ((p)[i] = (v))
#define ws_load_f16(p, i) ws_f16_to_float((p)[i])
#define ws_store_f16(p, i, v) ((p)[i] = ws_float_to_f16(v))

template <int n> struct ws_vec {
    float v[n];
};
#define WS_VEC(n) ws_vec<n>

/* n elements of a type, moved in pieces of at most 16 bytes. */
template <int bytes> struct ws_piece {
    typedef unsigned char type;
};
template <> struct ws_piece<2> {
    typedef unsigned short type;
};
template <> struct ws_piece<4> {
    typedef unsigned int type;
};
template <> struct ws_piece<8> {
    typedef uint2 type;
};
template <> struct ws_piece<16> {
    typedef uint4 type;
};
template <int n, class T> union ws_run {
    enum { bytes = n * (int)sizeof(T), step = bytes < 16 ? bytes : 16 };
    T e[n];
    typename ws_piece<step>::type piece[bytes / step];
    __device__ __forceinline__ ws_run()
    {
    }
    __device__ __forceinline__ void load(const T *p)
    {
        typedef typename ws_piece<step>::type part;
        WS_UNROLL_ALL
        for (int i = 0; i < bytes / step; i++)
            piece[i] = ((const part *)p)[i];
    }
    __device__ __forceinline__ void store(T *p)
    {
        typedef typename ws_piece<step>::type part;
        WS_UNROLL_ALL
        for (int i = 0; i < bytes / step; i++)
            ((part *)p)[i] = piece[i];
    }
};
WS_DEVICE float ws_widen(float x)
{
    return x;
}
WS_DEVICE float ws_widen(ws_f16 x)
{
    return ws_f16_to_float(x);
}
WS_DEVICE float ws_widen(ws_bf16 x)
{
    return ws_float_of_bits((unsigned)x << 16);
}
template <int n, class T> WS_DEVICE ws_vec<n> ws_vload_each(const T *p)
{
    ws_vec<n> r;

    WS_UNROLL_ALL
    for (int i = 0; i < n; i++)
        r.v[i] = ws_widen(p[i]);
    return r;
}
template <int n, class T> WS_DEVICE ws_vec<n> ws_vload_whole(const T *p)
{
    ws_run<n, T> x;
    ws_vec<n> r;

    x.load(p);
    WS_UNROLL_ALL
    for (int i = 0; i < n; i++)
        r.v[i] = ws_widen(x.e[i]);
    return r;
}
WS_DEVICE ws_bf16 ws_float_to_bf16(float f);
WS_DEVICE void ws_narrow(float *p, float f)
{
    *p = f;
}
WS_DEVICE void ws_narrow(ws_f16 *p, float f)
{
    *p = ws_float_to_f16(f);
}
WS_DEVICE void ws_narrow(ws_bf16 *p, float f)
{
    *p = ws_float_to_bf16(f);
}
template <int n, class T> WS_DEVICE void ws_vstore_whole(T *p, ws_vec<n> v)
{
    ws_run<n, T> x;

    WS_UNROLL_ALL
    for (int i = 0; i < n; i++)
        ws_narrow(&x.e[i], v.v[i]);
    x.store(p);
}
#define ws_vload_f32(n, p) ws_vload_each<n>(p)
#define ws_vload_f16(n, p) ws_vload_each<n>(p)
#define ws_vload_bf16(n, p) ws_vload_each<n>(p)
#define ws_vload_aligned_f32(n, p) ws_vload_whole<n>(p)
#define ws_vload_aligned_f16(n, p) ws_vload_whole<n>(p)
#define ws_vload_aligned_bf16(n, p) ws_vload_whole<n>(p)
#define ws_vstore_f32(n, p, v) ws_vstore_whole<n>(p, v)
#define ws_vload_global_f32(n, p) ws_vload_whole<n>(p)
#define ws_vload_global_f16(n, p) ws_vload_whole<n>(p)
#define ws_vload_global_bf16(n, p) ws_vload_whole<n>(p)
#define ws_vload_shared_f32(n, p) ws_vload_whole<n>(p)
#define ws_vstore_global_f32(n, p, v) ws_vstore_whole<n>(p, v)
#define ws_vstore_global_f16(n, p, v) ws_vstore_whole<n>(p, v)
#define ws_vstore_global_bf16(n, p, v) ws_vstore_whole<n>(p, v)

template <int n> WS_DEVICE ws_vec<n> ws_vsplat_(float x)
{
    ws_vec<n> r;

    WS_UNROLL_ALL
    for (int i = 0; i < n; i++)
        r.v[i] = x;
    return r;
}
#define ws_vzero(n) ws_vsplat_<n>(0.0f)
#define ws_vsplat(n, x) ws_vsplat_<n>(x)
template <int n> WS_DEVICE ws_vec<n> ws_vmul(ws_vec<n> a, ws_vec<n> b)
{
    WS_UNROLL_ALL
    for (int i = 0; i < n; i++)
        a.v[i] *= b.v[i];
    return a;
}
template <int n>
WS_DEVICE ws_vec<n> ws_vmad(ws_vec<n> a, ws_vec<n> b, ws_vec<n> c)
{
    WS_UNROLL_ALL
    for (int i = 0; i < n; i++)
        c.v[i] = fmaf(a.v[i], b.v[i], c.v[i]);
    return c;
}
template <int n> WS_DEVICE float ws_vsum_(ws_vec<n> a)
{
    float s = a.v[0];

    WS_UNROLL_ALL
    for (int i = 1; i < n; i++)
        s += a.v[i];
    return s;
}
#define ws_vsum(n, v) ws_vsum_<n>(v)
template <int n>
WS_DEVICE float ws_vdot_(ws_vec<n> a, ws_vec<n> b, float s)
{
    WS_UNROLL_ALL
    for (int i = 0; i < n; i++)
        s = fmaf(a.v[i], b.v[i], s);
    return s;
}
#define ws_vdot(n, a, b, s) ws_vdot_<n>(a, b, s)
#endif

/* --- both ---------------------------------------------------------------- */

/* bfloat16 is the upper half of a float; round to nearest even, NaN stays. */
WS_DEVICE ws_bf16 ws_float_to_bf16(float f)
{
    unsigned int u = ws_bits_of_float(f);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (ws_bf16)(u >> 16 | 0x40u);
    return (ws_bf16)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
#define ws_load_bf16(p, i) ws_float_of_bits((unsigned int)(p)[i] << 16)
#define ws_store_bf16(p, i, v) ((p)[i] = ws_float_to_bf16(v))

/* For an op whose type axis is called T. */
#if defined(T_IS_FLOAT32)
#define WS_T_NAME f32
typedef float ws_T;
#elif defined(T_IS_FLOAT16)
#define WS_T_NAME f16
typedef ws_f16 ws_T;
#elif defined(T_IS_BFLOAT16)
#define WS_T_NAME bf16
typedef ws_bf16 ws_T;
#endif
#define ws_load_T(p, i) WS_CAT(ws_load_, WS_T_NAME)(p, i)
#define ws_store_T(p, i, v) WS_CAT(ws_store_, WS_T_NAME)(p, i, v)
#define ws_vload_T(n, p) WS_CAT(ws_vload_, WS_T_NAME)(n, p)
#define ws_vload_aligned_T(n, p) WS_CAT(ws_vload_aligned_, WS_T_NAME)(n, p)
#define ws_vload_global_T(n, p) WS_CAT(ws_vload_global_, WS_T_NAME)(n, p)
#define ws_vstore_global_T(n, p, v)                                           \
    WS_CAT(ws_vstore_global_, WS_T_NAME)(n, p, v)

#endif
