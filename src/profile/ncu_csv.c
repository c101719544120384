/*
 * ncu_csv.c: the raw page of Nsight Compute, line by line. See ncu_csv.h.
 *
 * The text is copied once and cut in place: a line into cells, each ended by a
 * NUL.
 */
#include "profile/ncu_csv.h"

#include <math.h>

#include "base/fs.h"
#include "core/cells.h"
#include "core/decimal.h"
#include "base/banned.h"

#define MAX_COLUMNS 8192
#define NO_COLUMN SIZE_MAX
#define AGAIN "run ncu with --csv --page raw --print-units base --log-file FILE"

struct reader {
    struct ws_ctx *ctx;
    struct ws__loc loc; /* of the line at hand */
    unsigned arch;
    char *at, *end;       /* what is not read yet */
    struct ws__cells row; /* of the line at hand */
    size_t ncolumn;
    size_t id, kernel, grid, block, cc; /* columns; NO_COLUMN: none */
    size_t column[WS__NMETRIC];
    double factor[WS__NMETRIC]; /* from the file's unit to ours */
    const char *said;           /* the last complaint of ncu, or NULL */
    const char *foreign;        /* a counter of other architectures, or NULL */
    struct ws__ncu *f;
    size_t cap;
};

static int bad(struct reader *r, int code, const char *what)
{
    ws__fail_at(r->ctx, code, &r->loc, "%s", what);
    return ws__hint(r->ctx, AGAIN);
}

/* --- lines and cells ----------------------------------------------------- */

/* The next line, ended by a NUL, without its line break; NULL: no more. */
static char *next_line(struct reader *r)
{
    char *line = r->at, *nl;

    if (line >= r->end)
        return NULL;
    nl = memchr(line, '\n', (size_t)(r->end - line));
    r->at = nl ? nl + 1 : r->end;
    r->loc.line++;
    nl = nl ? nl : r->end;
    if (nl > line && nl[-1] == '\r')
        nl--;
    *nl = '\0';
    return line;
}

/* Lines of ncu itself. The words after the mark of a complaint are kept. */
static bool is_of_ncu(struct reader *r, char *line)
{
    char *words;

    if (strncmp(line, "==", 2) != 0)
        return false;
    words = strstr(line + 2, "== ");
    if (words && (strncmp(line, "==ERROR", 7) == 0 ||
                  strncmp(line, "==WARNING", 9) == 0))
        r->said = words + 3;
    return true;
}

/* --- names of columns and units ------------------------------------------ */

static size_t find_column(const struct reader *r, const char *name)
{
    for (size_t i = 0; i < r->row.n; i++)
        if (strcmp(r->row.cell[i], name) == 0)
            return i;
    return NO_COLUMN;
}

static int take_metric(struct reader *r, size_t i)
{
    enum ws__metric m;

    for (m = 0; m < WS__NMETRIC; m++) {
        const char *name = ws__metric_name(m, r->arch);

        if (name && strcmp(name, r->row.cell[i]) == 0)
            break;
    }
    if (m == WS__NMETRIC) {
        m = ws__metric_find(r->row.cell[i]);
        if (m != WS__NMETRIC && strcmp(ws__metric_key(m), r->row.cell[i]) != 0)
            r->foreign = r->row.cell[i];
        return 0;
    }
    if (r->column[m] != NO_COLUMN) {
        ws__fail_at(r->ctx, WS_EPARSE, &r->loc, "two columns '%s'",
                    r->row.cell[i]);
        return ws__hint(r->ctx, "leave one of them");
    }
    r->column[m] = i;
    r->f->nmetric++;
    return 0;
}

static int no_metric(struct reader *r)
{
    if (r->foreign) {
        ws__fail_at(r->ctx, WS_ESPEC, &r->loc,
                    "'%s' and the like are counters of another chip, none is "
                    "one of sm_%u",
                    r->foreign, r->arch);
        return ws__hint(r->ctx, "profile on the device that is asked about");
    }
    ws__fail_at(r->ctx, WS_ESPEC, &r->loc, "no column is a counter of ours");
    return ws__hint(r->ctx, "run ncu with --metrics %s,...",
                    ws__metric_name(WS__M_TIME, r->arch));
}

