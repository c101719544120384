/*
 * search_surrogate.c: a model of the times, and where it may be wrong.
 *
 * For configs that cost seconds each it pays to think: every kernel on every
 * workload has a model (model.h), and the next question is the config whose
 * time could be the lowest: expected value less some standard deviations
 * (Srinivas et al., 2010). That is looked for among random configs of the space
 * and the neighbours of the best; small spaces are looked through. It begins
 * with configs far from each other, until there is enough for a model.
 *
 * - Of several kernels the one with the lowest bound is asked, and every
 *   TURN_EVERY questions the next in turn.
 * - Every TIP_EVERY questions a workload tries the best config of another one.
 */
#include "search/search.h"
#include "search/seen.h"

#include <math.h>

#include "search/model.h"

#include "base/banned.h"

#define FIRST_DRAWS 200
#define DRAWS                                                                  \
    2000      /* random configs a question; spaces up to this size are         \
                 looked through */
#define TOP 5 /* whose neighbours are looked at */
#define NEAR_VALUES 32 /* of a parameter, for one neighbourhood */
#define TURN_EVERY 4
#define TIP_EVERY 4
#define FRESH_DRAWS 32 /* before the space is walked for what is left */

struct home { /* of one kernel, on one workload */
    struct ws__space *space;
    struct ws__space_iter left; /* finds what draws miss */
    uint64_t valid;
    struct ws__model model;
    bool started, exhausted;
};

struct work {
    struct ws__rng rng;
    struct ws__seen seen;
    struct home *home; /* one a kernel */
    size_t asked, since_tip, tip, turn;
};

struct surrogate {
    const struct ws__problem_space *p;
    struct ws__arena arena;
    struct ws__param_axes *axes; /* one a kernel */
    struct work *work;
    struct home *home;
    size_t turn;
    struct ws__modeller modeller;
};

/* A search for the lowest bound of one home. */
struct scan {
    struct surrogate *s;
    size_t w, k;
    struct ws__candidate best;
    double bound, y; /* of the best; infinity: none yet */
};

/* --- state ---------------------------------------------------------------- */

static void end(void *state)
{
    struct surrogate *s = state;
    struct ws_ctx *ctx = s->p->ctx;
    size_t nwork = s->p->nworkload, nhome = nwork * s->p->nkernel;

    for (size_t w = 0; s->work && w < nwork; w++)
        ws__seen_clear(ctx, &s->work[w].seen);
    for (size_t i = 0; s->home && i < nhome; i++)
        ws__model_close(ctx, &s->home[i].model);
    ws__modeller_close(&s->modeller);
    ws__free(ctx, s->work);
    ws__free(ctx, s->home);
    ws__free(ctx, s->axes);
    ws__arena_free(&s->arena);
    ws__free(ctx, s);
}

static int init_work(struct surrogate *s, size_t w)
{
    const struct ws__problem_space *p = s->p;
    struct work *work = &s->work[w];

    ws__rng_seed(&work->rng, ws__rng_at(p->seed, w));
    work->home = &s->home[w * p->nkernel];
    work->tip = w;
    for (size_t k = 0; k < p->nkernel; k++) {
        struct home *h = &work->home[k];

        h->space = p->spaces[k * p->nworkload + w];
        ws__model_open(&h->model, &s->axes[k]);
        ws__space_begin(h->space, &h->left);
        WS_TRY(ws__space_count(h->space, &h->valid));
        h->exhausted = !h->valid;
    }
    return 0;
}

static int init(struct surrogate *s)
{
    const struct ws__problem_space *p = s->p;
    size_t naxis = 1;

    s->axes = ws__alloc(p->ctx, p->nkernel, sizeof(*s->axes));
    s->work = ws__alloc(p->ctx, p->nworkload, sizeof(*s->work));
    s->home = ws__alloc(p->ctx, p->nworkload * p->nkernel, sizeof(*s->home));
    if (!s->axes || !s->work || !s->home)
        return WS_ENOMEM;
    for (size_t k = 0; k < p->nkernel; k++) {
        WS_TRY(ws__param_axes(&s->arena, &p->kernel[k], &s->axes[k]));
        if (s->axes[k].gp.n > naxis)
            naxis = s->axes[k].gp.n;
    }
    WS_TRY(ws__modeller_open(&s->modeller, p->ctx, naxis));
    for (size_t w = 0; w < p->nworkload; w++)
        WS_TRY(init_work(s, w));
    return 0;
}

