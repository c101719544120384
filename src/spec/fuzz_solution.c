/*
 * fuzz_solution.c: solutions of flashinfer-bench from hostile texts. Paths stay
 * below their folder; leaving out the host's part changes no line's number and
 * makes up no text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/solution.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lines_of(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static void cut(struct ws__arena *arena, const char *text)
{
    uint32_t lines, first;
    char *part = ws__device_part(arena, text, &lines, &first);

    if (!part)
        abort();
    if (lines_of(part) != lines_of(text) || strlen(part) > strlen(text) ||
        lines > lines_of(text) + 1 || (lines > 0) != (first > 0))
        abort();
}

static void look(struct ws__arena *arena, const struct ws__solution *s)
{
    if (!s->n || !s->name || !s->definition || !s->language || !s->entry)
        abort();
    for (size_t i = 0; i < s->n; i++) {
        if (*s->file[i].path == '/' || strstr(s->file[i].path, ".."))
            abort();
        cut(arena, s->file[i].text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    struct ws__arena arena;
    struct ws__solution s;

    if (!ctx || !text || size > 50000) {
        free(text);
        ws_ctx_free(ctx);
        return 0;
    }
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    ws__arena_init(&arena, ctx);
    if (ws__solution_read(ctx, &arena, text, size, "s.json", &s) >= 0)
        look(&arena, &s);
    else if (!*ws_ctx_error(ctx)->message)
        abort();
    cut(&arena, text); /* a source as it is */
    ws__arena_free(&arena);
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
