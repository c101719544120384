import triton
import triton.language as tl


@triton.jit
def embedding(ids_ptr, table_ptr, y_ptr, tokens, dim, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    if token >= tokens:
        return
    row = tl.load(ids_ptr + token).to(tl.int64)
    for d in range(0, dim, BLOCK):
        cols = d + tl.arange(0, BLOCK)
        x = tl.load(table_ptr + row * dim + cols, mask=cols < dim)
        tl.store(y_ptr + token * dim + cols, x, mask=cols < dim)
