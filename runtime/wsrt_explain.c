/*
 * wsrt_explain.c: how a choice came about, for people and for tests.
 *
 * The pick is wsrt_pick's own; beside it the formula is asked about the whole
 * portfolio, so that it can be seen what the choice was preferred to.
 */
#include "wsrt_format.h"

#include <stdarg.h>
#include <stdio.h>

/* The place of a variant among the guesses, or WSRT_NONE. */
static uint32_t find_variant(const struct wsrt__guess *g, uint32_t variant)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->form[i]->variant == variant)
            return i;
    return WSRT_NONE;
}

/* The best of those that may run, without one; or WSRT_NONE. */
static uint32_t find_best(const struct wsrt__guess *g, uint32_t without)
{
    uint32_t best = WSRT_NONE;

    for (uint32_t i = 0; i < g->n; i++)
        if (i != without && g->log2_ns[i] != WSRT__NEVER &&
            (best == WSRT_NONE || g->log2_ns[i] < g->log2_ns[best]))
            best = i;
    return best;
}

static void fill_times(struct wsrt__guess *g, struct wsrt_explanation *out)
{
    uint32_t at = find_variant(g, out->pick.variant), other;

    for (uint32_t i = 0; i < g->n; i++)
        if (!wsrt__may_run(g->p, g->form[i]->variant, g->axes))
            g->log2_ns[i] = WSRT__NEVER;
    for (uint32_t d = 0; d < g->ndflt && out->dflt == WSRT_NO_ENTRY; d++)
        if (g->log2_ns[d] != WSRT__NEVER) {
            out->dflt = g->form[d]->variant;
            out->dflt_log2_ns = g->log2_ns[d];
        }
    if (at != WSRT_NONE) {
        out->log2_ns = g->log2_ns[at];
        out->margin = g->form[at]->margin;
    }
    other = find_best(g, at);
    if (other != WSRT_NONE) {
        out->runner_up = g->form[other]->variant;
        out->runner_up_log2_ns = g->log2_ns[other];
    }
}

static void fill_model(const struct wsrt_pack *p, const struct wsrt_f_model *m,
                       const int64_t *axes, struct wsrt_explanation *out)
{
    struct wsrt__guess g;
    struct wsrt__work w;

    out->model = (uint32_t)(m - p->model);
    out->covered = (uint32_t)wsrt__model_covers(p, m, axes);
    out->portfolio = m->nform;
    out->considered = m->considered;
    out->points = m->points;
    out->tree_worst = m->tree_worst;
    out->tree_mean = m->tree_mean;
    out->portfolio_worst = m->prune_worst;
    out->portfolio_mean = m->prune_mean;
    wsrt__work_start(&w, p, m, axes);
    if (out->covered) {
        const struct wsrt_f_node *cell = wsrt__model_cell(&w);

        out->cell = (uint32_t)(cell - p->node) - m->first_node;
        wsrt__model_list(&w, cell, &g);
        if (out->pick.how == WSRT_MODEL || out->pick.how == WSRT_NEAREST)
            out->asked = g.n > 1 ? g.n : 0;
    }
    wsrt__model_guess(&w, &g);
    if (out->pick.how == WSRT_FORMULA)
        out->asked = g.n;
    fill_times(&g, out);
}

int wsrt_explain(const struct wsrt_pack *p, const int64_t *axes,
                 struct wsrt_explanation *out)
{
    const struct wsrt_f_model *m;
    struct wsrt_explanation e = {.model = WSRT_NO_ENTRY,
                                 .cell = WSRT_NO_ENTRY,
                                 .dflt = WSRT_NO_ENTRY,
                                 .runner_up = WSRT_NO_ENTRY,
                                 .log2_ns = WSRT_NO_LOG2,
                                 .dflt_log2_ns = WSRT_NO_LOG2,
                                 .runner_up_log2_ns = WSRT_NO_LOG2};
    int rc = out ? wsrt_pick(p, axes, &e.pick) : WSRT_EARG;

    if (rc != WSRT_OK)
        return rc;
    m = wsrt__model_find(p, axes);
    if (m)
        fill_model(p, m, axes, &e);
    *out = e;
    return WSRT_OK;
}

