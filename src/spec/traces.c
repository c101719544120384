/*
 * traces.c: traces of flashinfer-bench, one JSON object a line.
 *
 * The format is foreign: unknown keys are ignored, and so is what a status
 * does not need. A status that is not known is an error, for nobody could say
 * whether it is a failure.
 */
#include "spec/traces.h"

#include <jansson.h>
#include <math.h>

#include "base/fs.h"

#include "base/banned.h"

#define MAX_FILE ((size_t)1 << 30)

static const char *const statuses[] = {
    "PASSED",          "INCORRECT_SHAPE", "INCORRECT_NUMERICAL",
    "INCORRECT_DTYPE", "RUNTIME_ERROR",   "COMPILE_ERROR",
    "TIMEOUT",
};

struct reader {
    struct ws_ctx *ctx;
    struct ws__loc loc;
    ws__trace_fn *fn;
    void *user;
};

static int bad(struct reader *rd, const char *what, const char *hint)
{
    ws__fail_at(rd->ctx, WS_EPARSE, &rd->loc, "%s", what);
    return ws__hint(rd->ctx, "%s", hint);
}

static const char *text_of(const json_t *map, const char *key)
{
    const json_t *v = json_object_get(map, key);
    const char *s = json_string_value(v);

    return s && *s && strlen(s) == json_string_length(v) ? s : NULL;
}

/* A time; what is missing, null, or 0 is not known. False: it is none. */
static bool time_of(const json_t *map, const char *key, double *ms)
{
    const json_t *v = json_object_get(map, key);

    *ms = json_number_value(v);
    if (!v || json_is_null(v))
        return true;
    return json_is_number(v) && *ms >= 0 && isfinite(*ms);
}

static int read_evaluation(struct reader *rd, const json_t *e,
                           struct ws__trace *t)
{
    const json_t *p = json_object_get(e, "performance");
    bool known = false;

    t->status = text_of(e, "status");
    for (size_t i = 0; t->status && i < WS_COUNT(statuses); i++)
        known = known || !strcmp(t->status, statuses[i]);
    if (!known)
        return bad(rd, "'status' of the evaluation is missing or not known",
                   "PASSED, INCORRECT_SHAPE, INCORRECT_NUMERICAL, "
                   "INCORRECT_DTYPE, RUNTIME_ERROR, COMPILE_ERROR or TIMEOUT");
    t->passed = !strcmp(t->status, statuses[0]);
    if (!t->passed)
        return 0;
    if (!time_of(p, "latency_ms", &t->latency_ms) ||
        !time_of(p, "reference_latency_ms", &t->reference_ms) ||
        !(t->latency_ms > 0))
        return bad(rd, "what passed has no 'latency_ms' in 'performance'",
                   "a number above 0, in milliseconds");
    return 0;
}

static int read_trace(struct reader *rd, const json_t *j)
{
    const json_t *w = json_object_get(j, "workload");
    const json_t *e = json_object_get(j, "evaluation");
    struct ws__trace t = {.line = rd->loc.line};

    t.definition = text_of(j, "definition");
    t.workload = text_of(w, "uuid");
    if (!t.definition || !t.workload)
        return bad(rd, "'definition' or the workload's 'uuid' is missing",
                   "is it a file of traces of flashinfer-bench?");
    if (!e || json_is_null(e))
        return 0;
    t.solution = text_of(j, "solution");
    if (!t.solution || !json_is_object(e))
        return bad(rd, "an evaluation has no 'solution', or is no object",
                   "a trace says which solution it is of");
    WS_TRY(read_evaluation(rd, e, &t));
    return rd->fn(rd->user, &t);
}

static int read_line(struct reader *rd, const char *text, size_t n)
{
    json_error_t e;
    json_t *j;
    int rc;

    if (strspn(text, " \t\r") >= n)
        return 0;
    j = json_loadb(text, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
    if (!j && json_error_code(&e) == json_error_out_of_memory)
        return ws__nomem(rd->ctx);
    if (!j) {
        ws__fail_at(rd->ctx, WS_EPARSE, &rd->loc, "no JSON: %s", e.text);
        return ws__hint(rd->ctx, "traces are one object a line");
    }
    rc = read_trace(rd, j);
    json_decref(j);
    return rc;
}

int ws__traces_parse(struct ws_ctx *ctx, const char *text, size_t len,
                     const char *file, ws__trace_fn *fn, void *user)
{
    struct reader rd = {.ctx = ctx,
                        .loc = {.file = file},
                        .fn = fn,
                        .user = user};

    for (const char *p = text, *end = text + len, *next; p < end; p = next) {
        const char *cut = memchr(p, '\n', (size_t)(end - p));
        int rc;

        rd.loc.line++;
        next = cut ? cut + 1 : end;
        rc = read_line(&rd, p, (size_t)((cut ? cut : end) - p));
        if (rc)
            return rc;
        WS_TRY(ws__check_stop(ctx));
    }
    return 0;
}

int ws__traces_read(struct ws_ctx *ctx, const char *path, ws__trace_fn *fn,
                    void *user)
{
    char *text;
    size_t n;
    int rc;

    WS_TRY(ws__fs_read(ctx, path, MAX_FILE, &text, &n));
    rc = ws__traces_parse(ctx, text, n, path, fn, user);
    ws__free(ctx, text);
    return rc;
}
