import triton
import triton.language as tl


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        total += tl.sum(x, axis=0)
    mean = total / n
    # squared differences; lanes behind the end count for nothing
    square = 0.0
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        d = tl.where(cols < n, x - mean, 0.0)
        square += tl.sum(d * d, axis=0)
    scale = 1.0 / tl.sqrt(square / n + eps)
    for k in range(0, n, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
        b = tl.load(b_ptr + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + row * n + cols, (x - mean) * scale * w + b, mask=cols < n)
