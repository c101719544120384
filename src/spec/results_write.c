/*
 * results_write.c: results as a timing matrix, as T4 results, or as a cache
 * file of Kernel Tuner.
 *
 * The JSON formats follow the schemas that Kernel Tuner publishes (T4 1.0.0,
 * cache 1.1.0): times in milliseconds, all required keys present, the words
 * for failures from their lists, so that what a list lacks becomes the nearest
 * ("crash" is a failure at run time). What is written reads back as the same
 * results.
 */
#include <time.h>

#include "spec/node.h"
#include "spec/results.h"

#include "base/banned.h"

#define NS_A_MS 1e6

static bool is_ok(const struct ws__result *r)
{
    return r->verdict == WS__V_OK;
}

/* In any locale; the shortest digits that read back as the same number. */
static int put_real(struct ws__buf *b, double v)
{
    struct ws__value value = {.type = WS__FLOAT, .u.f = v};

    return ws__value_print(b, &value);
}

static double figure(const struct ws__result *r)
{
    return r->figure_ns > 0 ? r->figure_ns : r->nsample ? r->sample_ns[0] : 0;
}

/* The word of a failure in cache files. */
static const char *cache_word(enum ws__verdict v)
{
    switch (v) {
    case WS__V_BUILD:
        return "CompilationFailedConfig";
    case WS__V_FILTERED:
        return "InvalidConfig";
    default:
        return "RuntimeFailedConfig";
    }
}

static const char *t4_word(enum ws__verdict v)
{
    switch (v) {
    case WS__V_OK:
        return "correct";
    case WS__V_BUILD:
        return "compile";
    case WS__V_FILTERED:
        return "constraints";
    case WS__V_HANG:
        return "timeout";
    case WS__V_WRONG:
    case WS__V_CHEAT:
        return "correctness";
    default:
        return "runtime";
    }
}

/* As JSON; bytes that are no UTF-8 become '?'. */
static int put_string(struct ws__buf *b, const char *s)
{
    size_t left = strlen(s);

    ws__buf_puts(b, "\"");
    while (left) {
        uint32_t code = 0;
        size_t n = ws__utf8(s, left, &code);

        if (!n)
            ws__buf_puts(b, "?");
        else if (code == '"' || code == '\\')
            ws__buf_printf(b, "\\%c", *s);
        else if (code < 0x20)
            ws__buf_printf(b, "\\u%04x", code);
        else
            ws__buf_add(b, s, n);
        s += n ? n : 1;
        left -= n ? n : 1;
    }
    return ws__buf_puts(b, "\"");
}

static int put_value(struct ws__buf *b, const struct ws__value *v)
{
    if (v->type == WS__STR)
        return put_string(b, v->u.s);
    if (v->type == WS__BOOL)
        return ws__buf_puts(b, v->u.i ? "true" : "false");
    return ws__value_print(b, v);
}

static const struct ws__value *value_of(const struct ws__kernel *k,
                                        const struct ws__result *r, size_t p)
{
    return &k->param[p].value[r->config.at[p]];
}

/* "\"BM\": 16, \"BN\": 32" */
static int put_config(struct ws__buf *b, const struct ws__kernel *k,
                      const struct ws__result *r)
{
    for (size_t p = 0; p < k->nparam; p++) {
        ws__buf_puts(b, p ? ", " : "");
        put_string(b, k->param[p].name);
        ws__buf_puts(b, ": ");
        put_value(b, value_of(k, r, p));
    }
    return b->failed;
}

static int put_samples(struct ws__buf *b, const struct ws__result *r)
{
    for (size_t i = 0; i < r->nsample; i++) {
        ws__buf_puts(b, i ? ", " : "");
        put_real(b, r->sample_ns[i] / NS_A_MS);
    }
    return b->failed;
}

/* In the form that Python's datetime prints and RFC 3339 allows. */
static int put_when(struct ws__buf *b, uint64_t wall_ns)
{
    time_t sec = (time_t)(wall_ns / 1000000000u);
    struct tm tm;

    gmtime_r(&sec, &tm);
    return ws__buf_printf(b, "\"%04d-%02d-%02d %02d:%02d:%02d.%06u+00:00\"",
                          tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
                          tm.tm_hour, tm.tm_min, tm.tm_sec,
                          (unsigned)(wall_ns % 1000000000u / 1000u));
}

/* --- T4 --------------------------------------------------------------------
 */

