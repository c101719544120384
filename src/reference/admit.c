/*
 * admit.c: is a reference that a user brings fit to judge by?
 *
 * A native reference has mutants, results with the mistakes of kernels, and
 * tests that every one is rejected. For one from outside the cheapest of the
 * mistakes that can be made from any result (mistakes.c) are tried once a
 * workload; `wavesmith op audit` tries them all. If one of them passes a
 * verdict would mean nothing.
 */
#include "reference/refpriv.h"

#include "base/banned.h"

static int refuse(const struct ws__right *r, const struct ws__mistaken *m)
{
    char advice[256];

    ws__advise(r->in, &m->mismatch, advice);
    ws__fail(r->ctx, WS_EREFERENCE,
             "output '%s' of '%s' would pass as right when it is %s: the worst "
             "error is %.3g of what is allowed",
             r->in->op->tensor[r->tensor].name, r->in->op->name, m->name,
             m->share);
    return ws__hint(r->ctx, "%s", advice);
}

static int admit_output(struct ws__right *r)
{
    for (size_t i = 0; i < ws__mistakes_cheap(); i++) {
        struct ws__mistaken m;

        WS_TRY(ws__mistake(r, i, WS__JUDGE_SHARE, &m));
        if (m.end == WS__MISTAKE_PASSES)
            return refuse(r, &m);
    }
    return 0;
}

int ws__reference_admit(struct ws_ctx *ctx, const struct ws__problem *p)
{
    for (size_t t = 0; t < p->in->op->ntensor; t++) {
        struct ws__right r = {.ctx = ctx,
                              .in = p->in,
                              .tensor = t,
                              .v = p->result[t]};
        int rc;

        if (!p->result[t])
            continue;
        r.got = ws__alloc(ctx, p->in->shape[t].bytes, 1);
        rc = r.got ? admit_output(&r) : WS_ENOMEM;
        ws__free(ctx, r.got);
        WS_TRY(rc);
    }
    return 0;
}
