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
#include "spec/results_read.h"

#include "base/banned.h"

#define LINE_BYTES ((size_t)1 << 20)
#define MAX_COLUMNS 4096
#define STOP_STEP 4096

enum { NONE = -1 };

struct condition {
    const char *name, *value;
    int column;
};

struct csv {
    struct ws__results_reader *rd;
    struct ws__loc loc;
    struct ws__buf line; /* bytes read, from `at` on not yet used */
    size_t at, end;      /* the line at hand is line.data[at..end) */
    bool eof;
    char **cell; /* of the line at hand */
    size_t ncell, cap;
    char **name; /* of the columns; in `arena` */
    size_t ncolumn;
    int param[WS__MAX_PARAMS], axis[WS__MAX_AXES];
    int time, status, reason, samples, build;
    double time_unit, samples_unit, build_unit;
    struct condition *where;
    size_t nwhere;
    struct ws__arena arena;
};

/* --- lines -----------------------------------------------------------------
 */

static int more(struct csv *c)
{
    struct ws__loc loc = c->loc;
    char piece[16384];
    size_t got;

    if (c->at) {
        memmove(c->line.data, c->line.data + c->at, c->line.len - c->at);
        c->line.len -= c->at;
        c->end -= c->at;
        c->at = 0;
    }
    WS_TRY(ws__text_read(c->rd->text, piece, sizeof(piece), &got));
    c->eof = !got;
    if (ws__buf_add(&c->line, piece, got) >= 0)
        return 0;
    if (c->line.failed != WS_ELIMIT)
        return c->line.failed;
    loc.line++; /* the one that is not whole yet */
    ws__fail_at(c->rd->ctx, WS_ELIMIT, &loc, "a line of more than %zu bytes",
                LINE_BYTES);
    return ws__hint(c->rd->ctx, "is it a CSV file?");
}

/* 1: the next line is at hand, cut at its end; 0: there is none. */
static int next_line(struct csv *c)
{
    char *nl;

    c->at = c->end;
    for (size_t seen = c->at;;) {
        nl = c->line.len > seen
                 ? memchr(c->line.data + seen, '\n', c->line.len - seen)
                 : NULL;
        if (nl || c->eof)
            break;
        seen = c->line.len - c->at;
        WS_TRY(more(c));
    }
    if (!nl && c->at == c->line.len)
        return 0;
    c->loc.line++;
    c->rd->r.line = c->loc.line;
    if (!nl) { /* room for the end of a last line without one */
        WS_TRY(ws__buf_add(&c->line, "\n", 1));
        nl = c->line.data + c->line.len - 1;
    }
    *nl = '\0';
    c->end = (size_t)(nl - c->line.data) + 1;
    if (nl > c->line.data + c->at && nl[-1] == '\r')
        nl[-1] = '\0';
    if (strlen(c->line.data + c->at) + 2 < c->end - c->at) {
        ws__fail_at(c->rd->ctx, WS_EPARSE, &c->loc, "a zero byte");
        return ws__hint(c->rd->ctx, "is it a CSV file?");
    }
    return 1;
}

/* Takes a quoted cell apart in place; *s is behind it then. */
static int quoted_cell(struct csv *c, char **s)
{
    char *from = *s + 1, *to = *s;

    while (*from && (*from != '"' || from[1] == '"')) {
        from += *from == '"';
        *to++ = *from++;
    }
    if (*from != '"' || (from[1] && from[1] != ',')) {
        ws__fail_at(c->rd->ctx, WS_EPARSE, &c->loc, "a quote is not closed");
        return ws__hint(c->rd->ctx, "a quote inside of a cell is written "
                                    "twice; cells have no line breaks");
    }
    *to = '\0';
    *s = from + 1;
    return 0;
}

