import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * n
    total = 0.0
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + cols, mask=cols < n, other=0.0), axis=0)
    tl.store(y_ptr + row, total)