/* The names of columns, which are in r->row.cell. */
static int take_names(struct reader *r)
{
    if (find_column(r, "Metric Name") != NO_COLUMN)
        return bad(r, WS_ESPEC, "the details page of ncu, not the raw one");
    r->ncolumn = r->row.n;
    r->id = find_column(r, "ID");
    r->kernel = find_column(r, "Kernel Name");
    r->grid = find_column(r, "Grid Size");
    r->block = find_column(r, "Block Size");
    r->cc = find_column(r, "CC");
    for (enum ws__metric m = 0; m < WS__NMETRIC; m++)
        r->column[m] = NO_COLUMN;
    for (size_t i = 0; i < r->row.n; i++)
        WS_TRY(take_metric(r, i));
    return r->f->nmetric ? 0 : no_metric(r);
}

/* A prefix letter and its power of ten; 0: none. */
static double prefix_of(char c)
{
    static const struct {
        char c;
        double by;
    } PREFIX[] = {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'K', 1e3},
                  {'M', 1e6},  {'G', 1e9},  {'T', 1e12}};

    for (size_t i = 0; i < WS_COUNT(PREFIX); i++)
        if (PREFIX[i].c == c)
            return PREFIX[i].by;
    return 0;
}

static bool is_seconds(const char *s, size_t n)
{
    static const char *const WORD[] = {"s", "sec", "second"};

    for (size_t i = 0; i < WS_COUNT(WORD); i++)
        if (strlen(WORD[i]) == n && strncmp(WORD[i], s, n) == 0)
            return true;
    return false;
}

/* Nanoseconds in a unit of time; 0: it is none. */
static double ns_of(const char *unit, size_t n)
{
    if (is_seconds(unit, n))
        return 1e9;
    if (n && unit[0] != 'K' && is_seconds(unit + 1, n - 1))
        return prefix_of(unit[0]) * 1e9;
    return 0;
}

/* What a number in `unit` is multiplied by to be in the metric's: the words
 * of ncu are small letters, so a capital before one is a prefix, and what
 * stands behind a slash ("byte/sector") is never scaled. 0: not understood. */
static double factor_of(const char *unit, enum ws__metric m)
{
    const char *ours = ws__metric_unit(m);
    size_t n = strcspn(unit, "/");
    double by = 1;

    if (strcmp(ours, "ns") == 0)
        return ns_of(unit, n);
    if (strcmp(ours, "%") == 0)
        return strcmp(unit, "%") == 0 || !*unit ? 1 : 0;
    if (n > 1 && strchr("KMGT", unit[0])) {
        by = prefix_of(unit[0]);
        unit++;
        n--;
    }
    if (strcmp(ours, "byte") == 0 && n && strncmp(unit, "byte", n) != 0)
        return 0;
    return strspn(unit, "abcdefghijklmnopqrstuvwxyz_ ") >= n ? by : 0;
}

/* The row of units: the only one whose launch has no number. */
static int take_units(struct reader *r)
{
    if (r->row.n != r->ncolumn ||
        *r->row.cell[r->id == NO_COLUMN ? r->kernel : r->id])
        return bad(r, WS_EPARSE,
                   "the row of units is missing below the column names");
    for (enum ws__metric m = 0; m < WS__NMETRIC; m++) {
        size_t i = r->column[m];

        if (i == NO_COLUMN)
            continue;
        r->factor[m] = factor_of(r->row.cell[i], m);
        if (r->factor[m] > 0)
            continue;
        ws__fail_at(r->ctx, WS_EPARSE, &r->loc,
                    "unit '%s' of '%s' is not known, ours is '%s'",
                    r->row.cell[i], ws__metric_name(m, r->arch),
                    ws__metric_unit(m));
        return ws__hint(r->ctx, "run ncu with --print-units base");
    }
    return 0;
}

