import triton
import triton.language as tl


@triton.jit
def bias_residual(x_ptr, bias_ptr, res_ptr, y_ptr, M, N, ROWS: tl.constexpr,
                  BLOCK: tl.constexpr):
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = cols < N
    for r in range(ROWS):
        row = tl.program_id(0) * ROWS + r
        at = row * N + cols
        b = tl.load(bias_ptr + cols, mask=ok)
        x = tl.load(x_ptr + at, mask=ok & (row < M))
        res = tl.load(res_ptr + at, mask=ok & (row < M))
        tl.store(y_ptr + at, x + b + res, mask=ok & (row < M))