static int split(struct csv *c)
{
    char *s = c->line.data + c->at;

    c->ncell = 0;
    for (bool last = false; !last;) {
        if (c->ncell == MAX_COLUMNS)
            return ws__fail_at(c->rd->ctx, WS_ELIMIT, &c->loc,
                               "more than %d columns", MAX_COLUMNS);
        WS_TRY(ws__grow(c->rd->ctx, (void **)&c->cell, &c->cap, c->ncell,
                        sizeof(*c->cell)));
        c->cell[c->ncell++] = s;
        if (*s == '"')
            WS_TRY(quoted_cell(c, &s));
        else
            s += strcspn(s, ",");
        last = !*s;
        *s++ = '\0';
    }
    return 0;
}

/* --- columns ---------------------------------------------------------------
 */

static int find_column(const struct csv *c, const char *name)
{
    for (size_t i = 0; i < c->ncolumn; i++)
        if (!strcmp(c->name[i], name))
            return (int)i;
    return NONE;
}

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

static int no_time(struct csv *c, const char *name)
{
    struct ws_ctx *ctx = c->rd->ctx;

    if (!name) {
        ws__fail_at(ctx, WS_ESPEC, &c->loc, "no column holds a time");
        return ws__hint(ctx, "a name such as time_ms, median_us or "
                             "time_ns_median");
    }
    ws__fail_at(ctx, WS_ESPEC, &c->loc, "column '%s' %s", name,
                find_column(c, name) < 0 ? "is not there"
                                         : "does not say its unit");
    return ws__hint(ctx, "a time's name has ns, us, ms or s in it, as in "
                         "median_us");
}

