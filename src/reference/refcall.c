/*
 * refcall.c: a call of a native reference as a message.
 *
 * The worker knows neither specifications nor expressions: axes arrive as
 * numbers and tensors with all sizes evaluated. It still trusts nothing: a
 * tensor that would reach outside its shared area is refused, so a fault in
 * the sender is an error and not a crash somewhere else.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/banned.h"

void ws__ref_request_put(struct ws__buf *b, const struct ws__ref_request *q)
{
    ws__put_str(b, q->name);
    ws__put_u32(b, (uint32_t)q->what);
    ws__put_u32(b, q->which);
    ws__put_u32(b, q->threads);
    ws__put_u64(b, q->seed);
    ws__put_u32(b, (uint32_t)q->naxis);
    for (size_t i = 0; i < q->naxis; i++)
        ws__put_u64(b, (uint64_t)q->axis[i]);
    ws__put_u32(b, (uint32_t)q->ntensor);
    for (size_t i = 0; i < q->ntensor; i++) {
        const struct ws__ref_tensor *t = &q->tensor[i];

        ws__put_u32(b, (uint32_t)t->dtype);
        ws__put_u32(b, q->generate[i]);
        ws__put_u64(b, q->input_at[i]);
        ws__put_u64(b, q->result_at[i]);
        ws__put_u32(b, (uint32_t)t->ndim);
        for (size_t d = 0; d < t->ndim; d++) {
            ws__put_u64(b, (uint64_t)t->dim[d]);
            ws__put_u64(b, (uint64_t)t->stride[d]);
        }
    }
    ws__put_u32(b, (uint32_t)q->nconstant);
    for (size_t i = 0; i < q->nconstant; i++) {
        ws__put_str(b, q->constant[i].name);
        ws__put_u64(b, ws__bits_of(q->constant[i].value));
    }
}

/* a * b without wrapping, over non-negative numbers. */
static bool mul_ok(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static bool inside(uint64_t at, uint64_t count, uint64_t size, size_t area)
{
    uint64_t bytes;

    return mul_ok(count, size, &bytes) && bytes <= area && at <= area - bytes &&
           at % 8 == 0;
}

static bool get_tensor(struct ws__reader *r, struct ws__ref_request *q,
                       size_t i, size_t input_bytes, size_t result_bytes)
{
    struct ws__ref_tensor *t = &q->tensor[i];
    uint64_t extent = 1, part;

    t->dtype = (enum ws__dtype)ws__get_u32(r);
    q->generate[i] = ws__get_u32(r) != 0;
    q->input_at[i] = ws__get_u64(r);
    q->result_at[i] = ws__get_u64(r);
    t->ndim = ws__get_u32(r);
    if (r->bad || t->ndim > WS__MAX_DIMS || !ws__dtype_bytes(t->dtype))
        return false;
    t->elements = 1;
    for (size_t d = 0; d < t->ndim; d++) {
        t->dim[d] = (int64_t)ws__get_u64(r);
        t->stride[d] = (int64_t)ws__get_u64(r);
        if (r->bad || t->dim[d] < 1 || t->stride[d] < 0 ||
            !mul_ok(t->elements, (uint64_t)t->dim[d], &t->elements) ||
            !mul_ok((uint64_t)t->dim[d] - 1, (uint64_t)t->stride[d], &part) ||
            __builtin_add_overflow(extent, part, &extent))
            return false;
    }
    if (q->input_at[i] == WS__REF_NOWHERE
            ? q->generate[i]
            : !inside(q->input_at[i], extent, ws__dtype_bytes(t->dtype),
                      input_bytes))
        return false;
    return q->result_at[i] == WS__REF_NOWHERE ||
           inside(q->result_at[i], t->elements, sizeof(double), result_bytes);
}

static bool get_constants(struct ws__reader *r, struct ws__ref_request *q)
{
    q->nconstant = ws__get_u32(r);
    if (r->bad || q->nconstant > WS__MAX_CONSTANTS)
        return false;
    for (size_t i = 0; i < q->nconstant; i++) {
        q->constant[i].name = ws__get_str(r);
        q->constant[i].value = ws__double_of(ws__get_u64(r));
        if (r->bad || !q->constant[i].name || !isfinite(q->constant[i].value))
            return false;
    }
    return true;
}

static bool get_request(struct ws__reader *r, size_t input_bytes,
                        size_t result_bytes, struct ws__ref_request *q)
{
    uint32_t what;

    q->name = ws__get_str(r);
    what = ws__get_u32(r);
    q->what = (enum ws__ref_what)what;
    q->which = ws__get_u32(r);
    q->threads = ws__get_u32(r);
    q->seed = ws__get_u64(r);
    q->naxis = ws__get_u32(r);
    if (r->bad || !q->name || what > WS__REF_MUTANT || q->naxis > WS__MAX_AXES)
        return false;
    for (size_t i = 0; i < q->naxis; i++)
        q->axis[i] = (int64_t)ws__get_u64(r);
    q->ntensor = ws__get_u32(r);
    if (r->bad || q->ntensor > WS__MAX_TENSORS)
        return false;
    for (size_t i = 0; i < q->ntensor; i++)
        if (!get_tensor(r, q, i, input_bytes, result_bytes))
            return false;
    return get_constants(r, q) && r->p == r->end;
}

int ws__ref_request_get(struct ws_ctx *ctx, const void *data, size_t n,
                        size_t input_bytes, size_t result_bytes,
                        struct ws__ref_request *out)
{
    struct ws__reader r = {data, (const unsigned char *)data + n, false};

    memset(out, 0, sizeof(*out));
    if (!get_request(&r, input_bytes, result_bytes, out))
        return ws__fail(ctx, WS_EPROTO,
                        "call of a reference is malformed or reaches outside "
                        "of its memory");
    return 0;
}

int ws__ref_constant(const struct ws__ref_call *call, const char *name,
                     double *out)
{
    for (size_t i = 0; i < call->nconstant; i++) {
        if (strcmp(call->constant[i].name, name))
            continue;
        *out = call->constant[i].value;
        return 0;
    }
    ws__fail(call->ctx, WS_EREFERENCE, "the op has no constant '%s'", name);
    return ws__hint(call->ctx,
                    "its reference needs it: add 'constants: {%s: number}'",
                    name);
}
