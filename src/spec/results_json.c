/*
 * results_json.c: Kernel Tuner's cache files and results in the T4 format.
 *
 * A cache file grows while its tuner runs: until it ends, the braces that
 * close it are missing, and a tuner that was killed may leave half an entry.
 * So if the text breaks off, it is cut behind its last whole entry and closed.
 * Python also writes NaN and Infinity, which JSON does not know: they become
 * empty strings of the same length before parsing, so that places in errors
 * stay right. They can only be values that are not read, or no time at all.
 *
 * The whole document is in memory, so its size is bounded. What is wrong
 * with an entry names the entry: the parser keeps no places of values.
 */
#include <jansson.h>
#include <math.h>
#include <time.h>

#include "core/decimal.h"
#include "spec/results_read.h"

#include "base/banned.h"

#define DOCUMENT_MAX ((size_t)256 << 20)
#define NS_A_MS 1e6
#define A_TIME "a time is a number above 0, of at most 30 years"

/* What a walk over the text finds without parsing it. */
struct shape {
    size_t whole; /* behind the last entry that is whole, or its map's '{' */
    bool open;    /* the text ends inside of the document */
};

/* Replaces `word` at s by an empty string and spaces. */
static bool blank(char *s, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(s, word, n) != 0)
        return false;
    memset(s, ' ', n);
    s[0] = s[1] = '"';
    return true;
}

static void look_over(char *text, struct shape *out)
{
    size_t depth = 0;
    bool inside = false;

    memset(out, 0, sizeof(*out));
    for (char *s = text; *s; s++) {
        if (inside) {
            if (*s == '\\' && s[1])
                s++;
            else
                inside = *s != '"';
        } else if (*s == '"') {
            inside = true;
        } else if (*s == '{' || *s == '[') {
            if (++depth == 2 && *s == '{')
                out->whole = (size_t)(s - text) + 1;
        } else if (*s == '}' || *s == ']') {
            if (!depth || --depth == 0)
                break;
            if (depth == 2 && *s == '}')
                out->whole = (size_t)(s - text) + 1;
        } else if (*s == 'N' || *s == 'I' || *s == '-') {
            /* On to the second quote. */
            s += blank(s, "NaN") || blank(s, "Infinity") ||
                 blank(s, "-Infinity");
        }
    }
    out->open = depth > 0;
}

static int read_all(struct ws__results_reader *rd, struct ws__buf *b)
{
    struct ws__loc loc = {.file = rd->text->file};
    char piece[65536];
    size_t got;

    b->max = DOCUMENT_MAX;
    do {
        WS_TRY(ws__text_read(rd->text, piece, sizeof(piece), &got));
        if (ws__buf_add(b, piece, got) == WS_ELIMIT) {
            ws__fail_at(rd->ctx, WS_ELIMIT, &loc,
                        "the document is larger than %zu MiB",
                        DOCUMENT_MAX >> 20);
            return ws__hint(rd->ctx, "split the file");
        }
        WS_TRY(b->failed);
    } while (got);
    return 0;
}

static int parse(struct ws__results_reader *rd, struct ws__buf *b, json_t **out)
{
    struct ws__loc loc = {.file = rd->text->file};
    struct shape shape;
    json_error_t e;

    look_over(b->data, &shape);
    if (shape.open && shape.whole) {
        b->len = shape.whole;
        WS_TRY(ws__buf_puts(b, "}}"));
        rd->report->unfinished = true;
    }
    *out = json_loadb(b->data, b->len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES,
                      &e);
    if (*out)
        return 0;
    if (json_error_code(&e) == json_error_out_of_memory)
        return ws__nomem(rd->ctx);
    loc.line = e.line > 0 ? (uint32_t)e.line : 0;
    loc.column = e.column > 0 ? (uint32_t)e.column : 0;
    ws__fail_at(rd->ctx, WS_EPARSE, &loc, "no JSON: %s", e.text);
    return ws__hint(rd->ctx, "results are a cache file of Kernel Tuner, T4 "
                             "results, or a CSV file");
}

/* --- one entry -------------------------------------------------------------
 */

static int bad_entry(struct ws__results_reader *rd, const char *entry,
                     const char *what, const char *hint)
{
    struct ws__loc loc = {.file = rd->text->file};

    ws__fail_at(rd->ctx, WS_EPARSE, &loc, "entry '%.100s': %s", entry, what);
    return ws__hint(rd->ctx, "%s", hint);
}

