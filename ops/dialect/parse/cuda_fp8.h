/* For reading a source: see ws_cuda_parse.h. */
#ifndef WS_PARSE_FP8_H
#define WS_PARSE_FP8_H
#define WS_PARSE_FP8(name)                                                     \
    struct name {                                                              \
        unsigned char __x;                                                     \
        __device__ name();                                                     \
        __device__ explicit name(float);                                       \
        __device__ explicit operator float() const;                            \
    };
WS_PARSE_FP8(__nv_fp8_e4m3)
WS_PARSE_FP8(__nv_fp8_e5m2)
#endif
