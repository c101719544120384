import triton
import triton.language as tl


@triton.jit
def col_sum(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for r in range(0, M, BLOCK_M):
        rows = r + tl.arange(0, BLOCK_M)
        x = tl.load(x_ptr + rows[:, None] * N + cols[None, :],
                    mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
        total += tl.sum(x, axis=0)
    tl.store(y_ptr + cols, total, mask=cols < N)
