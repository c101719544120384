/*
 * plan_audit.c: `op audit` at the public interface: is an op's checker fit to
 * judge by?
 *
 * The reference runs dozens of times a workload, so of the op's workloads
 * those are taken that are quick: the largest within a cap, in each type that
 * the op has, and the smallest of all; or the one that is named. A reference
 * that is a trusted kernel runs where it does for verdicts: in a session of
 * measure, with a device worker of its own.
 */
#include "plan/plan.h"

#include <math.h>

#include "base/banned.h"

#define CAP_FLOPS 5e8
#define CAP_BYTES ((double)(16 << 20))
#define MAX_WORKLOADS 16 /* every element type, and the smallest */
#define LIMIT_NS 600000000000u

struct audit {
    struct ws_spec *spec;
    struct ws_audit_opts o;
    struct ws__workload w[MAX_WORKLOADS];
    size_t nw, at; /* at: the one that is audited */
    struct ws__reference *ref;
    struct ws__measure *m; /* of a trusted kernel */
    const char *workload;  /* its text */
    struct ws_audit_line *line;
    size_t nline, cap;
    struct ws_audit_report *out;
};

/* --- which workloads --------------------------------------------------------
 */

/* Below 1: within the cap; above: how far beyond it. Infinite: it cannot be. */
static double cost(struct audit *x, const struct ws__workload *w)
{
    struct ws_ctx *ctx = x->spec->ctx;
    struct ws__instance *in = ws__alloc(ctx, 1, sizeof(*in));
    double bytes = 0, c = HUGE_VAL;

    if (in && ws__instance_make(ctx, x->spec->s->op, w, in) == 0) {
        for (size_t t = 0; t < in->op->ntensor; t++)
            bytes += (double)in->shape[t].bytes;
        c = fmax(bytes / CAP_BYTES, in->flops / CAP_FLOPS);
    } else {
        ws__error_clear(ctx);
    }
    ws__free(ctx, in);
    return c;
}

static bool is_taken(const struct audit *x, const struct ws__workload *w)
{
    size_t naxis = x->spec->s->op->naxis;

    for (size_t i = 0; i < x->nw; i++)
        if (!memcmp(x->w[i].axis, w->axis, naxis * sizeof(*w->axis)) &&
            x->w[i].input == w->input)
            return true;
    return false;
}

static void add(struct audit *x, const struct ws__workload *w)
{
    if (!is_taken(x, w) && x->nw < MAX_WORKLOADS && cost(x, w) < HUGE_VAL)
        x->w[x->nw++] = *w;
}

/* The same in every other type of the op's first type axis. Beside a trusted
 * kernel float64 is what the kernel itself computes in: it counts only where a
 * workload asks for it. */
static void add_types(struct audit *x, const struct ws__workload *w)
{
    const struct ws__op *op = x->spec->s->op;
    struct ws__workload typed = *w;
    size_t a = 0;

    while (a < op->naxis && op->axis[a].kind != WS__AXIS_TYPE)
        a++;
    for (size_t i = 0; a < op->naxis && i < op->axis[a].ntypes; i++) {
        typed.axis[a] = op->axis[a].types[i];
        if (!op->trusted.kernel || op->axis[a].types[i] != WS__DT_F64)
            add(x, &typed);
    }
}

/* The largest within the cap and the smallest of all; SIZE_MAX: none is. */
static void find_ends(struct audit *x, size_t *most, size_t *least)
{
    const struct ws__spec *s = x->spec->s;
    double low = HUGE_VAL, high = 0;

    *most = *least = SIZE_MAX;
    for (size_t i = 0; i < s->nworkload; i++) {
        double c = cost(x, &s->workload[i]);

        if (c < low) {
            low = c;
            *least = i;
        }
        if (c <= 1 && c > high) {
            high = c;
            *most = i;
        }
    }
}

/* What is too large, and not audited all the same, as the smallest of an op
 * whose workloads are all large is. What cannot be is not too large. */
static uint64_t left_out(struct audit *x)
{
    const struct ws__spec *s = x->spec->s;
    uint64_t n = 0;

    for (size_t i = 0; i < s->nworkload; i++) {
        double c = cost(x, &s->workload[i]);

        n += c > 1 && c < HUGE_VAL && !is_taken(x, &s->workload[i]);
    }
    return n;
}