/* The text that denotes a value; into `out` unless it is a string. */
static const char *text_of(const json_t *v, char out[40])
{
    switch (json_typeof(v)) {
    case JSON_STRING:
        return json_string_value(v);
    case JSON_INTEGER:
        snprintf(out, 40, "%lld", (long long)json_integer_value(v));
        return out;
    case JSON_REAL:
        snprintf(out, 40, "%.17g", json_real_value(v));
        out[strcspn(out, ",")] = strchr(out, ',') ? '.' : '\0';
        return out;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "";
    }
}

/* Config from the members of `map`: 1, or 0 if it is not of the space. */
static int read_config(struct ws__results_reader *rd, const char *entry,
                       const json_t *map)
{
    const struct ws__kernel *k = rd->spec->kernel;
    char number[40];

    for (size_t p = 0; p < k->nparam; p++) {
        const json_t *v = json_object_get(map, k->param[p].name);
        const char *text = v ? text_of(v, number) : "";

        if (!v && k->param[p].nvalue == 1)
            continue;
        if (!v) {
            ws__results_missing(rd, "parameter", k->param[p].name);
            return ws__error_prefix(rd->ctx, "entry '%.100s'", entry);
        }
        if (ws__results_param(rd, p, text))
            continue;
        return ws__results_foreign(rd,
                                   "entry '%.80s': '%.60s' is no value of '%s'",
                                   entry, text, k->param[p].name);
    }
    return 1;
}

/* Does the entry say what the workload has on an axis, or nothing? */
static bool axis_fits(const json_t *map, const struct ws__axis *a, int64_t is)
{
    const json_t *v = json_object_get(map, a->name);

    if (!v)
        return true;
    if (a->kind == WS__AXIS_TYPE)
        return json_is_string(v) &&
               (int64_t)ws__dtype_parse(json_string_value(v)) == is;
    return json_is_number(v) && json_number_value(v) == (double)is;
}

/* These formats know one workload; entries may name its axes all the same. */
static int read_workload(struct ws__results_reader *rd, const char *entry,
                         const json_t *map)
{
    const struct ws__op *op = rd->spec->kernel->op;

    for (size_t a = 0; op && a < op->naxis; a++)
        if (!axis_fits(map, &op->axis[a], rd->spec->workload[0].axis[a]))
            return ws__results_foreign(rd,
                                       "entry '%.80s': axis '%s' is another",
                                       entry, op->axis[a].name);
    return 1;
}

static int read_samples(struct ws__results_reader *rd, const char *entry,
                        const json_t *list, double unit)
{
    const json_t *v;
    size_t i;

    json_array_foreach(list, i, v)
    {
        double ns = json_number_value(v) * unit;

        if (!json_is_number(v) || !ws__results_is_time(ns))
            return bad_entry(rd, entry, "a sample is no time", A_TIME);
        WS_TRY(ws__results_sample(rd, ns));
    }
    return 0;
}

/* "2025-03-11 22:08:00.237494+00:00" to ns since 1970; 0: something else. */
static uint64_t wall_of(const json_t *v)
{
    const char *s = json_string_value(v), *zone;
    struct tm tm = {0};
    char fraction[10] = "000000000";
    int at = 0, h = 0, m = 0;
    int64_t sec;

    if (!s ||
        sscanf(s, "%4d-%2d-%2d%*1[ T]%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon,
               &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &at) != 6 ||
        tm.tm_year < 1970 || tm.tm_year > 2500)
        return 0;
    if (s[at] == '.') {
        size_t n = strspn(s + at + 1, "0123456789");

        memcpy(fraction, s + at + 1, n < 9 ? n : 9);
        at += (int)n + 1;
    }
    zone = s + at;
    if ((*zone == '+' || *zone == '-') &&
        sscanf(zone + 1, "%2d:%2d", &h, &m) != 2)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    sec = timegm(&tm) - (*zone == '-' ? -60 : 60) * ((int64_t)h * 60 + m);
    return sec <= 0 ? 0
                    : (uint64_t)sec * 1000000000u +
                          (uint64_t)strtoull(fraction, NULL, 10);
}

