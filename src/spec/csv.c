/* csv.c: lines and cells of CSV files, read piece by piece. */
#include "spec/csv.h"

#include "core/decimal.h"

#include "base/banned.h"

#define LINE_BYTES ((size_t)1 << 20)
#define MAX_COLUMNS 4096

void ws__csv_init(struct ws__csv *c, struct ws_ctx *ctx,
                  struct ws__text_source *text)
{
    memset(c, 0, sizeof(*c));
    c->ctx = ctx;
    c->text = text;
    c->loc.file = text->file;
    ws__buf_init(&c->line, ctx, LINE_BYTES);
    ws__arena_init(&c->arena, ctx);
}

void ws__csv_clear(struct ws__csv *c)
{
    ws__buf_free(&c->line);
    ws__arena_free(&c->arena);
    ws__cells_free(c->ctx, &c->row);
}

static int more(struct ws__csv *c)
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
    WS_TRY(ws__text_read(c->text, piece, sizeof(piece), &got));
    c->eof = !got;
    if (ws__buf_add(&c->line, piece, got) >= 0)
        return 0;
    if (c->line.failed != WS_ELIMIT)
        return c->line.failed;
    loc.line++; /* the one that is not whole yet */
    ws__fail_at(c->ctx, WS_ELIMIT, &loc, "a line of more than %zu bytes",
                LINE_BYTES);
    return ws__hint(c->ctx, "is it a CSV file?");
}

static int next_line(struct ws__csv *c)
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
    if (!nl) { /* room for the end of a last line without one */
        WS_TRY(ws__buf_add(&c->line, "\n", 1));
        nl = c->line.data + c->line.len - 1;
    }
    *nl = '\0';
    c->end = (size_t)(nl - c->line.data) + 1;
    if (nl > c->line.data + c->at && nl[-1] == '\r')
        nl[-1] = '\0';
    if (strlen(c->line.data + c->at) + 2 < c->end - c->at) {
        ws__fail_at(c->ctx, WS_EPARSE, &c->loc, "a zero byte");
        return ws__hint(c->ctx, "is it a CSV file?");
    }
    return 1;
}

static int split(struct ws__csv *c)
{
    int rc = ws__cells_cut(c->ctx, c->line.data + c->at, MAX_COLUMNS, &c->row);

    if (rc == WS_ELIMIT)
        return ws__fail_at(c->ctx, WS_ELIMIT, &c->loc, "more than %d columns",
                           MAX_COLUMNS);
    if (rc != WS_EPARSE)
        return rc;
    ws__fail_at(c->ctx, WS_EPARSE, &c->loc, "a quote is not closed");
    return ws__hint(c->ctx, "a quote inside of a cell is written twice; cells "
                            "have no line breaks");
}

int ws__csv_names(struct ws__csv *c)
{
    int rc = next_line(c);

    if (rc <= 0)
        return rc;
    if (strchr(c->line.data + c->at, '\r')) {
        ws__fail_at(c->ctx, WS_EPARSE, &c->loc,
                    "a carriage return inside of the line of column names");
        return ws__hint(c->ctx, "lines end with a line feed, or with "
                                "both: convert the file");
    }
    /* The mark that some programs put first. */
    if (!strncmp(c->line.data + c->at, "\xef\xbb\xbf", 3))
        c->at += 3;
    WS_TRY(split(c));
    c->name = ws__arena_alloc(&c->arena, c->row.n, sizeof(*c->name));
    if (!c->name)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->row.n; i++) {
        c->name[i] = ws__arena_strdup(&c->arena, c->row.cell[i]);
        if (!c->name[i])
            return WS_ENOMEM;
        c->ncolumn++;
    }
    return 1;
}

int ws__csv_row(struct ws__csv *c)
{
    int rc;

    do
        rc = next_line(c);
    while (rc > 0 && !c->line.data[c->at]);
    if (rc <= 0)
        return rc;
    WS_TRY(split(c));
    if (c->row.n == c->ncolumn)
        return 1;
    ws__fail_at(c->ctx, WS_EPARSE, &c->loc,
                "%zu cells in a row, but %zu "
                "columns",
                c->row.n, c->ncolumn);
    return ws__hint(c->ctx, "is the file cut off?");
}

int ws__csv_bad_cell(struct ws__csv *c, int column, const char *want)
{
    ws__fail_at(c->ctx, WS_EPARSE, &c->loc, "'%.100s' in column '%s'",
                c->row.cell[column], c->name[column]);
    return ws__hint(c->ctx, "%s", want);
}

int ws__csv_time(struct ws__csv *c, int column, double unit, const char *text,
                 double *ns)
{
    if (!ws__decimal_parse(text, ns) || !ws__results_is_time(*ns * unit))
        return ws__csv_bad_cell(
            c, column, "a time is a number above 0, of at most 30 years");
    *ns *= unit;
    return 0;
}

int ws__csv_column(const struct ws__csv *c, const char *name)
{
    for (size_t i = 0; i < c->ncolumn; i++)
        if (!strcmp(c->name[i], name))
            return (int)i;
    return -1;
}

/* Of a column that is read there must be one. */
int ws__csv_once(struct ws__csv *c, int column)
{
    for (size_t i = (size_t)(column + 1); column >= 0 && i < c->ncolumn; i++)
        if (!strcmp(c->name[i], c->name[column])) {
            ws__fail_at(c->ctx, WS_ESPEC, &c->loc,
                        "columns %d and %zu are both called '%.100s'",
                        column + 1, i + 1, c->name[column]);
            return ws__hint(c->ctx, "leave the one that is meant");
        }
    return 0;
}

/* Axis `blocks_16` in a column `blocks`: the column. */
static int column_of_parts(const struct ws__csv *c, const char *name)
{
    const char *end = strrchr(name, '_');
    size_t n = end ? (size_t)(end - name) : 0;

    for (size_t i = 0; n && i < c->ncolumn; i++)
        if (strlen(c->name[i]) == n && !strncmp(c->name[i], name, n))
            return (int)i;
    return -1;
}

void ws__csv_find_axes(const struct ws__csv *c, const struct ws__op *op,
                       struct ws__csv_axis *out)
{
    for (size_t a = 0; a < op->naxis; a++) {
        out[a].part = -1;
        out[a].column = ws__csv_column(c, op->axis[a].name);
        if (out[a].column >= 0)
            continue;
        out[a].column = column_of_parts(c, op->axis[a].name);
        if (out[a].column < 0)
            continue;
        out[a].part = 0;
        for (size_t i = 0; i < a; i++)
            out[a].part += out[i].column == out[a].column;
    }
}

/* The part-th number between slashes. */
static bool part_of(const char *text, int part, int64_t *out)
{
    char number[32];
    size_t n;

    for (; part; part--) {
        text = strchr(text, '/');
        if (!text++)
            return false;
    }
    n = strcspn(text, "/");
    if (!n || n >= sizeof(number))
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    return ws__integer_parse(number, out);
}

bool ws__csv_axis_value(const struct ws__csv *c, const struct ws__axis *axis,
                        struct ws__csv_axis at, int64_t *out)
{
    const char *text = c->row.cell[at.column];

    if (axis->kind == WS__AXIS_TYPE) {
        *out = (int64_t)ws__dtype_parse(text);
        return true;
    }
    return at.part < 0 ? ws__integer_parse(text, out)
                       : part_of(text, at.part, out);
}
