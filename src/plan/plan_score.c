/*
 * plan_score.c: scores of one solution beside another, from traces.
 *
 * What counts is the baseline: each workload that it passed is one of the
 * score's. A candidate that failed there, or was not run there, has failed.
 * Lines of one solution on one workload are runs of it, in order: the last one
 * counts.
 */
#include <math.h>
#include <stdlib.h>

#include "core/score.h"
#include "plan/plan.h"
#include "spec/traces.h"

#include "base/banned.h"

struct line {
    const char *definition, *workload, *solution, *status;
    bool passed;
    double latency_ms, reference_ms;
    uint32_t at;
};

/* The lines of one file; sorted by Definition and workload, one of each. */
struct lines {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    const char *file, *option;
    const char *solution; /* NULL: the only one */
    struct line *line;
    size_t n, cap;
};

struct made {
    struct ws_score pub; /* first */
    struct ws__arena arena;
};

/* --- the lines of a file -------------------------------------------------- */

static int on_trace(void *user, const struct ws__trace *t)
{
    struct lines *l = user;
    struct line *x;

    if (l->solution && strcmp(l->solution, t->solution) != 0)
        return 0;
    WS_TRY(
        ws__grow(l->ctx, (void **)&l->line, &l->cap, l->n, sizeof(*l->line)));
    x = &l->line[l->n];
    *x = (struct line){.passed = t->passed,
                       .latency_ms = t->latency_ms,
                       .reference_ms = t->reference_ms,
                       .at = t->line};
    x->definition = ws__arena_strdup(l->arena, t->definition);
    x->workload = ws__arena_strdup(l->arena, t->workload);
    x->solution = ws__arena_strdup(l->arena, t->solution);
    x->status = ws__arena_strdup(l->arena, t->status);
    if (!x->definition || !x->workload || !x->solution || !x->status)
        return WS_ENOMEM;
    l->n++;
    return 0;
}

static int order_place(const struct line *a, const struct line *b)
{
    int d = strcmp(a->definition, b->definition);

    return d ? d : strcmp(a->workload, b->workload);
}

static int order_lines(const void *x, const void *y)
{
    const struct line *a = x, *b = y;
    int d = order_place(a, b);

    return d ? d : (a->at > b->at) - (a->at < b->at);
}

/* Which of several solutions is meant nobody can tell. */
static int check_one(struct lines *l)
{
    for (size_t i = 1; i < l->n; i++) {
        const struct line *a = &l->line[i - 1], *b = &l->line[i];
        struct ws__loc loc = {l->file, b->at, 0};

        if (strcmp(a->definition, b->definition) != 0 ||
            !strcmp(a->solution, b->solution))
            continue;
        ws__fail_at(l->ctx, WS_EINVAL, &loc,
                    "'%.200s' has traces of several solutions: '%.200s', "
                    "'%.200s'",
                    a->definition, a->solution, b->solution);
        return ws__hint(l->ctx, "choose one: %s NAME", l->option);
    }
    return 0;
}

static int read_lines(struct lines *l)
{
    size_t n = 0;

    WS_TRY(ws__traces_read(l->ctx, l->file, on_trace, l));
    if (!l->n) {
        ws__fail(l->ctx, WS_EINVAL, "'%s' has no trace with an evaluation%s%s",
                 l->file, l->solution ? " of solution " : "",
                 l->solution ? l->solution : "");
        return ws__hint(l->ctx, l->solution
                                    ? "is it the name that the traces say?"
                                    : "lines without one are workloads");
    }
    qsort(l->line, l->n, sizeof(*l->line), order_lines);
    WS_TRY(check_one(l));
    for (size_t i = 0; i < l->n; i++) {
        if (n && !order_place(&l->line[n - 1], &l->line[i]))
            n--;
        l->line[n++] = l->line[i];
    }
    l->n = n;
    return 0;
}

static const struct line *find(const struct lines *l, const struct line *like)
{
    size_t lo = 0, hi = l->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int d = order_place(&l->line[mid], like);

        if (!d)
            return &l->line[mid];
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* --- workloads ------------------------------------------------------------ */

static bool has_definition(const struct lines *l, const char *definition)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->line[i].definition, definition))
            return true;
    return false;
}

/* Only the Definitions that the candidate is for. */
static void join_baseline(struct ws_score *s, struct ws_score_workload *w,
                          const struct lines *base, const struct lines *cand)
{
    for (size_t i = 0; i < base->n; i++) {
        const struct line *b = &base->line[i], *c = find(cand, b);

        if (!b->passed || !has_definition(cand, b->definition))
            continue;
        w[s->nworkload++] = (struct ws_score_workload){
            .definition = b->definition,
            .workload = b->workload,
            .status = c ? c->status : "",
            .baseline_ms = b->latency_ms,
            .candidate_ms = c ? c->latency_ms : 0,
        };
    }
    for (size_t i = 0; i < cand->n; i++) {
        const struct line *b = find(base, &cand->line[i]);

        s->left += !b || !b->passed;
    }
}

/* What failed has no time of the reference in its trace, and counts. */
static void join_reference(struct ws_score *s, struct ws_score_workload *w,
                           const struct lines *cand)
{
    for (size_t i = 0; i < cand->n; i++) {
        const struct line *c = &cand->line[i];

        if (c->passed && !(c->reference_ms > 0)) {
            s->left++;
            continue;
        }
        w[s->nworkload++] = (struct ws_score_workload){
            .definition = c->definition,
            .workload = c->workload,
            .status = c->status,
            .baseline_ms = c->reference_ms,
            .candidate_ms = c->latency_ms,
        };
    }
}

