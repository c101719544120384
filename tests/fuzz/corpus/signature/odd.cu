#line 3 "skip.h"
#define KERNEL extern "C" __global__
# 9 "own.cu"
typedef unsigned int u32; typedef u32 index_t;
#ifndef TILE
#define TILE (8 * 2)
#endif
template <typename in, int len = (3 > 2), class... rest>
__launch_bounds__(TILE) __global__ void f(const in *__restrict__ float32, index_t min, void (*g)(int), float *, int a[TILE], rest... r, bool ok = 1 < 2);
__global__ void f2(float \
 x, unsigned y, float4 *z, const char *s = "}{)(", struct p *q) { M_PI; A_B += C_D; E_F->G_H; }
template __global__ void f<float, 3>(const float *);
__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void k(__local float *l, __read_only image2d_t i, __global half2 *h) __attribute__((x));