static int choose(struct audit *x)
{
    const struct ws__spec *s = x->spec->s;
    size_t least, most;

    if (x->o.workload || !s->nworkload) {
        WS_TRY(ws__plan_workload(x->spec, x->o.workload, &x->w[0]));
        x->nw = 1;
        return 0;
    }
    find_ends(x, &most, &least);
    if (most < SIZE_MAX) {
        add(x, &s->workload[most]);
        add_types(x, &s->workload[most]);
    }
    if (least < SIZE_MAX)
        add(x, &s->workload[least]);
    x->out->left_out = left_out(x);
    return x->nw ? 0
                 : ws__fail(x->spec->ctx, WS_ESPEC,
                            "no workload of '%s' can be made", s->path);
}

/* --- the reference
 * ------------------------------------------------------------ */

static int run_worker(void *self, struct ws__problem *p)
{
    struct audit *x = self;

    return ws__reference_run(x->ref, p);
}

static int run_kernel(void *self, struct ws__problem *p)
{
    struct audit *x = self;

    return ws__measure_trusted(x->m, (uint32_t)x->at, p);
}

static int open_reference(struct audit *x)
{
    const struct ws__spec *s = x->spec->s;
    struct ws__measure_opts mo = {.device = x->o.device, .builders = 1};
    /* A session wants something to measure; nobody asks for it. */
    static const struct ws__kernel nobody;

    if (!s->op->trusted.kernel)
        return ws__reference_open(x->spec->ctx, s->op, 0, LIMIT_NS, &x->ref);
    WS_TRY(ws__plan_measure_opts(x->spec, NULL, NULL, &mo));
    return ws__measure_open(x->spec->ctx, s->op, &nobody, 1, x->w, x->nw, &mo,
                            &x->m);
}

/* --- lines
 * -------------------------------------------------------------------- */

static const char *const kinds[] = {
    [WS__AUDIT_SOUND] = "reference", [WS__AUDIT_RESULT] = "result",
    [WS__AUDIT_NATIVE] = "mutant",   [WS__AUDIT_INPUTS] = "misread",
    [WS__AUDIT_IMPACT] = "input",    [WS__AUDIT_FAMILY] = "values",
};

/* "output 'C' would pass as right when it is all zero" */
static const char *claim(const struct ws__audit_line *l, char out[400])
{
    char whose[120] = "a result";

    if (l->tensor)
        snprintf(whose, sizeof(whose), "output '%.80s'", l->tensor);
    switch (l->kind) {
    case WS__AUDIT_SOUND:
        snprintf(out, 400, "%s is unfit", whose);
        break;
    case WS__AUDIT_FAMILY:
        snprintf(out, 400, "%s is unfit for values %s", whose, l->name);
        break;
    case WS__AUDIT_IMPACT:
        snprintf(out, 400,
                 "the result of another input '%s' would pass as right",
                 l->name);
        break;
    case WS__AUDIT_RESULT:
        snprintf(out, 400, "%s would pass as right when it is %s", whose,
                 l->name);
        break;
    case WS__AUDIT_NATIVE:
    case WS__AUDIT_INPUTS:
        snprintf(out, 400, "a result with the mistake '%s' would pass as right",
                 l->name);
        break;
    }
    return out;
}

static int refuse(struct audit *x, const struct ws__audit_line *l)
{
    struct ws_audit_report *r = x->out;
    bool judged = l->kind != WS__AUDIT_SOUND && l->kind != WS__AUDIT_FAMILY;
    char text[400], share[80] = "";

    r->refused++;
    if (r->reason)
        return 0;
    if (judged)
        snprintf(share, sizeof(share),
                 "its worst error is %.3g of what is allowed; ", l->share);
    r->reason = ws__arena_printf(&x->spec->arena, "%s, on %s: %s%s",
                                 claim(l, text), x->workload, share, l->why);
    return r->reason ? 0 : WS_ENOMEM;
}

