/*
 * admit.c: is a reference that a user brings fit to judge by?
 *
 * A native reference has mutants, results with the mistakes of kernels, and
 * tests that every one is rejected. One from outside has none, so mistakes
 * are made from its results, the crudest that there are: nothing written,
 * every element moved by one place, every sign changed. A tolerance that lets
 * one of them pass is too loose, or the inputs are too tame to tell a right
 * result from a wrong one; a verdict would mean nothing then.
 *
 * A mistake that changes nothing (zeros of zeros, a constant that is moved)
 * is none and proves nothing.
 */
#include "reference/reference.h"

#include "base/banned.h"

static double zero(const double *v, uint64_t n, uint64_t i)
{
    (void)v;
    (void)n;
    (void)i;
    return 0;
}

static double moved(const double *v, uint64_t n, uint64_t i)
{
    return v[(i + 1) % n];
}

static double negated(const double *v, uint64_t n, uint64_t i)
{
    (void)n;
    return -v[i];
}

static const struct {
    const char *name;
    double (*value)(const double *v, uint64_t n, uint64_t i);
} mistakes[] = {
    {"all zero", zero},
    {"moved by one element", moved},
    {"of the other sign", negated},
};
/* No mistake writes it: what counts as unwritten fails by itself. */
#define POISON 0xffc1ffc1u

/* As a kernel would write it, in the output's type and strides. True if any
 * element differs from what is right in that type. */
static bool write_mistake(const struct ws__tensor_shape *s, const double *v,
                          size_t which, void *to)
{
    int64_t at[WS__MAX_DIMS] = {0};
    unsigned char right[8];
    bool differs = false;

    for (uint64_t i = 0; i < s->elements; i++) {
        int64_t off = 0;
        double x = mistakes[which].value(v, s->elements, i);

        for (size_t d = 0; d < s->ndim; d++)
            off += at[d] * s->stride[d];
        ws__dtype_set(s->dtype, to, (size_t)off, x);
        ws__dtype_set(s->dtype, right, 0, v[i]);
        differs |= ws__dtype_get(s->dtype, to, (size_t)off) !=
                   ws__dtype_get(s->dtype, right, 0);
        for (size_t d = s->ndim; d-- > 0 && ++at[d] == s->dim[d];)
            at[d] = 0;
    }
    return differs;
}

/* 1: it passed although it is a mistake. */
static int passes(struct ws_ctx *ctx, const struct ws__problem *p, size_t t,
                  size_t which, void *space)
{
    struct ws__mismatch m;

    if (!write_mistake(&p->in->shape[t], p->result[t], which, space))
        return 0;
    memset(&m, 0, sizeof(m));
    return ws__compare(ctx, p->in, t, space, p->result[t], POISON, &m);
}

static int admit_output(struct ws_ctx *ctx, const struct ws__problem *p,
                        size_t t)
{
    void *space = ws__alloc(ctx, p->in->shape[t].bytes, 1);
    int rc = space ? 0 : WS_ENOMEM;

    for (size_t i = 0; i < WS_COUNT(mistakes) && !rc; i++) {
        rc = passes(ctx, p, t, i, space);
        if (rc <= 0)
            continue;
        ws__fail(ctx, WS_EREFERENCE,
                 "output '%s' of '%s' would pass as right when it is %s",
                 p->in->op->tensor[t].name, p->in->op->name, mistakes[i].name);
        rc = ws__hint(ctx, "the tolerance is too loose, or the inputs are too "
                           "tame: give other fills");
    }
    ws__free(ctx, space);
    return rc;
}

int ws__reference_admit(struct ws_ctx *ctx, const struct ws__problem *p)
{
    for (size_t t = 0; t < p->in->op->ntensor; t++)
        if (p->result[t])
            WS_TRY(admit_output(ctx, p, t));
    return 0;
}
