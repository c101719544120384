/*
 * fuzz_gpumode.c: tasks of GPU MODE from hostile texts. A draft must be YAML
 * whose blanks can be listed, and its tests a list; what is refused must say
 * why.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/draft.h"
#include "spec/gpumode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(struct ws_ctx *ctx, struct ws__arena *arena,
                 const struct ws__gpumode *g)
{
    struct ws__blank_at *at;
    struct ws__node *root;
    size_t n;

    if (ws__draft_blanks(ctx, arena, g->op.data, &at, &n) < 0 || n < 9)
        abort();
    if (!g->tests.len)
        return;
    if (ws__node_parse(ctx, arena, g->tests.data, g->tests.len, "tests", 1,
                       &root) < 0 ||
        root->kind != WS__LIST || root->n != g->ntests)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    struct ws__gpumode g = {0};
    struct ws__arena arena;

    if (!ctx || !text || size > 50000) {
        free(text);
        ws_ctx_free(ctx);
        return 0;
    }
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    ws__arena_init(&arena, ctx);
    if (ws__gpumode_draft(ctx, &arena, text, size, "task.yml", "t", &g) >= 0)
        look(ctx, &arena, &g);
    else if (!*ws_ctx_error(ctx)->message)
        abort();
    ws__gpumode_free(&g);
    ws__arena_free(&arena);
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