static int start(const struct ws__problem_space *p, void **state)
{
    struct surrogate *s = ws__alloc(p->ctx, 1, sizeof(*s));
    int rc;

    if (!s)
        return WS_ENOMEM;
    s->p = p;
    ws__arena_init(&s->arena, p->ctx);
    rc = init(s);
    if (rc < 0) {
        end(s);
        return rc;
    }
    *state = s;
    return 0;
}

/* Untried and valid, as far as is known: 1, 0 or an error. */
static int is_open(struct surrogate *s, size_t w, const struct ws__candidate *c,
                   bool valid)
{
    if (ws__seen_has(&s->work[w].seen, c))
        return 0;
    return valid ? 1
                 : ws__space_valid(s->work[w].home[c->kernel].space, &c->config,
                                   NULL);
}

/* Not over a limit of the device; one that is will not be looked at again. */
static int fits(struct surrogate *s, size_t w, const struct ws__candidate *c)
{
    const struct ws__problem_space *p = s->p;
    int rc = p->fits ? p->fits(p->fits_user, c, (uint32_t)w) : 1;

    if (!rc)
        WS_TRY(ws__seen_add(p->ctx, &s->work[w].seen, c));
    return rc;
}

/* --- the lowest bound ----------------------------------------------------- */

static int consider(struct scan *x, const struct ws__config *config, bool valid)
{
    struct surrogate *s = x->s;
    struct home *h = &s->work[x->w].home[x->k];
    struct ws__candidate c = {.kernel = (uint32_t)x->k, .config = *config};
    double bound, expected;
    int rc = is_open(s, x->w, &c, valid);

    if (rc <= 0)
        return rc;
    if (!ws__model_below(&s->modeller, &h->model, config, x->bound, &bound,
                         &expected))
        return 0;
    rc = fits(s, x->w, &c);
    if (rc <= 0)
        return rc;
    x->best = c;
    x->bound = bound;
    x->y = expected;
    return 0;
}

static int consider_space(struct scan *x)
{
    struct work *w = &x->s->work[x->w];
    struct home *h = &w->home[x->k];
    struct ws__space_iter all;
    struct ws__config c;
    int rc;

    if (h->valid > DRAWS) {
        for (int i = 0; i < DRAWS; i++) {
            WS_TRY(ws__space_unrank(h->space, ws__rng_below(&w->rng, h->valid),
                                    &c));
            WS_TRY(consider(x, &c, true));
        }
        return ws__check_stop(x->s->p->ctx);
    }
    ws__space_begin(h->space, &all);
    while ((rc = ws__space_next(&all, &c)) > 0)
        WS_TRY(consider(x, &c, true));
    return rc;
}

/* All configs that differ in one parameter; of long ones in some values. */
static int consider_near(struct scan *x, const struct ws__config *from)
{
    const struct ws__kernel *k = &x->s->p->kernel[x->k];
    struct ws__rng *rng = &x->s->work[x->w].rng;
    struct ws__config c = *from;

    for (size_t i = 0; i < k->nparam; i++) {
        size_t n = k->param[i].nvalue;
        size_t tries = n < NEAR_VALUES ? n : NEAR_VALUES;

        for (size_t v = 0; v < tries; v++) {
            c.at[i] = (uint16_t)(tries < n ? ws__rng_below(rng, n) : v);
            if (c.at[i] != from->at[i])
                WS_TRY(consider(x, &c, false));
        }
        c.at[i] = from->at[i];
    }
    return 0;
}

