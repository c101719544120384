/*
 * wsrt_check_model.c: are the models, their trees and the axes that are
 * derived from counts sound?
 *
 * They came with version 2.0. As everywhere each section is sliced in its
 * order, by one running index each. A tree is sound if every step goes forward
 * and stays inside: a look-up ends, and ends at a leaf. What a model predicts
 * is its own affair: the formula takes any numbers.
 */
#include "wsrt_check.h"

/* The next element of each section that no model has named yet. */
struct model_tally {
    uint32_t law, form, coord, code, node, list;
};

static int check_counts(const struct wsrt__checker *c)
{
    const struct wsrt_pack *p = c->p;

    for (uint32_t i = 0; i < p->count[WSRT_S_COUNTS]; i++) {
        const struct wsrt_f_counts *n = &p->counts[i];

        if (n->axis >= p->naxis || p->axis[n->axis].kind != WSRT_AXIS_VAR ||
            !n->kind || n->kind >= WSRT_NCOUNTS || n->block < 0 ||
            (n->kind == WSRT_COUNTS_BLOCKS) != (n->block != 0) ||
            (i && n->axis <= p->counts[i - 1].axis))
            return wsrt__damaged(c, WSRT_S_COUNTS, i, "out of bounds");
    }
    return WSRT_OK;
}

/* Types that the axes have, in order, each set once; ranges of sizes. */
static int check_place(const struct wsrt__checker *c, uint32_t i)
{
    const struct wsrt_pack *p = c->p;
    const int64_t *t = p->model_type + (size_t)i * p->ntype;
    int order = i ? 0 : -1;

    for (uint32_t k = 0; k < p->ntype; k++) {
        if (!wsrt__is_value(p, p->type_axis[k], t[k]))
            return wsrt__damaged(c, WSRT_S_MODELTYPES, i,
                                 "no type of the axis");
        if (i && !order && t[k] != (t - p->ntype)[k])
            order = t[k] > (t - p->ntype)[k] ? -1 : 1;
    }
    if (order >= 0)
        return wsrt__damaged(c, WSRT_S_MODELS, i, "not in order");
    for (uint32_t k = 0; k < p->nvar; k++) {
        const struct wsrt_f_range *r = &p->span[(size_t)i * p->nvar + k];

        if (r->lo < 1 || r->lo > r->hi)
            return wsrt__damaged(c, WSRT_S_SPANS, i * p->nvar + k, "no range");
    }
    return WSRT_OK;
}

static int takes(uint32_t first, uint32_t n, uint32_t limit, uint32_t have,
                 uint32_t *next)
{
    if (first != *next || n > have - *next || n > limit)
        return 0;
    *next += n;
    return 1;
}

static int check_slices(const struct wsrt__checker *c, uint32_t i,
                        struct model_tally *t)
{
    const uint32_t *have = c->p->count;
    const struct wsrt_f_model *m = &c->p->model[i];

    if (!takes(m->first_law, m->nlaw, WSRT_MAX_KERNELS, have[WSRT_S_LAWS],
               &t->law) ||
        !takes(m->first_form, m->nform, WSRT_MAX_FORMS, have[WSRT_S_FORMS],
               &t->form) ||
        !takes(m->first_coord, m->ncoord, WSRT_MAX_COORDS, have[WSRT_S_COORDS],
               &t->coord) ||
        !takes(m->first_node, m->nnode, UINT32_MAX, have[WSRT_S_NODES],
               &t->node) ||
        !takes(m->first_list, m->nlist, UINT32_MAX, have[WSRT_S_LISTS],
               &t->list) ||
        m->ndflt > m->nform || m->considered < m->nform || m->at_once > 1000)
        return wsrt__damaged(c, WSRT_S_MODELS, i, "out of bounds");
    return WSRT_OK;
}

static int beyond(int32_t log2)
{
    return log2 != WSRT_WAVE_NOTHING &&
           (log2 < -WSRT_WAVE_MOST || log2 > WSRT_WAVE_MOST);
}

/* What the formula divides by or looks up with, and no constant beyond 2^512:
 * then two of them, and a coordinate, still add up within 32 bits. */
