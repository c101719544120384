/*
 * fuzz_xform.c: any text as a kernel's source. The first byte says which
 * language it is; what clang reads, every transformation looks at, and each of
 * the first sites is applied: edits never overlap or cut a macro, and what
 * comes out is read again, and is no longer than it may be. Nothing is said
 * without libclang.
 */
#include <stdint.h>

#include "xform/t_xform.h"

#include "base/banned.h"

#define MAX_SITES 6 /* of one transformation */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(struct ws_ctx *ctx, struct ws__arena *a, const char *text,
                 enum ws__dialect d, struct ws__ast *out)
{
    struct ws__ast_source s = {
        .path = d == WS__DIALECT_CUDA ? "fuzz.cu" : "fuzz.cl",
        .text = text,
        .dialect = d,
        /* What transformations add as parameters and axes. */
        .prologue = "#define UNROLL 4\n#define BLOCK 128\n#define ITEMS 4\n"
                    "#define MIN_BLOCKS 1\n#define ACCUMULATORS 4\n"
                    "#define ACCUMULATORS2 4\n#define ACCUMULATORS3 4\n"
                    "#define PARTS 4\n#define THREADS 128\n#define SIDE 16\n"
                    "#define BM 32\n#define BN 32\n#define BK 8\n"
                    "#define TM 2\n#define TN 2\n"
                    "#define COLUMNS 8\n#define OUTPUTS 4\n",
        .headers = "ops/dialect/parse"};

    return ws__ast_build(ctx, a, &s, out);
}

/* Is an axis made a constant? Then it has no value here. */
static bool needs_axis(const struct ws__rewrite *w)
{
    for (size_t i = 0; i < w->nchange; i++)
        if (!strcmp(w->change[i].path, "specialize[+]"))
            return true;
    return false;
}

static void try_site(struct ws_ctx *ctx, struct ws__arena *a,
                     const struct ws__ast *t, const struct ws__kernel *k,
                     const struct ws__xform_ops *x, const struct ws__site *s)
{
    struct ws__rewrite *w = ws__arena_alloc(a, 1, sizeof(*w));
    struct ws__ast after;
    char *text;
    int rc;

    if (!w || s->refused)
        return;
    rc = ws__xform_apply(ctx, a, t, k, x, s, &text, w);
    if (rc == WS_ENOMEM || rc == WS_ELIMIT)
        return;
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", x->name, ws_ctx_error(ctx)->message);
        abort();
    }
    if (needs_axis(w))
        return;
    rc = parse(ctx, a, text, t->dialect, &after);
    if (rc < 0 && rc != WS_ENOMEM && rc != WS_ELIMIT) {
        fprintf(stderr, "%s: %s:\n%s\n-- of --\n%s\n", x->name,
                ws_ctx_error(ctx)->message, text, t->text);
        abort();
    }
}

static void try_all(struct ws_ctx *ctx, struct ws__arena *a,
                    const struct ws__ast *t, bool two)
{
    struct ws__kernel *k = ws__arena_alloc(a, 1, sizeof(*k));
    struct ws__op *op = ws__arena_alloc(a, 1, sizeof(*op));
    struct ws__sites *s = ws__arena_alloc(a, 1, sizeof(*s));

    if (!k || !op || !s || t_kernel(ctx, a, t, op, two, k) < 0)
        return;
    for (size_t i = 0; ws__xform_table[i]; i++) {
        if (ws__xform_find(ctx, a, t, k, ws__xform_table[i], s) < 0)
            continue;
        for (size_t n = 0; n < s->n && n < MAX_SITES; n++)
            try_site(ctx, a, t, k, ws__xform_table[i], &s->site[n]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx;
    struct ws__arena a;
    struct ws__ast t;
    char *text;

    if (size < 2 || size > 8192 || memchr(data, '\0', size))
        return 0;
    ctx = ws_ctx_new(NULL);
    if (!ctx)
        return 0;
    ws__arena_init(&a, ctx);
    text = ws__arena_strndup(&a, (const char *)data + 1, size - 1);
    if (text &&
        parse(ctx, &a, text,
              data[0] & 1 ? WS__DIALECT_CUDA : WS__DIALECT_OPENCL, &t) >= 0)
        try_all(ctx, &a, &t, data[0] & 2);
    ws__arena_free(&a);
    ws_ctx_free(ctx);
    return 0;
}
