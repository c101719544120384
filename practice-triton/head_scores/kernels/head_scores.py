import triton
import triton.language as tl


@triton.jit
def head_scores(q_ptr, k_ptr, s_ptr, L, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    # a block of scores: rows of Q with rows of K, of one head
    head = tl.program_id(2).to(tl.int64)
    rq = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rk = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * L * D + rq[:, None] * D + d[None, :],
                mask=rq[:, None] < L, other=0.0)
    kt = tl.load(k_ptr + head * L * D + d[:, None] + rk[None, :] * D,
                 mask=rk[None, :] < L, other=0.0)
    s = tl.sum(q[:, :, None] * kt[None, :, :], axis=1) * scale
    tl.store(s_ptr + head * L * L + rq[:, None] * L + rk[None, :], s,
             mask=(rq[:, None] < L) & (rk[None, :] < L))