static int bad_law(const struct wsrt_wave_law *w)
{
    const int32_t log2[] = {w->start,      w->soft,      w->again,
                            w->line,       w->line_loop, w->line_columns,
                            w->masked,     w->crowd,     w->after,
                            w->after_byte, w->distinct,  w->hidden};

    for (size_t i = 0; i < sizeof(log2) / sizeof(log2[0]); i++)
        if (beyond(log2[i]))
            return 1;
    return w->units < 1 || w->cache < 0 || w->p < 1 || w->p_inverse < 1 ||
           w->q < 1 || w->q_inverse < 1;
}

static int bad_form(const struct wsrt_wave_form *w)
{
    const int32_t log2[] = {w->flop,  w->vector, w->shared,  w->byte,
                            w->step,  w->uneven, w->latency, w->latency_byte,
                            w->pad,   w->block,  w->fill,    w->fill_steps,
                            w->store, w->dram,   w->line};

    for (size_t i = 0; i < sizeof(log2) / sizeof(log2[0]); i++)
        if (beyond(log2[i]))
            return 1;
    return w->occupancy < 1 || w->overlap < 1 || w->overlap_inverse < 1;
}

static int check_form(const struct wsrt__checker *c,
                      const struct wsrt_f_model *m, uint32_t i)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_form *f = &p->form[m->first_form + i];
    uint32_t at = m->first_form + i, kernel;

    if (f->variant >= p->count[WSRT_S_VARIANTS] || f->law >= m->nlaw ||
        f->margin < 0 || bad_form(&f->form))
        return wsrt__damaged(c, WSRT_S_FORMS, at, "out of bounds");
    for (uint32_t k = 0; k < WSRT_NWAVE + WSRT_NWAVE % 2; k++)
        if (k < WSRT_NWAVE ? f->coord[k] >= m->ncoord : f->coord[k] != 0)
            return wsrt__damaged(c, WSRT_S_FORMS, at, "out of bounds");
    if (i >= m->ndflt)
        return WSRT_OK;
    kernel = p->variant[f->variant].kernel;
    if (p->kernel[kernel].dflt != f->variant ||
        (i && p->variant[f[-1].variant].kernel >= kernel))
        return wsrt__damaged(c, WSRT_S_FORMS, at, "is no kernel's default");
    return WSRT_OK;
}

/* Is every factor one that comes before and has none? */
static int sound_factors(const struct wsrt_f_coord *first,
                         const struct wsrt_f_coord *o)
{
    uint32_t n = 0;

    while (n < WSRT_FACTORS && o->factor[n] != WSRT_NO_FACTOR) {
        if (o->factor[n] >= o - first ||
            first[o->factor[n]].factor[0] != WSRT_NO_FACTOR)
            return 0;
        n++;
    }
    for (uint32_t i = n; i < WSRT_FACTORS; i++)
        if (o->factor[i] != WSRT_NO_FACTOR)
            return 0;
    return !n || (!o->bytes && o->axis == WSRT_NO_FACTOR);
}

static int sound_quotient(const struct wsrt_pack *p,
                          const struct wsrt_f_coord *o)
{
    return o->axis == WSRT_NO_FACTOR ||
           (!o->bytes && o->value > 0 && o->axis < p->naxis &&
            p->axis[o->axis].kind == WSRT_AXIS_VAR);
}

static int check_coord(const struct wsrt__checker *c,
                       const struct wsrt_f_model *m, uint32_t i,
                       struct model_tally *t)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_coord *o = &p->coord[m->first_coord + i];

    i += m->first_coord;
    if (o->at != t->code || o->bytes > p->count[WSRT_S_COORDCODE] - t->code ||
        o->value < 0 || o->value > WSRT_MAX_COORD || !sound_quotient(p, o) ||
        !sound_factors(p->coord + m->first_coord, o))
        return wsrt__damaged(c, WSRT_S_COORDS, i, "out of bounds");
    if (o->bytes && (o->value || wsrt_code_check(p->coord_code + o->at,
                                                 o->bytes, p->naxis, 1)))
        return wsrt__damaged(c, WSRT_S_COORDS, i,
                             "not a program over whole numbers");
    t->code += o->bytes;
    return WSRT_OK;
}

