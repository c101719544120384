/* For reading a source: see ws_cuda_parse.h. */
#ifndef WS_PARSE_FP16_H
#define WS_PARSE_FP16_H
struct __half {
    unsigned short bits;
    __half() = default;
    __device__ __half(float);
    __device__ operator float() const;
    __device__ __half &operator+=(const __half &);
};
typedef __half half;
struct __attribute__((aligned(4))) __half2 { __half x, y; };
typedef __half2 half2;
__device__ __half operator+(__half, __half);
__device__ __half operator-(__half, __half);
__device__ __half operator*(__half, __half);
__device__ __half operator/(__half, __half);
__device__ bool operator<(__half, __half);
__device__ bool operator>(__half, __half);
__device__ __half2 operator+(__half2, __half2);
__device__ __half2 operator*(__half2, __half2);
__device__ float __half2float(__half);
__device__ __half __float2half(float);
__device__ __half __float2half_rn(float);
__device__ float2 __half22float2(__half2);
__device__ __half2 __float22half2_rn(float2);
__device__ __half2 __floats2half2_rn(float, float);
__device__ __half __low2half(__half2);
__device__ __half __high2half(__half2);
__device__ float __low2float(__half2);
__device__ float __high2float(__half2);
__device__ __half2 __half2half2(__half);
__device__ __half2 __halves2half2(__half, __half);
__device__ __half __hadd(__half, __half);
__device__ __half __hsub(__half, __half);
__device__ __half __hmul(__half, __half);
__device__ __half __hfma(__half, __half, __half);
__device__ __half __hmax(__half, __half);
__device__ __half __hmin(__half, __half);
__device__ __half2 __hadd2(__half2, __half2);
__device__ __half2 __hmul2(__half2, __half2);
__device__ __half2 __hfma2(__half2, __half2, __half2);
__device__ __half hexp(__half);
__device__ __half hsqrt(__half);
__device__ __half hrsqrt(__half);
__device__ __half __ushort_as_half(unsigned short);
__device__ unsigned short __half_as_ushort(__half);
__device__ __half atomicAdd(__half *, __half);
__device__ __half __shfl_down_sync(unsigned, __half, unsigned, int = 32);
__device__ __half __shfl_xor_sync(unsigned, __half, int, int = 32);
#endif
