/*
 * fuzz_catalogue.c: hostile texts as strategies.yaml of a small op. What is
 * read speaks only of kernels, parameters, values and ideas that are there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char op[] = "{op: o, axes: {N: var}, inputs: {x: {shape: [N], "
                         "dtype: float32}}, outputs: {y: {shape: [N], dtype: "
                         "float32}}, tolerance: {reduction: 1}}";
static const char kernel[] =
    "{kernel: k, dialect: portable, source: k.c, parameters: {A: [1, 2, 4], "
    "B: {values: [true, false]}}, launches: [{entry: f, grid: [N], block: "
    "[A], args: [x, y]}]}";

static void check(const struct ws__spec *s, const struct ws__catalogue *c)
{
    for (size_t i = 0; i < c->nidea; i++) {
        const struct ws__idea *d = &c->idea[i];

        if (d->axis_id >= c->naxis || d->kernel >= (int32_t)s->nkernel ||
            (d->kernel < 0 && !d->nset))
            abort();
        for (size_t k = 0; k < d->nset; k++)
            if (d->set[k].kernel >= s->nkernel ||
                d->set[k].param >= s->kernel[d->set[k].kernel].nparam)
                abort();
        for (size_t k = 0; k < d->nneeds; k++)
            if (d->needs[k] >= c->nidea)
                abort();
        for (size_t k = 0; k < d->nconflicts; k++)
            if (d->conflicts[k] >= c->nidea)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kernels[] = {kernel}, *const sources[] = {""};
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    const struct ws__catalogue *c;
    struct ws__spec *s;
    char *text;

    if (!ctx)
        return 0;
    if (ws__spec_from_text(ctx, op, kernels, sources, 1, &s) < 0)
        abort();
    text = ws__alloc(ctx, size + 1, 1);
    if (text) {
        memcpy(text, data, size);
        if (ws__spec_catalogue(s, text, &c) == 0)
            check(s, c);
    }
    ws__free(ctx, text);
    ws__spec_free(s);
    ws_ctx_free(ctx);
    return 0;
}