static int find_time(struct csv *c)
{
    static const char *const words[] = {"median", "time",    "duration",
                                        "mean",   "average", NULL};
    const char *want = c->rd->spec->time;
    unsigned seen;
    int best = 0;

    if (want) {
        c->time = find_column(c, want);
        c->time_unit = c->time < 0 ? 0 : unit_in(want);
        return c->time_unit > 0 ? 0 : no_time(c, want);
    }
    for (size_t i = 0; i < c->ncolumn; i++) {
        double unit = time_name(c->name[i], words, &seen);
        int rank = seen & 1u ? 3 : seen & 24u ? 1 : 2;

        if (unit <= 0 || rank <= best)
            continue;
        best = rank;
        c->time = (int)i;
        c->time_unit = unit;
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
    c->reason = find_column(c, "reason");
    c->status = find_column(c, "verdict");
    if (c->status < 0)
        c->status = find_column(c, "status");
    for (size_t i = 0; i < c->ncolumn; i++) {
        double unit = time_name(c->name[i], build, &seen);

        if (unit > 0 && seen & 7u && c->build < 0) {
            c->build = (int)i;
            c->build_unit = unit;
        }
        unit = time_name(c->name[i], samples, &seen);
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
        c->param[p] = find_column(c, k->param[p].name);
        if (c->param[p] < 0 && k->param[p].nvalue > 1)
            return ws__results_missing(c->rd, "parameter", k->param[p].name);
    }
    for (size_t a = 0; k->op && a < k->op->naxis; a++) {
        c->axis[a] = find_column(c, k->op->axis[a].name);
        if (c->axis[a] < 0 && k->op->axis[a].kind == WS__AXIS_VAR &&
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
    s = ws__arena_strdup(&c->arena, c->rd->spec->where);
    c->where =
        ws__arena_alloc(&c->arena, s ? strlen(s) + 1 : 1, sizeof(*c->where));
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
        w->column = find_column(c, s);
        if (w->column < 0) {
            ws__fail_at(ctx, WS_ESPEC, &c->loc, "there is no column '%s'", s);
            return ws__hint(ctx, "it was to select rows");
        }
        s = last ? comma : comma + 1;
    }
    return 0;
}

/* Of a column that is read there must be one. */
static int check_once(struct csv *c, int column)
{
    for (size_t i = (size_t)(column + 1); column >= 0 && i < c->ncolumn; i++)
        if (!strcmp(c->name[i], c->name[column])) {
            ws__fail_at(c->rd->ctx, WS_ESPEC, &c->loc,
                        "columns %d and %zu are both called '%.100s'",
                        column + 1, i + 1, c->name[column]);
            return ws__hint(c->rd->ctx, "leave the one that is meant");
        }
    return 0;
}

static int check_columns(struct csv *c)
{
    const struct ws__kernel *k = c->rd->spec->kernel;

    WS_TRY(check_once(c, c->time));
    WS_TRY(check_once(c, c->status));
    WS_TRY(check_once(c, c->reason));
    WS_TRY(check_once(c, c->samples));
    WS_TRY(check_once(c, c->build));
    for (size_t p = 0; p < k->nparam; p++)
        WS_TRY(check_once(c, c->param[p]));
    for (size_t a = 0; k->op && a < k->op->naxis; a++)
        WS_TRY(check_once(c, c->axis[a]));
    for (size_t i = 0; i < c->nwhere; i++)
        WS_TRY(check_once(c, c->where[i].column));
    return 0;
}

static int read_header(struct csv *c)
{
    int rc = next_line(c);

    if (rc <= 0)
        return rc;
    if (strchr(c->line.data + c->at, '\r')) {
        ws__fail_at(c->rd->ctx, WS_EPARSE, &c->loc,
                    "a carriage return inside of the line of column names");
        return ws__hint(c->rd->ctx, "lines end with a line feed, or with "
                                    "both: convert the file");
    }
    /* The mark that some programs put first. */
    if (!strncmp(c->line.data + c->at, "\xef\xbb\xbf", 3))
        c->at += 3;
    WS_TRY(split(c));
    c->name = ws__arena_alloc(&c->arena, c->ncell, sizeof(*c->name));
    if (!c->name)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->ncell; i++) {
        c->name[i] = ws__arena_strdup(&c->arena, c->cell[i]);
        if (!c->name[i])
            return WS_ENOMEM;
        c->ncolumn++;
    }
    WS_TRY(find_time(c));
    find_others(c);
    WS_TRY(find_names(c));
    WS_TRY(find_where(c));
    return check_columns(c);
}

/* --- rows ------------------------------------------------------------------
 */

static bool selected(const struct csv *c)
{
    for (size_t i = 0; i < c->nwhere; i++)
        if (!ws__results_same(c->cell[c->where[i].column], c->where[i].value))
            return false;
    return true;
}

/* Does the row's cell say what this workload has on the axis? */
static bool axis_is(const struct csv *c, const struct ws__workload *w, size_t a)
{
    const struct ws__axis *x = &c->rd->spec->kernel->op->axis[a];
    int64_t v;

    if (c->axis[a] < 0)
        return x->kind != WS__AXIS_TYPE || ws__results_any_workload(c->rd) ||
               w->axis[a] == x->value;
    if (x->kind == WS__AXIS_TYPE)
        return (int64_t)ws__dtype_parse(c->cell[c->axis[a]]) == w->axis[a];
    return ws__integer_parse(c->cell[c->axis[a]], &v) && v == w->axis[a];
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
            !ws__results_param(c->rd, p, c->cell[c->param[p]]))
            return p;
    return k->nparam;
}

static int bad_cell(struct csv *c, int column, const char *want)
{
    ws__fail_at(c->rd->ctx, WS_EPARSE, &c->loc, "'%.100s' in column '%s'",
                c->cell[column], c->name[column]);
    return ws__hint(c->rd->ctx, "%s", want);
}

static int read_time(struct csv *c, int column, double unit, const char *text,
                     double *ns)
{
    if (ws__decimal_parse(text, ns) && ws__results_is_time(*ns * unit)) {
        *ns *= unit;
        return 0;
    }
    return bad_cell(c, column,
                    "a time is a number above 0, of at most 30 "
                    "years");
}

/* 0 or an empty cell: it is not known. */
static int read_build(struct csv *c)
{
    const char *text = c->cell[c->build];
    double build;

    if (!*text)
        return 0;
    if (!ws__decimal_parse(text, &build) || !(build >= 0) ||
        !(build * c->build_unit <= 1e18))
        return bad_cell(c, c->build,
                        "a time of building is a number, or "
                        "nothing if it is not known");
    c->rd->r.build_ns = (uint64_t)(build * c->build_unit);
    return 0;
}

