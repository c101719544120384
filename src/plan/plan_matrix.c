/*
 * plan_matrix.c: a timing matrix becomes a table of the wave model and arrays
 * of times.
 *
 * With two matrices (fit and held-out) shapes of both stand in one table; so
 * does one shape that is in neither, where somebody asks about it.
 */
#include "plan/plan_matrix.h"
#include "spec/sheet.h"

#include <math.h>

#include "base/fs.h"
#include "core/decimal.h"

#include "base/banned.h"

#define HELD .4

/* --- reading -------------------------------------------------------------- */

static int need_pass(struct ws__model_data *e, const struct ws__matrix *m,
                     int64_t pass, const char *path, int *out)
{
    *out = m->npass == 1 ? 0 : ws__matrix_pass(m, pass);
    if (*out >= 0)
        return 0;
    ws__fail(e->ctx, WS_EINVAL, "'%s' has no pass %lld", path, (long long)pass);
    return ws__hint(e->ctx,
                    "it has %zu passes, the first is %lld; choose with "
                    "--fit-pass and --truth-pass",
                    m->npass, (long long)m->pass[0]);
}

static int choose_passes(struct ws__model_data *e)
{
    static const int64_t usual[] = {1, 2};
    const int64_t *want = e->o->nfit_pass ? e->o->fit_pass : usual;
    size_t n = e->o->nfit_pass ? e->o->nfit_pass : WS_COUNT(usual);
    int64_t truth = e->o->truth_pass ? e->o->truth_pass : 3;

    if (e->fit.npass == 1)
        n = 1;
    if (n > WS__MATRIX_PASSES) {
        ws__fail(e->ctx, WS_EINVAL, "%zu passes to fit on", n);
        return ws__hint(e->ctx, "a matrix has %d at most", WS__MATRIX_PASSES);
    }
    for (size_t i = 0; i < n; i++)
        WS_TRY(need_pass(e, &e->fit, want[i], e->o->data,
                         &e->fit_pass[e->nfit_pass++]));
    WS_TRY(need_pass(e, &e->fit, truth, e->o->data, &e->truth_pass[0]));
    return e->held.nshape
               ? need_pass(e, &e->held, truth, e->o->holdout, &e->truth_pass[1])
               : 0;
}

static size_t config_index(struct ws__model_data *e, const struct ws__config *c)
{
    for (size_t i = 0; i < e->nconfig; i++)
        if (ws__config_eq(&e->config[i], c))
            return i;
    e->config[e->nconfig] = *c;
    return e->nconfig++;
}

static void join(struct ws__model_data *e, const struct ws__matrix *m,
                 size_t first)
{
    size_t naxis = e->kernel->op->naxis;
    size_t most = e->fit.nconfig + e->held.nconfig;

    for (size_t j = 0; j < m->nconfig; j++) {
        size_t to = config_index(e, &m->config[j]);

        for (size_t i = 0; i < m->nshape; i++)
            e->cell[(first + i) * most + to] = &m->cell[i * m->nconfig + j];
    }
    for (size_t i = 0; i < m->nshape; i++)
        memcpy(e->axis + (first + i) * naxis, m->shape[i].axis,
               naxis * sizeof(*e->axis));
}

/* That of most cells of a config. */
static void set_occupancy(struct ws__model_data *e)
{
    size_t most = e->fit.nconfig + e->held.nconfig;

    for (size_t j = 0; j < e->nconfig; j++) {
        const struct ws__matrix_cell *best = NULL;
        size_t best_count = 0;

        for (size_t i = 0; i < e->nshape; i++) {
            const struct ws__matrix_cell *c = e->cell[i * most + j];
            size_t count = 0;

            if (!c || !c->known)
                continue;
            for (size_t k = 0; k < e->nshape; k++) {
                const struct ws__matrix_cell *d = e->cell[k * most + j];

                count += d && d->known && d->resident == c->resident;
            }
            if (count > best_count) {
                best_count = count;
                best = c;
            }
            if (count * 2 > e->nshape)
                break;
        }
        e->occupancy[j] = best ? best->resident : 0;
    }
}

static int join_both(struct ws__model_data *e)
{
    size_t most = e->fit.nconfig + e->held.nconfig;

    e->nshape = e->fit.nshape + e->held.nshape + (e->extra != NULL);
    e->axis = ws__alloc(e->ctx, e->nshape * WS__MAX_AXES, sizeof(*e->axis));
    e->config = ws__alloc(e->ctx, most, sizeof(*e->config));
    e->occupancy = ws__alloc(e->ctx, most, sizeof(*e->occupancy));
    e->cell = ws__alloc(e->ctx, e->nshape * most, sizeof(*e->cell));
    if (!e->axis || !e->config || !e->occupancy || !e->cell)
        return WS_ENOMEM;
    join(e, &e->fit, 0);
    join(e, &e->held, e->fit.nshape);
    if (e->extra)
        memcpy(e->axis + (e->nshape - 1) * e->kernel->op->naxis, e->extra,
               e->kernel->op->naxis * sizeof(*e->axis));
    set_occupancy(e);
    /* Closer rows from here on. */
    for (size_t i = 0; i < e->nshape; i++)
        memmove(e->cell + i * e->nconfig, e->cell + i * most,
                e->nconfig * sizeof(*e->cell));
    return 0;
}

