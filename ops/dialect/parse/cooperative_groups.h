/* For reading a source: see ws_cuda_parse.h. */
#ifndef WS_PARSE_CG_H
#define WS_PARSE_CG_H
namespace cooperative_groups {
struct thread_group {
    __device__ void sync() const;
    __device__ unsigned thread_rank() const;
    __device__ unsigned size() const;
};
struct thread_block : thread_group { __device__ dim3 group_index() const; __device__ dim3 thread_index() const; };
struct grid_group : thread_group {};
template <unsigned N> struct thread_block_tile : thread_group {
    template <typename T> __device__ T shfl(T, int) const;
    template <typename T> __device__ T shfl_down(T, unsigned) const;
    template <typename T> __device__ T shfl_xor(T, unsigned) const;
    __device__ unsigned ballot(int) const;
    __device__ unsigned meta_group_rank() const;
};
__device__ thread_block this_thread_block();
__device__ grid_group this_grid();
template <unsigned N, typename G> __device__ thread_block_tile<N> tiled_partition(const G &);
template <typename T> struct plus { __device__ T operator()(T, T) const; };
template <typename T> struct greater { __device__ T operator()(T, T) const; };
template <typename G, typename T, typename F> __device__ T reduce(const G &, T, F);
}
#endif
