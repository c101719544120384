/*
 * instance.c: the tensors of one workload, sized.
 *
 * This is the only place where shapes become numbers, so it is also where
 * absurd sizes stop: every product is checked, every tensor stays below 2^40
 * bytes, an output may not overlap itself. What passes here can be allocated
 * and indexed with 64-bit arithmetic without further tests.
 */
#include "core/op.h"

#include "base/banned.h"

#define MAX_BYTES ((int64_t)1 << 40)

static int fail_workload(struct ws_ctx *ctx, const struct ws__workload *w)
{
    ws__error_locate(ctx, &w->loc);
    return ws__error_prefix(ctx, "workload '%s'", w->name ? w->name : "");
}

static int check_axes(struct ws_ctx *ctx, const struct ws__op *op,
                      const struct ws__workload *w)
{
    for (size_t i = 0; i < op->naxis; i++) {
        const struct ws__axis *a = &op->axis[i];
        int64_t v = w->axis[i];
        bool found = false;

        if (a->kind == WS__AXIS_TYPE) {
            for (size_t t = 0; t < a->ntypes; t++)
                found = found || (int64_t)a->types[t] == v;
            if (!found)
                return ws__fail_at(ctx, WS_ESPEC, &w->loc,
                                   "type '%s' is not one of axis '%s'",
                                   ws__dtype_name((enum ws__dtype)v), a->name);
        } else if (a->kind == WS__AXIS_CONST && v != a->value) {
            ws__fail_at(ctx, WS_ESPEC, &w->loc, "axis '%s' cannot be %lld",
                        a->name, (long long)v);
            return ws__hint(ctx, "it is always %lld", (long long)a->value);
        } else if (a->kind == WS__AXIS_VAR && a->hi &&
                   (v < a->lo || v > a->hi)) {
            ws__fail_at(ctx, WS_ESPEC, &w->loc, "axis '%s' cannot be %lld",
                        a->name, (long long)v);
            return ws__hint(ctx, "it lies in %lld..%lld", (long long)a->lo,
                            (long long)a->hi);
        }
    }
    return 0;
}

static int check_require(struct ws_ctx *ctx, const struct ws__op *op,
                         const struct ws__workload *w,
                         const union wsrt_value *vars)
{
    for (size_t i = 0; i < op->nrequire; i++) {
        union wsrt_value v;

        WS_TRY(ws__expr_eval(ctx, op->require[i], vars, &v));
        if (!v.i) {
            ws__fail_at(ctx, WS_ESPEC, &w->loc, "'%s' does not hold",
                        op->require[i]->text);
            return ws__hint(ctx,
                            "the op requires it (line %u of '%s'); change "
                            "the workload",
                            op->require[i]->loc.line,
                            op->file ? op->file : "the op");
        }
    }
    return 0;
}

static int too_large(struct ws_ctx *ctx, const struct ws__tensor *t)
{
    ws__fail_at(ctx, WS_ESPEC, &t->loc, "tensor '%s' is larger than 2^40 bytes",
                t->name);
    return ws__hint(ctx, "use a smaller workload");
}

static bool mul_small(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out) && *out <= MAX_BYTES;
}

static int eval_dims(struct ws_ctx *ctx, const struct ws__tensor *t,
                     const union wsrt_value *vars, struct ws__tensor_shape *s)
{
    int64_t elements = 1;

    for (size_t d = 0; d < t->ndim; d++) {
        WS_TRY(ws__expr_eval_int(ctx, t->dim[d], vars, &s->dim[d]));
        if (s->dim[d] < 1) {
            ws__fail_at(ctx, WS_ESPEC, &t->dim[d]->loc,
                        "dimension %zu of tensor '%s' ('%s') is %lld", d,
                        t->name, t->dim[d]->text, (long long)s->dim[d]);
            return ws__hint(ctx, "dimensions are at least 1");
        }
        if (!mul_small(elements, s->dim[d], &elements))
            return too_large(ctx, t);
    }
    s->elements = (uint64_t)elements;
    return 0;
}

/* Sorted by stride, each dimension must step over all that lies below it. */
static bool overlaps(const struct ws__tensor_shape *s)
{
    int64_t reach = 0;
    uint32_t used = 0;

    for (size_t n = 0; n < s->ndim; n++) {
        size_t best = s->ndim;

        for (size_t d = 0; d < s->ndim; d++)
            if (!(used >> d & 1) &&
                (best == s->ndim || s->stride[d] < s->stride[best]))
                best = d;
        used |= 1u << best;
        if (s->dim[best] > 1) {
            if (s->stride[best] <= reach)
                return true;
            reach += (s->dim[best] - 1) * s->stride[best];
        }
    }
    return false;
}

static int eval_strides(struct ws_ctx *ctx, const struct ws__tensor *t,
                        const union wsrt_value *vars,
                        struct ws__tensor_shape *s)
{
    int64_t packed = 1, last = 0, part;

