/* wave_table.c: from a kernel's expressions to the coordinates of its pairs. */
#include "wave/wave_table.h"

#include <math.h>

#include "base/banned.h"

static void sheet_vars(const struct ws__kernel *k,
                       const struct ws__wave_sheet *s, union wsrt_value *vars)
{
    vars[ws__kernel_device_slot(k, WS__DV_UNITS)].i = (int64_t)s->units;
    vars[ws__kernel_device_slot(k, WS__DV_THREADS)].i = 1024;
    vars[ws__kernel_device_slot(k, WS__DV_SHARED)].i = 48 << 10;
    vars[ws__kernel_device_slot(k, WS__DV_VECTOR)].i =
        (int64_t)fmax(4, s->vector_bytes);
    vars[ws__kernel_device_slot(k, WS__DV_IS_CPU)].i = s->is_cpu;
}

/* 0 where the kernel does not say, or what it says cannot be evaluated. */
static int64_t number(const struct ws__expr *e, const union wsrt_value *vars)
{
    union wsrt_value v;

    if (!e || wsrt_eval(e->code, e->code_bytes, vars, &v, NULL) || v.i < 0)
        return 0;
    return v.i;
}

/* --- configs -------------------------------------------------------------- */

static bool is_arithmetic(const struct ws__param *p)
{
    for (size_t i = 2; i < p->nvalue; i++)
        if (p->value[i].u.i - p->value[i - 1].u.i !=
            p->value[1].u.i - p->value[0].u.i)
            return false;
    return p->nvalue > 2;
}

/* Where a value lies, in units in which 1 is far: even series by their steps,
 * other numbers by their logarithm; of words each is far from each. */
static double scaled(const struct ws__param *p, size_t at)
{
    const struct ws__value *v = &p->value[at];

    if (p->type == WS__INT && is_arithmetic(p))
        return (double)at / 1.2;
    if (p->type == WS__INT && v->u.i > 0)
        return log2((double)v->u.i) / 1.4;
    if (p->type == WS__FLOAT && v->u.f > 0)
        return log2(v->u.f) / 1.4;
    return 2. * (double)at;
}

static void describe(const struct ws__kernel *k, const struct ws__config *c,
                     union wsrt_value *vars, struct ws__wave_config *out)
{
    const struct ws__kernel_wave *w = &k->wave;
    int64_t engine;

    ws__config_vars(k, c, vars);
    out->rows = (double)number(w->tile[0], vars);
    out->columns = (double)number(w->tile[1], vars);
    out->depth = (double)number(w->tile[2], vars);
    out->warps = (double)number(w->warps, vars);
    out->stages = (double)number(w->stages, vars);
    out->accumulators = (double)number(w->accumulators, vars);
    engine = number(w->engine, vars);
    out->engine = engine > 1    ? WS__ENGINE_WGMMA
                  : engine == 1 ? WS__ENGINE_MMA
                                : WS__ENGINE_VECTOR;
    out->spread = number(w->spread, vars) != 0;
    for (size_t p = 0; p < k->nparam && p < WS__WAVE_FEATURES; p++)
        out->feature[p] = scaled(&k->param[p], c->at[p]);
}

/* Does the parameter decide on grid or loop? */
static bool is_macro(const struct ws__kernel *k, size_t param)
{
    const struct ws__expr *e[] = {k->wave.coord[WSRT_W_GRID],
                                  k->wave.coord[WSRT_W_STEPS], k->wave.loop};

    for (size_t i = 0; i < WS_COUNT(e); i++)
        if (e[i] && ws__expr_uses(e[i], ws__kernel_param_slot(k, param)))
            return true;
    return false;
}

/* Configs that agree in all such parameters are of one macro config. */
static void set_macros(const struct ws__wave_source *s,
                       struct ws__wave_config *config)
{
    const struct ws__kernel *k = s->kernel;

    for (size_t j = 0; j < s->nconfig; j++) {
        bool found = false;

        for (size_t i = 0; i < j && !found; i++) {
            found = true;
            for (size_t p = 0; p < k->nparam && found; p++)
                found =
                    !is_macro(k, p) || s->config[i].at[p] == s->config[j].at[p];
            if (found)
                config[j].macro = config[i].macro;
        }
        if (!found)
            config[j].macro = (uint32_t)j;
    }
}

/* --- pairs ---------------------------------------------------------------- */

static void set_shape(struct ws__wave_maker *m, size_t shape)
{
    const struct ws__op *op = m->source.kernel->op;

    for (size_t a = 0; op && a < op->naxis; a++)
        m->vars[a].i = m->source.axis[shape * op->naxis + a];
}

