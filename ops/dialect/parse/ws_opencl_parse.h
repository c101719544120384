/*
 * ws_opencl_parse.h: the types and constants of OpenCL C, for reading a source.
 *
 * clang knows the functions by itself; what they take is declared here. See
 * ws_cuda_parse.h.
 */
#ifndef WS_PARSE_OPENCL_H
#define WS_PARSE_OPENCL_H

/* vload4, fract and others are there for each address space. */
#define __opencl_c_named_address_space_builtins 1

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef uint cl_mem_fence_flags;
#define WS_PARSE_VECTOR(T)                                                     \
    typedef T T##2 __attribute__((ext_vector_type(2)));                        \
    typedef T T##3 __attribute__((ext_vector_type(3)));                        \
    typedef T T##4 __attribute__((ext_vector_type(4)));                        \
    typedef T T##8 __attribute__((ext_vector_type(8)));                        \
    typedef T T##16 __attribute__((ext_vector_type(16)));
WS_PARSE_VECTOR(char)
WS_PARSE_VECTOR(uchar)
WS_PARSE_VECTOR(short)
WS_PARSE_VECTOR(ushort)
WS_PARSE_VECTOR(int)
WS_PARSE_VECTOR(uint)
WS_PARSE_VECTOR(long)
WS_PARSE_VECTOR(ulong)
WS_PARSE_VECTOR(float)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
WS_PARSE_VECTOR(double)
WS_PARSE_VECTOR(half)

/* clang asks for these before it knows some functions. */
#define __opencl_c_named_address_space_builtins 1
#define cl_khr_global_int32_base_atomics 1
#define cl_khr_local_int32_base_atomics 1

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define DBL_MAX 0x1.fffffffffffffp1023
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffU
#define M_PI 3.14159265358979323846
#define M_PI_F 3.14159274101257324219f
#define M_E_F 2.71828174591064453125f
#define M_LOG2E_F 1.44269502162933349609f
#define M_SQRT1_2_F 0.70710676908493041992f
#define M_SQRT2_F 1.41421353816986083984f
#define M_2_SQRTPI_F 1.12837922573089599609f
#define HUGE_VALF INFINITY
#define MAXFLOAT FLT_MAX
#define as_int(x) __builtin_astype((x), int)
#define as_uint(x) __builtin_astype((x), uint)
#define as_float(x) __builtin_astype((x), float)
#define as_float4(x) __builtin_astype((x), float4)
#define as_uint4(x) __builtin_astype((x), uint4)
#define as_int4(x) __builtin_astype((x), int4)
#define as_short(x) __builtin_astype((x), short)
#define as_ushort(x) __builtin_astype((x), ushort)
#define as_char4(x) __builtin_astype((x), char4)
#define as_uchar4(x) __builtin_astype((x), uchar4)
#define as_double(x) __builtin_astype((x), double)
#define as_long(x) __builtin_astype((x), long)
#define as_ulong(x) __builtin_astype((x), ulong)

#endif
