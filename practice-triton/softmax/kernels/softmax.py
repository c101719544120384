import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # the largest value of the row
    top = float("-inf")
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
        top = tl.maximum(top, tl.max(x, axis=0))
    # the sum of the exponentials
    total = 0.0
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
        total += tl.sum(tl.exp(x - top), axis=0)
    # divide
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
        y = tl.exp(x - top) / total
        tl.store(y_ptr + row * n + cols, y, mask=cols < n)
