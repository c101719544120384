/*
 * search_surrogate.c: a model of the times, and where it may be wrong.
 *
 * For configs that cost seconds each it pays to think: every kernel on every
 * workload has a model (surrogate_gp.h) of the logarithm of the time, made
 * from what was told, and the next question is the config whose time could be
 * the lowest: expected value less KAPPA standard deviations (Srinivas et al.,
 * 2010). That is looked for among random configs of the space and the
 * neighbours of the best; small spaces are looked through. The model begins
 * with configs far from each other.
 *
 * - Times above the median count as the median. What is slow need not be told
 *   apart, and a few times that are a hundred times the best would otherwise
 *   bend everything.
 * - A config that failed counts as the median, too, so that the model turns
 *   away; and since others near it are likely to fail, how much of what is
 *   known near a config failed is added to its bound.
 * - A question that is not answered yet counts as if the answer were what the
 *   model expects (Desautels et al., 2014). So it never waits.
 * - Of several kernels the one with the lowest bound is asked, and every
 *   TURN_EVERY questions the next in turn.
 * - Every TIP_EVERY questions a workload tries the best config of another one.
 *
 * Memory and time are bounded: a model knows at most POINTS_MAX points, the
 * better half of them the best, and learns from LEARN_MAX.
 */
#include "search/search.h"
#include "search/seen.h"

#include <math.h>

#include "search/surrogate/surrogate_axes.h"

#include "base/banned.h"

#define FIRST 8 /* questions before the model is asked */
#define FIRST_DRAWS 200
#define DRAWS                                                                  \
    2000      /* random configs a question; spaces up to this size are         \
                 looked through */
#define TOP 5 /* whose neighbours are looked at */
#define NEAR_VALUES 32 /* of a parameter, for one neighbourhood */
#define KAPPA 1.5
#define POINTS_MAX 256
#define LEARN_MAX 128
#define LEARN_STEPS 20
#define FAIL_NEAR 4.0 /* of a failed config itself, in points of belief */
#define FAIL_COST 2.0 /* standard deviations, if all fail */
#define TURN_EVERY 4
#define TIP_EVERY 4
#define FRESH_DRAWS 32 /* before the space is walked for what is left */

enum state { OPEN, OK, FAILED };

struct point {
    struct ws__config config;
    double y; /* logarithm of the time in ns; OPEN: as expected, or NAN */
    enum state state;
};

struct home { /* of one kernel, on one workload */
    struct ws__space *space;
    struct ws__space_iter left; /* finds what draws miss */
    uint64_t valid;
    const struct ws__surrogate_axes *axes;
    struct point *point;
    uint8_t *row; /* of every point */
    size_t n, cap, row_cap;
    size_t ok, asked, learnt; /* learnt: from so many */
    struct ws__gp_theta theta;
    bool started, exhausted;
};

struct work {
    struct ws__rng rng;
    struct ws__seen seen;
    struct home *home; /* one a kernel */
    size_t asked, since_tip, tip, turn;
};

struct ranked {
    double y;
    size_t point;
};

struct surrogate {
    const struct ws__problem_space *p;
    struct ws__arena arena;
    struct ws__surrogate_axes *axes; /* one a kernel */
    struct work *work;
    struct home *home;
    size_t turn;
    struct ws__gp *gp;
    /* What the model of the moment is made of. */
    struct ranked *ranked;
    size_t nranked, ranked_cap;
    double median;
    const uint8_t *row[POINTS_MAX];
    double y[POINTS_MAX], mean, sd;
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
    for (size_t i = 0; s->home && i < nhome; i++) {
        ws__free(ctx, s->home[i].point);
        ws__free(ctx, s->home[i].row);
    }
    ws__gp_free(s->gp);
    ws__free(ctx, s->ranked);
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
        h->axes = &s->axes[k];
        ws__gp_prior(&h->theta);
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
        WS_TRY(ws__surrogate_axes(&s->arena, &p->kernel[k], &s->axes[k]));
        if (s->axes[k].gp.n > naxis)
            naxis = s->axes[k].gp.n;
    }
    s->gp = ws__gp_new(p->ctx, naxis, POINTS_MAX);
    if (!s->gp)
        return WS_ENOMEM;
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

/* An axis is missing only in a space of one config: a row is never empty. */
static size_t row_size(const struct home *h)
{
    return h->axes->gp.n ? h->axes->gp.n : 1;
}

static const uint8_t *row_of(const struct home *h, size_t i)
{
    return h->row + i * row_size(h);
}

