/*
 * audit_inputs.c: wrong results that the reference computes itself: from inputs
 * that were changed in the way in which kernels misread them.
 *
 * An input of another seed, as a kernel that ignores it might take any; all of
 * fewer bits; all without their signs; and each without the last step of each
 * of its dimensions, as the loop over a sum or over rows that ends too early
 * leaves it out. What changes no result is no mistake, but that an input does
 * not matter at all refuses the op.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/banned.h"

/* Of a dimension: what one turn of a kernel's loop takes at least. */
#define STEP 16

/* --- whole wrong results ----------------------------------------------------
 */

/* Are the results of p, as a kernel would write them, other than the right
 * ones? */
static int changed(const struct ws__auditing *x)
{
    int rc = 0;

    for (size_t t = 0; !rc && t < x->in->op->ntensor; t++) {
        struct ws__right r = ws__audit_output(x, t, x->right[t], NULL);

        if (x->right[t])
            rc = ws__stored_differ(&r, x->p->result[t]);
    }
    return rc;
}

/* Judges p->result as a result of all outputs: the worst of them decides. */
int ws__audit_judge(const struct ws__auditing *x, struct ws__audit_line *line,
                    char advice[256])
{
    struct ws__mismatch most = {0};
    int rc = changed(x);

    WS_TRY(rc);
    if (!rc) {
        line->end = WS__AUDIT_NONE;
        line->why = "it changes nothing";
        return 0;
    }
    line->end = WS__AUDIT_REFUSED;
    for (size_t t = 0; t < x->in->op->ntensor; t++) {
        struct ws__right r = ws__audit_output(x, t, x->right[t], NULL);
        struct ws__mistaken m = {0};

        if (!x->right[t])
            continue;
        WS_TRY(ws__write_result(x->ctx, &x->in->shape[t], x->p->result[t],
                                x->got[t]));
        WS_TRY(ws__judge_output(&r, WS__JUDGE_ALL, &m));
        if (m.end == WS__MISTAKE_REJECTED)
            line->end = WS__AUDIT_FINE;
        if (m.share >= line->share)
            most = m.mismatch;
        line->share = fmax(line->share, m.share);
        for (int i = 0; i < WS__NRULES; i++)
            line->rejected[i] |= m.rejected[i];
    }
    if (line->end == WS__AUDIT_REFUSED) {
        ws__advise(x->in, &most, advice);
        line->why = advice;
    }
    return 0;
}

/* Runs the reference on inputs that were changed and judges the result. An op
 * may refuse such inputs: then there is nothing to tell from it. */
static int judge_run(const struct ws__auditing *x, struct ws__audit_line *line)
{
    char text[256];
    int rc = x->a->run(x->a->self, x->p);

    if (rc == WS_EREFERENCE) {
        snprintf(text, sizeof(text), "%.250s", x->ctx->err.message);
        ws__error_clear(x->ctx);
        line->end = WS__AUDIT_NONE;
        line->why = text;
        return ws__audit_tell(x, line);
    }
    WS_TRY(rc);
    WS_TRY(ws__audit_judge(x, line, text));
    if (line->kind == WS__AUDIT_IMPACT && line->end == WS__AUDIT_NONE) {
        line->end = WS__AUDIT_REFUSED;
        line->why = "no result depends on it: leave it out, or give inputs "
                    "with which it matters";
    }
    return ws__audit_tell(x, line);
}

static uint64_t extent(const struct ws__auditing *x, size_t t)
{
    const struct ws__tensor_shape *s = &x->in->shape[t];

    return s->bytes / ws__dtype_bytes(s->dtype);
}

/* --- the reference of changed inputs ---------------------------------------
 */

static int fewer_bits(const struct ws__auditing *x)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_INPUTS,
                                  .name = "inputs rounded to fewer bits"};
    bool any = false;

    for (size_t t = 0; t < x->in->op->ntensor; t++) {
        enum ws__dtype d = x->in->shape[t].dtype;
        unsigned bits = ws__lower_bits(d);

        if (!ws__family_changes(x->in, t) || ws__bits_declared(x->in, bits))
            continue;
        any = true;
        for (uint64_t i = 0; i < extent(x, t); i++)
            ws__dtype_set(d, x->p->input[t], i,
                          ws__round_bits(ws__dtype_get(d, x->p->input[t], i),
                                         bits));
    }
    if (any)
        return judge_run(x, &line);
    line.end = WS__AUDIT_NONE;
    line.why = "no input is of floating point, or sums are declared to be no "
               "more exact";
    return ws__audit_tell(x, &line);
}

