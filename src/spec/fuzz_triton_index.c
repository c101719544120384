/*
 * fuzz_triton_index.c: lists of compiled files, as a folder or a pack may hold
 * them. What is accepted keeps every limit that the readers of it rely on.
 */
#include <stdint.h>
#include <stdlib.h>

#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ws__source_file *f)
{
    if (!f->key || !f->name || !f->entry || strlen(f->name) >= WS__MAX_ENTRY ||
        strchr(f->name, '/') || f->name[0] == '.' || f->threads < 1 ||
        f->threads > 1024 || f->nulls > WS__MAX_NULLS || f->data ||
        (!f->failed && (!f->name[0] || !f->entry[0] || !f->bytes)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__triton_index x;
    struct ws__arena arena;
    char *text = malloc(size + 1);

    if (ctx && text) {
        memcpy(text, data, size);
        text[size] = '\0';
        ws__arena_init(&arena, ctx);
        if (ws__triton_index_read(ctx, &arena, text, size, "f", &x) == 0)
            for (size_t i = 0; i < x.n; i++) {
                check(&x.file[i]);
                if (i && strcmp(x.file[i - 1].key, x.file[i].key) >= 0)
                    abort();
            }
        ws__arena_free(&arena);
    }
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