/* In small spaces they are among all. */
static int consider_best(struct scan *x)
{
    struct surrogate *s = x->s;
    const struct home *h = &s->work[x->w].home[x->k];
    size_t near = 0;

    if (h->valid <= DRAWS)
        return 0;
    for (size_t i = 0; i < s->modeller.nranked && near < TOP; i++) {
        const struct ws__point *pt =
            &h->model.point[s->modeller.ranked[i].point];

        if (pt->state != WS__POINT_OK)
            continue;
        WS_TRY(consider_near(x, &pt->config));
        near++;
    }
    return 0;
}

/* --- without a model ------------------------------------------------------ */

/* An open config: random, or the next that is left. 1, or 0: exhausted. */
static int fresh(struct surrogate *s, size_t w, size_t k,
                 struct ws__candidate *out)
{
    struct work *work = &s->work[w];
    struct home *h = &work->home[k];
    int rc = 0;

    out->kernel = (uint32_t)k;
    for (int i = 0; i < FRESH_DRAWS && !rc; i++) {
        WS_TRY(ws__space_unrank(h->space, ws__rng_below(&work->rng, h->valid),
                                &out->config));
        rc = is_open(s, w, out, true);
        if (rc > 0)
            rc = fits(s, w, out);
    }
    while (!rc && (rc = ws__space_next(&h->left, &out->config)) > 0) {
        rc = is_open(s, w, out, true);
        if (rc > 0)
            rc = fits(s, w, out);
        WS_TRY(ws__check_stop(s->p->ctx));
        if (rc)
            return rc;
    }
    h->exhausted = !rc;
    return rc;
}

/* A kernel's default, then what is far from all that was asked. */
static int first(struct surrogate *s, size_t w, size_t k,
                 struct ws__candidate *out)
{
    struct work *work = &s->work[w];
    struct home *h = &work->home[k];
    struct ws__candidate c = {.kernel = (uint32_t)k};
    double most = -1;
    int rc;

    if (!h->started) {
        h->started = true;
        ws__config_default(&s->p->kernel[k], &out->config);
        out->kernel = (uint32_t)k;
        rc = is_open(s, w, out, false);
        if (rc > 0)
            rc = fits(s, w, out);
        if (rc)
            return rc;
    }
    for (int i = 0; i < FIRST_DRAWS; i++) {
        double d;

        WS_TRY(ws__space_unrank(h->space, ws__rng_below(&work->rng, h->valid),
                                &c.config));
        d = ws__model_apart(&h->model, &c.config);
        if (d <= most || !is_open(s, w, &c, true))
            continue;
        rc = fits(s, w, &c);
        WS_TRY(rc);
        if (!rc)
            continue;
        most = d;
        *out = c;
    }
    return most < 0 ? fresh(s, w, k, out) : 1;
}

/* --- asking and telling --------------------------------------------------- */

/* The lowest bound of one kernel, if it is below that of the scan. */
static int scan_kernel(struct scan *x, size_t k)
{
    struct home *h = &x->s->work[x->w].home[k];

    if (h->exhausted || !ws__model_ready(&h->model))
        return 0;
    x->k = k;
    WS_TRY(ws__model_make(&x->s->modeller, &h->model));
    WS_TRY(consider_space(x));
    return consider_best(x);
}

/* The next question about one kernel: 1, or 0: it is exhausted. */
static int ask_kernel(struct scan *x, size_t k)
{
    struct home *h = &x->s->work[x->w].home[k];

    if (h->exhausted)
        return 0;
    if (!ws__model_ready(&h->model))
        return first(x->s, x->w, k, &x->best);
    WS_TRY(scan_kernel(x, k));
    return isfinite(x->bound) ? 1 : fresh(x->s, x->w, k, &x->best);
}

static int ask_turn(struct scan *x)
{
    struct work *work = &x->s->work[x->w];
    size_t n = x->s->p->nkernel;

    for (size_t i = 0; i < n; i++) {
        int rc = ask_kernel(x, work->turn);

        work->turn = (work->turn + 1) % n;
        if (rc)
            return rc;
    }
    return 0;
}

