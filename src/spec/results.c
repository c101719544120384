/*
 * results.c: what all readers of results share: opening, telling formats
 * apart, and from names and texts of a row to a config of the kernel.
 *
 * The format is seen from the first character, not from the name: an object
 * is JSON, all else a matrix. Every value is compared as a text that denotes
 * it, so that one rule serves cells and JSON values: numbers as numbers, bools
 * in either spelling or as 1 and 0.
 *
 * A row that breaks a constraint of the space is foreign as one with an
 * unknown value is; constraints on the device are not known here, and those
 * that only prune the search say nothing about a row.
 */
#include "spec/results.h"

#include <ctype.h>
#include <strings.h>

#include "core/decimal.h"
#include "spec/results_read.h"

#include "base/banned.h"

#define HEAD ((size_t)64 << 10)

/* Status words of the tools that write such files, lower case. */
static const struct {
    const char *word;
    enum ws__verdict verdict;
} status_words[] = {
    {"ok", WS__V_OK},
    {"correct", WS__V_OK},
    {"compilationfailedconfig", WS__V_BUILD},
    {"compilationfailed", WS__V_BUILD},
    {"compile", WS__V_BUILD},
    /* These tools skip what a driver refuses to launch; a crash ends them. */
    {"runtimefailedconfig", WS__V_LAUNCH},
    {"computationfailed", WS__V_LAUNCH},
    {"runtime", WS__V_LAUNCH},
    {"invalidconfig", WS__V_FILTERED},
    {"devicelimitsexceeded", WS__V_FILTERED},
    {"constraints", WS__V_FILTERED},
    {"validationfailed", WS__V_WRONG},
    {"correctness", WS__V_WRONG},
    {"timeout", WS__V_HANG},
};

bool ws__results_verdict(const char *word, enum ws__verdict *out)
{
    for (size_t i = 0; i < WS_COUNT(status_words); i++)
        if (!strcasecmp(word, status_words[i].word)) {
            *out = status_words[i].verdict;
            return true;
        }
    for (int v = WS__V_OK; v <= WS__V_FILTERED; v++)
        if (!strcmp(word, ws__verdict_key((enum ws__verdict)v))) {
            *out = (enum ws__verdict)v;
            return true;
        }
    return false;
}

double ws__results_unit(const char *name, size_t n)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},
                 {"us", 1e3},
                 {"ms", 1e6},
                 {"s", 1e9},
                 {"nanoseconds", 1},
                 {"microseconds", 1e3},
                 {"milliseconds", 1e6},
                 {"miliseconds", 1e6}, /* as T4 files have it */
                 {"seconds", 1e9}};

    for (size_t i = 0; i < WS_COUNT(units); i++)
        if (strlen(units[i].name) == n && !strncmp(name, units[i].name, n))
            return units[i].ns;
    return 0;
}

double ws__results_unit_word(const char *word)
{
    static const struct {
        const char *name;
        double ns;
    } others[] = {{"nsec", 1},        {"nsecs", 1},       {"nanosecond", 1},
                  {"usec", 1e3},      {"usecs", 1e3},     {"microsecond", 1e3},
                  {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3}, /* both signs */
                  {"msec", 1e6},      {"msecs", 1e6},     {"millisecond", 1e6},
                  {"sec", 1e9},       {"secs", 1e9},      {"second", 1e9}};
    char low[16];
    size_t n = strlen(word);

    if (n >= sizeof(low))
        return 0;
    for (size_t i = 0; i <= n; i++)
        low[i] =
            word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] | 0x20) : word[i];
    for (size_t i = 0; i < WS_COUNT(others); i++)
        if (!strcmp(others[i].name, low))
            return others[i].ns;
    return ws__results_unit(low, n);
}

bool ws__results_is_time(double ns)
{
    return ns >= 1e-3 && ns <= 1e18;
}

/* 1 true, 0 false, -1 neither. */
static int truth(const char *text)
{
    if (!strcmp(text, "true") || !strcmp(text, "True"))
        return 1;
    return !strcmp(text, "false") || !strcmp(text, "False") ? 0 : -1;
}

/* The number that a text denotes, exactly if it is whole. */
struct number {
    bool is, whole;
    double f;
    int64_t i;
};