static int add_point(struct surrogate *s, struct home *h,
                     const struct ws__config *c, double y, enum state state)
{
    struct ws_ctx *ctx = s->p->ctx;

    WS_TRY(ws__grow(ctx, (void **)&h->point, &h->cap, h->n, sizeof(*h->point)));
    WS_TRY(ws__grow(ctx, (void **)&h->row, &h->row_cap, h->n, row_size(h)));
    h->point[h->n] = (struct point){*c, y, state};
    ws__surrogate_row(h->axes, c, h->row + h->n * row_size(h));
    h->n++;
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

/* --- the model ------------------------------------------------------------ */

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->y < y->y || x->y > y->y)
        return x->y < y->y ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

static int rank(struct surrogate *s, double y, size_t point)
{
    WS_TRY(ws__grow(s->p->ctx, (void **)&s->ranked, &s->ranked_cap, s->nranked,
                    sizeof(*s->ranked)));
    s->ranked[s->nranked++] = (struct ranked){y, point};
    return 0;
}

/* Best first: what is known, and, unless `told`, what is expected of open
 * questions. What failed comes last, with the median. */
static int rank_points(struct surrogate *s, const struct home *h, bool told)
{
    s->nranked = 0;
    for (size_t i = 0; i < h->n; i++) {
        const struct point *pt = &h->point[i];

        if (pt->state == OK || (pt->state == OPEN && !told && isfinite(pt->y)))
            WS_TRY(rank(s, pt->y, i));
    }
    qsort(s->ranked, s->nranked, sizeof(*s->ranked), by_rank);
    s->median = s->ranked[s->nranked / 2].y;
    for (size_t i = 0; i < h->n; i++)
        if (h->point[i].state == FAILED)
            WS_TRY(rank(s, s->median, i));
    return 0;
}

/* The best half of `max`, and the others evenly. */
static size_t chosen(const struct surrogate *s, size_t i, size_t max)
{
    size_t half = max / 2;

    if (s->nranked <= max || i < half)
        return i;
    return half + (i - half) * (s->nranked - half) / (max - half);
}

/* Rows and values for a model of at most `max` of the ranked points. */
static struct ws__gp_data gather(struct surrogate *s, const struct home *h,
                                 size_t max)
{
    size_t n = s->nranked < max ? s->nranked : max;
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ranked *r = &s->ranked[chosen(s, i, max)];

        s->row[i] = row_of(h, r->point);
        s->y[i] = fmin(r->y, s->median);
        sum += s->y[i];
    }
    s->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (s->y[i] - s->mean) * (s->y[i] - s->mean);
    s->sd = sqrt(squares / (double)n) + 1e-9;
    for (size_t i = 0; i < n; i++)
        s->y[i] = (s->y[i] - s->mean) / s->sd;
    return (struct ws__gp_data){s->row, s->y, n};
}

/* Learns when there is a tenth more to learn from. */
static int learn(struct surrogate *s, struct home *h)
{
    size_t more = h->learnt < 40 ? 4 : h->learnt / 10;
    struct ws__gp_data data;

    if (h->ok < h->learnt + more)
        return 0;
    WS_TRY(rank_points(s, h, true));
    data = gather(s, h, LEARN_MAX);
    ws__gp_learn(s->gp, &h->axes->gp, &data, LEARN_STEPS, &h->theta);
    h->learnt = h->ok;
    return 0;
}

static int make_model(struct surrogate *s, struct home *h)
{
    struct ws__gp_data data;

    WS_TRY(learn(s, h));
    WS_TRY(rank_points(s, h, false));
    data = gather(s, h, POINTS_MAX);
    ws__gp_condition(s->gp, &h->axes->gp, &data, &h->theta);
    return 0;
}

/* What failures nearby add to a bound. The latest are enough. */
static double failing(const struct surrogate *s, const struct home *h,
                      const uint8_t *row, double near)
{
    double failed = 0;
    size_t count = 0;

    for (size_t i = h->n; i-- > 0 && count < POINTS_MAX;) {
        double k;

        if (h->point[i].state != FAILED)
            continue;
        k = ws__gp_alike(s->gp, row, row_of(h, i));
        failed += k * k;
        count++;
    }
    failed *= FAIL_NEAR;
    return FAIL_COST * fmin(failed / (1 + FAIL_NEAR * near), 1);
}

/* --- the lowest bound ----------------------------------------------------- */

