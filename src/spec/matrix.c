/* matrix.c: reads timing matrices. Rows first become a list, for the number of
 * shapes and configs is known only at the end. */
#include "spec/matrix.h"

#include <math.h>

#include "core/decimal.h"
#include "spec/csv.h"

#include "base/banned.h"

#define MAX_CELLS ((size_t)1 << 24)
#define STOP_STEP 4096

struct row {
    uint32_t shape, config, pass;
    double ns, mhz;
    uint32_t resident;
};

struct reading {
    struct ws__csv csv;
    struct ws__results_reader rd; /* parameters by name and value */
    struct ws__results_spec spec;
    struct ws__results_report report;
    struct ws__matrix *m;
    int param[WS__MAX_PARAMS];
    struct ws__csv_axis axis[WS__MAX_AXES];
    int time, pass, name, group, mhz, resident;
    double unit;
    struct row *row;
    size_t nrow, cap;
};

/* --- columns -------------------------------------------------------------- */

static int find_names(struct reading *r)
{
    const struct ws__kernel *k = r->m->kernel;

    for (size_t p = 0; p < k->nparam; p++) {
        r->param[p] = ws__csv_column(&r->csv, k->param[p].name);
        if (r->param[p] < 0 && k->param[p].nvalue > 1)
            return ws__results_missing(&r->rd, "parameter", k->param[p].name);
        WS_TRY(ws__csv_once(&r->csv, r->param[p]));
    }
    ws__csv_find_axes(&r->csv, k->op, r->axis);
    for (size_t a = 0; a < k->op->naxis; a++) {
        if (r->axis[a].column < 0 && k->op->axis[a].kind == WS__AXIS_VAR)
            return ws__results_missing(&r->rd, "axis", k->op->axis[a].name);
        WS_TRY(ws__csv_once(&r->csv, r->axis[a].column));
    }
    return 0;
}

static int find_others(struct reading *r)
{
    r->pass = ws__csv_column(&r->csv, "pass");
    r->name = ws__csv_column(&r->csv, "shape");
    r->group = ws__csv_column(&r->csv, "src");
    r->mhz = ws__csv_column(&r->csv, "sm_mhz");
    r->resident = ws__csv_column(&r->csv, "blocks_per_sm");
    return ws__results_time_column(&r->csv, NULL, &r->time, &r->unit);
}

/* --- rows ----------------------------------------------------------------- */

static int read_count(struct reading *r, int column, uint32_t *out)
{
    int64_t v = 0;

    if (column >= 0 && *r->csv.row.cell[column] &&
        (!ws__integer_parse(r->csv.row.cell[column], &v) || v < 0 ||
         v > INT32_MAX))
        return ws__csv_bad_cell(&r->csv, column, "a whole number from 0 on");
    *out = (uint32_t)v;
    return 0;
}

static int read_axes(struct reading *r, int64_t *axis)
{
    const struct ws__op *op = r->m->kernel->op;

    for (size_t a = 0; a < op->naxis; a++) {
        axis[a] = op->axis[a].value;
        if (r->axis[a].column >= 0 &&
            (!ws__csv_axis_value(&r->csv, &op->axis[a], r->axis[a], &axis[a]) ||
             axis[a] < 1))
            return ws__csv_bad_cell(&r->csv, r->axis[a].column,
                                    "an axis is a whole number from 1 "
                                    "on, or a type");
    }
    return 0;
}

/* Rows of a shape mostly follow each other, or come in the order of before. */
static int find_shape(struct reading *r, const int64_t *axis, uint32_t *out)
{
    struct ws__matrix *m = r->m;
    size_t bytes = m->kernel->op->naxis * sizeof(*axis);
    struct ws__matrix_shape *s;
    size_t last = r->nrow ? r->row[r->nrow - 1].shape : 0;

    for (size_t i = 0; i < m->nshape; i++) {
        size_t at = (last + i) % m->nshape;

        if (!memcmp(m->shape[at].axis, axis, bytes)) {
            *out = (uint32_t)at;
            return 0;
        }
    }
    WS_TRY(ws__grow(r->csv.ctx, (void **)&m->shape, &m->shape_cap, m->nshape,
                    sizeof(*m->shape)));
    s = &m->shape[m->nshape];
    memset(s, 0, sizeof(*s));
    memcpy(s->axis, axis, bytes);
    s->name = ws__arena_strdup(&m->arena,
                               r->name < 0 ? "" : r->csv.row.cell[r->name]);
    s->group = ws__arena_strdup(&m->arena,
                                r->group < 0 ? "" : r->csv.row.cell[r->group]);
    if (!s->name || !s->group)
        return WS_ENOMEM;
    *out = (uint32_t)m->nshape++;
    return 0;
}

static int find_config(struct reading *r, uint32_t *out)
{
    struct ws__matrix *m = r->m;
    const struct ws__config *c = &r->rd.r.config;

    for (size_t i = 0; i < m->nconfig; i++)
        if (ws__config_eq(&m->config[i], c)) {
            *out = (uint32_t)i;
            return 0;
        }
    WS_TRY(ws__grow(r->csv.ctx, (void **)&m->config, &m->config_cap, m->nconfig,
                    sizeof(*m->config)));
    m->config[m->nconfig] = *c;
    *out = (uint32_t)m->nconfig++;
    return 0;
}