/* 0, nothing, and Python's NaN (now ""): it is not known. */
static int read_build(struct ws__results_reader *rd, const char *entry,
                      const json_t *v, double unit)
{
    double ns = json_number_value(v) * unit;

    if (!v || json_is_null(v) || (json_is_string(v) && !json_string_length(v)))
        return 0;
    if (!json_is_number(v) || (json_number_value(v) != 0 && !(ns > 0)) ||
        ns > 1e18)
        return bad_entry(rd, entry, "its time of building is no time",
                         "leave it out if it is not known");
    rd->r.build_ns = (uint64_t)ns;
    return 0;
}

static void begin_entry(struct ws__results_reader *rd)
{
    memset(&rd->r, 0, sizeof(rd->r));
    rd->r.config.n = (uint16_t)rd->spec->kernel->nparam;
    rd->nsample = 0;
}

/* Config, workload: 1 to go on, 0 if foreign. */
static int read_subject(struct ws__results_reader *rd, const char *entry,
                        const json_t *map)
{
    int rc = read_config(rd, entry, map);

    return rc > 0 ? read_workload(rd, entry, map) : rc;
}

/* `time`: a number, or the word of a failure. */
static int read_outcome(struct ws__results_reader *rd, const char *entry,
                        const json_t *time, const json_t *samples, double unit)
{
    struct ws__result *r = &rd->r;

    if (json_is_string(time)) {
        if (!ws__results_verdict(json_string_value(time), &r->verdict) ||
            r->verdict == WS__V_OK)
            return bad_entry(rd, entry, "its time is no known failure",
                             "known are InvalidConfig, "
                             "CompilationFailedConfig, RuntimeFailedConfig");
        r->reason = json_string_value(time);
        return 0;
    }
    r->verdict = WS__V_OK;
    r->figure_ns = json_number_value(time) * unit;
    if (!ws__results_is_time(r->figure_ns))
        return bad_entry(rd, entry, "it has no time", A_TIME);
    return read_samples(rd, entry, samples, unit);
}

/* --- the formats -----------------------------------------------------------
 */

static int cache_entry(struct ws__results_reader *rd, const char *key,
                       const json_t *e)
{
    begin_entry(rd);
    if (!json_is_object(e))
        return bad_entry(rd, key, "not an object", "is it a cache file?");
    WS_TRY(read_build(rd, key, json_object_get(e, "compile_time"), NS_A_MS));
    rd->r.wall_ns = wall_of(json_object_get(e, "timestamp"));
    WS_TRY(read_outcome(rd, key, json_object_get(e, "time"),
                        json_object_get(e, "times"), NS_A_MS));
    return read_subject(rd, key, e);
}

static int read_cache(struct ws__results_reader *rd, json_t *root)
{
    json_t *cache = json_object_get(root, "cache"), *e;
    const char *device =
        json_string_value(json_object_get(root, "device_name"));
    const char *key;

    rd->report->format = "cache";
    if (device)
        snprintf(rd->report->device, sizeof(rd->report->device), "%s", device);
    json_object_foreach(cache, key, e)
    {
        int rc = cache_entry(rd, key, e);

        if (rc > 0)
            rc = ws__results_give(rd);
        if (rc)
            return rc;
        WS_TRY(ws__check_stop(rd->ctx));
    }
    return 0;
}

/* A unit that is not known must not be taken for another one. */
static int read_unit(struct ws__results_reader *rd, const char *entry,
                     const json_t *v, double *unit)
{
    const char *u = json_string_value(v);
    double ns = u ? ws__results_unit_word(u) : 0;
    char what[80];

    if (!v || json_is_null(v) || (u && !*u))
        return 0;
    if (ns > 0) {
        *unit = ns;
        return 0;
    }
    snprintf(what, sizeof(what), "unit of time '%.40s' is not known",
             u ? u : "(no text)");
    return bad_entry(rd, entry, what, "ns, us, ms, s, or their words");
}

/* The value measured as "time", or NULL; its own unit goes before *unit. */
static int t4_time(struct ws__results_reader *rd, const char *entry,
                   const json_t *e, const json_t **time, double *unit)
{
    const json_t *list = json_object_get(e, "measurements"), *m;
    bool seen = false;
    size_t i;

    *time = NULL;
    json_array_foreach(list, i, m)
    {
        const char *name = json_string_value(json_object_get(m, "name"));

        if (!name || strcmp(name, "time") != 0)
            continue;
        if (seen)
            return bad_entry(rd, entry, "two measurements are called 'time'",
                             "which of them is meant?");
        seen = true;
        WS_TRY(read_unit(rd, entry, json_object_get(m, "unit"), unit));
        *time = json_object_get(m, "value");
    }
    return 0;
}

