/*
 * results_csv.c: timing matrices: a line of column names, then a row for each
 * config on each workload.
 *
 * Columns are found by name: those of the kernel's parameters and of the op's
 * axes, one with the time, and, if they are there, a status, a reason, the
 * samples and the time of building. A time says its unit in its name
 * ("time_ms_median", "median_us", "duration_us"); of several the median is
 * taken before a plain one, and that before a mean, unless one was asked for.
 * Other columns do not matter.
 *
 * Rows are read one by one, so memory does not grow with the file. Cells may
 * stand in double quotes; a line break inside of quotes is refused.
 */
#include <math.h>

#include "core/decimal.h"
#include "spec/csv.h"

#include "base/banned.h"

#define STOP_STEP 4096

enum { NONE = -1 };

struct condition {
    const char *name, *value;
    int column;
};

struct csv {
    struct ws__results_reader *rd;
    struct ws__csv csv;
    int param[WS__MAX_PARAMS];
    struct ws__csv_axis axis[WS__MAX_AXES];
    int time, status, reason, samples, build;
    int resident, registers, spills, mhz;
    double time_unit, samples_unit, build_unit;
    struct condition *where;
    size_t nwhere;
};

/* --- columns ---------------------------------------------------------------
 */

/* Is every part of the name (between '_') a unit or one of `words`? Then the
 * unit, and in *seen which words there are. */
static double time_name(const char *name, const char *const *words,
                        unsigned *seen)
{
    double unit = 0;

    *seen = 0;
    for (;;) {
        size_t n = strcspn(name, "_");
        double u = ws__results_unit(name, n);
        bool known = u > 0 && unit <= 0;

        if (known)
            unit = u;
        for (unsigned i = 0; words[i] && !known; i++)
            if (strlen(words[i]) == n && !strncmp(words[i], name, n)) {
                *seen |= 1u << i;
                known = true;
            }
        if (!known)
            return 0;
        if (!name[n])
            return *seen ? unit : 0;
        name += n + 1;
    }
}

/* The unit in a name of any words. */
static double unit_in(const char *name)
{
    for (;;) {
        size_t n = strcspn(name, "_");
        double u = ws__results_unit(name, n);

        if (u > 0)
            return u;
        if (!name[n])
            return 0;
        name += n + 1;
    }
}

static int no_time(struct ws__csv *c, const char *name)
{
    struct ws_ctx *ctx = c->ctx;

    if (!name) {
        ws__fail_at(ctx, WS_ESPEC, &c->loc, "no column holds a time");
        return ws__hint(ctx, "a name such as time_ms, median_us or "
                             "time_ns_median");
    }
    ws__fail_at(ctx, WS_ESPEC, &c->loc, "column '%s' %s", name,
                ws__csv_column(c, name) < 0 ? "is not there"
                                            : "does not say its unit");
    return ws__hint(ctx, "a time's name has ns, us, ms or s in it, as in "
                         "median_us");
}

int ws__results_time_column(struct ws__csv *c, const char *want, int *column,
                            double *unit)
{
    static const char *const words[] = {"median", "time",    "duration",
                                        "mean",   "average", NULL};
    unsigned seen;
    int best = 0;

    if (want) {
        *column = ws__csv_column(c, want);
        *unit = *column < 0 ? 0 : unit_in(want);
        return *unit > 0 ? 0 : no_time(c, want);
    }
    for (size_t i = 0; i < c->ncolumn; i++) {
        double u = time_name(c->name[i], words, &seen);
        int rank = seen & 1u ? 3 : seen & 24u ? 1 : 2;

        if (u <= 0 || rank <= best)
            continue;
        best = rank;
        *column = (int)i;
        *unit = u;
    }
    return best ? 0 : no_time(c, NULL);
}

static void find_others(struct csv *c)
{
    static const char *const build[] = {"compile", "compilation", "build",
                                        "time", NULL};
    static const char *const samples[] = {"samples", NULL};
    unsigned seen;

    c->build = c->samples = NONE;
    c->resident = ws__csv_column(&c->csv, "blocks_per_sm");
    c->registers = ws__csv_column(&c->csv, "n_regs");
    c->spills = ws__csv_column(&c->csv, "n_spills");
    c->mhz = ws__csv_column(&c->csv, "sm_mhz");
    c->reason = ws__csv_column(&c->csv, "reason");
    c->status = ws__csv_column(&c->csv, "verdict");
    if (c->status < 0)
        c->status = ws__csv_column(&c->csv, "status");
    for (size_t i = 0; i < c->csv.ncolumn; i++) {
        double unit = time_name(c->csv.name[i], build, &seen);

        if (unit > 0 && seen & 7u && c->build < 0) {
            c->build = (int)i;
            c->build_unit = unit;
        }
        unit = time_name(c->csv.name[i], samples, &seen);
        if (unit > 0 && c->samples < 0) {
            c->samples = (int)i;
            c->samples_unit = unit;
        }
    }
}

