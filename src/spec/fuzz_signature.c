/*
 * fuzz_signature.c: hostile sources through the signature reader and the
 * writer of drafts. Whatever a source says, what is drafted from it is a text
 * that parses, has blanks, and is refused for them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/draft.h"
#include "spec/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct ws_ctx *ctx, struct ws__arena *arena, const char *text)
{
    struct ws__node *root;

    if (ws__node_parse(ctx, arena, text, strlen(text), "draft", 1, &root) < 0 ||
        ws__node_no_blanks(ctx, root) != WS_ESPEC)
        abort();
}

static void draft(struct ws_ctx *ctx, struct ws__arena *arena,
                  const struct ws__signature *sig, enum ws__dialect dialect)
{
    struct ws__draft d = {.name = "k",
                          .source_file = "k.cl",
                          .read_by = "x",
                          .dialect = dialect,
                          .sig = sig,
                          .op_ref = "./k.op.yaml"};
    struct ws__buf kernel, op;

    while (d.nentry < sig->nentry && d.nentry < WS__MAX_LAUNCHES) {
        d.entry[d.nentry] = d.nentry;
        d.nentry++;
    }
    ws__buf_init(&kernel, ctx, WS__DRAFT_TEXT_MAX);
    ws__buf_init(&op, ctx, WS__DRAFT_TEXT_MAX);
    if (ws__draft_write(ctx, &d, &kernel, &op) < 0)
        abort();
    parse(ctx, arena, kernel.data);
    parse(ctx, arena, op.data);
    ws__buf_free(&kernel);
    ws__buf_free(&op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    struct ws__arena arena;
    struct ws__signature sig;

    if (ctx && text && size < 100000) {
        if (size)
            memcpy(text, data, size);
        text[size] = '\0';
        ws__arena_init(&arena, ctx);
        if (ws__signature_read(ctx, &arena, text, "skip.h", &sig) < 0)
            abort();
        if (sig.nentry)
            draft(ctx, &arena, &sig, WS__DIALECT_CUDA);
        ws__arena_free(&arena);
    }
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
