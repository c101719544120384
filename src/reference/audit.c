/*
 * audit.c: the checker of an op, checked on one workload.
 *
 * A verdict is worth what it would not let through. The reference must be
 * sound (audit_sound.c). Then every mistake that can be made from its result,
 * every mutant of a native reference and the results of inputs that were
 * changed (audit_inputs.c) are judged as a kernel's result would be, and must
 * be rejected. At last the families of values: the reference must be sound
 * there, and how many mistakes are rejected is told.
 *
 * The reference runs two dozen times and once for each dimension of an input;
 * two problems and a copy of the right result are held.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/banned.h"

#define OTHER_SEED 0x6f74686572u

static void fill_line(const struct ws__mistaken *m, struct ws__audit_line *line)
{
    line->end = (enum ws__audit_end)m->end;
    line->share = m->share;
    line->why = m->why;
    memcpy(line->rejected, m->rejected, sizeof(line->rejected));
}

int ws__audit_tell(const struct ws__auditing *x,
                   const struct ws__audit_line *line)
{
    return x->a->tell(x->a->user, line);
}

int ws__audit_refill(const struct ws__auditing *x)
{
    return ws__problem_fill(x->p, x->a->ref, x->a->seed, x->a->threads);
}

struct ws__right ws__audit_output(const struct ws__auditing *x, size_t t,
                                  const double *right, const double *old)
{
    return (struct ws__right){.ctx = x->ctx,
                              .in = x->in,
                              .tensor = t,
                              .v = right,
                              .old = old,
                              .got = x->got[t]};
}

/* --- mistakes made from the result -----------------------------------------
 */

static int result_mistakes(const struct ws__auditing *x, size_t t)
{
    struct ws__right r =
        ws__audit_output(x, t, x->right[t], x->other->result[t]);

    for (size_t i = 0; i < ws__mistakes(); i++) {
        struct ws__audit_line line = {.kind = WS__AUDIT_RESULT,
                                      .tensor = x->in->op->tensor[t].name};
        struct ws__mistaken m;
        char advice[256];

        WS_TRY(ws__check_stop(x->ctx));
        WS_TRY(ws__mistake(&r, i, WS__JUDGE_ALL, &m));
        if (m.end == WS__MISTAKE_NONE && !*m.why)
            continue;
        fill_line(&m, &line);
        line.name = m.name;
        if (m.end == WS__MISTAKE_PASSES) {
            ws__advise(x->in, &m.mismatch, advice);
            line.why = advice;
        }
        WS_TRY(ws__audit_tell(x, &line));
    }
    return 0;
}

/* --- mutants -----------------------------------------------------------------
 */

static int native_mutants(const struct ws__auditing *x)
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
            WS_TRY(ws__audit_judge(x, &line, text));
        }
        WS_TRY(ws__audit_tell(x, &line));
    }
    return 0;
}

/* --- families ----------------------------------------------------------------
 */

static int family_mistakes(const struct ws__auditing *x,
                           struct ws__audit_line *line)
{
    for (size_t t = 0; t < x->in->op->ntensor; t++) {
        struct ws__right r = ws__audit_output(x, t, x->p->result[t], NULL);

        for (size_t i = 0; x->right[t] && i < ws__mistakes(); i++) {
            struct ws__mistaken m;

            WS_TRY(ws__mistake(&r, i, WS__JUDGE_END, &m));
            line->tried += m.end != WS__MISTAKE_NONE;
            line->caught += m.end == WS__MISTAKE_REJECTED;
        }
    }
    return 0;
}

static int family(const struct ws__auditing *x, enum ws__family f)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_FAMILY,
                                  .end = WS__AUDIT_NONE,
                                  .name = ws__family_key(f)};
    char text[400];
    size_t t;
    int rc;

    line.why = ws__family_refused(x->in->op, f);
    if (!line.why && !ws__family_tells(x->in, f))
        line.why = "the op's fills lie around zero";
    if (line.why && !ws__family_finite(x->in->op, f))
        return ws__audit_tell(x, &line);
    WS_TRY(
        ws__problem_fill_family(x->p, x->a->ref, x->a->seed, x->a->threads, f));
    rc = x->a->run(x->a->self, x->p);
    if (rc < 0 && rc != WS_EREFERENCE)
        return rc;
    line.why =
        rc < 0 ? x->ctx->err.message
               : ws__audit_unsound(x, (const double *const *)x->p->result, &t);
    line.end = line.why ? WS__AUDIT_REFUSED : WS__AUDIT_FINE;
    if (line.why) {
        snprintf(text, sizeof(text),
                 "%.280s; if the op is not for such values, say 'values: {%s: "
                 "why}'",
                 line.why, line.name);
        line.why = text;
        line.tensor = rc < 0 ? NULL : x->in->op->tensor[t].name;
        ws__error_clear(x->ctx);
        return ws__audit_tell(x, &line);
    }
    line.why = ws__family_refused(x->in->op, f);
    if (!line.why)
        WS_TRY(family_mistakes(x, &line));
    return ws__audit_tell(x, &line);
}

/* --- all of it -------------------------------------------------------------
 */

static int keep_right(struct ws__auditing *x)
{
    for (size_t t = 0; t < x->in->op->ntensor; t++) {
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

static int prepare(struct ws__auditing *x)
{
    WS_TRY(ws__problem_new(x->ctx, x->in, &x->p));
    WS_TRY(ws__problem_new(x->ctx, x->in, &x->other));
    x->p->unjudged = x->other->unjudged = true; /* told in lines */
    WS_TRY(ws__audit_refill(x));
    WS_TRY(ws__problem_fill(x->other, x->a->ref,
                            ws__rng_at(x->a->seed, OTHER_SEED), x->a->threads));
    WS_TRY(x->a->run(x->a->self, x->p));
    return keep_right(x);
}

/* By a reference that is no number, or another one each time, nothing can be
 * judged: no mistakes are tried then. */
static int go_through(struct ws__auditing *x)
{
    bool fit;

    WS_TRY(prepare(x));
    WS_TRY(ws__audit_sound(x, &fit));
    if (!fit)
        return 0;
    for (size_t t = 0; t < x->in->op->ntensor; t++)
        if (x->right[t])
            WS_TRY(result_mistakes(x, t));
    WS_TRY(native_mutants(x));
    WS_TRY(ws__audit_inputs(x));
    for (int f = WS__FAMILY_PLAIN + 1; f < WS__NFAMILY; f++)
        WS_TRY(family(x, (enum ws__family)f));
    return 0;
}

int ws__audit_run(struct ws_ctx *ctx, const struct ws__instance *in,
                  const struct ws__audit *a)
{
    struct ws__auditing x = {.ctx = ctx, .in = in, .a = a};
    int rc = go_through(&x);

    for (size_t t = 0; t < in->op->ntensor; t++) {
        ws__free(ctx, x.right[t]);
        ws__free(ctx, x.got[t]);
    }
    ws__problem_free(x.p);
    ws__problem_free(x.other);
    return rc;
}