static int find_names(struct csv *c)
{
    const struct ws__kernel *k = c->rd->spec->kernel;

    for (size_t p = 0; p < k->nparam; p++) {
        c->param[p] = ws__csv_column(&c->csv, k->param[p].name);
        if (c->param[p] < 0 && k->param[p].nvalue > 1)
            return ws__results_missing(c->rd, "parameter", k->param[p].name);
    }
    if (k->op)
        ws__csv_find_axes(&c->csv, k->op, c->axis);
    for (size_t a = 0; k->op && a < k->op->naxis; a++) {
        if (c->axis[a].column < 0 && k->op->axis[a].kind == WS__AXIS_VAR &&
            !ws__results_any_workload(c->rd))
            return ws__results_missing(c->rd, "axis", k->op->axis[a].name);
    }
    return 0;
}

/* "pass=3,src=wave" */
static int find_where(struct csv *c)
{
    struct ws_ctx *ctx = c->rd->ctx;
    char *s;

    if (!c->rd->spec->where)
        return 0;
    s = ws__arena_strdup(&c->csv.arena, c->rd->spec->where);
    c->where = ws__arena_alloc(&c->csv.arena, s ? strlen(s) + 1 : 1,
                               sizeof(*c->where));
    if (!s || !c->where)
        return WS_ENOMEM;
    while (*s) {
        struct condition *w = &c->where[c->nwhere++];
        char *comma = s + strcspn(s, ","), *eq = strchr(s, '=');
        bool last = !*comma;

        *comma = '\0';
        if (!eq || eq > comma) {
            ws__fail(ctx, WS_EINVAL, "'%s' selects no rows", s);
            return ws__hint(ctx, "write COLUMN=VALUE,COLUMN=VALUE");
        }
        *eq = '\0';
        w->name = s;
        w->value = eq + 1;
        w->column = ws__csv_column(&c->csv, s);
        if (w->column < 0) {
            ws__fail_at(ctx, WS_ESPEC, &c->csv.loc, "there is no column '%s'",
                        s);
            return ws__hint(ctx, "it was to select rows");
        }
        s = last ? comma : comma + 1;
    }
    return 0;
}

static int check_columns(struct csv *c)
{
    const struct ws__kernel *k = c->rd->spec->kernel;

    WS_TRY(ws__csv_once(&c->csv, c->time));
    WS_TRY(ws__csv_once(&c->csv, c->status));
    WS_TRY(ws__csv_once(&c->csv, c->reason));
    WS_TRY(ws__csv_once(&c->csv, c->samples));
    WS_TRY(ws__csv_once(&c->csv, c->build));
    for (size_t p = 0; p < k->nparam; p++)
        WS_TRY(ws__csv_once(&c->csv, c->param[p]));
    for (size_t a = 0; k->op && a < k->op->naxis; a++)
        WS_TRY(ws__csv_once(&c->csv, c->axis[a].column));
    for (size_t i = 0; i < c->nwhere; i++)
        WS_TRY(ws__csv_once(&c->csv, c->where[i].column));
    return 0;
}

static int read_header(struct csv *c)
{
    int rc = ws__csv_names(&c->csv);

    if (rc <= 0)
        return rc;
    c->rd->r.line = c->csv.loc.line;
    WS_TRY(ws__results_time_column(&c->csv, c->rd->spec->time, &c->time,
                                   &c->time_unit));
    find_others(c);
    WS_TRY(find_names(c));
    WS_TRY(find_where(c));
    WS_TRY(check_columns(c));
    return 1;
}

/* --- rows ------------------------------------------------------------------
 */

static bool selected(const struct csv *c)
{
    for (size_t i = 0; i < c->nwhere; i++)
        if (!ws__results_same(c->csv.row.cell[c->where[i].column],
                              c->where[i].value))
            return false;
    return true;
}

/* Does the row's cell say what this workload has on the axis? */
static bool axis_is(const struct csv *c, const struct ws__workload *w, size_t a)
{
    const struct ws__axis *x = &c->rd->spec->kernel->op->axis[a];
    int64_t v;

    if (c->axis[a].column < 0)
        return x->kind != WS__AXIS_TYPE || ws__results_any_workload(c->rd) ||
               w->axis[a] == x->value;
    return ws__csv_axis_value(&c->csv, x, c->axis[a], &v) && v == w->axis[a];
}

static bool workload_is(const struct csv *c, size_t w)
{
    const struct ws__results_spec *s = c->rd->spec;

    for (size_t a = 0; a < s->kernel->op->naxis; a++)
        if (!axis_is(c, &s->workload[w], a))
            return false;
    return true;
}

/* Rows of a workload mostly follow each other. */
static bool find_workload(struct csv *c)
{
    struct ws__results_reader *rd = c->rd;
    size_t w = rd->last_workload;

    if (!rd->spec->kernel->op)
        return true;
    if (!workload_is(c, w))
        for (w = 0; w < rd->spec->nworkload && !workload_is(c, w);)
            w++;
    if (w == rd->spec->nworkload)
        return false;
    rd->r.workload = (uint32_t)w;
    rd->last_workload = w;
    return true;
}