    s->contiguous = true;
    for (size_t d = t->ndim; d-- > 0;) {
        s->stride[d] = packed;
        if (t->stride[d])
            WS_TRY(ws__expr_eval_int(ctx, t->stride[d], vars, &s->stride[d]));
        if (s->stride[d] < 0) {
            ws__fail_at(ctx, WS_ESPEC, &t->stride[d]->loc,
                        "stride %zu of tensor '%s' is %lld", d, t->name,
                        (long long)s->stride[d]);
            return ws__hint(ctx, "strides are counts of elements, 0 or more");
        }
        if (s->stride[d] != packed && s->dim[d] > 1)
            s->contiguous = false;
        packed *= s->dim[d];
        if (!mul_small(s->dim[d] - 1, s->stride[d], &part) ||
            (last += part) > MAX_BYTES)
            return too_large(ctx, t);
    }
    if (!mul_small(last + 1, (int64_t)ws__dtype_bytes(s->dtype), &part))
        return too_large(ctx, t);
    s->bytes = (uint64_t)part;
    if (t->role != WS__INPUT && overlaps(s)) {
        ws__fail_at(ctx, WS_ESPEC, &t->loc,
                    "elements of output '%s' overlap in memory", t->name);
        return ws__hint(ctx, "make the strides larger");
    }
    return 0;
}

static int eval_shape(struct ws_ctx *ctx, const struct ws__tensor *t,
                      const struct ws__workload *w,
                      const union wsrt_value *vars, struct ws__tensor_shape *s)
{
    s->ndim = t->ndim;
    s->dtype = t->dtype;
    if (t->dtype == WS__DT_NONE)
        s->dtype = (enum ws__dtype)w->axis[t->type_axis];
    WS_TRY(eval_dims(ctx, t, vars, s));
    return eval_strides(ctx, t, vars, s);
}

/* A size expression is an int or a float. */
static int eval_amount(struct ws_ctx *ctx, const char *what,
                       const struct ws__expr *e, const union wsrt_value *vars,
                       double *out)
{
    union wsrt_value v;

    WS_TRY(ws__expr_eval(ctx, e, vars, &v));
    *out = e->type == WS__FLOAT ? v.f : (double)v.i;
    if (*out > 0)
        return 0;
    ws__fail_at(ctx, WS_ESPEC, &e->loc, "the floor's %s '%s' is %g", what,
                e->text, *out);
    return ws__hint(ctx, "it must be above 0");
}

static double moved_bytes(const struct ws__instance *in)
{
    double sum = 0;

    for (size_t i = 0; i < in->op->ntensor; i++) {
        const struct ws__tensor *t = &in->op->tensor[i];

        /* Scalars ride in the launch's arguments. */
        if (t->ndim)
            sum += (double)in->shape[i].bytes * (t->role == WS__INOUT ? 2 : 1);
    }
    return sum;
}

static int eval_amounts(struct ws_ctx *ctx, struct ws__instance *in)
{
    const struct ws__op *op = in->op;

    in->reduction = 1;
    in->bytes = moved_bytes(in);
    if (op->flops)
        WS_TRY(eval_amount(ctx, "flops", op->flops, in->vars, &in->flops));
    if (op->bytes)
        WS_TRY(eval_amount(ctx, "bytes", op->bytes, in->vars, &in->bytes));
    if (op->tolerance.reduction) {
        const struct ws__expr *e = op->tolerance.reduction;

        WS_TRY(ws__expr_eval_int(ctx, e, in->vars, &in->reduction));
        if (in->reduction < 1) {
            ws__fail_at(ctx, WS_ESPEC, &e->loc, "reduction '%s' is %lld",
                        e->text, (long long)in->reduction);
            return ws__hint(ctx, "the longest sum has at least 1 term");
        }
    }
    return 0;
}

static int make(struct ws_ctx *ctx, struct ws__instance *in)
{
    const struct ws__op *op = in->op;
    const struct ws__workload *w = in->workload;

    WS_TRY(check_axes(ctx, op, w));
    for (size_t i = 0; i < op->naxis; i++)
        in->vars[i].i = w->axis[i];
    WS_TRY(check_require(ctx, op, w, in->vars));
    for (size_t i = 0; i < op->ntensor; i++)
        WS_TRY(eval_shape(ctx, &op->tensor[i], w, in->vars, &in->shape[i]));
    return eval_amounts(ctx, in);
}

int ws__instance_make(struct ws_ctx *ctx, const struct ws__op *op,
                      const struct ws__workload *w, struct ws__instance *out)
{
    memset(out, 0, sizeof(*out));
    out->op = op;
    out->workload = w;
    return make(ctx, out) < 0 ? fail_workload(ctx, w) : 0;
}

bool ws__op_picks_rows(const struct ws__op *op)
{
    for (size_t i = 0; i < op->ntensor; i++)
        if (op->touched[i])
            return true;
    return false;
}