static int t4_entry(struct ws__buf *b, const struct ws__kernel *k,
                    const struct ws__result *r)
{
    ws__buf_puts(b, "  {\"timestamp\": ");
    put_when(b, r->wall_ns);
    ws__buf_puts(b, ", \"configuration\": {");
    put_config(b, k, r);
    ws__buf_puts(b, "},\n   \"times\": {\"compilation_time\": ");
    put_real(b, (double)r->build_ns / NS_A_MS);
    ws__buf_puts(b, ", \"framework\": 0, \"search_algorithm\": 0, "
                    "\"validation\": 0");
    if (is_ok(r)) {
        ws__buf_puts(b, ", \"runtimes\": [");
        put_samples(b, r);
        ws__buf_puts(b, "]");
    }
    ws__buf_printf(b,
                   "},\n   \"invalidity\": \"%s\", \"correctness\": %d, "
                   "\"measurements\": [{\"name\": \"time\", \"value\": ",
                   t4_word(r->verdict), is_ok(r));
    if (is_ok(r))
        put_real(b, figure(r) / NS_A_MS);
    else
        put_string(b, cache_word(r->verdict));
    return ws__buf_puts(b, ", \"unit\": \"milliseconds\"}], "
                           "\"objectives\": [\"time\"]}");
}

static int write_t4(struct ws__buf *b, const struct ws__kernel *k,
                    const struct ws__result *list, size_t n)
{
    ws__buf_puts(b, "{\n \"schema_version\": \"1.0.0\",\n \"metadata\": "
                    "{\"timeunit\": \"milliseconds\"},\n \"results\": [");
    for (size_t i = 0; i < n; i++) {
        ws__buf_puts(b, i ? ",\n" : "\n");
        t4_entry(b, k, &list[i]);
    }
    return ws__buf_puts(b, n ? "\n ]\n}\n" : "]\n}\n");
}

/* --- cache files -----------------------------------------------------------
 */

/* "16,True,col": the values as Python's str() has them. */
static int put_key(struct ws__buf *b, const struct ws__kernel *k,
                   const struct ws__result *r)
{
    struct ws__buf key;
    int rc;

    ws__buf_init(&key, b->ctx, 1 << 16);
    for (size_t p = 0; p < k->nparam; p++) {
        const struct ws__value *v = value_of(k, r, p);

        ws__buf_puts(&key, p ? "," : "");
        if (v->type == WS__STR)
            ws__buf_puts(&key, v->u.s);
        else if (v->type == WS__BOOL)
            ws__buf_puts(&key, v->u.i ? "True" : "False");
        else
            ws__value_print(&key, v);
    }
    rc = key.failed ? key.failed : put_string(b, key.data ? key.data : "");
    ws__buf_free(&key);
    return rc;
}

static int cache_entry(struct ws__buf *b, const struct ws__kernel *k,
                       const struct ws__result *r)
{
    WS_TRY(put_key(b, k, r));
    ws__buf_puts(b, ": {");
    put_config(b, k, r);
    ws__buf_puts(b, k->nparam ? ", \"time\": " : "\"time\": ");
    if (is_ok(r)) {
        put_real(b, figure(r) / NS_A_MS);
        ws__buf_puts(b, ", \"times\": [");
        put_samples(b, r);
        ws__buf_puts(b, "]");
    } else {
        put_string(b, cache_word(r->verdict));
    }
    ws__buf_puts(b, ", \"compile_time\": ");
    put_real(b, (double)r->build_ns / NS_A_MS);
    ws__buf_puts(b, ", \"verification_time\": 0, \"benchmark_time\": 0, "
                    "\"strategy_time\": 0, \"framework_time\": 0, "
                    "\"timestamp\": ");
    put_when(b, r->wall_ns);
    return ws__buf_puts(b, "}");
}

/* Names and values of the parameters. */
static int cache_space(struct ws__buf *b, const struct ws__kernel *k)
{
    ws__buf_puts(b, "\"tune_params_keys\": [");
    for (size_t p = 0; p < k->nparam; p++) {
        ws__buf_puts(b, p ? ", " : "");
        put_string(b, k->param[p].name);
    }
    ws__buf_puts(b, "],\n\"tune_params\": {");
    for (size_t p = 0; p < k->nparam; p++) {
        ws__buf_puts(b, p ? ",\n" : "");
        put_string(b, k->param[p].name);
        ws__buf_puts(b, ": [");
        for (size_t i = 0; i < k->param[p].nvalue; i++) {
            ws__buf_puts(b, i ? ", " : "");
            put_value(b, &k->param[p].value[i]);
        }
        ws__buf_puts(b, "]");
    }
    return ws__buf_puts(b, "},\n");
}