/* Has the entry the types of the model? */
static int same_types(const struct wsrt_pack *p, uint32_t model, uint32_t entry)
{
    const int64_t *axes = p->shape + (size_t)entry * p->naxis;

    for (uint32_t k = 0; k < p->ntype; k++)
        if (axes[p->type_axis[k]] !=
            p->model_type[(size_t)model * p->ntype + k])
            return 0;
    return 1;
}

static int check_leaf(const struct wsrt__checker *c, uint32_t model,
                      const struct wsrt_f_node *n)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_model *m = &p->model[model];
    const uint16_t *list = p->list + m->first_list + n->skip;

    if (n->limit != WSRT_NONE && (n->limit >= p->count[WSRT_S_ENTRIES] ||
                                  !same_types(p, model, n->limit)))
        return -1;
    if (n->skip >= m->nlist || list[0] > WSRT_MAX_LIST ||
        list[0] >= m->nlist - n->skip ||
        (n->limit != WSRT_NONE && list[0] != 1))
        return -1;
    for (uint32_t i = 1; i <= list[0]; i++)
        if (list[i] >= m->nform)
            return -1;
    return n->limit != WSRT_NONE && p->form[m->first_form + list[1]].variant !=
                                        p->entry[n->limit].variant
               ? -1
               : 0;
}

static int check_tree(const struct wsrt__checker *c, uint32_t model)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_model *m = &p->model[model];

    for (uint32_t i = 0; i < m->nnode; i++) {
        const struct wsrt_f_node *n = &p->node[m->first_node + i];

        if (n->axis == WSRT_LEAF
                ? check_leaf(c, model, n)
                : (n->axis >= p->naxis && n->axis < WSRT_MAX_AXES) ||
                      n->axis >= WSRT_MAX_AXES + m->ncoord || n->skip < 2 ||
                      n->skip >= m->nnode - i)
            return wsrt__damaged(c, WSRT_S_NODES, m->first_node + i,
                                 "leads nowhere");
    }
    return WSRT_OK;
}

static int check_model(const struct wsrt__checker *c, uint32_t i,
                       struct model_tally *t)
{
    const struct wsrt_f_model *m = &c->p->model[i];

    WSRT__TRY(check_slices(c, i, t));
    WSRT__TRY(check_place(c, i));
    for (uint32_t k = m->first_law; k < m->first_law + m->nlaw; k++)
        if (bad_law(&c->p->law[k].law))
            return wsrt__damaged(c, WSRT_S_LAWS, k, "out of bounds");
    for (uint32_t k = 0; k < m->nform; k++)
        WSRT__TRY(check_form(c, m, k));
    for (uint32_t k = 0; k < m->ncoord; k++)
        WSRT__TRY(check_coord(c, m, k, t));
    return check_tree(c, i);
}

int wsrt__check_models(const struct wsrt__checker *c)
{
    const struct wsrt_pack *p = c->p;
    const uint32_t *n = p->count;
    struct model_tally t = {0, 0, 0, 0, 0, 0};

    WSRT__TRY(check_counts(c));
    if (n[WSRT_S_MODELTYPES] != n[WSRT_S_MODELS] * p->ntype ||
        n[WSRT_S_SPANS] != n[WSRT_S_MODELS] * p->nvar)
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "types and ranges do not match the models");
    for (uint32_t i = 0; i < n[WSRT_S_MODELS]; i++)
        WSRT__TRY(check_model(c, i, &t));
    if (t.law != n[WSRT_S_LAWS] || t.form != n[WSRT_S_FORMS] ||
        t.coord != n[WSRT_S_COORDS] || t.code != n[WSRT_S_COORDCODE] ||
        t.node != n[WSRT_S_NODES] || t.list != n[WSRT_S_LISTS])
        return wsrt__refuse(c, WSRT_EDAMAGED, "parts that no model has");
    return WSRT_OK;
}
