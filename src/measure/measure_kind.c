/*
 * measure_kind.c: what a wrong result looks like.
 *
 * Whoever reads that 4096 of 4096 elements are wrong wants to know which
 * mistake it was. Some show in the result itself: nothing but zeros, one value
 * everywhere, an input as it is, an operand that was never updated, errors that
 * are all small beside the results. The words are a hint and end in a reason;
 * no verdict rests on them.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

/* A long sum that is kept in 8 bits (bfloat16) and cut off is a tenth off;
 * above 16 units of the output's own type it is none of its roundings. */
#define SMALL 0.2
#define ROUNDINGS 16
/* That of one element in many is a mistake of another kind. */
#define MOST 0.25

static bool is_one_value(const struct ws__tensor_shape *s, const char *got)
{
    size_t size = ws__dtype_bytes(s->dtype);

    for (uint64_t i = 1; i < s->elements; i++)
        if (memcmp(got, got + i * size, size) != 0)
            return false;
    return s->elements > 1;
}

/* An operand of the op with just these bytes, or NULL. */
static const char *copied(const struct ws__measure *m,
                          const struct ws__subject *s, size_t t,
                          const char *got)
{
    const struct ws__tensor_shape *to = &s->in->shape[t];

    for (size_t i = 0; i < m->op->ntensor; i++) {
        const struct ws__tensor_shape *from = &s->in->shape[i];

        if (m->op->tensor[i].role != WS__OUTPUT && from->contiguous &&
            from->dtype == to->dtype && from->bytes == to->bytes &&
            from->elements > 1 && !memcmp(m->problem->input[i], got, to->bytes))
            return m->op->tensor[i].name;
    }
    return NULL;
}

/* Are most results off, and all of them by little? */
static bool is_imprecise(const struct ws__tensor_shape *s,
                         const struct ws__mismatch *w)
{
    double least = ROUNDINGS * ws__dtype_eps(s->dtype) * w->rms_ref;

    return ws__dtype_is_float(s->dtype) && !w->nan && !w->unwritten &&
           (double)w->bad > MOST * (double)w->total && w->rms_err > least &&
           w->rms_err < SMALL * w->rms_ref;
}

void ws__measure_kind(const struct ws__measure *m, const struct ws__subject *s,
                      const char *got, struct ws__buf *out)
{
    const struct ws__mismatch *w = &s->t->mismatch;
    const struct ws__tensor_shape *sh = &s->in->shape[w->tensor];
    const char *name;

    if (w->unwritten == w->total) {
        ws__buf_puts(out, "; nothing was written");
        return;
    }
    if (sh->contiguous && !w->unwritten && is_one_value(sh, got)) {
        ws__buf_puts(out, ws__dtype_get(sh->dtype, got, 0) == 0
                              ? "; all zero"
                              : "; the same value everywhere");
        return;
    }
    name = sh->contiguous ? copied(m, s, w->tensor, got) : NULL;
    if (name)
        ws__buf_printf(out, "; a copy of '%s'%s", name,
                       strcmp(name, m->op->tensor[w->tensor].name) != 0
                           ? ""
                           : " as it was before");
    else if (is_imprecise(sh, w))
        ws__buf_printf(out,
                       "; all errors are small (%.2g of the results): lower "
                       "precision, or small terms left out",
                       w->rms_err / w->rms_ref);
}
