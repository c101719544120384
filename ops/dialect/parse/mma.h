/* For reading a source: see ws_cuda_parse.h. */
#ifndef WS_PARSE_MMA_H
#define WS_PARSE_MMA_H
namespace nvcuda {
namespace wmma {
struct matrix_a; struct matrix_b; struct accumulator; struct row_major; struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32; }
template <typename Use, int m, int n, int k, typename T, typename Layout = void>
struct fragment { enum { num_elements = 8 }; float x[8]; };
template <typename F, typename T> __device__ void fill_fragment(F &, T);
template <typename F, typename T> __device__ void load_matrix_sync(F &, const T *, unsigned);
template <typename F, typename T> __device__ void load_matrix_sync(F &, const T *, unsigned, layout_t);
template <typename F, typename T> __device__ void store_matrix_sync(T *, const F &, unsigned, layout_t);
template <typename D, typename A, typename B, typename C> __device__ void mma_sync(D &, const A &, const B &, const C &);
}
}
#endif