/* --- launches ------------------------------------------------------------ */

/* A number with commas between groups of three digits; false: it is none. */
static bool parse_number(char *s, double *out)
{
    char *to = s, *from = s, *point = s + strcspn(s, ".eE");
    bool groups = false;

    for (; *from; from++) {
        bool comma = *from == ',', may = (point - from) % 4 == 0;

        if (comma && (from == s || from >= point || !may))
            return false;
        groups = groups || comma;
        if (groups && may && from < point && !comma)
            return false;
        if (!comma)
            *to++ = *from;
    }
    *to = '\0';
    return ws__decimal_parse(s, out) && *out >= 0;
}

static bool is_missing(const char *s)
{
    return !*s || strstr(s, "n/a") || strcmp(s, "nan") == 0 ||
           strcmp(s, "-nan") == 0 || strcmp(s, "inf") == 0;
}

static int take_value(struct reader *r, enum ws__metric m, double *out)
{
    size_t i = r->column[m];

    *out = NAN;
    if (i == NO_COLUMN || is_missing(r->row.cell[i]))
        return 0;
    if (parse_number(r->row.cell[i], out)) {
        *out *= r->factor[m];
        return 0;
    }
    ws__fail_at(r->ctx, WS_EPARSE, &r->loc, "'%s' of '%s' is no number",
                r->row.cell[i], ws__metric_name(m, r->arch));
    return ws__hint(r->ctx, "run ncu with LC_ALL=C and without "
                            "--print-metric-instances");
}

/* "(128, 1, 1)". */
static int take_size(struct reader *r, size_t column, uint32_t *out)
{
    char *s;

    if (column == NO_COLUMN)
        return 0;
    s = r->row.cell[column];
    for (size_t d = 0; d < 3; d++) {
        unsigned long long v = 0;

        s += strspn(s, d ? " " : " (");
        for (size_t k = strspn(s, "0123456789"); k && v <= UINT32_MAX; k--)
            v = v * 10 + (unsigned)(*s++ - '0');
        if (!v || v > UINT32_MAX || *s != (d < 2 ? ',' : ')'))
            return bad(r, WS_EPARSE,
                       "a grid or block is not of the form (x, y, z)");
        out[d] = (uint32_t)v;
        s++;
    }
    return 0;
}

/* The device of the launch has the names that we look for. */
static int check_device(struct reader *r)
{
    const char *s = r->cc == NO_COLUMN ? "" : r->row.cell[r->cc];
    double cc;
    int tenths;

    if (!*s)
        return 0;
    if (!ws__decimal_parse(s, &cc) || cc < 1 || cc > 99)
        return bad(r, WS_EPARSE, "a compute capability that is none");
    tenths = (int)(cc * 10 + 0.5);
    if (ws__metric_arch(tenths / 10, tenths % 10) == r->arch)
        return 0;
    ws__fail_at(r->ctx, WS_ESPEC, &r->loc,
                "counted on a device of compute capability %s, not one of "
                "sm_%u",
                s, r->arch);
    return ws__hint(r->ctx, "profile on the device that is asked about");
}

