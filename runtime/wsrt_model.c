/*
 * wsrt_model.c: what the wave model chooses for a shape that nobody tuned.
 *
 * A tree over the axes narrows the portfolio down to the few candidates that
 * can be best in the shape's cell, and the formula decides between them and
 * the default. Outside of the ranges that the tree was made for the formula is
 * asked about the whole portfolio.
 *
 * The rule is the same for all of these: the least predicted time that may
 * run, unless it gains no more over the default than its margin, which is how
 * far the model is known to be off; then the default. It is applied at every
 * look-up, also where a tuned shape's choice serves the cell: a tree that was
 * grown over samples promises nothing about the shapes between them.
 *
 * Coordinates are shared by candidates; each is evaluated once, and only if
 * somebody asks.
 */
#include "wsrt_format.h"

#include <string.h>

const struct wsrt_f_model *wsrt__model_find(const struct wsrt_pack *p,
                                            const int64_t *axes)
{
    for (uint32_t i = 0; i < p->count[WSRT_S_MODELS]; i++) {
        const int64_t *t = p->model_type + (size_t)i * p->ntype;
        uint32_t k = 0;

        while (k < p->ntype && axes[p->type_axis[k]] == t[k])
            k++;
        if (k == p->ntype)
            return &p->model[i];
    }
    return NULL;
}

int wsrt__model_covers(const struct wsrt_pack *p, const struct wsrt_f_model *m,
                       const int64_t *axes)
{
    const struct wsrt_f_range *r = p->span + (size_t)(m - p->model) * p->nvar;

    if (!m->nnode)
        return 0;
    for (uint32_t k = 0; k < p->nvar; k++)
        if (axes[p->var_axis[k]] < r[k].lo || axes[p->var_axis[k]] > r[k].hi)
            return 0;
    return 1;
}

void wsrt__work_start(struct wsrt__work *w, const struct wsrt_pack *p,
                      const struct wsrt_f_model *m, const int64_t *axes)
{
    w->p = p;
    w->m = m;
    w->axes = axes;
    memset(w->known, 0, (m->ncoord + 63) / 64 * sizeof(w->known[0]));
    for (uint32_t i = 0; i < p->naxis; i++)
        w->slot[i].i = axes[i];
    for (uint32_t k = 0; k < p->nvar; k++)
        w->log_axis[k] = wsrt__log2_20(axes[p->var_axis[k]]);
}

static int64_t coordinate(struct wsrt__work *w, uint32_t i);

static int64_t clamped(int64_t v)
{
    return v < 0 ? 0 : v > WSRT_MAX_COORD ? WSRT_MAX_COORD : v;
}

int64_t wsrt__coord_value(const uint8_t *code, size_t bytes,
                          const union wsrt_value *slot)
{
    union wsrt_value r;

    return wsrt_eval(code, bytes, slot, &r, NULL) ? WSRT_MAX_COORD
                                                  : clamped(r.i);
}

static int64_t multiply(struct wsrt__work *w, const struct wsrt_f_coord *c)
{
    int64_t r = c->value;

    for (uint32_t i = 0; i < WSRT_FACTORS && c->factor[i] != WSRT_NO_FACTOR;
         i++)
        if (__builtin_mul_overflow(r, coordinate(w, c->factor[i]), &r))
            return WSRT_MAX_COORD;
    return r;
}

/* x and by above 0. Nearly all tiles are powers of two. */
static int64_t quotient_up(int64_t x, int64_t by)
{
    if (!(by & (by - 1)))
        return ((x - 1) >> __builtin_ctzll((uint64_t)by)) + 1;
    return (x - 1) / by + 1;
}

static void evaluate(struct wsrt__work *w, uint32_t i)
{
    const struct wsrt_f_coord *c = &w->p->coord[w->m->first_coord + i];
    int64_t r;

    if (c->bytes)
        r = wsrt__coord_value(w->p->coord_code + c->at, c->bytes, w->slot);
    else if (c->axis != WSRT_NO_FACTOR)
        r = quotient_up(w->axes[c->axis], c->value);
    else
        r = multiply(w, c);
    w->known[i / 64] |= UINT64_C(1) << i % 64;
    w->value[i] = clamped(r);
    w->log[i] = wsrt__wave_log(w->value[i]);
}

