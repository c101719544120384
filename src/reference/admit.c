/*
 * admit.c: is a reference that a user brings fit to judge by?
 *
 * A native reference has mutants, results with the mistakes of kernels, and
 * tests that every one is rejected. For one from outside the cheapest of the
 * mistakes that can be made from any result (mistakes.c) are tried once a
 * workload; `wavesmith op audit` tries them all. If one of them passes a
 * verdict would mean nothing. So it would where every element is the same for
 * all inputs, as the sum of a softmax is: then a constant is right.
 */
#include "reference/refpriv.h"

#include "base/banned.h"

#define FEW 16 /* elements: what is equal in all of them by chance */

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

/* ---- results that tell nothing ------------------------------------------ */

static bool other_inputs(const struct ws__problem *a,
                         const struct ws__problem *b)
{
    for (size_t t = 0; t < a->in->op->ntensor; t++)
        if (a->input[t] && b->input[t] &&
            memcmp(a->input[t], b->input[t], a->in->shape[t].bytes) != 0)
            return true;
    return false;
}

/* All n results are `first` in the output's type. */
static bool all_are(const struct ws__tensor_shape *s, const double *v,
                    double first)
{
    uint64_t want = 0;

    ws__dtype_set(s->dtype, &want, 0, first);
    for (uint64_t i = 0; i < s->elements; i++) {
        uint64_t got = 0;

        ws__dtype_set(s->dtype, &got, 0, v[i]);
        if (got != want)
            return false;
    }
    return true;
}

int ws__reference_constant(const struct ws__problem *p,
                           const struct ws__problem *other, size_t *output)
{
    if (other && !other_inputs(p, other))
        return 0;
    for (size_t t = 0; t < p->in->op->ntensor; t++) {
        const struct ws__tensor_shape *s = &p->in->shape[t];

        /* A coin has the same side up twice now and then; FEW do not. */
        if (!p->result[t] || s->elements < FEW ||
            !all_are(s, p->result[t], p->result[t][0]) ||
            (other && !all_are(s, other->result[t], p->result[t][0])))
            continue;
        *output = t;
        return 1;
    }
    return 0;
}
