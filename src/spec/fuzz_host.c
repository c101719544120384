/*
 * fuzz_host.c: hostile programs through what takes out their host's code.
 * Lines keep their numbers, and what a launch says is a text or a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/host.h"
#include "wavesmith/wavesmith.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lines(const char *p)
{
    size_t n = 0;

    for (; *p; p++)
        n += *p == '\n';
    return n;
}

static void look(struct ws_ctx *ctx, struct ws__arena *a,
                 const struct ws__host *h, const struct ws__host_launch *l)
{
    for (int which = 0; which < 2; which++) {
        struct ws__host_value v[3];
        const char *why;
        int rc = ws__host_sizes(ctx, a, h, l, l->config[which], v, &why);

        if (rc < 0 || (!rc && !*why))
            abort();
        for (int d = 0; rc && d < 3; d++)
            if (!v[d].text || !*v[d].text)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    struct ws__arena arena;
    struct ws__host h;

    if (ctx && text && size < 20000) {
        if (size)
            memcpy(text, data, size);
        text[size] = '\0';
        ws__arena_init(&arena, ctx);
        if (ws__host_read(ctx, &arena, text, &h) < 0)
            abort();
        if (h.device && lines(h.device) != lines(text))
            abort();
        for (size_t i = 0; i < h.nlaunch; i++)
            look(ctx, &arena, &h, &h.launch[i]);
        ws__arena_free(&arena);
    }
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
