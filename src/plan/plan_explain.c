/*
 * plan_explain.c: a fitted model's constants, and one prediction term by term.
 *
 * The model is fitted as the yardstick fits one, but on all shapes. Terms are
 * those of the constants and weights that a pack carries, so what is printed is
 * what the runtime computes.
 */
#include <math.h>

#include "plan/plan_matrix.h"

#include "base/banned.h"

#define TERMS_MAX (WSRT_NWAVE + WSRT_WAVE_WEIGHTS + 24)

struct explain {
    struct ws__model_data data;
    struct ws__judge_opts o;
    struct ws__judge_state state;
    struct ws__arena *arena;
    struct ws_model_explain *out;
    struct ws_model_term *term;
    size_t shape;    /* SIZE_MAX: none */
    uint32_t config; /* UINT32_MAX: the chosen one */
    struct ws__workload workload;
};

static void add(struct explain *x, const char *group, const char *name,
                const char *unit, double value)
{
    if (x->out->nterm < TERMS_MAX)
        x->term[x->out->nterm++] =
            (struct ws_model_term){group, name, unit, value};
}

/* --- what was asked ------------------------------------------------------- */

static size_t shape_index(const struct explain *x)
{
    size_t naxis = x->data.kernel->op->naxis;

    for (size_t i = 0; i < x->data.nshape; i++)
        if (!memcmp(x->data.axis + i * naxis, x->workload.axis,
                    naxis * sizeof(*x->workload.axis)))
            return i;
    return SIZE_MAX;
}

static int find_config(struct explain *x, const char *text)
{
    struct ws__model_data *e = &x->data;
    struct ws__config c;
    uint32_t j = 0;

    WS_TRY(ws__config_parse(e->ctx, e->kernel, text, &c));
    while (j < e->nconfig && !ws__config_eq(&e->config[j], &c))
        j++;
    x->config = j;
    if (j < e->nconfig &&
        e->maker.table.pair[x->shape * e->nconfig + j].feasible)
        return 0;
    ws__fail(e->ctx, WS_ESPEC,
             "'%.100s' cannot run on the shape, or is not in "
             "'%.200s'",
             text, e->o->data);
    return ws__hint(e->ctx, "parameters that are left out have their defaults");
}

/* The shape is one of the matrix, or stands behind those. */
static int open_data(struct explain *x, const char *shape, const char *config)
{
    struct ws__model_data *e = &x->data;

    e->any_default = true; /* nothing is compared with it */
    WS_TRY(ws__model_opts(e, x->arena, &x->o));
    if (x->o.method != WS__JUDGE_WAVE && x->o.method != WS__JUDGE_BILINEAR) {
        ws__fail(e->ctx, WS_EINVAL, "method '%s' has nothing to explain",
                 e->o->method);
        return ws__hint(e->ctx, "wave and bilinear have");
    }
    if (shape)
        e->extra = x->workload.axis;
    WS_TRY(ws__model_load(e));
    x->shape = shape ? shape_index(x) : SIZE_MAX;
    x->config = UINT32_MAX;
    return config && shape ? find_config(x, config) : 0;
}

static int name_choice(struct explain *x, uint32_t chosen, uint32_t config)
{
    struct ws__model_data *e = &x->data;
    const struct ws__matrix_cell *c;

    if (chosen == UINT32_MAX) {
        ws__fail(e->ctx, WS_ESPEC, "no config can run on the shape");
        return ws__hint(e->ctx, "'wavesmith space' says which constraint "
                                "removes how many");
    }
    x->out->shape = ws__model_shape_text(e, x->arena, x->shape);
    x->out->config = ws__model_config_text(e, x->arena, config);
    x->out->chosen = ws__model_config_text(e, x->arena, chosen);
    c = e->cell[x->shape * e->nconfig + config];
    if (c && c->known)
        x->out->measured_ns = c->ns[e->truth_pass[0]];
    return x->out->shape && x->out->config && x->out->chosen ? 0 : WS_ENOMEM;
}

/* --- the wave model ------------------------------------------------------- */