/* Text that is cut off where the room ends. */
struct text {
    char *to;
    size_t room, n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t,
                                                      const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->n < t->room ? t->to + t->n : NULL,
                  t->n < t->room ? t->room - t->n : 0, fmt, ap);
    va_end(ap);
    t->n += n > 0 ? (size_t)n : 0;
}

static void put_variant(struct text *t, const struct wsrt_pack *p, uint32_t v)
{
    const struct wsrt_f_variant *f = &p->variant[v];
    const struct wsrt_f_kernel *k = &p->kernel[f->kernel];

    put(t, "%s", p->strings + k->name);
    for (uint32_t i = 0; i < k->nparam; i++)
        put(t, "%s%s=%s", i ? "," : " ",
            p->strings + p->param[k->first_param + i].name,
            p->strings + p->value[f->first_value + i].text);
}

/* Loss or gain in percent, with two digits: whole numbers, so that the text is
 * the same everywhere. */
static void put_percent(struct text *t, int32_t log2)
{
    int64_t hundredths =
        (int64_t)(wsrt__exp2(log2 < (10 << WSRT_WAVE_Q) ? log2
                                                        : 10 << WSRT_WAVE_Q) *
                      10000 +
                  0.5) -
        10000;

    put(t, "%s%lld.%02lld%%", hundredths < 0 ? "-" : "",
        (long long)(hundredths < 0 ? -hundredths : hundredths) / 100,
        (long long)(hundredths < 0 ? -hundredths : hundredths) % 100);
}

static void put_time(struct text *t, const struct wsrt_pack *p,
                     const char *what, uint32_t variant, int32_t log2_ns)
{
    put(t, "%s: ", what);
    put_variant(t, p, variant);
    if (log2_ns != WSRT_NO_LOG2)
        put(t, ", predicted %.0f ns", wsrt__exp2(log2_ns));
    put(t, "\n");
}

static void put_how(struct text *t, const struct wsrt_explanation *e)
{
    static const char how[][64] = {
        [WSRT_EXACT] = "this shape was tuned",
        [WSRT_NEAREST] = "as a tuned shape",
        [WSRT_DEFAULT] = "nothing else may run it: the default",
        [WSRT_MODEL] = "the model's choice for its cell",
        [WSRT_FORMULA] = "outside of what was compiled: the formula's choice"};

    put(t, "%s",
        e->pick.how == WSRT_FORMULA && e->covered
            ? "nothing of its cell may run: the formula's choice"
            : how[e->pick.how]);
    if (e->cell != WSRT_NO_ENTRY)
        put(t, "; cell %u", (unsigned)e->cell);
    if (e->asked)
        put(t, "; the formula decided between %u", (unsigned)e->asked);
    put(t, "\n");
}

static void put_model(struct text *t, const struct wsrt_explanation *e)
{
    put(t, "margin over the default: ");
    put_percent(t, e->margin);
    put(t, "\nportfolio: %u of %u candidates; loses at most ",
        (unsigned)e->portfolio, (unsigned)e->considered);
    put_percent(t, e->portfolio_worst);
    put(t, ", on average ");
    put_percent(t, e->portfolio_mean);
    put(t, "\ncells against the formula: lose at most ");
    put_percent(t, e->tree_worst);
    put(t, ", on average ");
    put_percent(t, e->tree_mean);
    put(t, ", predicted for %u shapes\n", (unsigned)e->points);
}

size_t wsrt_explain_text(const struct wsrt_pack *p,
                         const struct wsrt_explanation *e, char *text, size_t n)
{
    struct text t = {text, text ? n : 0, 0};

    if (t.room)
        text[0] = '\0';
    if (!p || !e || e->pick.how < WSRT_EXACT || e->pick.how > WSRT_FORMULA ||
        e->pick.variant >= p->count[WSRT_S_VARIANTS])
        return 0;
    put_time(&t, p, "choice", e->pick.variant, e->log2_ns);
    put_how(&t, e);
    if (e->model == WSRT_NO_ENTRY)
        return t.n;
    if (e->dflt < p->count[WSRT_S_VARIANTS])
        put_time(&t, p, "default", e->dflt, e->dflt_log2_ns);
    if (e->runner_up < p->count[WSRT_S_VARIANTS])
        put_time(&t, p, "next best", e->runner_up, e->runner_up_log2_ns);
    put_model(&t, e);
    return t.n;
}