static int ask_best(struct scan *x)
{
    struct work *work = &x->s->work[x->w];
    size_t n = x->s->p->nkernel;

    for (size_t k = 0; k < n; k++)
        if (!work->home[k].exhausted &&
            !ws__model_ready(&work->home[k].model) &&
            work->home[k].model.n < WS__MODEL_FIRST)
            return ask_kernel(x, k);
    if (n == 1 || work->asked % TURN_EVERY == 0)
        return ask_turn(x);
    for (size_t k = 0; k < n; k++)
        WS_TRY(scan_kernel(x, k));
    return isfinite(x->bound) ? 1 : ask_turn(x);
}

static const struct ws__point *best_point(const struct surrogate *s, size_t w,
                                          size_t *kernel)
{
    const struct ws__point *best = NULL;

    for (size_t k = 0; k < s->p->nkernel; k++) {
        const struct ws__model *m = &s->work[w].home[k].model;

        for (size_t i = 0; i < m->n; i++)
            if (m->point[i].state == WS__POINT_OK &&
                (!best || m->point[i].y < best->y)) {
                best = &m->point[i];
                *kernel = k;
            }
    }
    return best;
}

/* The best config of another workload, if this one has not tried it. */
static int ask_tip(struct scan *x)
{
    struct surrogate *s = x->s;
    struct work *work = &s->work[x->w];
    size_t n = s->p->nworkload;

    if (work->since_tip < TIP_EVERY)
        return 0;
    for (size_t i = 1; i < n; i++) {
        struct ws__candidate c = {0};
        const struct ws__point *best;
        size_t k = 0;
        int rc = 0;

        work->tip = (work->tip + 1) % n;
        best = work->tip == x->w ? NULL : best_point(s, work->tip, &k);
        if (best) {
            c.kernel = (uint32_t)k;
            c.config = best->config;
            rc = is_open(s, x->w, &c, false);
        }
        if (rc > 0)
            rc = fits(s, x->w, &c);
        if (rc > 0)
            x->best = c;
        if (rc)
            return rc;
    }
    return 0;
}

static int ask_work(struct surrogate *s, size_t w, struct ws__candidate *out)
{
    struct work *work = &s->work[w];
    struct scan x = {.s = s, .w = w, .bound = INFINITY, .y = NAN};
    int rc = ask_tip(&x);

    if (rc > 0)
        work->since_tip = 0;
    else if (!rc)
        rc = ask_best(&x);
    if (rc <= 0)
        return rc;
    WS_TRY(ws__seen_add(s->p->ctx, &work->seen, &x.best));
    WS_TRY(ws__model_add(s->p->ctx, &work->home[x.best.kernel].model,
                         &x.best.config, x.y, WS__POINT_OPEN));
    work->asked++;
    work->since_tip++;
    *out = x.best;
    return 1;
}

static int ask(void *state, struct ws__candidate *out, uint32_t *workload)
{
    struct surrogate *s = state;

    for (size_t i = 0; i < s->p->nworkload; i++) {
        size_t w = s->turn;
        int rc;

        s->turn = (s->turn + 1) % s->p->nworkload;
        rc = ask_work(s, w, out);
        *workload = (uint32_t)w;
        if (rc)
            return rc < 0 ? rc : 0;
    }
    return WS_EDONE;
}

static int tell(void *state, const struct ws__trial *t)
{
    struct surrogate *s = state;
    struct work *work = &s->work[t->workload];
    struct home *h = &work->home[t->candidate.kernel];
    double score = ws__trial_score(s->p->ctx, t);

    WS_TRY(ws__seen_add(s->p->ctx, &work->seen, &t->candidate));
    return ws__model_tell(s->p->ctx, &h->model, &t->candidate.config,
                          log(fmax(score, 1e-3)),
                          isfinite(score) ? WS__POINT_OK : WS__POINT_FAILED);
}

const struct ws__strategy_ops ws__search_surrogate = {
    .abi = WS__STRATEGY_ABI,
    .name = "surrogate",
    .about = "asks where a model of the times expects the most",
    .start = start,
    .ask = ask,
    .tell = tell,
    .end = end,
};