static int t4_entry(struct ws__results_reader *rd, const char *entry,
                    const json_t *e, double unit)
{
    const json_t *times = json_object_get(e, "times"), *build;
    const char *word = json_string_value(json_object_get(e, "invalidity"));
    double figure_unit = unit;
    const json_t *time;
    enum ws__verdict verdict;

    begin_entry(rd);
    WS_TRY(t4_time(rd, entry, e, &time, &figure_unit));
    if (!json_is_object(json_object_get(e, "configuration")))
        return bad_entry(rd, entry, "it has no configuration",
                         "are these T4 results?");
    if (!word || !ws__results_verdict(word, &verdict))
        return bad_entry(rd, entry, "'invalidity' is missing or not known",
                         "correct, compile, runtime, correctness, "
                         "constraints or timeout");
    build = json_object_get(times, "compilation");
    if (!build)
        build = json_object_get(times, "compilation_time");
    WS_TRY(read_build(rd, entry, build, unit));
    rd->r.wall_ns = wall_of(json_object_get(e, "timestamp"));
    rd->r.verdict = verdict;
    if (verdict != WS__V_OK)
        rd->r.reason = json_is_string(time) ? json_string_value(time) : word;
    else
        WS_TRY(read_outcome(rd, entry, time, json_object_get(times, "runtimes"),
                            figure_unit));
    return read_subject(rd, entry, json_object_get(e, "configuration"));
}

static int t4_unit(struct ws__results_reader *rd, const json_t *root,
                   double *unit)
{
    struct ws__loc loc = {.file = rd->text->file};
    const json_t *v =
        json_object_get(json_object_get(root, "metadata"), "timeunit");
    const char *u = json_string_value(v);

    *unit = u ? ws__results_unit_word(u) : v ? 0 : NS_A_MS;
    if (*unit > 0)
        return 0;
    ws__fail_at(rd->ctx, WS_EPARSE, &loc, "unit of time '%.60s' is not known",
                u ? u : "(no text)");
    return ws__hint(rd->ctx, "milliseconds, microseconds, ...");
}

static int read_t4(struct ws__results_reader *rd, json_t *root)
{
    const json_t *list = json_object_get(root, "results"), *e;
    double unit;
    size_t i;

    rd->report->format = "T4";
    WS_TRY(t4_unit(rd, root, &unit));
    json_array_foreach(list, i, e)
    {
        char entry[24];
        int rc;

        snprintf(entry, sizeof(entry), "%zu", i);
        rc = t4_entry(rd, entry, e, unit);
        if (rc > 0)
            rc = ws__results_give(rd);
        if (rc)
            return rc;
        WS_TRY(ws__check_stop(rd->ctx));
    }
    return 0;
}

static int check_spec(struct ws__results_reader *rd)
{
    struct ws__loc loc = {.file = rd->text->file};

    if (rd->spec->where || rd->spec->time) {
        ws__fail_at(rd->ctx, WS_EINVAL, &loc, "the file has no columns");
        return ws__hint(rd->ctx, "columns of rows and times are chosen in CSV "
                                 "files only");
    }
    if (ws__results_any_workload(rd))
        return 0;
    ws__fail_at(rd->ctx, WS_EINVAL, &loc,
                "the file is about one workload, but there are %zu",
                rd->spec->nworkload);
    return ws__hint(rd->ctx, "give the one that it is about");
}

static int read_document(struct ws__results_reader *rd, json_t *root)
{
    struct ws__loc loc = {.file = rd->text->file};

    WS_TRY(check_spec(rd));
    if (json_is_object(json_object_get(root, "cache")))
        return read_cache(rd, root);
    if (json_is_array(json_object_get(root, "results")))
        return read_t4(rd, root);
    ws__fail_at(rd->ctx, WS_EPARSE, &loc, "not a file of results");
    return ws__hint(rd->ctx, "a cache file of Kernel Tuner has the key "
                             "'cache', T4 results have 'results'");
}

int ws__results_json(struct ws__results_reader *rd, struct ws__buf *head)
{
    json_t *root = NULL;
    int rc = read_all(rd, head);

    if (rc >= 0)
        rc = parse(rd, head, &root);
    ws__buf_free(head);
    if (root)
        rc = read_document(rd, root);
    json_decref(root);
    return rc;
}