static struct number number_of(const char *text)
{
    struct number n = {0};
    int t = truth(text);

    if (t >= 0) {
        n.is = n.whole = true;
        n.f = n.i = t;
    } else if (ws__integer_parse(text, &n.i)) {
        n.is = n.whole = true;
        n.f = (double)n.i;
    } else if (ws__decimal_parse(text, &n.f)) {
        n.is = true;
        /* 2^62: far inside of what a cast may hold. */
        n.whole = n.f > -0x1p62 && n.f < 0x1p62 && n.f == (double)(int64_t)n.f;
        n.i = n.whole ? (int64_t)n.f : 0;
    }
    return n;
}

static bool denotes(const char *text, const struct number *n,
                    const struct ws__value *v)
{
    switch (v->type) {
    case WS__STR:
        return !strcmp(text, v->u.s);
    case WS__BOOL:
    case WS__INT:
        return n->whole && n->i == v->u.i;
    case WS__FLOAT:
        return n->is && n->f == v->u.f;
    }
    return false;
}

bool ws__results_param(struct ws__results_reader *rd, size_t p,
                       const char *text)
{
    const struct ws__param *par = &rd->spec->kernel->param[p];
    struct number n = number_of(text);

    for (size_t i = 0; i < par->nvalue; i++)
        if (denotes(text, &n, &par->value[i])) {
            rd->r.config.at[p] = (uint16_t)i;
            return true;
        }
    return false;
}

bool ws__results_same(const char *a, const char *b)
{
    struct number x = number_of(a), y = number_of(b);

    return !strcmp(a, b) || (x.is && y.is && x.f == y.f && x.i == y.i);
}

int ws__results_sample(struct ws__results_reader *rd, double ns)
{
    WS_TRY(ws__grow(rd->ctx, (void **)&rd->sample, &rd->cap, rd->nsample,
                    sizeof(*rd->sample)));
    rd->sample[rd->nsample++] = ns;
    return 0;
}

int ws__results_foreign(struct ws__results_reader *rd, const char *fmt, ...)
{
    struct ws__results_report *rep = rd->report;
    int at = 0;
    va_list ap;

    if (rep->foreign++)
        return 0;
    if (rd->r.line)
        at = snprintf(rep->foreign_why, sizeof(rep->foreign_why),
                      "line %u: ", rd->r.line);
    va_start(ap, fmt);
    vsnprintf(rep->foreign_why + at, sizeof(rep->foreign_why) - (size_t)at, fmt,
              ap);
    va_end(ap);
    return 0;
}

/* The first constraint that the row breaks, as far as it can be tested. One
 * that cannot be evaluated removes nothing by itself. */
static const struct ws__constraint *broken(struct ws__results_reader *rd)
{
    const struct ws__kernel *k = rd->spec->kernel;

    for (size_t i = 0; k->op && i < k->op->naxis; i++)
        rd->vars[i].i = rd->spec->workload[rd->r.workload].axis[i];
    ws__config_vars(k, &rd->r.config, rd->vars);
    for (size_t i = 0; i < k->nconstraint; i++)
        if (!k->constraint[i].needs_device && !k->constraint[i].prune &&
            !ws__expr_test(k->constraint[i].expr, rd->vars))
            return &k->constraint[i];
    return NULL;
}

int ws__results_give(struct ws__results_reader *rd)
{
    const struct ws__constraint *c = broken(rd);
    struct ws__result *r = &rd->r;

    if (c)
        return ws__results_foreign(rd, "'%.150s' does not hold", c->expr->text);
    if (r->verdict == WS__V_OK && !rd->nsample)
        WS_TRY(ws__results_sample(rd, r->figure_ns));
    r->sample_ns = r->verdict == WS__V_OK ? rd->sample : NULL;
    r->nsample = r->verdict == WS__V_OK ? rd->nsample : 0;
    rd->report->used++;
    return rd->fn(rd->user, r);
}

bool ws__results_any_workload(const struct ws__results_reader *rd)
{
    return !rd->spec->kernel->op || rd->spec->nworkload == 1;
}