/* A shape of no matrix: configs that the constraints allow. */
static int make_space(struct ws__model_data *e)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};

    for (size_t a = 0; e->extra && a < e->kernel->op->naxis; a++)
        vars[a].i = e->extra[a];
    return e->extra
               ? ws__space_new(e->ctx, e->kernel, vars, true, false, &e->space)
               : 0;
}

static bool feasible(void *user, size_t shape, size_t config)
{
    const struct ws__model_data *e = user;
    const struct ws__matrix_cell *c = e->cell[shape * e->nconfig + config];

    if (e->extra && shape + 1 == e->nshape)
        return ws__space_valid(e->space, &e->config[config], NULL) == 1;
    return c && c->known;
}

/* --- arrays --------------------------------------------------------------- */

/* What buying a cell gives: the mean of its fit passes' logarithms. */
static void set_fit(struct ws__model_data *e, size_t at)
{
    const struct ws__matrix_cell *c = e->cell[at];
    double sum = 0, clock = 0, n = 0;

    for (size_t i = 0; i < e->nfit_pass; i++) {
        double ns = c->ns[e->fit_pass[i]], mhz = c->mhz[e->fit_pass[i]];

        if (!(ns > 0))
            continue;
        n++;
        sum += log(ns);
        clock += mhz > 0 ? log(fmin(1, mhz / e->sheet.mhz)) : 0;
        if (!(e->first[at] > 0))
            e->first[at] = ns;
    }
    if (n > 0) {
        e->log_ns[at] = sum / n;
        e->clock[at] = exp(clock / n);
    }
}

static void set_times(struct ws__model_data *e)
{
    for (size_t i = 0; i < e->nshape; i++)
        for (size_t j = 0; j < e->nconfig; j++) {
            size_t at = i * e->nconfig + j;
            bool held = i >= e->fit.nshape;

            if (!e->cell[at] || !e->cell[at]->known)
                continue;
            e->truth[at] = e->cell[at]->ns[e->truth_pass[held]];
            if (!held)
                set_fit(e, at);
            else /* a pass of the same number, if the file has it */
                for (size_t p = 0; p < e->held.npass; p++)
                    if (e->held.pass[p] == e->fit.pass[e->fit_pass[0]])
                        e->first[at] = e->cell[at]->ns[p];
        }
}

/* Shapes of one `src` belong together; each shape of "random" or without one
 * stands alone. */
static void set_groups(struct ws__model_data *e)
{
    size_t timed = e->fit.nshape + e->held.nshape;

    /* The shape of no matrix is never timed. */
    for (size_t i = timed; i < e->nshape; i++) {
        e->part[i] = WS__PART_HELD;
        e->group[i] = (uint32_t)e->ngroup++;
    }
    for (size_t i = 0; i < timed; i++) {
        const struct ws__matrix_shape *s =
            i < e->fit.nshape ? &e->fit.shape[i]
                              : &e->held.shape[i - e->fit.nshape];
        bool alone = !*s->group || !strcmp(s->group, "random");

        e->part[i] = i < e->fit.nshape
                         ? e->held.nshape ? WS__PART_FIT : WS__PART_DRAWN
                         : WS__PART_HELD;
        e->group[i] = (uint32_t)e->ngroup;
        for (size_t k = 0; k < i && !alone; k++)
            if (k < e->fit.nshape && !strcmp(e->fit.shape[k].group, s->group)) {
                e->group[i] = e->group[k];
                alone = true;
            }
        e->ngroup += e->group[i] == e->ngroup;
    }
}

static int mark_fit(struct ws__model_data *e, char *line)
{
    size_t n = strcspn(line, " \t\r");

    line[n] = '\0';
    if (!*line || *line == '#')
        return 0;
    for (size_t i = 0; i < e->fit.nshape; i++)
        if (!strcmp(e->fit.shape[i].name, line)) {
            e->part[i] = WS__PART_FIT;
            return 0;
        }
    ws__fail(e->ctx, WS_EINVAL, "'%.80s' in '%s' is no shape of '%s'", line,
             e->o->fit_shapes, e->o->data);
    return ws__hint(e->ctx, "names of shapes are the column 'shape'");
}

