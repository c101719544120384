/*
 * ncu.c: counters from what `ncu --csv --page raw` wrote.
 *
 * Lines that ncu itself says begin with "==" and are left out, and so is what
 * the program printed before the table. The table's first row has the names of
 * columns, the second their units, each further row is one launch. Fields may
 * be quoted and hold commas; "n/a", an empty field and a column that is not
 * there are missing, never zero. Units are brought to those of metrics.h,
 * whether --print-units base was given or not.
 */
#include "profile/profile.h"

#include <ctype.h>
#include <math.h>

#include "base/banned.h"

#define MAX_COLUMNS 16384u
#define MAX_LAUNCHES 65536u

struct column {
    enum ws__metric metric; /* WS__NMETRIC: not one of ours */
    double scale;
};

struct table {
    struct ws_ctx *ctx;
    struct ws__arena *a;
    const char *p, *end;
    struct ws__loc loc;
    char **field; /* of the row that was read last */
    size_t nfield, cap;
    char *row; /* its text, cut into fields */
    struct column *column;
    size_t ncolumn, name_column;
    size_t launch_cap;
};

static int bad(struct table *t, const char *what)
{
    ws__fail_at(t->ctx, WS_ESPEC, &t->loc, "%s", what);
    return ws__hint(t->ctx, "make it with 'ncu --csv --page raw "
                            "--print-units base --log-file FILE ...'");
}

static const char *end_of_line(const struct table *t)
{
    const char *stop = memchr(t->p, '\n', (size_t)(t->end - t->p));

    return stop ? stop : t->end;
}

static int add_field(struct table *t, char *from)
{
    if (t->nfield == MAX_COLUMNS)
        return bad(t, "too many columns");
    WS_TRY(ws__grow(t->ctx, (void **)&t->field, &t->cap, t->nfield,
                    sizeof(*t->field)));
    t->field[t->nfield++] = from;
    return 0;
}

/* Cuts a line into fields, in place; "" within quotes is a quote. */
static int cut(struct table *t, char *s)
{
    t->nfield = 0;
    for (;;) {
        char *to = s, *from = s;
        bool quoted = *s == '"';
        char after;

        s += quoted;
        while (*s && (quoted || *s != ',')) {
            if (quoted && *s == '"') {
                if (s[1] != '"')
                    break;
                s++;
            }
            *to++ = *s++;
        }
        if (quoted && *s++ != '"')
            return bad(t, "a quote is not closed");
        after = *s;
        if (after && after != ',')
            return bad(t, "something follows a closed quote");
        *to = '\0';
        WS_TRY(add_field(t, from));
        if (!after)
            return 0;
        s++;
    }
}

/* The next line that ncu did not say itself; 1, or 0 at the end. */
static int next_row(struct table *t)
{
    while (t->p < t->end) {
        const char *stop = end_of_line(t), *from = t->p;
        size_t n = (size_t)(stop - from);

        t->p = stop < t->end ? stop + 1 : stop;
        t->loc.line++;
        while (n && isspace((unsigned char)from[n - 1]))
            n--;
        if (!n || (n >= 2 && from[0] == '=' && from[1] == '='))
            continue;
        ws__free(t->ctx, t->row);
        t->row = ws__alloc(t->ctx, n + 1, 1);
        if (!t->row)
            return WS_ENOMEM;
        memcpy(t->row, from, n);
        return 1;
    }
    return 0;
}

/* The row of names is the first that names a kernel's column. */
static int find_header(struct table *t)
{
    int rc;

    while ((rc = next_row(t)) > 0) {
        if (!strstr(t->row, "\"Kernel Name\"") &&
            strncmp(t->row, "ID,", 3) != 0)
            continue;
        WS_TRY(cut(t, t->row));
        for (size_t i = 0; i < t->nfield; i++)
            if (!strcmp(t->field[i], "Kernel Name")) {
                t->name_column = i;
                return 0;
            }
    }
    return rc < 0 ? rc : bad(t, "no row of names with 'Kernel Name'");
}

static int take_names(struct table *t, struct ws__ncu *out)
{
    t->ncolumn = t->nfield;
    t->column = ws__alloc(t->ctx, t->ncolumn, sizeof(*t->column));
    if (!t->column)
        return WS_ENOMEM;
    for (size_t i = 0; i < t->ncolumn; i++) {
        t->column[i].metric = ws__metric_find(t->field[i]);
        if (t->column[i].metric == WS__NMETRIC)
            out->unknown++;
        else
            out->known++;
    }
    return 0;
}

