/*
 * fuzz_spec.c: specifications from hostile texts. A line of "===" parts the
 * input into the texts of an op and of a kernel; without one it is read as a
 * search space. What loads must survive printing and loading again with the
 * same meaning, and all defaults must yield a source and a plan or an error.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct ws_ctx *ctx, const struct ws__spec *s)
{
    static union wsrt_value vars[WS__MAX_SLOTS];
    static struct ws__plan plan;
    const struct ws__kernel *k = &s->kernel[0];
    struct ws__instance in;
    struct ws__workload w = {.name = "w", .weight = 1};
    struct ws__config c;
    char *text;

    memset(vars, 0, sizeof(vars));
    ws__config_default(k, &c);
    if (!s->op || !k->source)
        return;
    for (size_t i = 0; i < s->op->naxis; i++)
        w.axis[i] = s->op->axis[i].value ? s->op->axis[i].value : 64;
    if (ws__instance_make(ctx, s->op, &w, &in) < 0)
        return;
    memcpy(vars, in.vars, sizeof(vars));
    ws__config_vars(k, &c, vars);
    if (ws__plan_make(ctx, k, vars, &plan) == 0 && !plan.nlaunch)
        abort();
    if (ws__kernel_source(ctx, k, &c, &in, &text) == 0)
        ws__free(ctx, text);
}

/* Of every ready-made kernel there is one file in two; of those in Triton there
 * is a list. */
static const void *find(void *user, size_t kernel, const char *name,
                        size_t *bytes)
{
    static const char ptx[] = ".version 8.0\n.target sm_90\n.entry f() { }\n";

    static const char triton[] =
        "{format: wavesmith-triton-1, triton: 3.6.0, target: sm_90, files: "
        "[{key: \"f('*fp32', 'i32', B=16, E=True, num_warps=4, "
        "num_stages=2)\", failed: no}]}";

    (void)user, (void)kernel;
    if (!strcmp(name, "index.json")) {
        *bytes = sizeof(triton) - 1;
        return triton;
    }
    *bytes = sizeof(ptx) - 1;
    return strlen(name) % 2 ? ptx : NULL;
}

static const struct ws__spec_files ready = {find, NULL};

static void reload(struct ws_ctx *ctx, struct ws__spec *s)
{
    char *op, *kernel;
    const char *text;
    struct ws__spec *again;

    if (ws__spec_to_text(s, 0, &op, &kernel) < 0)
        abort();
    text = kernel;
    if (ws__spec_from_parts(ctx, op, &text, &s->kernel[0].source, 1, &ready,
                            &again) < 0)
        abort();
    if (!ws__hash_eq(s->hash, again->hash))
        abort();
    ws__spec_free(again);
    ws__free(ctx, op);
    ws__free(ctx, kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1), *cut;
    const char *kernel, *source = "void f(void) {}\n";
    struct ws__spec *s;
    int rc;

    if (!ctx || !text || size > 100000) {
        free(text);
        ws_ctx_free(ctx);
        return 0;
    }
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    cut = strstr(text, "\n===\n");
    if (cut) {
        cut[1] = '\0';
        kernel = cut + 5;
        rc = ws__spec_from_parts(ctx, text, &kernel, &source, 1, &ready, &s);
    } else {
        kernel = text;
        rc = ws__spec_from_text(ctx, NULL, &kernel, NULL, 1, &s);
    }
    if (rc >= 0) {
        use(ctx, s);
        reload(ctx, s);
        ws__spec_free(s);
    } else if (!*ws_ctx_error(ctx)->message) {
        abort();
    }
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
