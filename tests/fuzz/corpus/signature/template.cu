#include <cuda_fp16.h>
#ifndef STAGES
#define STAGES 2
#endif
template <int BM, int BN, typename T>
__global__ void __launch_bounds__(256) matmul(const T *__restrict__ A, const float *W, float *C, int M, int N, int K, float alpha)
{
#ifdef USE_TMA
#endif
  float x[STAGES];
}
