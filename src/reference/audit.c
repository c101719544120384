/*
 * audit.c: the checker of an op, checked on one workload.
 *
 * A verdict is worth what it would not let through. So every mistake that can
 * be made from the reference's result, every mutant of a native reference and
 * the result of inputs of fewer bits is judged as a kernel's result would be,
 * and must be rejected. Each input must matter: the reference of the same
 * inputs but for one of another seed must be rejected as well, since a kernel
 * that ignores that input computes something like it. The reference itself must
 * be made of numbers and may not be the same for every seed.
 *
 * The reference runs two dozen times; two problems and a copy of the right
 * result are held.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/banned.h"

#define OTHER_SEED 0x6f74686572u

struct auditing {
    struct ws_ctx *ctx;
    const struct ws__instance *in;
    const struct ws__audit *a;
    struct ws__problem *p, *other; /* of the seed, of another one */
    double *right[WS__MAX_TENSORS];
    void *got[WS__MAX_TENSORS];
};

static const struct ws__op *op_of(const struct auditing *x)
{
    return x->in->op;
}

static int tell(const struct auditing *x, const struct ws__audit_line *line)
{
    return x->a->tell(x->a->user, line);
}

static struct ws__right output(const struct auditing *x, size_t t,
                               const double *right, const double *old)
{
    return (struct ws__right){.ctx = x->ctx,
                              .in = x->in,
                              .tensor = t,
                              .v = right,
                              .old = old,
                              .got = x->got[t]};
}

static void fill_line(const struct ws__mistaken *m, struct ws__audit_line *line)
{
    line->end = (enum ws__audit_end)m->end;
    line->share = m->share;
    line->why = m->why;
    memcpy(line->rejected, m->rejected, sizeof(line->rejected));
}

/* --- mistakes made from the result -----------------------------------------
 */

static int result_mistakes(const struct auditing *x, size_t t)
{
    struct ws__right r = output(x, t, x->right[t], x->other->result[t]);

    for (size_t i = 0; i < ws__mistakes(); i++) {
        struct ws__audit_line line = {.kind = WS__AUDIT_RESULT,
                                      .tensor = op_of(x)->tensor[t].name};
        struct ws__mistaken m;
        char advice[256];

        WS_TRY(ws__check_stop(x->ctx));
        WS_TRY(ws__mistake(&r, i, true, &m));
        if (m.end == WS__MISTAKE_NONE && !*m.why)
            continue;
        fill_line(&m, &line);
        line.name = m.name;
        if (m.end == WS__MISTAKE_PASSES) {
            ws__advise(x->in, &m.mismatch, advice);
            line.why = advice;
        }
        WS_TRY(tell(x, &line));
    }
    return 0;
}

/* --- whole wrong results ----------------------------------------------------
 */

/* Are the results of p, as a kernel would write them, other bytes than the
 * right ones? */
static bool changed(const struct auditing *x, const struct ws__problem *p)
{
    for (size_t t = 0; t < op_of(x)->ntensor; t++)
        for (uint64_t i = 0; x->right[t] && i < x->in->shape[t].elements; i++) {
            enum ws__dtype d = x->in->shape[t].dtype;
            uint64_t a = 0, b = 0;

            ws__dtype_set(d, &a, 0, p->result[t][i]);
            ws__dtype_set(d, &b, 0, x->right[t][i]);
            if (a != b)
                return true;
        }
    return false;
}

