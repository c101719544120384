import triton
import triton.language as tl


@triton.jit
def row_zscore(x_ptr, y_ptr, mean_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        total = total + tl.sum(x, axis=0)
    mean = total / n
    var = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        diff = tl.where(cols < n, x - mean, 0.0)
        var = var + tl.sum(diff * diff, axis=0)
    dev = tl.sqrt(var / n)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + row * n + cols, (x - mean) / dev, mask=cols < n)
    tl.store(mean_ptr + row, mean)
