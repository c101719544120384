/*
 * traces_write.c: a trial as a line of traces of flashinfer-bench.
 *
 * What is not known is not made up: errors that nobody measured are NaN (as the
 * text "NaN", which that format has for it), and the time of the reference,
 * which does not run here, is 0, as there where it was not asked for.
 */
#include <jansson.h>
#include <math.h>
#include <time.h>

#include "spec/traces.h"

#include "base/banned.h"

#define NS_A_MS 1e6

const char *ws__trace_status(enum ws__verdict v)
{
    /* What cheats or is too fast to be true has no status there; its results
     * are not those of the work that is asked for. */
    static const char *const status[] = {
        [WS__V_OK] = "PASSED",
        [WS__V_BUILD] = "COMPILE_ERROR",
        [WS__V_LAUNCH] = "RUNTIME_ERROR",
        [WS__V_CRASH] = "RUNTIME_ERROR",
        [WS__V_HANG] = "TIMEOUT",
        [WS__V_WRONG] = "INCORRECT_NUMERICAL",
        [WS__V_CHEAT] = "INCORRECT_NUMERICAL",
        [WS__V_MEMORY] = "RUNTIME_ERROR",
        [WS__V_TOO_FAST] = "INCORRECT_NUMERICAL",
        [WS__V_FILTERED] = "RUNTIME_ERROR",
    };

    return (size_t)v < WS_COUNT(status) ? status[v] : NULL;
}

static void put(json_t *map, const char *key, json_t *value)
{
    json_object_set_new(map, key, value);
}

/* Text that is no UTF-8 (a compiler's words, say): without its bytes above
 * ASCII. */
static json_t *text(const char *s)
{
    json_t *j = json_string(s);
    char plain[2000];
    size_t n = 0;

    if (j)
        return j;
    for (; s[n] && n + 1 < sizeof(plain); n++)
        plain[n] = (signed char)s[n] > 0 ? s[n] : '?';
    plain[n] = '\0';
    return json_string(plain);
}

static json_t *real(double v)
{
    if (isnan(v))
        return json_string("NaN");
    return isinf(v) ? json_string(v > 0 ? "Infinity" : "-Infinity")
                    : json_real(v);
}

/* --- the workload --------------------------------------------------------- */

static json_t *input_json(const struct ws__op *op, const struct ws__workload *w,
                          size_t i)
{
    const struct ws__input *x = w->input ? &w->input[i] : NULL;
    const struct ws__fill *f = ws__workload_fill(op, w, i);
    const struct ws__tensor *t = &op->tensor[i];
    json_t *j = json_object();

    if (x && x->kind == WS__INPUT_FILE) {
        put(j, "type", json_string("safetensors"));
        put(j, "path", text(x->file));
        put(j, "tensor_key", text(x->key));
    } else if (!t->ndim && f && f->kind == WS__FILL_CONSTANT) {
        put(j, "type", json_string("scalar"));
        put(j, "value",
            t->dtype == WS__DT_NONE || ws__dtype_is_float(t->dtype)
                ? real(f->a)
                : json_integer((json_int_t)f->a));
    } else {
        put(j, "type", json_string("random"));
    }
    return j;
}

/* 32 hexadecimal digits with dashes; of the workload's hash. */
static json_t *uuid_of(const struct ws__op *op, const struct ws__workload *w)
{
    struct ws__hash h = ws__workload_hash(op, w);
    char out[40];

    snprintf(out, sizeof(out), "%08x-%04x-%04x-%04x-%012llx",
             (unsigned)(h.hi >> 32), (unsigned)(h.hi >> 16 & 0xffff),
             (unsigned)(h.hi & 0xffff), (unsigned)(h.lo >> 48),
             (unsigned long long)(h.lo & 0xffffffffffffu));
    return json_string(out);
}

/* Of a workload of our own: axes that vary, inputs as the op says. */
static json_t *own_json(const struct ws__op *op, const struct ws__workload *w)
{
    json_t *j = json_object(), *axes = json_object(), *in = json_object();

    for (size_t i = 0; i < op->naxis; i++)
        if (op->axis[i].kind == WS__AXIS_VAR)
            put(axes, op->axis[i].name, json_integer((json_int_t)w->axis[i]));
    for (size_t i = 0; i < op->ntensor; i++)
        if (op->tensor[i].role != WS__OUTPUT)
            put(in, op->tensor[i].name, input_json(op, w, i));
    put(j, "axes", axes);
    put(j, "inputs", in);
    put(j, "uuid", uuid_of(op, w));
    return j;
}