/* Judges p->result as a result of all outputs: the worst of them decides. */
static int judge_all(const struct auditing *x, struct ws__audit_line *line,
                     char advice[256])
{
    struct ws__mismatch most = {0};

    if (!changed(x, x->p)) {
        line->end = WS__AUDIT_NONE;
        line->why = "it changes nothing";
        return 0;
    }
    line->end = WS__AUDIT_REFUSED;
    for (size_t t = 0; t < op_of(x)->ntensor; t++) {
        struct ws__right r = output(x, t, x->right[t], NULL);
        struct ws__mistaken m = {0};

        if (!x->right[t])
            continue;
        ws__write_result(&x->in->shape[t], x->p->result[t], x->got[t]);
        WS_TRY(ws__judge_output(&r, true, &m));
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

static int native_mutants(const struct auditing *x)
{
    struct ws__reference *r = x->a->ref;

    for (size_t i = 0; r && i < ws__reference_mutants(r); i++) {
        struct ws__audit_line line = {.kind = WS__AUDIT_NATIVE};
        char text[256];
        int rc;

        line.name = ws__reference_mutant_name(r, i);
        WS_TRY(ws__check_stop(x->ctx));
        rc = ws__reference_mutant(r, x->p, i);
        if (rc == WS_ENOTSUP) {
            snprintf(text, sizeof(text), "%.250s", x->ctx->err.message);
            ws__error_clear(x->ctx);
            line.end = WS__AUDIT_NONE;
            line.why = text;
        } else {
            WS_TRY(rc);
            WS_TRY(judge_all(x, &line, text));
        }
        WS_TRY(tell(x, &line));
    }
    return 0;
}

/* Runs the reference on inputs that were changed and judges the result. An op
 * may refuse such inputs: then there is nothing to tell from it. */
static int judge_run(const struct auditing *x, struct ws__audit_line *line)
{
    char text[256];
    int rc = x->a->run(x->a->self, x->p);

    if (rc == WS_EREFERENCE) {
        snprintf(text, sizeof(text), "%.250s", x->ctx->err.message);
        ws__error_clear(x->ctx);
        line->end = WS__AUDIT_NONE;
        line->why = text;
        return tell(x, line);
    }
    WS_TRY(rc);
    WS_TRY(judge_all(x, line, text));
    if (line->kind == WS__AUDIT_IMPACT && line->end == WS__AUDIT_NONE) {
        line->end = WS__AUDIT_REFUSED;
        line->why = "no result depends on it: leave it out, or give inputs "
                    "with which it matters";
    }
    return tell(x, line);
}

static uint64_t extent(const struct auditing *x, size_t t)
{
    const struct ws__tensor_shape *s = &x->in->shape[t];

    return s->bytes / ws__dtype_bytes(s->dtype);
}

static int fewer_bits(const struct auditing *x)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_INPUTS,
                                  .name = "inputs rounded to fewer bits"};
    bool any = false;

    for (size_t t = 0; t < op_of(x)->ntensor; t++) {
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
    return tell(x, &line);
}

/* --- does each input matter? ------------------------------------------------
 */

static bool native(const struct auditing *x, size_t t)
{
    const struct ws__fill *f = ws__workload_fill(op_of(x), x->in->workload, t);

    return f && f->kind == WS__FILL_NATIVE;
}

static void take_other(const struct auditing *x, size_t t)
{
    memcpy(x->p->input[t], x->other->input[t], x->in->shape[t].bytes);
}

/* A constant is the same for every seed: three quarters of it, or 1. */
static bool change_constant(const struct auditing *x, size_t t)
{
    enum ws__dtype d = x->in->shape[t].dtype;
    const struct ws__fill *f = ws__workload_fill(op_of(x), x->in->workload, t);

    if (!f || f->kind != WS__FILL_CONSTANT || !ws__dtype_is_float(d))
        return false;
    for (uint64_t i = 0; i < extent(x, t); i++)
        ws__dtype_set(d, x->p->input[t], i, f->a != 0 ? f->a * 0.75 : 1);
    return true;
}

static int refill(const struct auditing *x)
{
    return ws__problem_fill(x->p, x->a->ref, x->a->seed, x->a->threads);
}

/* What a generator fills must fit together, so it is changed together: the
 * first of them stands for all. */
static int impact(const struct auditing *x, size_t t)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_IMPACT,
                                  .name = op_of(x)->tensor[t].name};
    bool same;

    for (size_t i = 0; native(x, t) && i < t; i++)
        if (x->p->input[i] && native(x, i))
            return 0;
    same = !memcmp(x->p->input[t], x->other->input[t], x->in->shape[t].bytes);
    if (native(x, t))
        for (size_t i = t; i < op_of(x)->ntensor; i++)
            if (x->p->input[i] && native(x, i)) {
                same = same && !memcmp(x->p->input[i], x->other->input[i],
                                       x->in->shape[i].bytes);
                take_other(x, i);
            }
    take_other(x, t);
    if (same && !change_constant(x, t)) {
        line.end = WS__AUDIT_NONE;
        line.why = "it is the same for every seed";
        return tell(x, &line);
    }
    return judge_run(x, &line);
}

static int impacts(const struct auditing *x)
{
    for (size_t t = 0; t < op_of(x)->ntensor; t++) {
        if (!x->p->input[t])
            continue;
        WS_TRY(refill(x));
        WS_TRY(impact(x, t));
    }
    return refill(x);
}

/* --- is the reference sound? ------------------------------------------------
 */

/* NULL, or why nobody can be judged by these results. */
static const char *unsound(const struct auditing *x, const double *const *v,
                           size_t *which)
{
    for (size_t t = 0; t < op_of(x)->ntensor; t++) {
        const struct ws__tensor *tensor = &op_of(x)->tensor[t];

        *which = t;
        for (uint64_t i = 0; v[t] && i < x->in->shape[t].elements; i++) {
            if (isnan(v[t][i]))
                return "the reference is no number in places";
            if (isinf(v[t][i]) && !tensor->infinite)
                return "the reference is infinite in places; if that is right, "
                       "say 'infinite: true' of the output";
        }
    }
    return NULL;
}

static bool of_the_seed(const struct auditing *x)
{
    for (size_t t = 0; t < op_of(x)->ntensor; t++)
        if (x->p->input[t] && memcmp(x->p->input[t], x->other->input[t],
                                     x->in->shape[t].bytes) != 0)
            return true;
    return false;
}