/* --fit-shapes: those are fitted on, the others of the file held out. */
static int read_fit_shapes(struct ws__model_data *e)
{
    char *text, *next;
    size_t len;
    int rc = 0;

    if (!e->o->fit_shapes)
        return 0;
    WS_TRY(ws__fs_read(e->ctx, e->o->fit_shapes, 1 << 20, &text, &len));
    for (size_t i = 0; i < e->fit.nshape; i++)
        e->part[i] = WS__PART_HELD;
    for (char *line = text; line && !rc; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        rc = mark_fit(e, line);
    }
    ws__free(e->ctx, text);
    return rc;
}

static int find_default(struct ws__model_data *e)
{
    struct ws__config c;
    struct ws__buf text;
    int rc;

    ws__config_default(e->kernel, &c);
    for (size_t j = 0; j < e->nconfig; j++)
        if (ws__config_eq(&e->config[j], &c)) {
            e->data.dflt = j;
            return 0;
        }
    e->data.dflt = e->nconfig;
    if (e->any_default)
        return 0;
    ws__buf_init(&text, e->ctx, 4096);
    rc = ws__config_print(&text, e->kernel, &c);
    if (rc >= 0)
        ws__fail(e->ctx, WS_EINVAL, "the default %s is not in '%s'", text.data,
                 e->o->data);
    ws__buf_free(&text);
    return rc < 0 ? rc
                  : ws__hint(e->ctx,
                             "set 'default' of the parameters to a config that "
                             "was timed");
}

static int make_arrays(struct ws__model_data *e)
{
    size_t n = e->nshape * e->nconfig;

    e->log_ns = ws__alloc(e->ctx, 4 * n, sizeof(*e->log_ns));
    e->group = ws__alloc(e->ctx, e->nshape, sizeof(*e->group));
    e->part = ws__alloc(e->ctx, e->nshape, sizeof(*e->part));
    if (!e->log_ns || !e->group || !e->part)
        return WS_ENOMEM;
    e->clock = e->log_ns + n;
    e->first = e->clock + n;
    e->truth = e->first + n;
    for (size_t i = 0; i < n; i++)
        e->clock[i] = 1;
    set_times(e);
    set_groups(e);
    WS_TRY(read_fit_shapes(e));
    e->data = (struct ws__judge_data){.table = &e->maker.table,
                                      .log_ns = e->log_ns,
                                      .clock = e->clock,
                                      .first_ns = e->first,
                                      .truth_ns = e->truth,
                                      .group = e->group,
                                      .part = e->part,
                                      .ngroup = e->ngroup};
    return find_default(e);
}

int ws__model_load(struct ws__model_data *e)
{
    WS_TRY(ws__matrix_read(e->ctx, e->kernel, e->o->data, &e->fit));
    if (e->o->holdout)
        WS_TRY(ws__matrix_read(e->ctx, e->kernel, e->o->holdout, &e->held));
    WS_TRY(choose_passes(e));
    WS_TRY(join_both(e));
    WS_TRY(make_space(e));
    WS_TRY(
        ws__wave_table_make(&(struct ws__wave_source){.ctx = e->ctx,
                                                      .kernel = e->kernel,
                                                      .sheet = &e->sheet,
                                                      .axis = e->axis,
                                                      .nshape = e->nshape,
                                                      .config = e->config,
                                                      .occupancy = e->occupancy,
                                                      .nconfig = e->nconfig,
                                                      .feasible = feasible,
                                                      .user = e},
                            &e->maker));
    return make_arrays(e);
}

void ws__model_clear(struct ws__model_data *e)
{
    if (e->maker.ctx)
        ws__wave_table_clear(&e->maker);
    ws__space_free(e->space);
    ws__free(e->ctx, e->axis);
    ws__free(e->ctx, e->config);
    ws__free(e->ctx, e->occupancy);
    ws__free(e->ctx, e->cell);
    ws__free(e->ctx, e->log_ns);
    ws__free(e->ctx, e->group);
    ws__free(e->ctx, e->part);
    ws__matrix_clear(e->ctx, &e->fit);
    ws__matrix_clear(e->ctx, &e->held);
}

/* --- sheets --------------------------------------------------------------- */

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

static int read_sheet(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *path, struct ws__wave_sheet *out)
{
    struct ws__sheet s;

    WS_TRY(ws__sheet_read(ctx, arena, path, &s));
    *out = (struct ws__wave_sheet){.name = s.name,
                                   .words = "",
                                   .units = floor(s.units),
                                   .mhz = s.mhz,
                                   .dram_gbs = s.dram_gbs,
                                   .cache_bytes = s.cache_bytes,
                                   .matrix_tflops = s.matrix_tflops,
                                   .vector_tflops = s.vector_tflops,
                                   .watts = s.watts,
                                   .nm = s.nm,
                                   .vector_bytes = s.vector_bytes,
                                   .is_cpu = s.is_cpu};
    return 0;
}