/* A kernel that takes all values for positive. */
static int signs(const struct ws__auditing *x)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_INPUTS,
                                  .name = "inputs without their signs"};
    bool any = false;

    for (size_t t = 0; t < x->in->op->ntensor; t++) {
        enum ws__dtype d = x->in->shape[t].dtype;

        if (!ws__family_changes(x->in, t))
            continue;
        any = true;
        for (uint64_t i = 0; i < extent(x, t); i++)
            ws__dtype_set(d, x->p->input[t], i,
                          fabs(ws__dtype_get(d, x->p->input[t], i)));
    }
    if (any)
        return judge_run(x, &line);
    line.end = WS__AUDIT_NONE;
    line.why = "no input is of floating point";
    return ws__audit_tell(x, &line);
}

/* Zero in the last `step` places of a dimension. */
static void drop_step(const struct ws__auditing *x, size_t t, size_t dim,
                      int64_t step)
{
    const struct ws__tensor_shape *s = &x->in->shape[t];
    int64_t at[WS__MAX_DIMS] = {0};

    for (uint64_t i = 0; i < s->elements; i++) {
        int64_t off = 0;

        for (size_t d = 0; d < s->ndim; d++)
            off += at[d] * s->stride[d];
        if (at[dim] >= s->dim[dim] - step)
            ws__dtype_set(s->dtype, x->p->input[t], (size_t)off, 0);
        for (size_t d = s->ndim; d-- > 0 && ++at[d] == s->dim[d];)
            at[d] = 0;
    }
}

static int steps_of(const struct ws__auditing *x, size_t t)
{
    const struct ws__tensor_shape *s = &x->in->shape[t];

    for (size_t d = 0; d < s->ndim; d++) {
        int64_t step = s->dim[d] > STEP ? STEP : 1;
        char name[200];
        struct ws__audit_line line = {.kind = WS__AUDIT_INPUTS, .name = name};

        if (s->dim[d] < 2)
            continue;
        WS_TRY(ws__check_stop(x->ctx));
        snprintf(name, sizeof(name), "'%.80s' without the last %d of dim %d",
                 x->in->op->tensor[t].name, (int)step, (int)d);
        WS_TRY(ws__audit_refill(x));
        drop_step(x, t, d, step);
        WS_TRY(judge_run(x, &line));
    }
    return 0;
}

static int steps(const struct ws__auditing *x)
{
    for (size_t t = 0; t < x->in->op->ntensor; t++)
        if (x->p->input[t] && ws__dtype_is_float(x->in->shape[t].dtype))
            WS_TRY(steps_of(x, t));
    return 0;
}

/* --- does each input matter? ------------------------------------------------
 */

static bool native(const struct ws__auditing *x, size_t t)
{
    const struct ws__fill *f = ws__workload_fill(x->in->op, x->in->workload, t);

    return f && f->kind == WS__FILL_NATIVE;
}

static void take_other(const struct ws__auditing *x, size_t t)
{
    memcpy(x->p->input[t], x->other->input[t], x->in->shape[t].bytes);
}

/* A constant is the same for every seed: three quarters of it, or 1. */
static bool change_constant(const struct ws__auditing *x, size_t t)
{
    enum ws__dtype d = x->in->shape[t].dtype;
    const struct ws__fill *f = ws__workload_fill(x->in->op, x->in->workload, t);

    if (!f || f->kind != WS__FILL_CONSTANT || !ws__dtype_is_float(d))
        return false;
    for (uint64_t i = 0; i < extent(x, t); i++)
        ws__dtype_set(d, x->p->input[t], i, f->a != 0 ? f->a * 0.75 : 1);
    return true;
}

/* What a generator fills must fit together, so it is changed together: the
 * first of them stands for all. */
static int impact(const struct ws__auditing *x, size_t t)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_IMPACT,
                                  .name = x->in->op->tensor[t].name};
    bool same;

    for (size_t i = 0; native(x, t) && i < t; i++)
        if (x->p->input[i] && native(x, i))
            return 0;
    same = !memcmp(x->p->input[t], x->other->input[t], x->in->shape[t].bytes);
    if (native(x, t))
        for (size_t i = t; i < x->in->op->ntensor; i++)
            if (x->p->input[i] && native(x, i)) {
                same = same && !memcmp(x->p->input[i], x->other->input[i],
                                       x->in->shape[i].bytes);
                take_other(x, i);
            }
    take_other(x, t);
    if (same && !change_constant(x, t)) {
        line.end = WS__AUDIT_NONE;
        line.why = "it is the same for every seed";
        return ws__audit_tell(x, &line);
    }
    return judge_run(x, &line);
}

static int impacts(const struct ws__auditing *x)
{
    for (size_t t = 0; t < x->in->op->ntensor; t++) {
        if (!x->p->input[t])
            continue;
        WS_TRY(ws__audit_refill(x));
        WS_TRY(impact(x, t));
    }
    return ws__audit_refill(x);
}

/* --- all of it -------------------------------------------------------------
 */

int ws__audit_inputs(const struct ws__auditing *x)
{
    WS_TRY(fewer_bits(x));
    WS_TRY(impacts(x));
    WS_TRY(signs(x));
    WS_TRY(steps(x));
    return ws__audit_refill(x);
}