/* "Mbyte" is 1e6 of "byte", "usecond" and "us" are 1000 of "ns". */
static double scale_of(const char *unit)
{
    static const struct {
        const char *unit;
        double scale;
    } time[] = {{"nsecond", 1},   {"ns", 1},   {"usecond", 1e3}, {"us", 1e3},
                {"msecond", 1e6}, {"ms", 1e6}, {"second", 1e9},  {"s", 1e9}};
    static const struct {
        char letter;
        double scale;
    } prefix[] = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};

    for (size_t i = 0; i < WS_COUNT(time); i++)
        if (!strcmp(unit, time[i].unit))
            return time[i].scale;
    for (size_t i = 0; i < WS_COUNT(prefix); i++)
        if (unit[0] == prefix[i].letter && islower((unsigned char)unit[1]))
            return prefix[i].scale;
    return 1;
}

static int take_units(struct table *t)
{
    int rc = next_row(t);

    WS_TRY(rc);
    if (!rc)
        return bad(t, "no row of units after the names");
    WS_TRY(cut(t, t->row));
    if (t->nfield != t->ncolumn)
        return bad(t, "the row of units has another length than the names");
    for (size_t i = 0; i < t->ncolumn; i++)
        t->column[i].scale = scale_of(t->field[i]);
    return 0;
}

/* A number, with commas between thousands; false: it is none. */
static bool number(const char *s, double *out)
{
    char plain[64], *end;
    size_t n = 0;

    for (; *s && n + 1 < sizeof(plain); s++)
        if (*s != ',')
            plain[n++] = *s;
    plain[n] = '\0';
    *out = strtod(plain, &end);
    return n && !*s && !*end && isfinite(*out);
}

static int take_launch(struct table *t, struct ws__ncu *out)
{
    struct ws__ncu_launch *l;

    WS_TRY(cut(t, t->row));
    if (t->nfield != t->ncolumn)
        return bad(t, "this row has another length than the names");
    if (out->nlaunch == MAX_LAUNCHES)
        return bad(t, "too many launches");
    WS_TRY(ws__grow(t->ctx, (void **)&out->launch, &t->launch_cap, out->nlaunch,
                    sizeof(*l)));
    l = &out->launch[out->nlaunch++];
    l->kernel = ws__arena_strdup(t->a, t->field[t->name_column]);
    if (!l->kernel)
        return WS_ENOMEM;
    for (size_t m = 0; m < WS__NMETRIC; m++)
        l->value[m] = NAN;
    for (size_t i = 0; i < t->ncolumn; i++) {
        const char *s = t->field[i];
        double v;

        if (t->column[i].metric == WS__NMETRIC || !*s || !strcmp(s, "n/a"))
            continue;
        if (!number(s, &v)) {
            ws__fail_at(t->ctx, WS_ESPEC, &t->loc, "'%s' is no number", s);
            return ws__hint(t->ctx, "what ncu lacks it writes as n/a");
        }
        l->value[t->column[i].metric] = v * t->column[i].scale;
    }
    return 0;
}

static int read_all(struct table *t, struct ws__ncu *out)
{
    int rc;

    WS_TRY(find_header(t));
    WS_TRY(take_names(t, out));
    if (!out->known)
        return bad(t, "no column is a metric that is known here");
    WS_TRY(take_units(t));
    while ((rc = next_row(t)) > 0)
        WS_TRY(take_launch(t, out));
    WS_TRY(rc);
    return out->nlaunch ? 0 : bad(t, "no launch in it");
}

int ws__ncu_parse(struct ws_ctx *ctx, struct ws__arena *a, const char *file,
                  const char *text, size_t n, struct ws__ncu *out)
{
    struct table t = {
        .ctx = ctx, .a = a, .p = text, .end = text + n, .loc = {file, 0, 0}};
    struct ws__ncu_launch *launch;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = read_all(&t, out);
    launch = out->launch;
    if (!rc) {
        out->launch = ws__arena_alloc(a, out->nlaunch, sizeof(*launch));
        if (out->launch)
            memcpy(out->launch, launch, out->nlaunch * sizeof(*launch));
        else
            rc = WS_ENOMEM;
    }
    ws__free(ctx, launch);
    ws__free(ctx, t.column);
    ws__free(ctx, t.field);
    ws__free(ctx, t.row);
    if (rc < 0)
        memset(out, 0, sizeof(*out));
    return rc;
}