static inline void know(struct wsrt__work *w, uint32_t i)
{
    if (!(w->known[i / 64] >> i % 64 & 1))
        evaluate(w, i);
}

static int64_t coordinate(struct wsrt__work *w, uint32_t i)
{
    know(w, i);
    return w->value[i];
}

static const struct wsrt_wave_law *law_of(const struct wsrt__work *w,
                                          const struct wsrt_f_form *f)
{
    return &w->p->law[w->m->first_law + f->law].law;
}

static const struct wsrt__ready *ready_of(const struct wsrt__work *w,
                                          const struct wsrt_f_form *f)
{
    return &w->p->ready[f - w->p->form];
}

int32_t wsrt__work_guess(struct wsrt__work *w, const struct wsrt_f_form *f)
{
    const struct wsrt__ready *r = ready_of(w, f);
    struct wsrt_wave_coords c = r->c;

    for (uint32_t i = 0; i < r->nvary; i++) {
        uint32_t k = r->vary[i], at = f->coord[k];

        know(w, at);
        c.n[k] = w->value[at];
        c.log[k] = w->log[at];
    }
    return wsrt__wave_predict(law_of(w, f), &f->form, &r->wave, &c, w->log_axis,
                              w->p->nvar);
}

/* The logarithm of a product as the sum of its factors', and its value: there
 * are many products, and of most nobody asks for more. */
static int64_t near_log(struct wsrt__work *w, const struct wsrt__product *p,
                        int64_t *value)
{
    int64_t r = p->value, log = p->log;

    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t f = p->factor[i];

        know(w, f);
        if (__builtin_mul_overflow(r, w->value[f], &r))
            r = WSRT_MAX_COORD;
        log += w->log[f];
    }
    *value = r > WSRT_MAX_COORD ? WSRT_MAX_COORD : r;
    return log > 60 << WSRT_WAVE_Q ? 60 << WSRT_WAVE_Q : log;
}

static int64_t exact_log(struct wsrt__work *w, uint32_t i)
{
    know(w, i);
    return w->log[i];
}

/* A number not above the guess. */
static int32_t bound(struct wsrt__work *w, const struct wsrt_f_form *f)
{
    const struct wsrt__ready *r = ready_of(w, f);
    struct wsrt_wave_glance at;
    int64_t steps;

    at.log_grid = near_log(w, &r->grid, &at.grid);
    at.log_steps = near_log(w, &r->steps, &steps);
    at.log_unique = exact_log(w, f->coord[WSRT_W_UNIQUE]);
    at.log_after = exact_log(w, f->coord[WSRT_W_AFTER]);
    at.log_bytes = exact_log(w, f->coord[WSRT_W_BYTES]);
    at.padded = f->form.weight[WSRT_WAVE_WEIGHT_PADDED]
                    ? coordinate(w, f->coord[WSRT_W_PADDED])
                    : 0;
    return wsrt__wave_bound(law_of(w, f), &f->form, &r->wave, &at, w->log_axis,
                            w->p->nvar);
}

/* What a node compares; a product's logarithm is not asked for here. */
static int64_t feature(struct wsrt__work *w, uint32_t axis)
{
    const struct wsrt_f_coord *c;

    if (axis < WSRT_MAX_AXES)
        return w->axes[axis];
    c = &w->p->coord[w->m->first_coord + axis - WSRT_MAX_AXES];
    return c->factor[0] == WSRT_NO_FACTOR ? coordinate(w, axis - WSRT_MAX_AXES)
                                          : clamped(multiply(w, c));
}

int64_t wsrt__model_feature(const struct wsrt_pack *p,
                            const struct wsrt_f_model *m, uint16_t axis,
                            const int64_t *axes)
{
    struct wsrt__work w;

    if (axis < WSRT_MAX_AXES)
        return axes[axis];
    wsrt__work_start(&w, p, m, axes);
    return feature(&w, axis);
}

const struct wsrt_f_node *wsrt__model_cell(struct wsrt__work *w)
{
    const struct wsrt_f_node *n = w->p->node + w->m->first_node;

    while (n->axis != WSRT_LEAF) {
        n += feature(w, n->axis) > n->limit ? n->skip : 1;
    }
    return n;
}