static json_t *workload_json(const struct ws__op *op,
                             const struct ws__workload *w)
{
    json_t *j = w->origin ? json_loads(w->origin, 0, NULL) : NULL;

    if (!j)
        return own_json(op, w);
    /* A workload there may lack the name by which scores are matched. */
    if (!json_is_string(json_object_get(j, "uuid")))
        put(j, "uuid", uuid_of(op, w));
    return j;
}

/* --- the evaluation ------------------------------------------------------- */

static json_t *when_json(uint64_t ns)
{
    time_t s = (time_t)(ns / 1000000000u);
    struct tm tm;
    char day[40], out[64];

    if (!gmtime_r(&s, &tm) ||
        !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
        return json_string("1970-01-01T00:00:00+00:00");
    snprintf(out, sizeof(out), "%s.%06u+00:00", day,
             (unsigned)(ns / 1000 % 1000000));
    return json_string(out);
}

static json_t *environment_json(const struct ws__trace_about *a)
{
    json_t *j = json_object(), *libs = json_object();

    put(j, "hardware", text(a->device));
    if (a->identity) {
        put(libs, "wavesmith", text(a->identity->tool));
        put(libs, "driver", text(a->identity->driver));
        put(libs, "compiler", text(a->identity->compiler));
    }
    put(j, "libs", libs);
    return j;
}

static json_t *correctness_json(const struct ws__trial *t)
{
    const struct ws__mismatch *m = &t->mismatch;
    json_t *j = json_object(), *extra = json_object();
    bool known =
        m->total > 0 && (t->verdict == WS__V_OK || t->verdict == WS__V_WRONG);

    put(j, "max_relative_error", real(known ? fabs(m->max_rel) : NAN));
    put(j, "max_absolute_error", real(known ? fabs(m->max_abs) : NAN));
    put(extra, "verdict", json_string(ws__verdict_key(t->verdict)));
    if (known) {
        put(extra, "elements", json_integer((json_int_t)m->total));
        put(extra, "elements_out_of_tolerance",
            json_integer((json_int_t)m->bad));
    }
    put(j, "extra", extra);
    return j;
}

static json_t *performance_json(double ns)
{
    json_t *j = json_object();

    put(j, "latency_ms", json_real(ns / NS_A_MS));
    put(j, "reference_latency_ms", json_real(0));
    put(j, "speedup_factor", json_real(0));
    return j;
}

static json_t *log_json(const struct ws__trial *t)
{
    char line[2000];

    if (t->verdict == WS__V_OK)
        return json_string("");
    snprintf(line, sizeof(line), "wavesmith: %s%s%s",
             ws__verdict_text(t->verdict), t->reason ? ": " : "",
             t->reason ? t->reason : "");
    return text(line);
}

static json_t *evaluation_json(const struct ws__trace_about *a,
                               const struct ws__trial *t, const char *status,
                               double ns)
{
    json_t *j = json_object();

    put(j, "status", json_string(status));
    put(j, "environment", environment_json(a));
    put(j, "timestamp", when_json(t->wall_ns));
    put(j, "log", log_json(t));
    if (t->verdict == WS__V_OK || !strcmp(status, "INCORRECT_NUMERICAL"))
        put(j, "correctness", correctness_json(t));
    if (t->verdict == WS__V_OK)
        put(j, "performance", performance_json(ns));
    return j;
}

int ws__trace_write(struct ws_ctx *ctx, const struct ws__trace_about *about,
                    const struct ws__workload *w, const struct ws__trial *t,
                    struct ws__buf *out)
{
    const char *status = ws__trace_status(t->verdict);
    struct ws__summary sum = {0};
    json_t *j;
    char *line;
    int rc;

    if (!status || (t->verdict == WS__V_OK && !t->nsample))
        return ws__fail(ctx, WS_EINVAL, "trial %llu has no verdict or no time",
                        (unsigned long long)t->id);
    if (t->nsample)
        WS_TRY(ws__summarize(ctx, t->sample_ns, t->nsample, &sum));
    j = json_object();
    put(j, "definition", text(about->op->name));
    put(j, "workload", workload_json(about->op, w));
    put(j, "solution", text(about->solution));
    put(j, "evaluation", evaluation_json(about, t, status, sum.median));
    line = json_dumps(j, JSON_COMPACT);
    json_decref(j);
    if (!line)
        return ws__nomem(ctx);
    ws__buf_puts(out, line);
    rc = ws__buf_puts(out, "\n");
    free(line);
    return rc < 0 ? rc : out->failed;
}