/* "12.5;12.7": the samples of one cell, also parted by spaces. */
static int read_samples(struct csv *c)
{
    char *s = c->cell[c->samples];

    for (s += strspn(s, "; "); *s; s += strspn(s, "; ")) {
        size_t n = strcspn(s, "; ");
        char end = s[n];
        double ns;

        s[n] = '\0';
        WS_TRY(read_time(c, c->samples, c->samples_unit, s, &ns));
        WS_TRY(ws__results_sample(c->rd, ns));
        s += n;
        if (end)
            *s++ = ' ';
    }
    return 0;
}

static int read_figures(struct csv *c)
{
    struct ws__result *r = &c->rd->r;

    r->verdict = WS__V_OK;
    if (c->status >= 0 && !ws__results_verdict(c->cell[c->status], &r->verdict))
        return bad_cell(c, c->status,
                        "known are ok and the failures that docs/formats.md "
                        "lists");
    if (c->build >= 0)
        WS_TRY(read_build(c));
    if (r->verdict != WS__V_OK) {
        r->reason = c->cell[c->reason >= 0 && *c->cell[c->reason] ? c->reason
                                                                  : c->status];
        return 0;
    }
    if (c->samples >= 0)
        WS_TRY(read_samples(c));
    return read_time(c, c->time, c->time_unit, c->cell[c->time], &r->figure_ns);
}

static void begin_row(struct csv *c)
{
    struct ws__results_reader *rd = c->rd;

    memset(&rd->r, 0, sizeof(rd->r));
    rd->r.line = c->loc.line;
    rd->r.config.n = (uint16_t)rd->spec->kernel->nparam;
    rd->nsample = 0;
}

static int read_row(struct csv *c)
{
    const struct ws__kernel *k = c->rd->spec->kernel;
    size_t p;

    begin_row(c);
    WS_TRY(split(c));
    if (c->ncell != c->ncolumn) {
        ws__fail_at(c->rd->ctx, WS_EPARSE, &c->loc,
                    "%zu cells in a row, but %zu columns", c->ncell,
                    c->ncolumn);
        return ws__hint(c->rd->ctx, "is the file cut off?");
    }
    if (!selected(c)) {
        c->rd->report->left++;
        return 0;
    }
    p = set_params(c);
    if (p < k->nparam)
        return ws__results_foreign(c->rd, "'%.100s' is no value of '%s'",
                                   c->cell[c->param[p]], k->param[p].name);
    if (!find_workload(c))
        return ws__results_foreign(c->rd, "no workload has these axes");
    WS_TRY(read_figures(c));
    return ws__results_give(c->rd);
}

static int read_rows(struct csv *c)
{
    int rc = 0;

    for (uint32_t n = 0; !rc; n++) {
        rc = next_line(c);
        if (rc <= 0)
            return rc;
        rc = 0;
        if (n % STOP_STEP == 0)
            WS_TRY(ws__check_stop(c->rd->ctx));
        if (c->line.data[c->at])
            rc = read_row(c);
    }
    return rc;
}

int ws__results_csv(struct ws__results_reader *rd, struct ws__buf *head)
{
    struct csv *c = ws__alloc(rd->ctx, 1, sizeof(*c));
    int rc;

    if (!c) {
        ws__buf_free(head);
        return WS_ENOMEM;
    }
    rd->report->format = "matrix";
    c->rd = rd;
    c->loc.file = rd->text->file;
    c->line = *head;
    c->line.max = LINE_BYTES;
    ws__arena_init(&c->arena, rd->ctx);
    rc = read_header(c);
    if (!rc)
        rc = read_rows(c);
    ws__buf_free(&c->line);
    ws__arena_free(&c->arena);
    ws__free(rd->ctx, c->cell);
    ws__free(rd->ctx, c);
    return rc;
}
