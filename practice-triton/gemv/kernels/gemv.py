import triton
import triton.language as tl


@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_K)
    # whole rows of A, times x in every row
    a = tl.load(a_ptr + rows[:, None] * K + cols[None, :],
                mask=(rows[:, None] < M) & (cols[None, :] < K), other=0.0)
    x = tl.load(x_ptr + cols, mask=cols < K, other=0.0)
    y = tl.sum(a * x[None, :], axis=1)
    tl.store(y_ptr + rows, y, mask=rows < M)
