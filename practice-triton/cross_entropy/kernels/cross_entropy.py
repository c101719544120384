import triton
import triton.language as tl


@triton.jit
def cross_entropy(x_ptr, target_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * n
    top = float("-inf")
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n, other=float("-inf"))
        top = tl.maximum(top, tl.max(x, axis=0))
    total = 0.0
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n, other=float("-inf"))
        e = tl.where(cols < n, tl.exp(x - top), 0.0)
        total += tl.sum(e, axis=0)
    target = tl.load(target_ptr + row)
    loss = tl.log(total) + top - tl.load(x_row + target)
    tl.store(loss_ptr + row, loss)