static int find_pass(struct reading *r, uint32_t *out)
{
    struct ws__matrix *m = r->m;
    int64_t pass = 1;
    int at;

    if (r->pass >= 0 && !ws__integer_parse(r->csv.row.cell[r->pass], &pass))
        return ws__csv_bad_cell(&r->csv, r->pass, "the number of a pass");
    at = ws__matrix_pass(m, pass);
    if (at < 0) {
        if (m->npass == WS__MATRIX_PASSES)
            return ws__fail_at(r->csv.ctx, WS_ELIMIT, &r->csv.loc,
                               "more than %d passes", WS__MATRIX_PASSES);
        at = (int)m->npass;
        m->pass[m->npass++] = pass;
    }
    *out = (uint32_t)at;
    return 0;
}

static bool set_params(struct reading *r)
{
    const struct ws__kernel *k = r->m->kernel;

    memset(&r->rd.r, 0, sizeof(r->rd.r));
    r->rd.r.config.n = (uint16_t)k->nparam;
    for (size_t p = 0; p < k->nparam; p++)
        if (r->param[p] >= 0 &&
            !ws__results_param(&r->rd, p, r->csv.row.cell[r->param[p]]))
            return false;
    return true;
}

static int read_times(struct reading *r, struct row *row)
{
    WS_TRY(ws__csv_time(&r->csv, r->time, r->unit, r->csv.row.cell[r->time],
                        &row->ns));
    if (r->mhz >= 0 && *r->csv.row.cell[r->mhz] &&
        (!ws__decimal_parse(r->csv.row.cell[r->mhz], &row->mhz) ||
         !(row->mhz > 0) || row->mhz > 1e5))
        return ws__csv_bad_cell(&r->csv, r->mhz,
                                "a clock is a number of MHz above 0");
    return 0;
}

static int read_row(struct reading *r)
{
    int64_t axis[WS__MAX_AXES];
    struct row row = {0};

    if (!set_params(r)) {
        r->m->foreign++;
        return 0;
    }
    WS_TRY(read_axes(r, axis));
    WS_TRY(read_times(r, &row));
    WS_TRY(find_shape(r, axis, &row.shape));
    WS_TRY(find_config(r, &row.config));
    WS_TRY(find_pass(r, &row.pass));
    WS_TRY(read_count(r, r->resident, &row.resident));
    WS_TRY(ws__grow(r->csv.ctx, (void **)&r->row, &r->cap, r->nrow,
                    sizeof(*r->row)));
    r->row[r->nrow++] = row;
    return 0;
}

static int read_all(struct reading *r)
{
    int rc = ws__csv_names(&r->csv);

    if (rc <= 0)
        return rc;
    r->rd.r.line = r->csv.loc.line;
    WS_TRY(find_names(r));
    WS_TRY(find_others(r));
    for (uint32_t n = 0; (rc = ws__csv_row(&r->csv)) > 0; n++) {
        if (n % STOP_STEP == 0)
            WS_TRY(ws__check_stop(r->csv.ctx));
        WS_TRY(read_row(r));
    }
    return rc;
}

/* --- the matrix ----------------------------------------------------------- */

static int fill(struct reading *r)
{
    struct ws__matrix *m = r->m;
    struct ws__loc loc = {.file = r->csv.loc.file};

    if (!r->nrow) {
        ws__fail_at(r->csv.ctx, WS_ESPEC, &loc, "no timings of the kernel");
        return ws__hint(r->csv.ctx, "a row's parameters are among the values "
                                    "in the kernel file");
    }
    if (m->nshape * m->nconfig > MAX_CELLS)
        return ws__fail_at(r->csv.ctx, WS_ELIMIT, &loc,
                           "a matrix of %zu shapes and %zu configs", m->nshape,
                           m->nconfig);
    m->cell = ws__alloc(r->csv.ctx, m->nshape * m->nconfig, sizeof(*m->cell));
    if (!m->cell)
        return WS_ENOMEM;
    for (size_t i = 0; i < r->nrow; i++) {
        const struct row *row = &r->row[i];
        struct ws__matrix_cell *c =
            &m->cell[row->shape * m->nconfig + row->config];

        c->ns[row->pass] = row->ns;
        c->mhz[row->pass] = row->mhz;
        c->resident = row->resident;
        c->known = true;
    }
    return 0;
}

int ws__matrix_read(struct ws_ctx *ctx, const struct ws__kernel *k,
                    const char *path, struct ws__matrix *out)
{
    struct reading *r = ws__alloc(ctx, 1, sizeof(*r));
    struct ws__text_source text;
    int rc;

    memset(out, 0, sizeof(*out));
    if (!r)
        return WS_ENOMEM;
    ws__arena_init(&out->arena, ctx);
    out->kernel = k;
    r->m = out;
    r->spec.kernel = k;
    r->rd.ctx = ctx;
    r->rd.spec = &r->spec;
    r->rd.text = &text;
    r->rd.report = &r->report;
    rc = ws__text_open(ctx, path, &text);
    if (!rc) {
        ws__csv_init(&r->csv, ctx, &text);
        rc = read_all(r);
        if (!rc)
            rc = fill(r);
        ws__csv_clear(&r->csv);
        ws__text_close(&text);
    }
    ws__free(ctx, r->row);
    ws__free(ctx, r);
    if (rc)
        ws__matrix_clear(ctx, out);
    return rc;
}

int ws__matrix_pass(const struct ws__matrix *m, int64_t pass)
{
    for (size_t i = 0; i < m->npass; i++)
        if (m->pass[i] == pass)
            return (int)i;
    return -1;
}

void ws__matrix_clear(struct ws_ctx *ctx, struct ws__matrix *m)
{
    ws__arena_free(&m->arena);
    ws__free(ctx, m->shape);
    ws__free(ctx, m->config);
    ws__free(ctx, m->cell);
    memset(m, 0, sizeof(*m));
}