static int take_launch(struct reader *r)
{
    struct ws__ncu *f = r->f;
    struct ws__ncu_launch *l;
    void *all = f->launch;
    int rc;

    if (r->row.n != r->ncolumn) {
        ws__fail_at(r->ctx, WS_EPARSE, &r->loc, "%zu cells below %zu names",
                    r->row.n, r->ncolumn);
        return ws__hint(r->ctx, "if the program printed this: " AGAIN);
    }
    WS_TRY(check_device(r));
    if (f->n == WS__NCU_LAUNCHES) {
        ws__fail_at(r->ctx, WS_ELIMIT, &r->loc, "more than %d launches",
                    WS__NCU_LAUNCHES);
        return ws__hint(r->ctx, "run ncu with --kernel-name and "
                                "--launch-count");
    }
    rc = ws__grow(r->ctx, &all, &r->cap, f->n, sizeof(*l));
    f->launch = all;
    WS_TRY(rc);
    l = &f->launch[f->n];
    memset(l, 0, sizeof(*l));
    l->line = r->loc.line;
    WS_TRY(take_size(r, r->grid, l->grid));
    WS_TRY(take_size(r, r->block, l->block));
    for (enum ws__metric m = 0; m < WS__NMETRIC; m++)
        WS_TRY(take_value(r, m, &l->value[m]));
    l->kernel = ws__arena_strdup(&f->arena, r->row.cell[r->kernel]);
    f->n += l->kernel != NULL;
    return l->kernel ? 0 : WS_ENOMEM;
}

/* --- the whole ----------------------------------------------------------- */

/* Up to the line with the names: WS_ESPEC if there is none. */
static int find_names(struct reader *r)
{
    char *line;

    while ((line = next_line(r))) {
        int rc;

        /* only this line needs its cells; others may be anything */
        if (is_of_ncu(r, line) || !strstr(line, "Kernel Name"))
            continue;
        rc = ws__cells_cut(r->ctx, line, MAX_COLUMNS, &r->row);
        if (rc == WS_ENOMEM)
            return rc;
        if (!rc && find_column(r, "Kernel Name") != NO_COLUMN)
            return take_names(r);
    }
    if (r->said) {
        ws__fail_at(r->ctx, WS_ESPEC, &r->loc, "no counters: ncu said: %s",
                    r->said);
        return ws__hint(r->ctx, "mend that first; counters may need more "
                                "rights (ERR_NVGPUCTRPERM)");
    }
    return bad(r, WS_ESPEC, "no line of column names: not the CSV of ncu");
}

static int no_launch(struct reader *r)
{
    ws__fail_at(r->ctx, WS_ESPEC, &r->loc, "no launch was profiled%s%s",
                r->said ? ": ncu said: " : "", r->said ? r->said : "");
    return ws__hint(r->ctx, "does the name after --kernel-name match, and did "
                            "the program launch the kernel?");
}

static int read_all(struct reader *r)
{
    bool units = false;
    char *line;

    WS_TRY(find_names(r));
    while ((line = next_line(r))) {
        int rc;

        if (!*line || is_of_ncu(r, line))
            continue;
        rc = ws__cells_cut(r->ctx, line, MAX_COLUMNS, &r->row);
        if (rc == WS_EPARSE)
            return bad(r, rc, "quotes that do not match");
        if (rc == WS_ELIMIT)
            return bad(r, rc, "more columns than a page has");
        WS_TRY(rc);
        WS_TRY(units ? take_launch(r) : take_units(r));
        units = true;
    }
    return r->f->n ? 0 : no_launch(r);
}

static int check_input(struct ws_ctx *ctx, const char *file, const char *text,
                       size_t len, unsigned arch)
{
    struct ws__loc loc = {.file = file};

    if (!ws__metric_name(WS__M_TIME, arch)) {
        ws__fail(ctx, WS_EINVAL, "no counters are known of this device");
        return ws__hint(ctx, "profile without counters");
    }
    if (len > WS__NCU_BYTES) {
        ws__fail_at(ctx, WS_ELIMIT, &loc, "more than %zu bytes", WS__NCU_BYTES);
        return ws__hint(ctx, "run ncu with --kernel-name and --launch-count");
    }
    if (len && memchr(text, 0, len)) {
        ws__fail_at(ctx, WS_EPARSE, &loc, "not text: it has zero bytes");
        return ws__hint(ctx, "a report (.ncu-rep) becomes text by 'ncu "
                             "--import FILE --csv --page raw'");
    }
    return 0;
}

