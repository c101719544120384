/*
 * fuzz_sass.c: a disassembler's text from hostile bytes: functions have names
 * and their classes add up; what is refused has words.
 */
#include <stdlib.h>

#include "profile/sass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ws__sass *s)
{
    if (!s->n)
        abort();
    for (size_t i = 0; i < s->n; i++) {
        const struct ws__sass_function *f = &s->function[i];
        uint32_t sum = 0;

        for (enum ws__sass_class c = 0; c < WS__NSASS; c++)
            sum += f->count[c];
        if (!*f->name || sum != f->total || f->predicated > f->total ||
            !ws__sass_find(s, f->name))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__sass *s;

    if (!ctx || size > 100000) {
        ws_ctx_free(ctx);
        return 0;
    }
    if (ws__sass_parse(ctx, (const char *)data, size, &s) == 0)
        check(s);
    else if (s || !*ws_ctx_error(ctx)->message)
        abort();
    ws__sass_free(s);
    ws_ctx_free(ctx);
    return 0;
}
