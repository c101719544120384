/*
 * fuzz_traces.c: traces of flashinfer-bench from hostile texts. What is given
 * has all that it must have; what is refused must say why, and in which line.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/traces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int see(void *user, const struct ws__trace *t)
{
    uint32_t *last = user;

    if (!*t->definition || !*t->workload || !*t->solution || !*t->status)
        abort();
    if (t->passed != (t->latency_ms > 0) || !isfinite(t->latency_ms) ||
        !(t->reference_ms >= 0) || !isfinite(t->reference_ms))
        abort();
    if (t->line <= *last)
        abort();
    *last = t->line;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    uint32_t last = 0;

    if (ctx && text && size <= 100000) {
        if (size)
            memcpy(text, data, size);
        text[size] = '\0';
        if (ws__traces_parse(ctx, text, size, "text", see, &last) < 0 &&
            (!*ws_ctx_error(ctx)->message || !ws_ctx_error(ctx)->line))
            abort();
    }
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