/* --- sums ----------------------------------------------------------------- */

static int sum_up(struct made *m, const double *ratio, size_t n,
                  const char *definition, struct ws_score_sum *out)
{
    double *fast = ws__arena_alloc(&m->arena, m->pub.np, sizeof(*fast));
    struct ws__score s;

    if (!fast)
        return WS_ENOMEM;
    ws__score_make(ratio, n, &s);
    for (size_t i = 0; i < m->pub.np; i++)
        fast[i] = ws__score_fast(ratio, n, m->pub.p[i]);
    *out = (struct ws_score_sum){
        .definition = definition,
        .workloads = n,
        .right = s.right,
        .mean_x100 = 100 * s.mean,
        .geomean = s.geomean,
        .geomean_right = s.geomean_right,
        .fast = fast,
    };
    return 0;
}

/* The workloads are sorted: those of a Definition stand together. */
static int sum_all(struct made *m)
{
    const struct ws_score_workload *w = m->pub.workload;
    size_t n = m->pub.nworkload, from = 0;
    struct ws_score_sum *sum = ws__arena_alloc(&m->arena, n + 1, sizeof(*sum));
    double *ratio = ws__arena_alloc(&m->arena, n, sizeof(*ratio));

    if (!sum || !ratio)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        ratio[i] = w[i].ratio;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && !strcmp(w[i].definition, w[from].definition))
            continue;
        WS_TRY(sum_up(m, ratio + from, i - from, w[from].definition,
                      &sum[m->pub.nsum++]));
        from = i;
    }
    if (m->pub.nsum > 1)
        WS_TRY(sum_up(m, ratio, n, NULL, &sum[m->pub.nsum++]));
    m->pub.sum = sum;
    return 0;
}

static int take_p(struct made *m, const struct ws_score_opts *o)
{
    static const double usual[] = {0, 0.8, 1, 1.5, 2};
    size_t n = o->p ? o->np : WS_COUNT(usual);
    double *p = ws__arena_alloc(&m->arena, n ? n : 1, sizeof(*p));

    if (!p)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        p[i] = o->p ? o->p[i] : usual[i];
        if (!(p[i] >= 0) || !isfinite(p[i]))
            return ws__fail(m->arena.ctx, WS_EINVAL,
                            "%g is no p of fast_p: a ratio of at least 0",
                            p[i]);
    }
    m->pub.p = p;
    m->pub.np = n;
    return 0;
}

static int nothing_common(struct ws_ctx *ctx, const struct ws_score_opts *o)
{
    if (o->baseline) {
        ws__fail(ctx, WS_EINVAL,
                 "'%s' passed on no workload of the Definitions that '%s' is "
                 "for",
                 o->baseline, o->candidate);
        return ws__hint(ctx, "are both of the same Definition?");
    }
    ws__fail(ctx, WS_EINVAL, "'%s' has no times of the reference",
             o->candidate);
    return ws__hint(ctx, "name traces to compare with: --baseline FILE");
}

static int score(struct made *m, const struct ws_score_opts *o,
                 struct lines *cand, struct lines *base)
{
    struct ws_score *s = &m->pub;
    struct ws_score_workload *w;
    bool timed = false;

    WS_TRY(take_p(m, o));
    WS_TRY(read_lines(cand));
    if (o->baseline)
        WS_TRY(read_lines(base));
    w = ws__arena_alloc(&m->arena, cand->n + base->n, sizeof(*w));
    if (!w)
        return WS_ENOMEM;
    if (o->baseline)
        join_baseline(s, w, base, cand);
    else
        join_reference(s, w, cand);
    for (size_t i = 0; i < s->nworkload; i++) {
        if (w[i].candidate_ms > 0)
            w[i].ratio = w[i].baseline_ms / w[i].candidate_ms;
        timed = timed || w[i].baseline_ms > 0;
    }
    if (!timed && (o->baseline || s->left))
        return nothing_common(m->arena.ctx, o);
    s->workload = w;
    return sum_all(m);
}

int ws_score(struct ws_ctx *ctx, const struct ws_score_opts *opts,
             struct ws_score **out)
{
    struct lines cand = {.ctx = ctx}, base = {.ctx = ctx};
    struct made *m;
    int rc;

    *out = NULL;
    if (!opts || !opts->candidate)
        return ws__fail(ctx, WS_EINVAL, "no file of traces is named");
    m = ws__alloc(ctx, 1, sizeof(*m));
    if (!m)
        return WS_ENOMEM;
    ws__arena_init(&m->arena, ctx);
    cand.arena = base.arena = &m->arena;
    cand.file = opts->candidate;
    cand.solution = opts->solution;
    cand.option = "--solution";
    base.file = opts->baseline;
    base.solution = opts->baseline_solution;
    base.option = "--baseline-solution";
    rc = score(m, opts, &cand, &base);
    ws__free(ctx, cand.line);
    ws__free(ctx, base.line);
    if (rc < 0) {
        ws_score_free(ctx, &m->pub);
        return rc;
    }
    *out = &m->pub;
    return 0;
}

void ws_score_free(struct ws_ctx *ctx, struct ws_score *score_)
{
    struct made *m = (struct made *)score_;

    if (!m)
        return;
    ws__arena_free(&m->arena);
    ws__free(ctx, m);
}
