import triton
import triton.language as tl


@triton.jit
def rotary(x_ptr, cos_ptr, sin_ptr, y_ptr, heads, half, BLOCK: tl.constexpr):
    # all heads of a token; the halves of a head are turned against each other
    token = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    mask = i < half
    for head in range(heads):
        cos = tl.load(cos_ptr + token * half + i, mask=mask, other=0.0)
        sin = tl.load(sin_ptr + token * half + i, mask=mask, other=0.0)
        at = (token * heads + head) * 2 * half + i
        a = tl.load(x_ptr + at, mask=mask, other=0.0)
        b = tl.load(x_ptr + at + half, mask=mask, other=0.0)
        tl.store(y_ptr + at, a * cos - b * sin, mask=mask)
        tl.store(y_ptr + at + half, b * cos + a * sin, mask=mask)