int ws__ncu_parse(struct ws_ctx *ctx, const char *file, const char *text,
                  size_t len, unsigned arch, struct ws__ncu **out)
{
    struct reader r = {.ctx = ctx, .loc = {.file = file}, .arch = arch};
    char *copy;
    int rc;

    *out = NULL;
    WS_TRY(check_input(ctx, file, text, len, arch));
    r.f = ws__alloc(ctx, 1, sizeof(*r.f));
    if (!r.f)
        return WS_ENOMEM;
    ws__arena_init(&r.f->arena, ctx);
    copy = ws__alloc(ctx, len + 1, 1);
    if (copy) {
        memcpy(copy, len ? text : "", len);
        r.at = copy;
        r.end = copy + len;
    }
    rc = copy ? read_all(&r) : WS_ENOMEM;
    ws__cells_free(ctx, &r.row);
    ws__free(ctx, copy);
    if (rc < 0) {
        ws__ncu_free(r.f);
        return rc;
    }
    *out = r.f;
    return 0;
}

int ws__ncu_read(struct ws_ctx *ctx, const char *path, unsigned arch,
                 struct ws__ncu **out)
{
    char *text;
    size_t len;
    int rc;

    *out = NULL;
    WS_TRY(ws__fs_read(ctx, path, WS__NCU_BYTES, &text, &len));
    rc = ws__ncu_parse(ctx, path, text, len, arch, out);
    ws__free(ctx, text);
    return rc;
}

void ws__ncu_free(struct ws__ncu *f)
{
    struct ws_ctx *ctx;

    if (!f)
        return;
    ctx = f->arena.ctx;
    ws__free(ctx, f->launch);
    ws__arena_free(&f->arena);
    ws__free(ctx, f);
}

bool ws__ncu_is(const struct ws__ncu_launch *l, const char *name)
{
    const char *end = l->kernel + strcspn(l->kernel, "(<");
    size_t n = strcspn(name, "<");

    return (size_t)(end - l->kernel) >= n && strncmp(end - n, name, n) == 0 &&
           (end - n == l->kernel || strchr(" :", end[-(ptrdiff_t)n - 1]));
}

/* --- the launches of a plan ---------------------------------------------- */

static bool same_size(const struct ws__ncu_launch *l,
                      const struct ws__plan_launch *p)
{
    for (int d = 0; d < 3; d++)
        if ((l->grid[0] && l->grid[d] != p->grid[d]) ||
            (l->block[0] && l->block[d] != p->block[d]))
            return false;
    return true;
}

static bool of_plan(const struct ws__ncu_launch *l, const struct ws__plan *plan)
{
    for (size_t i = 0; i < plan->nlaunch; i++)
        if (ws__ncu_is(l, ws__plan_entry(&plan->launch[i])))
            return true;
    return false;
}

/* Is launch `end - 1` of the file the last one of a run? */
static bool run_ends(const struct ws__ncu *f, const struct ws__plan *plan,
                     size_t end, size_t at[WS__MAX_LAUNCHES],
                     const struct ws__ncu_launch **other)
{
    for (size_t left = plan->nlaunch; left > 0; end--) {
        const struct ws__plan_launch *want = &plan->launch[left - 1];
        const struct ws__ncu_launch *l;

        if (!end)
            return false;
        l = &f->launch[end - 1];
        if (!of_plan(l, plan)) {
            if (left == plan->nlaunch)
                return false;
            continue;
        }
        if (!ws__ncu_is(l, ws__plan_entry(want)))
            return false;
        if (!same_size(l, want)) {
            *other = l;
            return false;
        }
        at[--left] = end - 1;
    }
    return true;
}

bool ws__ncu_last_run(const struct ws__ncu *f, const struct ws__plan *plan,
                      size_t at[WS__MAX_LAUNCHES],
                      const struct ws__ncu_launch **other)
{
    *other = NULL;
    for (size_t end = f->n; end > 0; end--)
        if (run_ends(f, plan, end, at, other))
            return true;
    return false;
}