int ws__model_sheet(struct ws_ctx *ctx, struct ws__arena *arena,
                    const char *name, struct ws__wave_sheet *out)
{
    const struct ws__wave_sheet *s =
        name ? ws__wave_sheet_find(name) : ws__wave_sheets;
    const char *names = "";

    if (s) {
        *out = *s;
        return 0;
    }
    if (ends_in(name, ".yaml") || ends_in(name, ".yml"))
        return read_sheet(ctx, arena, name, out);
    ws__fail(ctx, WS_EINVAL, "no data sheet of '%.40s'", name);
    for (size_t i = 0; names && i < ws__wave_nsheet; i++)
        names = ws__arena_printf(arena, "%s%s%s", names, i ? ", " : "",
                                 ws__wave_sheets[i].name);
    if (!names)
        return WS_ENOMEM;
    return ws__hint(ctx,
                    "there are %s; or give a file NAME.yaml "
                    "(docs/sheets.md)",
                    names);
}

/* --- options and texts ---------------------------------------------------- */

int ws__model_budget(struct ws_ctx *ctx, const char *text,
                     struct ws__judge_opts *o)
{
    char number[32];
    size_t n = strlen(text);
    bool percent = n && text[n - 1] == '%';
    double v;

    n -= percent;
    if (n && n < sizeof(number)) {
        memcpy(number, text, n);
        number[n] = '\0';
        if (ws__decimal_parse(number, &v) && v >= 0 &&
            (percent ? v <= 100 : v <= 1e9 && floor(v) >= v)) {
            o->share = percent ? v / 100 : -1;
            o->cells = percent ? 0 : (size_t)v;
            return 0;
        }
    }
    ws__fail(ctx, WS_EINVAL, "'%.40s' is no budget", text);
    return ws__hint(ctx, "write a share of the pairs, as 2%%, or a number of "
                         "cells");
}

int ws__model_opts(struct ws__model_data *e, struct ws__arena *arena,
                   struct ws__judge_opts *o)
{
    static const char *const methods[] = {"wave", "bilinear", "nearest",
                                          "single", "random"};
    const char *want = e->o->method ? e->o->method : methods[0];
    size_t i = 0;

    WS_TRY(ws__model_budget(e->ctx, e->o->budget ? e->o->budget : "2%", o));
    while (i < WS_COUNT(methods) && strcmp(methods[i], want))
        i++;
    if (i == WS_COUNT(methods)) {
        ws__fail(e->ctx, WS_EINVAL, "no method '%.40s'", want);
        return ws__hint(e->ctx,
                        "known are wave, bilinear, nearest, single, random");
    }
    WS_TRY(ws__model_sheet(e->ctx, arena, e->o->sheet, &e->sheet));
    if (!(e->o->margin >= 0 && e->o->margin <= 10)) {
        ws__fail(e->ctx, WS_EINVAL, "a margin of %g deviations", e->o->margin);
        return ws__hint(e->ctx, "a number from 0 to 10");
    }
    o->margin = e->o->margin;
    o->method = (enum ws__judge_method)i;
    o->held = e->o->held > 0 ? e->o->held : HELD;
    o->full = e->o->full != 0;
    return 0;
}

const char *ws__model_config_text(struct ws__model_data *e,
                                  struct ws__arena *arena, uint32_t config)
{
    struct ws__buf b;
    const char *s;

    ws__buf_init(&b, e->ctx, 4096);
    s = ws__config_print(&b, e->kernel, &e->config[config])
            ? NULL
            : ws__arena_strdup(arena, b.data);
    ws__buf_free(&b);
    return s;
}

const char *ws__model_shape_text(struct ws__model_data *e,
                                 struct ws__arena *arena, size_t shape)
{
    struct ws__workload w = {.name = "", .weight = 1};
    struct ws__buf b;
    const char *s;

    memcpy(w.axis, e->axis + shape * e->kernel->op->naxis,
           e->kernel->op->naxis * sizeof(*w.axis));
    ws__buf_init(&b, e->ctx, 4096);
    s = ws__workload_print(&b, e->kernel->op, &w)
            ? NULL
            : ws__arena_strdup(arena, b.data);
    ws__buf_free(&b);
    return s;
}

int ws__model_kernel(struct ws_spec *spec, const struct ws__kernel **out)
{
    WS_TRY(ws__plan_need_op(spec, "fit a model of"));
    if (spec->s->nkernel != 1) {
        ws__fail(spec->ctx, WS_EINVAL, "'%s' has %zu kernels", spec->s->path,
                 spec->s->nkernel);
        return ws__hint(spec->ctx, "give a kernel file");
    }
    *out = &spec->s->kernel[0];
    return 0;
}
