import triton
import triton.language as tl


@triton.jit
def argmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = float("-inf")
    where = 0
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
        top = tl.max(x, axis=0)
        at = tl.argmax(x, axis=0) + k
        where = tl.where(top > best, at, where)
        best = tl.maximum(best, top)
    tl.store(y_ptr + row, where)