static int consider(struct scan *x, const struct ws__config *config, bool valid)
{
    struct surrogate *s = x->s;
    struct home *h = &s->work[x->w].home[x->k];
    struct ws__candidate c = {.kernel = (uint32_t)x->k, .config = *config};
    uint8_t row[WS__GP_AXES] = {0};
    struct ws__gp_view view;
    double limit = (x->bound - s->mean) / s->sd;
    int rc = is_open(s, x->w, &c, valid);

    if (rc <= 0)
        return rc;
    ws__surrogate_row(h->axes, config, row);
    ws__gp_view(s->gp, row, KAPPA, limit, &view);
    if (!(view.bound < limit))
        return 0;
    view.bound += failing(s, h, row, view.near);
    if (!(view.bound < limit))
        return 0;
    rc = fits(s, x->w, &c);
    if (rc <= 0)
        return rc;
    x->best = c;
    x->bound = s->mean + s->sd * view.bound;
    x->y = s->mean + s->sd * view.mean;
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
    for (size_t i = 0; i < s->nranked && near < TOP; i++) {
        const struct point *pt = &h->point[s->ranked[i].point];

        if (pt->state != OK)
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

static double distance(const struct ws__gp_axes *axes, const uint8_t *a,
                       const uint8_t *b)
{
    double sum = 0;

    for (size_t i = 0; i < axes->n; i++) {
        const struct ws__gp_axis *x = &axes->axis[i];

        sum += x->nominal ? a[i] != b[i] : fabs(x->at[a[i]] - x->at[b[i]]);
    }
    return sum;
}

/* To the nearest of the latest points. */
static double apart(const struct home *h, const struct ws__config *c)
{
    uint8_t row[WS__GP_AXES] = {0};
    double least = INFINITY;
    size_t from = h->n > POINTS_MAX ? h->n - POINTS_MAX : 0;

    ws__surrogate_row(h->axes, c, row);
    for (size_t i = from; i < h->n; i++)
        least = fmin(least, distance(&h->axes->gp, row, row_of(h, i)));
    return least;
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
        d = apart(h, &c.config);
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

static bool has_model(const struct home *h)
{
    return h->ok > 2 && h->n >= FIRST;
}

/* The lowest bound of one kernel, if it is below that of the scan. */
static int scan_kernel(struct scan *x, size_t k)
{
    struct home *h = &x->s->work[x->w].home[k];

    if (h->exhausted || !has_model(h))
        return 0;
    x->k = k;
    WS_TRY(make_model(x->s, h));
    WS_TRY(consider_space(x));
    return consider_best(x);
}

/* The next question about one kernel: 1, or 0: it is exhausted. */
static int ask_kernel(struct scan *x, size_t k)
{
    struct home *h = &x->s->work[x->w].home[k];

    if (h->exhausted)
        return 0;
    if (!has_model(h))
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
        if (!work->home[k].exhausted && !has_model(&work->home[k]) &&
            work->home[k].n < FIRST)
            return ask_kernel(x, k);
    if (n == 1 || work->asked % TURN_EVERY == 0)
        return ask_turn(x);
    for (size_t k = 0; k < n; k++)
        WS_TRY(scan_kernel(x, k));
    return isfinite(x->bound) ? 1 : ask_turn(x);
}

static const struct point *best_point(const struct surrogate *s, size_t w,
                                      size_t *kernel)
{
    const struct point *best = NULL;

    for (size_t k = 0; k < s->p->nkernel; k++) {
        const struct home *h = &s->work[w].home[k];

        for (size_t i = 0; i < h->n; i++)
            if (h->point[i].state == OK && (!best || h->point[i].y < best->y)) {
                best = &h->point[i];
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
        const struct point *best;
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
    WS_TRY(add_point(s, &work->home[x.best.kernel], &x.best.config, x.y, OPEN));
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

static struct point *find(struct home *h, const struct ws__config *c)
{
    for (size_t i = h->n; i-- > 0;)
        if (ws__config_eq(&h->point[i].config, c))
            return &h->point[i];
    return NULL;
}

static int tell(void *state, const struct ws__trial *t)
{
    struct surrogate *s = state;
    struct work *work = &s->work[t->workload];
    struct home *h = &work->home[t->candidate.kernel];
    double score = ws__trial_score(s->p->ctx, t);
    enum state was = OPEN, now = isfinite(score) ? OK : FAILED;
    double y = log(fmax(score, 1e-3));
    struct point *pt = find(h, &t->candidate.config);

    WS_TRY(ws__seen_add(s->p->ctx, &work->seen, &t->candidate));
    if (!pt) {
        WS_TRY(add_point(s, h, &t->candidate.config, y, now));
    } else {
        was = pt->state;
        pt->state = now;
        pt->y = y;
    }
    h->ok += (now == OK) - (was == OK);
    return 0;
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
