/*
 * fuzz_results.c: results from hostile texts: matrices, T4 results and cache
 * files, with and without axes. What is read must lie in the space, and
 * survive being written in every format and read again.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/results.h"
#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MANY 1000

struct seen {
    const struct ws__results_spec *spec;
    struct ws_ctx *ctx;
    size_t n;
    uint64_t ok;
};

static const char t1[] =
    "{\"ConfigurationSpace\": {\"TuningParameters\": ["
    "{\"Name\": \"B\", \"Values\": [16, 32, 64]},"
    "{\"Name\": \"F\", \"Values\": [0.5, 2.0]},"
    "{\"Name\": \"U\", \"Values\": [true, false]},"
    "{\"Name\": \"S\", \"Values\": [\"row\", \"a,b\"]}],"
    "\"Conditions\": [{\"Expression\": \"B < 64 or U\"}]}}";

static const char op[] =
    "op: gemm\naxes: {M: var, T: {types: [float32, float16]}}\n"
    "outputs: {C: {shape: [M], dtype: T}}\n";
static const char kernel[] =
    "kernel: k\nop: gemm\nsource: k.c\nparameters: {B: [1, 2, 16]}\n"
    "constraints: [M % B == 0]\n"
    "launches: [{entry: f, grid: B, block: 1, args: [C]}]\n";

static int see(void *user, const struct ws__result *r)
{
    struct seen *s = user;
    const struct ws__kernel *k = s->spec->kernel;

    if (r->config.n != k->nparam || (k->op && r->workload > 1))
        abort();
    for (size_t p = 0; p < k->nparam; p++)
        if (r->config.at[p] >= k->param[p].nvalue)
            abort();
    if ((r->verdict == WS__V_OK) != (r->nsample > 0))
        abort();
    for (size_t i = 0; i < r->nsample; i++)
        if (!(r->sample_ns[i] > 0) || !isfinite(r->sample_ns[i]))
            abort();
    s->n++;
    s->ok += r->verdict == WS__V_OK;
    return s->n == MANY;
}

/* One result, written and read again. */
static int rewrite(void *user, const struct ws__result *r)
{
    struct seen *s = user, again = *s;
    struct ws__results_report rep;
    struct ws__buf b;

    for (int f = WS__RESULTS_MATRIX; f <= WS__RESULTS_CACHE; f++) {
        struct ws__results_spec about = *s->spec;

        if (about.kernel->op && f != WS__RESULTS_MATRIX)
            break;
        about.where = about.time = NULL;
        again.spec = &about;
        again.n = 0;
        ws__buf_init(&b, s->ctx, (size_t)1 << 24);
        if (ws__results_write(&about, (enum ws__results_format)f, "d", r, 1,
                              &b) < 0 ||
            ws__results_parse(s->ctx, &about, b.data, b.len, "again", see,
                              &again, &rep) < 0 ||
            again.n != 1)
            abort();
        ws__buf_free(&b);
    }
    return ++s->n == 20;
}

static void read_as(struct ws_ctx *ctx, struct ws__results_spec *about,
                    const char *text, size_t size)
{
    struct ws__results_report rep;
    struct seen s = {.spec = about, .ctx = ctx};
    int rc = ws__results_parse(ctx, about, text, size, "text", see, &s, &rep);

    if (rc < 0 && !*ws_ctx_error(ctx)->message)
        abort();
    if (rc < 0 || !s.n)
        return;
    s.n = 0;
    ws__results_parse(ctx, about, text, size, "text", rewrite, &s, &rep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    const char *space = t1, *with_axes = kernel, *source = "B";
    struct ws__spec *a = NULL, *b = NULL;
    struct ws__workload w[2];
    struct ws__results_spec about = {0};

    if (!ctx || size > 100000 || !size ||
        ws__spec_from_text(ctx, NULL, &space, NULL, 1, &a) < 0 ||
        ws__spec_from_text(ctx, op, &with_axes, &source, 1, &b) < 0 ||
        ws__spec_workload(b, "M=16", &w[0]) < 0 ||
        ws__spec_workload(b, "M=32,T=float16", &w[1]) < 0)
        goto done;
    about.kernel = a->kernel;
    read_as(ctx, &about, (const char *)data, size);
    about.where = "pass=3";
    read_as(ctx, &about, (const char *)data, size);
    about = (struct ws__results_spec){.kernel = b->kernel,
                                      .workload = w,
                                      .nworkload = 2};
    read_as(ctx, &about, (const char *)data, size);
done:
    ws__spec_free(a);
    ws__spec_free(b);
    ws_ctx_free(ctx);
    return 0;
}
