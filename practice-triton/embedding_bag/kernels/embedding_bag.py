import triton
import triton.language as tl


@triton.jit
def embedding_bag(ids_ptr, table_ptr, y_ptr, bag, dim, BLOCK_L: tl.constexpr,
                  BLOCK_D: tl.constexpr):
    # the sum of the rows that a bag names
    b = tl.program_id(0)
    l = tl.arange(0, BLOCK_L)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    ids = tl.load(ids_ptr + b * bag + l, mask=l < bag, other=0).to(tl.int64)
    rows = tl.load(table_ptr + ids[:, None] * dim + d[None, :],
                   mask=(l[:, None] < bag) & (d[None, :] < dim), other=0.0)
    y = tl.sum(rows, axis=0)
    tl.store(y_ptr + b * dim + d, y, mask=d < dim)