int ws__results_missing(struct ws__results_reader *rd, const char *what,
                        const char *name)
{
    struct ws__loc loc = {.file = rd->text->file, .line = rd->r.line};

    ws__fail_at(rd->ctx, WS_ESPEC, &loc, "no value for %s '%s'", what, name);
    return ws__hint(rd->ctx,
                    "results of '%s' name all its parameters that "
                    "have a choice%s",
                    rd->spec->kernel->name,
                    rd->spec->kernel->op ? ", and the axes" : "");
}

static int read_head(struct ws__text_source *s, struct ws__buf *head)
{
    char piece[4096];
    size_t got;

    do {
        WS_TRY(ws__text_read(s, piece, sizeof(piece), &got));
        WS_TRY(ws__buf_add(head, piece, got));
        for (size_t i = 0; i < head->len; i++)
            if (!isspace((unsigned char)head->data[i]))
                return 0;
    } while (got && head->len < HEAD / 2);
    return 0;
}

static int read_any(struct ws__results_reader *rd)
{
    struct ws__loc loc = {.file = rd->text->file};
    struct ws__buf head;
    size_t i = 0;
    int rc;

    ws__buf_init(&head, rd->ctx, HEAD);
    rc = read_head(rd->text, &head);
    while (i < head.len && isspace((unsigned char)head.data[i]))
        i++;
    if (rc < 0) {
        ws__buf_free(&head);
    } else if (i == head.len) {
        rc = ws__fail_at(rd->ctx, WS_EPARSE, &loc, "the file is empty");
        ws__hint(rd->ctx, "results are a CSV file with a line of column names "
                          "first, or JSON");
        ws__buf_free(&head);
    } else {
        rc = head.data[i] == '{' ? ws__results_json(rd, &head)
                                 : ws__results_csv(rd, &head);
    }
    ws__free(rd->ctx, rd->sample);
    return rc;
}

/* Nothing to take is no success: most likely it is the wrong file. */
static int check_some(struct ws__results_reader *rd)
{
    const struct ws__results_report *rep = rd->report;
    struct ws__loc loc = {.file = rd->text->file};

    if (rep->used || rep->foreign)
        return 0;
    if (rep->left) {
        ws__fail_at(rd->ctx, WS_EINVAL, &loc, "no row has '%.200s'",
                    rd->spec->where);
        return ws__hint(rd->ctx, "these cells were to select rows");
    }
    ws__fail_at(rd->ctx, WS_EPARSE, &loc, "no results in it");
    return ws__hint(rd->ctx, "is it the right file, and was anything "
                             "measured?");
}

static int read_source(struct ws_ctx *ctx, const struct ws__results_spec *spec,
                       struct ws__text_source *s, ws__result_fn *fn, void *user,
                       struct ws__results_report *report)
{
    struct ws__results_reader *rd;
    int rc;

    memset(report, 0, sizeof(*report));
    report->format = "";
    if (spec->kernel->op && !spec->nworkload)
        return ws__fail(ctx, WS_EINVAL, "results need workloads");
    rd = ws__alloc(ctx, 1, sizeof(*rd));
    if (!rd)
        return WS_ENOMEM;
    rd->ctx = ctx;
    rd->spec = spec;
    rd->text = s;
    rd->fn = fn;
    rd->user = user;
    rd->report = report;
    rc = read_any(rd);
    if (!rc)
        rc = check_some(rd);
    ws__free(ctx, rd);
    return rc;
}

int ws__results_read(struct ws_ctx *ctx, const struct ws__results_spec *spec,
                     const char *path, ws__result_fn *fn, void *user,
                     struct ws__results_report *report)
{
    struct ws__text_source s;
    int rc;

    memset(report, 0, sizeof(*report));
    WS_TRY(ws__text_open(ctx, path, &s));
    rc = read_source(ctx, spec, &s, fn, user, report);
    ws__text_close(&s);
    return rc;
}

int ws__results_parse(struct ws_ctx *ctx, const struct ws__results_spec *spec,
                      const char *text, size_t len, const char *file,
                      ws__result_fn *fn, void *user,
                      struct ws__results_report *report)
{
    struct ws__text_source s = {.ctx = ctx,
                                .file = file,
                                .mem = text,
                                .left = len};

    return read_source(ctx, spec, &s, fn, user, report);
}