static void fill_pair(struct ws__wave_maker *m, size_t shape, size_t config)
{
    const struct ws__kernel *k = m->source.kernel;
    uint32_t resident = m->config[config].occupancy;
    int64_t *coord = m->pair[shape * m->table.nconfig + config].coord;

    ws__config_vars(k, &m->source.config[config], m->vars);
    m->vars[ws__kernel_resident_slot(k)].i =
        (int64_t)m->table.sheet.units * (resident ? resident : 1);
    for (int i = 0; i < WSRT_NWAVE; i++) {
        const struct ws__expr *e = k->wave.coord[i];

        coord[i] = e ? wsrt__coord_value(e->code, e->code_bytes, m->vars) : 0;
    }
}

static void fill_shape(struct ws__wave_maker *m, size_t shape)
{
    const struct ws__wave_source *s = &m->source;

    set_shape(m, shape);
    for (size_t j = 0; j < s->nconfig; j++) {
        struct ws__wave_pair *p = &m->pair[shape * s->nconfig + j];

        p->feasible = s->feasible(s->user, shape, j);
        if (p->feasible)
            fill_pair(m, shape, j);
    }
}

static void keep_axes(struct ws__wave_maker *m)
{
    const struct ws__op *op = m->source.kernel->op;

    for (size_t a = 0; op && a < op->naxis; a++)
        m->table.naxis += op->axis[a].kind == WS__AXIS_VAR;
    for (size_t i = 0; i < m->source.nshape; i++) {
        int64_t *to = m->axis + i * m->table.naxis;

        for (size_t a = 0; op && a < op->naxis; a++)
            if (op->axis[a].kind == WS__AXIS_VAR)
                *to++ = m->source.axis[i * op->naxis + a];
    }
}

static void set_table(struct ws__wave_maker *m)
{
    const struct ws__kernel *k = m->source.kernel;

    m->table.ctx = m->ctx;
    m->table.sheet = *m->source.sheet;
    m->table.balanced = k->wave.balanced;
    m->table.nshape = m->source.nshape;
    m->table.nconfig = m->source.nconfig;
    m->table.nfeature =
        k->nparam < WS__WAVE_FEATURES ? k->nparam : WS__WAVE_FEATURES;
    m->table.axis = m->axis;
    m->table.config = m->config;
    m->table.pair = m->pair;
    keep_axes(m);
}

static void make(struct ws__wave_maker *m)
{
    const struct ws__wave_source *s = &m->source;
    const struct ws__op *op = s->kernel->op;

    set_table(m);
    sheet_vars(s->kernel, s->sheet, m->vars);
    for (size_t a = 0; op && a < op->naxis; a++)
        m->vars[a].i = s->axis[a]; /* constants, and types of the first shape */
    for (size_t j = 0; j < s->nconfig; j++) {
        if (s->occupancy)
            m->config[j].occupancy = s->occupancy[j];
        describe(s->kernel, &s->config[j], m->vars, &m->config[j]);
    }
    set_macros(s, m->config);
    for (size_t i = 0; i < s->nshape; i++)
        fill_shape(m, i);
}

int ws__wave_table_make(const struct ws__wave_source *s,
                        struct ws__wave_maker *m)
{
    memset(m, 0, sizeof(*m));
    m->ctx = s->ctx;
    m->source = *s;
    m->axis = ws__alloc(s->ctx, s->nshape * WS__MAX_AXES + 1, sizeof(*m->axis));
    m->config = ws__alloc(s->ctx, s->nconfig + 1, sizeof(*m->config));
    m->pair = ws__alloc(s->ctx, s->nshape * s->nconfig + 1, sizeof(*m->pair));
    if (!m->axis || !m->config || !m->pair) {
        ws__wave_table_clear(m);
        return WS_ENOMEM;
    }
    make(m);
    return 0;
}

void ws__wave_table_occupancy(struct ws__wave_maker *m, size_t config,
                              uint32_t occupancy)
{
    m->config[config].occupancy = occupancy;
    for (size_t i = 0; i < m->table.nshape; i++)
        if (m->pair[i * m->table.nconfig + config].feasible) {
            set_shape(m, i);
            fill_pair(m, i, config);
        }
}

void ws__wave_table_clear(struct ws__wave_maker *m)
{
    ws__free(m->ctx, m->axis);
    ws__free(m->ctx, m->config);
    ws__free(m->ctx, m->pair);
    memset(m, 0, sizeof(*m));
}