static int list_constants(struct explain *x, const struct ws__wave_model *m)
{
    struct ws__wave_belief prior;
    double left[WS__NTHETA];
    struct ws_model_constant *c =
        ws__arena_alloc(x->arena, WS__NTHETA, sizeof(*c));

    if (!c)
        return WS_ENOMEM;
    ws__wave_prior(&x->data.sheet, &prior);
    ws__wave_theta_sd(m, left);
    for (int i = 0; i < WS__NTHETA; i++) {
        enum ws__theta t = (enum ws__theta)i;

        c[i] = (struct ws_model_constant){
            .name = ws__theta_name(t),
            .unit = ws__theta_unit(t),
            .prior = ws__theta_value(t, prior.centre[i]),
            .prior_deviation = prior.sd[i],
            .fitted = ws__theta_value(t, ws__wave_theta(m)[i]),
            .deviation = left[i],
            .is_log = ws__theta_is_log(t)};
    }
    x->out->constant = c;
    x->out->nconstant = WS__NTHETA;
    return 0;
}

static void set_quality(struct explain *x, const struct ws__wave_model *m)
{
    struct ws__wave_quality q;

    ws__wave_quality(m, &q);
    x->out->cells = (double)q.n;
    x->out->failed = (double)q.failed;
    x->out->outliers = (double)q.outliers;
    x->out->formula_rms = q.formula_rms;
    x->out->left_out_rms = q.left_out_rms;
    x->out->process = q.gate;
    x->out->warning = ws__wave_warning(m);
}

static void add_coords(struct explain *x, const int64_t *coord)
{
    static const char *const names[] = {
#define WSRT_X(name, text) text,
        WSRT_WAVE_COORDS(WSRT_X)
#undef WSRT_X
    };

    for (size_t i = 0; i < WS_COUNT(names); i++)
        if (coord[i])
            add(x, "coordinates", names[i], "", (double)coord[i]);
}

static void add_time(struct explain *x, const char *group, const char *name,
                     int32_t log2_ns)
{
    double ns = wsrt__exp2(log2_ns);

    if (ns > 1e-3) /* else there is none */
        add(x, group, name, "ns", ns);
}

static void add_formula(struct explain *x, const struct wsrt_wave_law *law,
                        const struct wsrt_wave_terms *t)
{
    add(x, "waves", "full waves", "", (double)t->full);
    add(x, "waves", "blocks of the last wave", "", (double)t->rest);
    add(x, "waves", "of them on a multiprocessor", "", (double)t->resident);
    add_time(x, "step", "compute", t->compute);
    add_time(x, "step", "load", t->load);
    add_time(x, "step", "both, overlapping", t->step);
    add_time(x, "step", "latency", t->latency);
    add_time(x, "launch", "a full wave's block", t->tile);
    add_time(x, "launch", "device memory", t->memory);
    add_time(x, "launch", "hot lines", t->line);
    add_time(x, "launch", "start", law->start);
    add_time(x, "launch", "blocks, memory and lines", t->body);
    add_time(x, "launch", "launch behind", t->after);
    add_time(x, "launch", "formula", t->total);
}

/* Names of the features, in the order of wsrt__wave_features. */
static const char *feature_name(const struct explain *x, uint32_t i)
{
    static const char *const behind[] = {"waves",          "length of loops",
                                         "padding",        "distinct data",
                                         "waves, squared", "waves beyond one"};
    const struct ws__op *op = x->data.kernel->op;
    uint32_t axis = 1;

    if (!i)
        return "of the config";
    if (i > WSRT_WAVE_AXES)
        return behind[i - WSRT_WAVE_AXES - 1];
    for (size_t a = 0; a < op->naxis; a++)
        if (op->axis[a].kind == WS__AXIS_VAR && axis++ == i)
            return op->axis[a].name;
    return "";
}

static void add_correction(struct explain *x, const struct wsrt_wave_form *form,
                           const int32_t *feature)
{
    for (uint32_t i = 0; i < WSRT_WAVE_WEIGHTS; i++) {
        double by = (double)form->weight[i] * feature[i] / WSRT_WAVE_ONE /
                    WSRT_WAVE_ONE;

        if (fabs(by) > 1e-6)
            add(x, "correction", feature_name(x, i), "factor", exp2(by));
    }
}

