/*
 * fuzz_definition.c: Definitions of flashinfer-bench and their workload lines
 * from hostile texts. A line of "===" parts the Definition from one workload.
 * What loads must be an op that survives printing and loading again with the
 * same meaning; what does not must say why.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int load_op(struct ws__load *l, const char *text, size_t n,
                   const struct ws__node **tree, struct ws__op **op)
{
    struct ws__node *root;

    WS_TRY(ws__node_parse(l->ctx, l->arena, text, n, "definition", 1, &root));
    if (!ws__load_is_definition(root))
        return ws__fail(l->ctx, WS_ESPEC, "no Definition");
    WS_TRY(ws__load_definition(l, root, tree));
    return ws__load_op(l, *tree, "definition", ".", op);
}

static void reload(struct ws__load *l, const struct ws__node *tree,
                   const struct ws__op *op)
{
    struct ws__node *again;
    struct ws__op *same;
    struct ws__buf b;

    ws__buf_init(&b, l->ctx, WS__SPEC_TEXT_MAX);
    if (ws__node_emit(&b, tree, NULL) < 0 ||
        ws__node_parse(l->ctx, l->arena, b.data, b.len, "again", 1, &again) <
            0 ||
        ws__load_op(l, again, "again", ".", &same) < 0 ||
        !ws__hash_eq(op->hash, same->hash))
        abort();
    ws__buf_free(&b);
}

static int load_line(struct ws__load *l, const struct ws__op *op,
                     const char *text, size_t n)
{
    struct ws__node *line, *list;
    struct ws__workload *w;
    size_t count;

    WS_TRY(ws__node_parse(l->ctx, l->arena, text, n, "lines", 1, &line));
    list = ws__tree_new(l, WS__LIST, NULL, NULL, line);
    if (!list)
        return WS_ENOMEM;
    ws__tree_append(list, line);
    WS_TRY(ws__load_workload_list(l, op, list, &w, &count));
    ws__workload_hash(op, w);
    return 0;
}

static int load_all(struct ws__load *l, const char *text, size_t size)
{
    const char *cut = strstr(text, "\n===\n");
    const struct ws__node *tree;
    struct ws__op *op;

    WS_TRY(load_op(l, text, cut ? (size_t)(cut - text) : size, &tree, &op));
    reload(l, tree, op);
    return cut ? load_line(l, op, cut + 5, size - (size_t)(cut + 5 - text)) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    struct ws__arena arena;
    struct ws__load l = {.ctx = ctx, .arena = &arena};

    if (!ctx || !text || size > 100000) {
        free(text);
        ws_ctx_free(ctx);
        return 0;
    }
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    ws__arena_init(&arena, ctx);
    if (load_all(&l, text, size) < 0 && !*ws_ctx_error(ctx)->message)
        abort();
    ws__arena_free(&arena);
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
