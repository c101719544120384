/*
 * pack_points.c: shapes to try a model on, and what it predicts for them.
 *
 * The runtime's own functions predict and decide, on an open pack that has all
 * candidates. Shapes are drawn with whole numbers alone, so that a pack has
 * the same bytes whatever compiled the writer.
 */
#include "pack/pack_build.h"

#include "base/banned.h"

static unsigned bits_of(int64_t v)
{
    return 64 - (unsigned)__builtin_clzll((uint64_t)v | 1);
}

static int64_t clamp(int64_t v, const struct wsrt_f_range *r)
{
    return v < r->lo ? r->lo : v > r->hi ? r->hi : v;
}

/* Each number of bits is as likely as another. Tiles end at multiples of
 * powers of two, where times jump, and kernels may ask for such sizes: many are
 * put there, some next to it, and some at the ends. */
static int64_t draw_size(struct ws__rng *r, const struct wsrt_f_range *range)
{
    unsigned low = bits_of(range->lo), high = bits_of(range->hi);
    unsigned bits = low + (unsigned)ws__rng_below(r, high - low + 1);
    struct wsrt_f_range same = {(int64_t)1 << (bits - 1),
                                ((int64_t)1 << (bits - 1)) * 2 - 1};
    uint64_t kind = ws__rng_below(r, 16);
    int64_t v;

    same.lo = clamp(same.lo, range);
    same.hi = clamp(same.hi, range);
    v = same.lo + (int64_t)ws__rng_below(r, (uint64_t)(same.hi - same.lo) + 1);
    if (kind == 0)
        return ws__rng_below(r, 2) ? range->lo : range->hi;
    if (kind < 10) {
        unsigned shift = (unsigned)ws__rng_below(r, 9);

        v = v >> shift << shift;
        if (kind < 4)
            v += (int64_t)ws__rng_below(r, 3) - 1;
    }
    return clamp(v, range);
}

/* Conditions such as "a multiple of 16" leave few shapes. */
#define TRIES 64

static bool may_run(const struct ws__pack_draft *d, const int64_t *axes)
{
    const struct wsrt_f_model *m = &d->p->model[d->model];

    return wsrt__requires_hold(d->p, axes) &&
           wsrt__may_run(d->p, d->p->form[m->first_form].variant, axes);
}

/* Some size within a factor of two. */
static int64_t beside(struct ws__rng *r, const struct wsrt_f_range *range,
                      int64_t v)
{
    struct wsrt_f_range near = {clamp(v / 2 + v % 2, range),
                                clamp(v > INT64_MAX / 2 ? v : 2 * v, range)};

    return draw_size(r, &near);
}

/* Shapes like those that were timed: sizes of two of them, some of them moved.
 * What is told of counts goes together, and stays as it was found. */
static void draw_near(const struct ws__pack_draft *d, struct ws__rng *r,
                      const struct wsrt_f_range *span,
                      const struct wsrt_f_group *g, int64_t *axes)
{
    const struct wsrt_pack *p = d->p;
    const int64_t *x =
        p->shape + (g->first + ws__rng_below(r, g->n)) * p->naxis;
    const int64_t *y =
        p->shape + (g->first + ws__rng_below(r, g->n)) * p->naxis;

    for (uint32_t k = 0; k < p->nvar; k++) {
        uint32_t a = p->var_axis[k];
        uint64_t kind = ws__rng_below(r, 4);

        axes[a] = x[a];
        if (wsrt_axis_is_counted(p, a) || kind == 0)
            continue;
        if (kind == 1)
            axes[a] = y[a];
        else if (kind == 2)
            axes[a] = beside(r, &span[k], x[a]);
        axes[a] = clamp(axes[a], &span[k]);
    }
}

void ws__pack_draw(const struct ws__pack_draft *d, struct ws__rng *r,
                   const struct wsrt_f_range *span, int64_t *axes)
{
    const struct wsrt_pack *p = d->p;
    const struct wsrt_f_group *g;

    for (uint32_t a = 0; a < p->naxis; a++)
        axes[a] = p->axis[a].dflt;
    for (uint32_t k = 0; k < p->ntype; k++)
        axes[p->type_axis[k]] = p->model_type[d->model * p->ntype + k];
    g = wsrt__find_group(p, axes);
    for (int i = 0; i < TRIES; i++) {
        bool near = g && ws__rng_below(r, 4);

        for (uint32_t k = 0; k < p->nvar && !near; k++)
            axes[p->var_axis[k]] = draw_size(r, &span[k]);
        if (near)
            draw_near(d, r, span, g, axes);
        if (may_run(d, axes))
            return;
    }
}

bool ws__pack_predict(const struct ws__pack_draft *d, struct ws__pack_row *row,
                      const uint32_t *place, size_t n)
{
    const struct wsrt_f_model *m = &d->p->model[d->model];
    struct wsrt__work w;
    bool any = false;

    if (wsrt__axes_check(d->p, row->axes) ||
        !wsrt__requires_hold(d->p, row->axes))
        return false;
    wsrt__work_start(&w, d->p, m, row->axes);
    for (size_t i = 0; i < n; i++) {
        const struct wsrt_f_form *f = &d->p->form[m->first_form + place[i]];
        bool may = wsrt__may_run(d->p, f->variant, row->axes);

        row->log2_ns[place[i]] = may ? wsrt__work_guess(&w, f) : WSRT__NEVER;
        any |= may;
    }
    return any;
}

uint32_t ws__pack_decide(const struct ws__pack_draft *d,
                         const struct ws__pack_row *row, const uint32_t *place,
                         size_t n)
{
    const struct wsrt_f_model *m = &d->p->model[d->model];
    struct wsrt__guess g = {.p = d->p,
                            .m = m,
                            .axes = row->axes,
                            .n = (uint32_t)n,
                            .ndflt = m->ndflt};
    uint32_t at;

    for (size_t i = 0; i < n; i++) {
        g.form[i] = &d->p->form[m->first_form + place[i]];
        g.log2_ns[i] = row->log2_ns[place[i]];
    }
    at = wsrt__model_choose(&g);
    return at == WSRT_NONE ? WSRT_NONE : place[at];
}