static void log_axes(const struct explain *x, int32_t *axis)
{
    const struct ws__wave_table *t = &x->data.maker.table;

    for (size_t a = 0; a < t->naxis; a++)
        axis[a] = wsrt__log2_20(t->axis[x->shape * t->naxis + a]);
}

/* The one that a pack would choose. */
static uint32_t best_config(const struct explain *x,
                            const struct wsrt_wave_law *law,
                            const struct wsrt_wave_form *form,
                            const int32_t *axis)
{
    const struct ws__wave_table *t = &x->data.maker.table;
    uint32_t best = UINT32_MAX;
    int32_t least = 0;

    for (uint32_t j = 0; j < t->nconfig; j++) {
        const struct ws__wave_pair *p = &t->pair[x->shape * t->nconfig + j];
        int32_t v;

        if (!p->feasible)
            continue;
        v = wsrt__wave_log2_ns(law, &form[j], p->coord, axis,
                               (uint32_t)t->naxis);
        if (best == UINT32_MAX || v < least) {
            best = j;
            least = v;
        }
    }
    return best;
}

static int explain_pair(struct explain *x, const struct ws__wave_model *m,
                        const struct wsrt_wave_law *law,
                        const struct wsrt_wave_form *form)
{
    const struct ws__wave_table *t = &x->data.maker.table;
    int32_t axis[WS__MAX_AXES], feature[WSRT_WAVE_WEIGHTS];
    struct wsrt_wave_terms terms;
    const int64_t *coord;
    uint32_t chosen, config;

    log_axes(x, axis);
    chosen = best_config(x, law, form, axis);
    config = x->config == UINT32_MAX ? chosen : x->config;
    WS_TRY(name_choice(x, chosen, config));
    coord = t->pair[x->shape * t->nconfig + config].coord;
    wsrt__wave_terms(law, &form[config], coord, axis, (uint32_t)t->naxis,
                     &terms);
    wsrt__wave_features(law, &form[config], coord, axis, (uint32_t)t->naxis,
                        feature);
    add_coords(x, coord);
    add_formula(x, law, &terms);
    add_correction(x, &form[config], feature);
    x->out->predicted_ns =
        wsrt__exp2(wsrt__wave_log2_ns(law, &form[config], coord, axis,
                                      (uint32_t)t->naxis));
    add(x, "result", "predicted", "ns", x->out->predicted_ns);
    return ws__wave_deviation(m,
                              (struct ws__wave_point){(uint32_t)x->shape,
                                                      config},
                              &x->out->deviation);
}

static int explain_wave(struct explain *x)
{
    const struct ws__wave_table *t = &x->data.maker.table;
    const struct ws__wave_model *m;
    struct wsrt_wave_form *form =
        ws__arena_alloc(x->arena, t->nconfig, sizeof(*form));
    struct wsrt_wave_law law;
    struct ws__wave_plan *p;
    int rc;

    if (!form)
        return WS_ENOMEM;
    WS_TRY(ws__judge_plan(&x->state, &p));
    WS_TRY_DONE(ws__wave_plan_model(p, &m));
    WS_TRY_DONE(list_constants(x, m));
    set_quality(x, m);
    if (x->shape == SIZE_MAX)
        goto done;
    WS_TRY_DONE(ws__wave_distil(m, x->state.fit, &law, form));
    WS_TRY_DONE(explain_pair(x, m, &law, form));
done:
    ws__wave_plan_free(p);
    return rc;
}

/* --- bilinear ------------------------------------------------------------- */

static int list_buckets(struct explain *x, const struct ws__bilinear_view *v)
{
    struct ws_model_bucket *b =
        ws__arena_alloc(x->arena, v->nbucket + 1, sizeof(*b));

    if (!b)
        return WS_ENOMEM;
    for (size_t i = 0; i < v->nbucket; i++) {
        const struct ws__bilinear_bucket *k = &v->bucket[i];

        b[i] = (struct ws_model_bucket){
            .macro = ws__model_config_text(&x->data, x->arena, k->macro),
            .waves = k->wave,
            .samples = (double)k->samples,
            .a = k->c[0],
            .b = k->c[1],
            .c = k->c[2],
            .d = k->c[3]};
        if (!b[i].macro)
            return WS_ENOMEM;
    }
    x->out->bucket = b;
    x->out->nbucket = v->nbucket;
    return 0;
}

