/* For reading a source: see ws_cuda_parse.h. */
#ifndef WS_PARSE_PIPELINE_H
#define WS_PARSE_PIPELINE_H
__device__ void __pipeline_memcpy_async(void *, const void *, size_t, size_t = 0);
__device__ void __pipeline_commit();
__device__ void __pipeline_wait_prior(size_t);
#endif
