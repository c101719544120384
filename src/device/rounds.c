/*
 * rounds.c: the batched run. See rounds.h.
 *
 * In each round every program is sampled once, on the buffer set of the
 * round; odd rounds go through the programs backwards, so that a drift of the
 * clock hits both alike. Around a sample, outside of its time: restore what
 * the kernel updates in place, fill outputs with poison, flush the caches;
 * afterwards hash the outputs. The flush comes last because restore and
 * poison leave their own lines in the cache. The first round of a batch is
 * timed by the host's clock as well, which may have to wait for it.
 */
#include "device/rounds.h"

#include "base/clock.h"
#include "base/banned.h"

static int check_batch(struct ws_ctx *ctx, const struct ws__dev_batch *b)
{
    if (!b->nprog || !b->nset || !b->inner)
        return ws__fail(ctx, WS_EINVAL,
                        "batch without programs, buffer sets or launches");
    for (size_t i = 0; b->inner > 1 && i < b->nprog * b->nset; i++)
        if (b->prog[i].nrestore)
            return ws__fail(ctx, WS_EINVAL,
                            "several launches a sample cannot be combined "
                            "with buffers that must be restored");
    return 0;
}

int ws__device_prepare(const struct ws__round_ops *ops, void *dev,
                       const struct ws__dev_seq *seq, uint64_t flush_bytes)
{
    for (size_t i = 0; i < seq->nrestore; i++)
        WS_TRY(ops->copy(dev, seq->restore[i].to, seq->restore[i].from));
    for (size_t i = 0; i < seq->nfill; i++)
        if (!seq->fill[i].timed)
            WS_TRY(ops->fill(dev, seq->fill[i].buffer, seq->fill[i].pattern));
    return flush_bytes ? ops->flush(dev, flush_bytes) : 0;
}

static int hash_all(const struct ws__round_ops *ops, void *dev,
                    const struct ws__dev_seq *seq, uint64_t *out)
{
    struct ws__hash h = {seq->nhash, 0};

    *out = 0;
    for (size_t i = 0; i < seq->nhash; i++) {
        uint64_t one;

        WS_TRY(ops->hash(dev, seq->hash[i], &one));
        h = ws__hash_u64(h, one);
    }
    if (seq->nhash)
        *out = h.lo;
    return 0;
}

static int one_sample(const struct ws__round_ops *ops, void *dev,
                      const struct ws__dev_batch *b,
                      const struct ws__dev_seq *seq, bool both,
                      struct ws__dev_sample *s)
{
    WS_TRY(ws__device_prepare(ops, dev, seq, b->flush_bytes));
    WS_TRY(ops->timed(dev, seq, b->inner, both, s));
    s->ns /= b->inner;
    s->host_ns /= b->inner;
    if (ops->look)
        ops->look(dev, s);
    return hash_all(ops, dev, seq, &s->hash);
}

int ws__device_rounds(struct ws_ctx *ctx, const struct ws__round_ops *ops,
                      void *dev, const struct ws__dev_batch *b,
                      struct ws__dev_sample *samples, size_t *n)
{
    uint64_t begin = ws__now_ns();
    size_t taken = 0;

    *n = 0;
    WS_TRY(check_batch(ctx, b));
    for (uint32_t i = 0; i < b->rounds; i++) {
        uint32_t round = b->first_round + i;
        size_t set = round % b->nset;

        for (size_t k = 0; k < b->nprog; k++) {
            size_t p = round % 2 ? b->nprog - 1 - k : k;
            struct ws__dev_sample *s = &samples[taken];

            WS_TRY(ws__check_stop(ctx));
            *s = (struct ws__dev_sample){.prog = (uint32_t)p,
                                         .set = (uint32_t)set,
                                         .round = round};
            WS_TRY(one_sample(ops, dev, b, &b->prog[p * b->nset + set], !i, s));
            taken++;
        }
        if (b->limit_ns && ws__now_ns() - begin >= b->limit_ns)
            break;
    }
    *n = taken;
    return 0;
}
