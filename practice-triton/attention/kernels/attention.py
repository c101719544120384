import triton
import triton.language as tl


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, L, scale, D: tl.constexpr,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    # a block of queries of one head against all keys
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * L * D + rows[:, None] * D + d[None, :],
                mask=rows[:, None] < L, other=0.0)
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    for j in range(0, L, BLOCK_N):
        cols = j + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + head * L * D + cols[:, None] * D + d[None, :],
                    mask=cols[:, None] < L, other=0.0)
        v = tl.load(v_ptr + head * L * D + cols[:, None] * D + d[None, :],
                    mask=cols[:, None] < L, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(cols[None, :] < L, s, float("-inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        fade = tl.exp(top - new)
        total = total * fade + tl.sum(p, axis=1)
        acc = acc * fade[:, None] + tl.dot(p, v, input_precision="ieee")
        top = new
    tl.store(o_ptr + head * L * D + rows[:, None] * D + d[None, :],
             acc / total[:, None], mask=rows[:, None] < L)
