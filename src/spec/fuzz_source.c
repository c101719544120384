/*
 * fuzz_source.c: hostile source texts through the include scanner. What it
 * lets pass has no include of ours left, so a second pass must find nothing
 * to do: the text stays the same. A difference is an include that the first
 * pass did not see.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scan(struct ws__load *l, enum ws__dialect dialect, const char *text)
{
    static const char dir[] = "tests/data/specs/gemm/kernels";
    static const char path[] = "tests/data/specs/gemm/kernels/x.c";
    const char *once, *twice;

    if (ws__load_source_text(l, dir, path, NULL, dialect, text, &once) < 0) {
        if (!*ws_ctx_error(l->ctx)->message)
            abort();
        return;
    }
    /* As a pack brings it. */
    l->no_files = true;
    if (ws__load_source_text(l, dir, path, NULL, dialect, once, &twice) < 0 ||
        strcmp(once, twice))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    struct ws__arena arena;

    if (ctx && text && size < 100000) {
        struct ws__load l = {.ctx = ctx,
                             .arena = &arena,
                             .share_dir = "tests/data/share"};

        if (size)
            memcpy(text, data, size);
        text[size] = '\0';
        ws__arena_init(&arena, ctx);
        scan(&l, WS__DIALECT_PORTABLE, text);
        l.no_files = false;
        scan(&l, WS__DIALECT_OPENCL, text);
        ws__arena_free(&arena);
    }
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