/* Index of the first parameter whose cell is none of its values, or nparam. */
static size_t set_params(struct csv *c)
{
    const struct ws__kernel *k = c->rd->spec->kernel;

    for (size_t p = 0; p < k->nparam; p++)
        if (c->param[p] >= 0 &&
            !ws__results_param(c->rd, p, c->csv.row.cell[c->param[p]]))
            return p;
    return k->nparam;
}

/* 0 or an empty cell: it is not known. */
static int read_build(struct csv *c)
{
    const char *text = c->csv.row.cell[c->build];
    double build;

    if (!*text)
        return 0;
    if (!ws__decimal_parse(text, &build) || !(build >= 0) ||
        !(build * c->build_unit <= 1e18))
        return ws__csv_bad_cell(&c->csv, c->build,
                                "a time of building is a number, or "
                                "nothing if it is not known");
    c->rd->r.build_ns = (uint64_t)(build * c->build_unit);
    return 0;
}

/* "12.5;12.7": the samples of one cell, also parted by spaces. */
static int read_samples(struct csv *c)
{
    char *s = c->csv.row.cell[c->samples];

    for (s += strspn(s, "; "); *s; s += strspn(s, "; ")) {
        size_t n = strcspn(s, "; ");
        char end = s[n];
        double ns;

        s[n] = '\0';
        WS_TRY(ws__csv_time(&c->csv, c->samples, c->samples_unit, s, &ns));
        WS_TRY(ws__results_sample(c->rd, ns));
        s += n;
        if (end)
            *s++ = ' ';
    }
    return 0;
}

/* Side figures: what is no count of such is not known. */
static uint32_t read_fact(const struct csv *c, int column)
{
    int64_t v;

    return column >= 0 && ws__integer_parse(c->csv.row.cell[column], &v) &&
                   v > 0 && v < 1 << 24
               ? (uint32_t)v
               : 0;
}

static int read_figures(struct csv *c)
{
    struct ws__result *r = &c->rd->r;

    r->blocks_per_unit = read_fact(c, c->resident);
    r->registers = read_fact(c, c->registers);
    r->spill_bytes = 4 * read_fact(c, c->spills);
    r->mhz = read_fact(c, c->mhz);
    r->verdict = WS__V_OK;
    if (c->status >= 0 &&
        !ws__results_verdict(c->csv.row.cell[c->status], &r->verdict))
        return ws__csv_bad_cell(
            &c->csv, c->status,
            "known are ok and the failures that docs/formats.md "
            "lists");
    if (c->build >= 0)
        WS_TRY(read_build(c));
    if (r->verdict != WS__V_OK) {
        r->reason =
            c->csv.row.cell[c->reason >= 0 && *c->csv.row.cell[c->reason]
                                ? c->reason
                                : c->status];
        return 0;
    }
    if (c->samples >= 0)
        WS_TRY(read_samples(c));
    return ws__csv_time(&c->csv, c->time, c->time_unit,
                        c->csv.row.cell[c->time], &r->figure_ns);
}

static void begin_row(struct csv *c)
{
    struct ws__results_reader *rd = c->rd;

    memset(&rd->r, 0, sizeof(rd->r));
    rd->r.line = c->csv.loc.line;
    rd->r.config.n = (uint16_t)rd->spec->kernel->nparam;
    rd->nsample = 0;
}

static int read_row(struct csv *c)
{
    const struct ws__kernel *k = c->rd->spec->kernel;
    size_t p;

    begin_row(c);
    if (!selected(c)) {
        c->rd->report->left++;
        return 0;
    }
    p = set_params(c);
    if (p < k->nparam)
        return ws__results_foreign(c->rd, "'%.100s' is no value of '%s'",
                                   c->csv.row.cell[c->param[p]],
                                   k->param[p].name);
    if (!find_workload(c))
        return ws__results_foreign(c->rd, "no workload has these axes");
    WS_TRY(read_figures(c));
    return ws__results_give(c->rd);
}

static int read_rows(struct csv *c)
{
    for (uint32_t n = 0;; n++) {
        int rc = ws__csv_row(&c->csv);

        if (rc <= 0)
            return rc;
        if (n % STOP_STEP == 0)
            WS_TRY(ws__check_stop(c->rd->ctx));
        rc = read_row(c);
        if (rc)
            return rc;
    }
}

int ws__results_csv(struct ws__results_reader *rd, struct ws__buf *head)
{
    struct csv *c = ws__alloc(rd->ctx, 1, sizeof(*c));
    size_t max;
    int rc;

    if (!c) {
        ws__buf_free(head);
        return WS_ENOMEM;
    }
    rd->report->format = "matrix";
    c->rd = rd;
    ws__csv_init(&c->csv, rd->ctx, rd->text);
    max = c->csv.line.max;
    c->csv.line = *head;
    c->csv.line.max = max;
    rc = read_header(c);
    if (rc > 0)
        rc = read_rows(c);
    ws__csv_clear(&c->csv);
    ws__free(rd->ctx, c);
    return rc;
}