/* The default of the first kernel whose default may run, or WSRT_NONE. */
static uint32_t find_default(const struct wsrt__work *w)
{
    const struct wsrt_f_form *f = &w->p->form[w->m->first_form];

    for (uint32_t d = 0; d < w->m->ndflt; d++)
        if (wsrt__may_run(w->p, f[d].variant, w->axes))
            return d;
    return WSRT_NONE;
}

/* The default and the candidates of a cell; nothing is predicted yet. */
static void list_cell(const struct wsrt__work *w,
                      const struct wsrt_f_node *cell, struct wsrt__guess *g)
{
    const struct wsrt_f_form *f = &w->p->form[w->m->first_form];
    const uint16_t *list = w->p->list + w->m->first_list + cell->skip;
    uint32_t dflt = find_default(w);

    if (dflt != WSRT_NONE)
        g->form[g->n++] = &f[dflt];
    g->ndflt = g->n;
    for (uint32_t i = 1; i <= list[0]; i++)
        if (list[i] != dflt)
            g->form[g->n++] = &f[list[i]];
}

static void list_all(const struct wsrt__work *w, struct wsrt__guess *g)
{
    g->n = w->m->nform;
    g->ndflt = w->m->ndflt;
    for (uint32_t i = 0; i < g->n; i++)
        g->form[i] = &w->p->form[w->m->first_form + i];
}

void wsrt__model_list(struct wsrt__work *w, const struct wsrt_f_node *cell,
                      struct wsrt__guess *g)
{
    g->p = w->p;
    g->m = w->m;
    g->axes = w->axes;
    g->w = NULL;
    g->n = 0;
    if (cell)
        list_cell(w, cell, g);
    else
        list_all(w, g);
}

void wsrt__model_guess(struct wsrt__work *w, struct wsrt__guess *out)
{
    wsrt__model_list(w, NULL, out);
    for (uint32_t i = 0; i < out->n; i++)
        out->log2_ns[i] = wsrt__work_guess(w, out->form[i]);
}

static int is_known(const struct wsrt__guess *g, uint32_t i)
{
    return !g->w || g->known[i / 64] >> i % 64 & 1;
}

static int may_run(struct wsrt__guess *g, uint32_t i)
{
    if (g->log2_ns[i] != WSRT__NEVER &&
        !wsrt__may_run(g->p, g->form[i]->variant, g->axes))
        g->log2_ns[i] = WSRT__NEVER;
    return g->log2_ns[i] != WSRT__NEVER;
}

static void predict(struct wsrt__guess *g, uint32_t i)
{
    g->known[i / 64] |= UINT64_C(1) << i % 64;
    g->log2_ns[i] = wsrt__work_guess(g->w, g->form[i]);
}

/* The same with bounds, which become predictions where these are needed. */
static void bound_all(struct wsrt__work *w, const struct wsrt_f_node *cell,
                      struct wsrt__guess *g)
{
    uint32_t first;

    wsrt__model_list(w, cell, g);
    g->w = w;
    memset(g->known, 0, sizeof(g->known));
    /* One alone needs no number; a cell's first will hardly be beaten. */
    first = cell && g->n > 1 ? g->ndflt : WSRT_NONE;
    for (uint32_t i = 0; i < g->n; i++)
        g->log2_ns[i] = g->n > 1 && i != first ? bound(w, g->form[i]) : 0;
    if (first < g->n && may_run(g, first))
        predict(g, first);
}

/* The least, the first of equals. */
static uint32_t find_least(const struct wsrt__guess *g)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < g->n; i++)
        best = g->log2_ns[i] < g->log2_ns[best] ? i : best;
    return g->n && g->log2_ns[best] != WSRT__NEVER ? best : WSRT_NONE;
}

/* By the number that is there, a prediction or a bound. */
static int wins(const struct wsrt__guess *g, uint32_t best, uint32_t over)
{
    return (int64_t)g->log2_ns[best] + g->form[best]->margin < g->log2_ns[over];
}

/* `best` may run and is the least: is the default left for it? The default is
 * that of the first kernel whose default may run. Who wins over a bound wins
 * over the prediction. */