/* Fine is told once; each way of not being so by itself. */
static int soundness(const struct auditing *x)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_SOUND,
                                  .end = WS__AUDIT_FINE,
                                  .name = "the reference is of numbers, and "
                                          "other ones for another seed"};
    size_t t;

    line.why = unsound(x, (const double *const *)x->right, &t);
    if (line.why) {
        line.end = WS__AUDIT_REFUSED;
        line.tensor = op_of(x)->tensor[t].name;
        return tell(x, &line);
    }
    for (t = 0; of_the_seed(x) && t < op_of(x)->ntensor; t++) {
        size_t bytes = x->in->shape[t].elements * sizeof(double);

        if (!x->right[t] ||
            memcmp(x->right[t], x->other->result[t], bytes) != 0)
            continue;
        line.end = WS__AUDIT_REFUSED;
        line.tensor = op_of(x)->tensor[t].name;
        line.why = "it is the same for two seeds: a kernel need not compute "
                   "it; give inputs on which it depends";
        return tell(x, &line);
    }
    return tell(x, &line);
}

/* --- families ----------------------------------------------------------------
 */

static int family_mistakes(const struct auditing *x,
                           struct ws__audit_line *line)
{
    for (size_t t = 0; t < op_of(x)->ntensor; t++) {
        struct ws__right r = output(x, t, x->p->result[t], NULL);

        for (size_t i = 0; x->right[t] && i < ws__mistakes(); i++) {
            struct ws__mistaken m;

            WS_TRY(ws__mistake(&r, i, false, &m));
            line->tried += m.end != WS__MISTAKE_NONE;
            line->caught += m.end == WS__MISTAKE_REJECTED;
        }
    }
    return 0;
}

static int family(const struct auditing *x, enum ws__family f)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_FAMILY,
                                  .end = WS__AUDIT_NONE,
                                  .name = ws__family_key(f)};
    char text[400];
    size_t t;
    int rc;

    line.why = ws__family_refused(op_of(x), f);
    if (line.why && !ws__family_finite(op_of(x), f))
        return tell(x, &line);
    WS_TRY(
        ws__problem_fill_family(x->p, x->a->ref, x->a->seed, x->a->threads, f));
    rc = x->a->run(x->a->self, x->p);
    if (rc < 0 && rc != WS_EREFERENCE)
        return rc;
    line.why = rc < 0 ? x->ctx->err.message
                      : unsound(x, (const double *const *)x->p->result, &t);
    line.end = line.why ? WS__AUDIT_REFUSED : WS__AUDIT_FINE;
    if (line.why) {
        snprintf(text, sizeof(text),
                 "%.280s; if the op is not for such values, say 'values: {%s: "
                 "why}'",
                 line.why, line.name);
        line.why = text;
        line.tensor = rc < 0 ? NULL : op_of(x)->tensor[t].name;
        ws__error_clear(x->ctx);
        return tell(x, &line);
    }
    line.why = ws__family_refused(op_of(x), f);
    if (!line.why)
        WS_TRY(family_mistakes(x, &line));
    return tell(x, &line);
}

/* --- all of it
 * ---------------------------------------------------------------- */

static int prepare(struct auditing *x)
{
    uint64_t seed = x->a->seed;

    WS_TRY(ws__problem_new(x->ctx, x->in, &x->p));
    WS_TRY(ws__problem_new(x->ctx, x->in, &x->other));
    WS_TRY(refill(x));
    WS_TRY(ws__problem_fill(x->other, x->a->ref, ws__rng_at(seed, OTHER_SEED),
                            x->a->threads));
    WS_TRY(x->a->run(x->a->self, x->p));
    WS_TRY(x->a->run(x->a->self, x->other));
    for (size_t t = 0; t < op_of(x)->ntensor; t++) {
        size_t bytes = x->in->shape[t].elements * sizeof(double);

        if (!x->p->result[t])
            continue;
        x->right[t] = ws__alloc(x->ctx, bytes, 1);
        x->got[t] = ws__alloc(x->ctx, x->in->shape[t].bytes, 1);
        if (!x->right[t] || !x->got[t])
            return WS_ENOMEM;
        memcpy(x->right[t], x->p->result[t], bytes);
    }
    return 0;
}

static int go_through(struct auditing *x)
{
    WS_TRY(prepare(x));
    WS_TRY(soundness(x));
    for (size_t t = 0; t < op_of(x)->ntensor; t++)
        if (x->right[t])
            WS_TRY(result_mistakes(x, t));
    WS_TRY(native_mutants(x));
    WS_TRY(fewer_bits(x));
    WS_TRY(impacts(x));
    for (int f = WS__FAMILY_PLAIN + 1; f < WS__NFAMILY; f++)
        WS_TRY(family(x, (enum ws__family)f));
    return 0;
}

int ws__audit_run(struct ws_ctx *ctx, const struct ws__instance *in,
                  const struct ws__audit *a)
{
    struct auditing x = {.ctx = ctx, .in = in, .a = a};
    int rc = go_through(&x);

    for (size_t t = 0; t < in->op->ntensor; t++) {
        ws__free(ctx, x.right[t]);
        ws__free(ctx, x.got[t]);
    }
    ws__problem_free(x.p);
    ws__problem_free(x.other);
    return rc;
}