static int add_buckets_terms(struct explain *x,
                             const struct ws__bilinear_view *v)
{
    WS_TRY(name_choice(x, v->chosen, v->config));
    add(x, "coordinates", "grid", "", v->grid);
    add(x, "coordinates", "loop", "", v->loop);
    add(x, "waves", "waves, without occupancy", "", v->wave);
    if (!v->used)
        return 0;
    add(x, "waves", "waves of the bucket that answers", "", v->used);
    add(x, "launch", "a G L", "ns", v->c[0] * v->grid * v->loop);
    add(x, "launch", "b G", "ns", v->c[1] * v->grid);
    add(x, "launch", "c L", "ns", v->c[2] * v->loop);
    add(x, "launch", "d", "ns", v->c[3]);
    add(x, "result", "predicted", "ns", v->ns);
    x->out->predicted_ns = v->ns;
    if (v->micro == UINT32_MAX)
        return 0;
    add(x, "result", "loop of the anchor in table B", "", v->micro_loop);
    x->out->micro = ws__model_config_text(&x->data, x->arena, v->micro);
    return x->out->micro ? 0 : WS_ENOMEM;
}

static int explain_bilinear(struct explain *x)
{
    struct ws__bilinear_view v;
    int rc = ws__bilinear_explain(&x->state, x->shape, x->config, &v);

    x->out->cells = (double)x->state.cells;
    if (!rc)
        rc = list_buckets(x, &v);
    if (!rc && x->shape != SIZE_MAX)
        rc = add_buckets_terms(x, &v);
    ws__free(x->data.ctx, v.bucket);
    return rc;
}

/* --- the public interface ------------------------------------------------- */

static int explain(struct explain *x, const char *shape, const char *config)
{
    int rc;

    x->term = ws__arena_alloc(x->arena, TERMS_MAX, sizeof(*x->term));
    if (!x->term)
        return WS_ENOMEM;
    x->out->term = x->term;
    WS_TRY(open_data(x, shape, config));
    x->o.seed = x->data.o->seed ? x->data.o->seed : 1;
    x->state.d = &x->data.data;
    x->state.o = &x->o;
    rc = ws__judge_open(&x->state);
    if (!rc)
        rc = x->o.method == WS__JUDGE_WAVE ? explain_wave(x)
                                           : explain_bilinear(x);
    ws__judge_close(&x->state);
    return rc;
}

int ws_model_explain(struct ws_spec *spec,
                     const struct ws_model_explain_opts *opts,
                     struct ws_model_explain *out)
{
    struct ws_model_explain_opts all = {0};
    struct ws_model_eval_opts o = {.size = sizeof(o)};
    const struct ws__kernel *k;
    struct explain *x;
    int rc = 0;

    memset(out, 0, sizeof(*out));
    memcpy(&all, opts,
           opts->size && opts->size < sizeof(all) ? opts->size : sizeof(all));
    WS_TRY(ws__model_kernel(spec, &k));
    x = ws__alloc(spec->ctx, 1, sizeof(*x));
    if (!x)
        return WS_ENOMEM;
    o.data = all.data;
    o.budget = all.budget;
    o.method = all.method;
    o.sheet = all.sheet;
    o.fit_pass = all.fit_pass;
    o.nfit_pass = all.nfit_pass;
    o.truth_pass = all.truth_pass;
    o.seed = all.seed;
    x->data.ctx = spec->ctx;
    x->data.kernel = k;
    x->data.o = &o;
    x->arena = &spec->arena;
    x->out = out;
    if (all.shape)
        rc = ws__plan_workload(spec, all.shape, &x->workload);
    if (!rc)
        rc = explain(x, all.shape, all.config);
    ws__model_clear(&x->data);
    ws__free(spec->ctx, x);
    return rc;
}