static uint32_t against_default(struct wsrt__guess *g, uint32_t best)
{
    for (uint32_t d = 0; d < g->ndflt; d++) {
        if (best == d)
            return best;
        if (g->log2_ns[d] == WSRT__NEVER)
            continue;
        if (!wins(g, best, d) && !is_known(g, d))
            predict(g, d);
        if (wins(g, best, d) && d + 1 == g->ndflt)
            return best;
        if (may_run(g, d))
            return wins(g, best, d) ? best : d;
    }
    return best;
}

/* The least bound becomes its prediction, until the least of all is a
 * prediction: what is predicted are those whose bounds are below the best. */
uint32_t wsrt__model_choose(struct wsrt__guess *g)
{
    uint32_t best;

    if (g->w && g->n == 1)
        return may_run(g, 0) ? 0 : WSRT_NONE;
    while ((best = find_least(g)) != WSRT_NONE) {
        /* What was predicted on the way was asked before that. */
        if (g->w && is_known(g, best))
            return against_default(g, best);
        if (!may_run(g, best))
            continue;
        if (!g->w)
            return against_default(g, best);
        predict(g, best);
    }
    return best;
}

static double time_of(const struct wsrt__guess *g, uint32_t i)
{
    return is_known(g, i) && g->log2_ns[i] != WSRT__NEVER
               ? wsrt__exp2(g->log2_ns[i])
               : 0;
}

/* Of the first kernel whose default may run, if it had to be predicted. */
static double time_of_default(struct wsrt__guess *g)
{
    uint32_t d = 0;

    while (d < g->ndflt && is_known(g, d) && !may_run(g, d))
        d++;
    return d < g->ndflt ? time_of(g, d) : 0;
}

static int take(struct wsrt__guess *g, uint32_t at, enum wsrt_how how,
                struct wsrt_pick *out)
{
    if (at == WSRT_NONE)
        return WSRT_ENONE;
    out->variant = g->form[at]->variant;
    out->how = how;
    out->entry = WSRT_NO_ENTRY;
    out->distance = 0;
    out->time_ns = time_of(g, at);
    out->default_ns = time_of_default(g);
    return WSRT_OK;
}

static int pick_formula(struct wsrt__work *w, struct wsrt_pick *out)
{
    struct wsrt__guess g;

    bound_all(w, NULL, &g);
    return take(&g, wsrt__model_choose(&g), WSRT_FORMULA, out);
}

int wsrt__pick_formula(const struct wsrt_pack *p, const struct wsrt_f_model *m,
                       const int64_t *axes, struct wsrt_pick *out)
{
    struct wsrt__work w;

    wsrt__work_start(&w, p, m, axes);
    return pick_formula(&w, out);
}

static uint32_t distance(const struct wsrt_pack *p, const int64_t *a,
                         const int64_t *b)
{
    uint32_t sum = 0;

    for (uint32_t k = 0; k < p->nvar; k++) {
        int32_t d =
            wsrt__log2(a[p->var_axis[k]]) - wsrt__log2(b[p->var_axis[k]]);

        sum += (uint32_t)(d < 0 ? -d : d);
    }
    return sum;
}

static void take_entry(const struct wsrt__work *w, uint32_t entry,
                       struct wsrt_pick *out)
{
    const struct wsrt_pack *p = w->p;

    wsrt__take_entry(p, entry, WSRT_NEAREST,
                     distance(p, w->axes, p->shape + (size_t)entry * p->naxis),
                     out);
}

int wsrt__pick_model(const struct wsrt_pack *p, const int64_t *axes,
                     struct wsrt_pick *out)
{
    const struct wsrt_f_model *m = wsrt__model_find(p, axes);
    const struct wsrt_f_node *cell;
    struct wsrt__guess g;
    struct wsrt__work w;
    uint32_t at;

    if (!m)
        return WSRT_EARG;
    wsrt__work_start(&w, p, m, axes);
    if (!wsrt__model_covers(p, m, axes))
        return pick_formula(&w, out);
    cell = wsrt__model_cell(&w);
    bound_all(&w, cell, &g);
    at = wsrt__model_choose(&g);
    /* None of the cell's may run here: another of the portfolio may. */
    if (at == WSRT_NONE)
        return pick_formula(&w, out);
    if (cell->limit != WSRT_NONE &&
        g.form[at]->variant == p->entry[cell->limit].variant)
        take_entry(&w, cell->limit, out);
    else
        take(&g, at, WSRT_MODEL, out);
    return WSRT_OK;
}
