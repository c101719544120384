/*
 * touched.c: how many bytes an op must move on the inputs at hand.
 *
 * An op's `bytes` is an expression over its axes and knows no values. Where a
 * floor says that rows of a tensor are picked by an index input, a row that is
 * named twice need be read once only, and how often that happens is in the
 * values: here they are counted.
 */
#include "reference/refpriv.h"

#include "base/banned.h"

/* Entries outside of the tensor (padding, often -1) name nothing. */
static int64_t entry(const struct ws__problem *p, size_t index, uint64_t at)
{
    const void *data = p->input[index];

    return p->in->shape[index].dtype == WS__DT_I64
               ? ((const int64_t *)data)[at]
               : ((const int32_t *)data)[at];
}

/* An input with strides is filled in its gaps, too; they name nothing. */
static uint64_t offset_of(const struct ws__tensor_shape *s, uint64_t flat)
{
    uint64_t at = 0;

    for (size_t d = s->ndim; d-- > 0;) {
        at += flat % (uint64_t)s->dim[d] * (uint64_t)s->stride[d];
        flat /= (uint64_t)s->dim[d];
    }
    return at;
}

int ws__problem_rows(const struct ws__problem *p, size_t tensor,
                     uint64_t *distinct, uint64_t *named)
{
    size_t index = p->in->op->touched[tensor] - 1u;
    const struct ws__tensor_shape *s = &p->in->shape[index];
    uint64_t rows = (uint64_t)p->in->shape[tensor].dim[0];
    unsigned char *seen = ws__alloc(p->ctx, (size_t)(rows / 8 + 1), 1);

    *distinct = *named = 0;
    if (!seen)
        return WS_ENOMEM;
    for (uint64_t i = 0; i < s->elements; i++) {
        int64_t row = entry(p, index, offset_of(s, i));
        unsigned char bit = (unsigned char)(1u << (row & 7));

        if (row < 0 || (uint64_t)row >= rows)
            continue;
        ++*named;
        *distinct += !(seen[row >> 3] & bit);
        seen[row >> 3] |= bit;
    }
    ws__free(p->ctx, seen);
    return 0;
}

int ws__problem_bytes(const struct ws__problem *p, double *bytes)
{
    const struct ws__instance *in = p->in;

    *bytes = in->bytes;
    for (size_t t = 0; t < in->op->ntensor; t++) {
        const struct ws__tensor_shape *s = &in->shape[t];
        uint64_t distinct, named, entries;
        double row;

        if (!in->op->touched[t])
            continue;
        WS_TRY(ws__problem_rows(p, t, &distinct, &named));
        row = (double)s->elements / (double)s->dim[0] *
              (double)ws__dtype_bytes(s->dtype);
        entries = in->shape[in->op->touched[t] - 1].elements;
        /* `bytes` has a row an entry, a tensor's own bytes have all rows. */
        *bytes -=
            row * (double)((in->op->bytes ? entries : (uint64_t)s->dim[0]) -
                           distinct);
    }
    return 0;
}