/* The values of the workload's axes, for people. */
static int cache_problem(struct ws__buf *b, const struct ws__results_spec *s,
                         const struct ws__result *list, size_t n)
{
    const struct ws__op *op = s->kernel->op;
    struct ws__buf text;
    int rc;

    ws__buf_init(&text, b->ctx, 1 << 16);
    if (op && n)
        ws__workload_print(&text, op, &s->workload[list[0].workload]);
    ws__buf_puts(b, "\"problem_size\": ");
    rc = text.failed ? text.failed : put_string(b, text.data ? text.data : "");
    ws__buf_free(&text);
    return rc < 0 ? rc : ws__buf_puts(b, ",\n");
}

static int write_cache(struct ws__buf *b, const struct ws__results_spec *s,
                       const char *device, const struct ws__result *list,
                       size_t n)
{
    ws__buf_puts(b, "{\n\"schema_version\": \"1.1.0\",\n\"device_name\": ");
    put_string(b, device ? device : "");
    ws__buf_puts(b, ",\n\"kernel_name\": ");
    put_string(b, s->kernel->name);
    ws__buf_puts(b, ",\n");
    WS_TRY(cache_problem(b, s, list, n));
    cache_space(b, s->kernel);
    ws__buf_puts(b, "\"objective\": \"time\",\n\"cache\": {");
    for (size_t i = 0; i < n; i++) {
        ws__buf_puts(b, i ? ",\n" : "\n");
        WS_TRY(cache_entry(b, s->kernel, &list[i]));
    }
    return ws__buf_puts(b, "}\n}\n");
}

/* --- matrices --------------------------------------------------------------
 */

/* Quoted if it must be; line breaks become spaces. */
static int put_cell(struct ws__buf *b, const char *s)
{
    if (!s[strcspn(s, ",\"\r\n")])
        return ws__buf_puts(b, s);
    ws__buf_puts(b, "\"");
    for (; *s; s++)
        ws__buf_printf(b, "%s%c", *s == '"' ? "\"" : "",
                       *s == '\n' || *s == '\r' ? ' ' : *s);
    return ws__buf_puts(b, "\"");
}

static int matrix_header(struct ws__buf *b, const struct ws__kernel *k)
{
    for (size_t a = 0; k->op && a < k->op->naxis; a++)
        ws__buf_printf(b, "%s,", k->op->axis[a].name);
    for (size_t p = 0; p < k->nparam; p++)
        ws__buf_printf(b, "%s,", k->param[p].name);
    return ws__buf_puts(b, "time_ns,samples_ns,build_ns,verdict,reason\n");
}

static int matrix_row(struct ws__buf *b, const struct ws__results_spec *s,
                      const struct ws__result *r)
{
    const struct ws__kernel *k = s->kernel;

    for (size_t a = 0; k->op && a < k->op->naxis; a++) {
        int64_t v = s->workload[r->workload].axis[a];

        if (k->op->axis[a].kind == WS__AXIS_TYPE)
            ws__buf_printf(b, "%s,", ws__dtype_name((enum ws__dtype)v));
        else
            ws__buf_printf(b, "%lld,", (long long)v);
    }
    for (size_t p = 0; p < k->nparam; p++) {
        const struct ws__value *v = value_of(k, r, p);

        if (v->type == WS__STR)
            put_cell(b, v->u.s);
        else
            ws__value_print(b, v);
        ws__buf_puts(b, ",");
    }
    if (is_ok(r))
        put_real(b, figure(r));
    ws__buf_puts(b, ",");
    for (size_t i = 0; i < r->nsample; i++) {
        ws__buf_puts(b, i ? ";" : "");
        put_real(b, r->sample_ns[i]);
    }
    ws__buf_printf(b, ",%llu,%s,", (unsigned long long)r->build_ns,
                   ws__verdict_key(r->verdict));
    put_cell(b, r->reason ? r->reason : "");
    return ws__buf_puts(b, "\n");
}

static int write_matrix(struct ws__buf *b, const struct ws__results_spec *s,
                        const struct ws__result *list, size_t n)
{
    matrix_header(b, s->kernel);
    for (size_t i = 0; i < n; i++)
        matrix_row(b, s, &list[i]);
    return b->failed;
}

static int one_workload(struct ws__buf *b, const struct ws__result *list,
                        size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (list[i].workload != list[0].workload) {
            ws__fail(b->ctx, WS_EINVAL,
                     "such a file is about one workload, but the results are "
                     "about several");
            return ws__hint(b->ctx, "write one workload, or a timing matrix");
        }
    return 0;
}

int ws__results_write(const struct ws__results_spec *spec,
                      enum ws__results_format format, const char *device,
                      const struct ws__result *list, size_t n,
                      struct ws__buf *out)
{
    if (format == WS__RESULTS_MATRIX)
        return write_matrix(out, spec, list, n);
    WS_TRY(one_workload(out, list, n));
    return format == WS__RESULTS_T4 ? write_t4(out, spec->kernel, list, n)
                                    : write_cache(out, spec, device, list, n);
}
