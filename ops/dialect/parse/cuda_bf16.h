/* For reading a source: see ws_cuda_parse.h. */
#ifndef WS_PARSE_BF16_H
#define WS_PARSE_BF16_H
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __device__ __nv_bfloat16(float);
    __device__ operator float() const;
    __device__ __nv_bfloat16 &operator+=(const __nv_bfloat16 &);
};
typedef __nv_bfloat16 nv_bfloat16;
struct __attribute__((aligned(4))) __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __nv_bfloat162 nv_bfloat162;
__device__ __nv_bfloat16 operator+(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 operator-(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 operator*(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 operator/(__nv_bfloat16, __nv_bfloat16);
__device__ bool operator<(__nv_bfloat16, __nv_bfloat16);
__device__ bool operator>(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat162 operator+(__nv_bfloat162, __nv_bfloat162);
__device__ __nv_bfloat162 operator*(__nv_bfloat162, __nv_bfloat162);
__device__ float __bfloat162float(__nv_bfloat16);
__device__ __nv_bfloat16 __float2bfloat16(float);
__device__ __nv_bfloat16 __float2bfloat16_rn(float);
__device__ float2 __bfloat1622float2(__nv_bfloat162);
__device__ __nv_bfloat162 __float22bfloat162_rn(float2);
__device__ __nv_bfloat162 __floats2bfloat162_rn(float, float);
__device__ __nv_bfloat16 __low2bfloat16(__nv_bfloat162);
__device__ __nv_bfloat16 __high2bfloat16(__nv_bfloat162);
__device__ float __low2float(__nv_bfloat162);
__device__ float __high2float(__nv_bfloat162);
__device__ __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16);
__device__ __nv_bfloat162 __halves2bfloat162(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 __hadd(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 __hsub(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 __hmul(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 __hfma(__nv_bfloat16, __nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 __hmax(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat16 __hmin(__nv_bfloat16, __nv_bfloat16);
__device__ __nv_bfloat162 __hadd2(__nv_bfloat162, __nv_bfloat162);
__device__ __nv_bfloat162 __hmul2(__nv_bfloat162, __nv_bfloat162);
__device__ __nv_bfloat162 __hfma2(__nv_bfloat162, __nv_bfloat162, __nv_bfloat162);
__device__ __nv_bfloat16 hexp(__nv_bfloat16);
__device__ __nv_bfloat16 hsqrt(__nv_bfloat16);
__device__ __nv_bfloat16 hrsqrt(__nv_bfloat16);
__device__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short);
__device__ unsigned short __bfloat16_as_ushort(__nv_bfloat16);
__device__ __nv_bfloat16 atomicAdd(__nv_bfloat16 *, __nv_bfloat16);
__device__ __nv_bfloat16 __shfl_down_sync(unsigned, __nv_bfloat16, unsigned, int = 32);
__device__ __nv_bfloat16 __shfl_xor_sync(unsigned, __nv_bfloat16, int, int = 32);
#endif