static int take(void *user, const struct ws__audit_line *l)
{
    struct audit *x = user;
    struct ws__arena *arena = &x->spec->arena;
    void *items = x->line;
    struct ws_audit_line *to;
    int rc = ws__grow(x->spec->ctx, &items, &x->cap, x->nline, sizeof(*to));

    x->line = items;
    WS_TRY(rc);
    to = &x->line[x->nline++];
    *to = (struct ws_audit_line){
        .workload = x->workload,
        .kind = kinds[l->kind],
        .name = ws__arena_strdup(arena, l->name),
        .tensor = ws__arena_strdup(arena, l->tensor ? l->tensor : ""),
        .why = ws__arena_strdup(arena, l->why ? l->why : ""),
        .end = (int)l->end,
        .share = l->share,
        .flashinfer_bench = l->rejected[0],
        .gpu_mode = l->rejected[1],
        .tried = l->tried,
        .caught = l->caught,
    };
    if (!to->name || !to->tensor || !to->why)
        return WS_ENOMEM;
    return l->end == WS__AUDIT_REFUSED ? refuse(x, l) : 0;
}

/* --- all of it
 * ------------------------------------------------------------------ */

static int audit_workload(struct audit *x)
{
    struct ws_ctx *ctx = x->spec->ctx;
    struct ws__audit a = {.run = x->m ? run_kernel : run_worker,
                          .self = x,
                          .ref = x->ref,
                          .seed = ws__rng_at(x->o.seed, x->at),
                          .tell = take,
                          .user = x};
    struct ws__instance *in = ws__alloc(ctx, 1, sizeof(*in));
    struct ws__buf b;
    int rc;

    if (!in)
        return WS_ENOMEM;
    ws__buf_init(&b, ctx, 1 << 16);
    ws__workload_print(&b, x->spec->s->op, &x->w[x->at]);
    rc = b.failed;
    if (!rc) {
        x->workload = ws__arena_strdup(&x->spec->arena, b.data);
        rc = x->workload ? 0 : WS_ENOMEM;
    }
    ws__buf_free(&b);
    if (!rc)
        rc = ws__instance_make(ctx, x->spec->s->op, &x->w[x->at], in);
    if (!rc)
        rc = ws__audit_run(ctx, in, &a);
    ws__free(ctx, in);
    return rc;
}

static int hand_out(struct audit *x)
{
    struct ws_audit_line *line =
        ws__arena_alloc(&x->spec->arena, x->nline + 1, sizeof(*line));

    if (!line)
        return WS_ENOMEM;
    if (x->nline)
        memcpy(line, x->line, x->nline * sizeof(*line));
    x->out->line = line;
    x->out->nline = x->nline;
    return 0;
}

static int need_reference(struct audit *x)
{
    const struct ws__spec *s = x->spec->s;

    if (s->kind == WS__SPEC_T1 || !s->op)
        return ws__plan_need_op(x->spec, "audit");
    return ws__reference_allowed(x->spec->ctx, s->op, x->o.trust_python != 0);
}

static int run(struct audit *x)
{
    const struct ws__op *op = x->spec->s->op;

    WS_TRY(need_reference(x));
    WS_TRY(choose(x));
    WS_TRY(open_reference(x));
    op = x->spec->s->op;
    x->out->op = op->name;
    x->out->rule = ws__tolerance_rule(&op->tolerance);
    x->out->reference = op->trusted.kernel ? "trusted kernel"
                        : op->python.text  ? "Python"
                                           : "native";
    x->out->seed = x->o.seed;
    for (x->at = 0; x->at < x->nw; x->at++)
        WS_TRY(audit_workload(x));
    return hand_out(x);
}

int ws_op_audit(struct ws_spec *spec, const struct ws_audit_opts *opts,
                struct ws_audit_report *out)
{
    struct audit *x = ws__alloc(spec->ctx, 1, sizeof(*x));
    int rc;

    memset(out, 0, sizeof(*out));
    if (!x)
        return WS_ENOMEM;
    x->spec = spec;
    x->out = out;
    if (opts)
        memcpy(&x->o, opts,
               opts->size && opts->size < sizeof(x->o) ? opts->size
                                                       : sizeof(x->o));
    rc = run(x);
    ws__reference_close(x->ref);
    ws__measure_close(x->m);
    ws__free(spec->ctx, x->line);
    ws__free(spec->ctx, x);
    return rc;
}
