/*
 * llm_reply.c: what a reply as a whole is. See llm_reply.h.
 */
#include "llm/llm_reply_int.h"

#include <stdint.h>

#include "base/banned.h"

int ws__llm_rows(struct ws__arena *a, const char *text,
                 struct ws__llm_rows *out)
{
    struct ws__llm_row *row;
    size_t n = 0;

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        n++;
    row = ws__arena_alloc(a, n + 1, sizeof(*row));
    if (!row)
        return WS_ENOMEM;
    n = 0;
    for (const char *p = text; *p; p += row[n++].whole) {
        size_t k = strcspn(p, "\n");

        row[n].p = p;
        row[n].whole = k + (p[k] == '\n');
        row[n].n = k - (k && p[k - 1] == '\r');
    }
    *out = (struct ws__llm_rows){row, n};
    return 0;
}

bool ws__llm_row_eq(const struct ws__llm_row *a, const struct ws__llm_row *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

const char *ws__llm_rows_end(const struct ws__llm_rows *source)
{
    const struct ws__llm_row *first = source->row;

    return source->n && first->whole == first->n + 2 ? "\r\n" : "\n";
}

void ws__llm_rows_write(struct ws__buf *b, const struct ws__llm_rows *reply,
                        const struct ws__llm_range *range, const char *end)
{
    for (size_t i = range->first; i < range->end; i++) {
        ws__buf_add(b, reply->row[i].p, reply->row[i].n);
        ws__buf_puts(b, end);
    }
}

static bool is_blank(const struct ws__llm_rows *rows,
                     const struct ws__llm_range *range)
{
    for (size_t i = range->first; i < range->end; i++)
        for (size_t k = 0; k < rows->row[i].n; k++)
            if (!strchr(" \t\r", rows->row[i].p[k]))
                return false;
    return true;
}

static int check_blocks(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                        const struct ws__llm_blocks *b)
{
    if (b->ncode && b->npatch)
        return ws__fail(ctx, WS_EPARSE,
                        "the reply has both a whole kernel (line %zu) and "
                        "search/replace blocks (line %zu): send one of them",
                        b->code.first, b->patch[0].search.first);
    if (b->ncode > 1)
        return ws__fail(ctx, WS_EPARSE,
                        "the reply has %zu fenced blocks of code: put the "
                        "whole kernel into exactly one",
                        b->ncode);
    if (b->nyaml > 1)
        return ws__fail(ctx, WS_EPARSE,
                        "the reply has %zu blocks of YAML: put all changes of "
                        "the kernel file into one list",
                        b->nyaml);
    if (!b->ncode && !b->npatch && !b->nyaml)
        return ws__fail(ctx, WS_EPARSE,
                        "the reply has neither a fenced block with the whole "
                        "kernel nor a search/replace block");
    if (b->ncode && is_blank(reply, &b->code))
        return ws__fail(ctx, WS_EPARSE,
                        "the fenced block in line %zu of the reply is empty: "
                        "it must have the whole kernel",
                        b->code.first);
    return 0;
}

static int new_source(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                      const char *source, struct ws__llm_blocks *blocks,
                      struct ws__llm_proposal *p)
{
    struct ws__llm_rows old;
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, ctx, SIZE_MAX / 4);
    WS_TRY_DONE(ws__llm_rows(&p->arena, source, &old));
    if (blocks->npatch)
        rc = ws__llm_patches_apply(ctx, reply, &old, blocks->patch,
                                   blocks->npatch, &b);
    else
        ws__llm_rows_write(&b, reply, &blocks->code, ws__llm_rows_end(&old));
    if (rc >= 0)
        rc = b.failed;
    if (rc < 0)
        goto done;
    p->nblock = blocks->npatch;
    p->source = ws__arena_strndup(&p->arena, b.data ? b.data : "", b.len);
    if (!p->source)
        rc = WS_ENOMEM;
    else if (!strcmp(p->source, source))
        p->source = NULL;
done:
    ws__buf_free(&b);
    return rc;
}

static int parse(struct ws_ctx *ctx, const char *reply, const char *source,
                 const char *const *roots, struct ws__llm_proposal *p)
{
    struct ws__llm_blocks *b = ws__arena_alloc(&p->arena, 1, sizeof(*b));
    struct ws__llm_rows rows;

    if (!b)
        return WS_ENOMEM;
    WS_TRY(ws__llm_rows(&p->arena, reply, &rows));
    WS_TRY(ws__llm_blocks_find(ctx, &rows, b));
    WS_TRY(check_blocks(ctx, &rows, b));
    if (b->nyaml)
        WS_TRY(ws__llm_changes_read(ctx, &rows, &b->yaml, roots, p));
    if (b->ncode || b->npatch)
        WS_TRY(new_source(ctx, &rows, source, b, p));
    if (!p->source && !p->nchange)
        return ws__fail(ctx, WS_EPARSE,
                        "the reply changes nothing: the source it gives is "
                        "the one it was shown");
    return 0;
}

int ws__llm_proposal_parse(struct ws_ctx *ctx, const char *reply,
                           const char *source, const char *const *roots,
                           struct ws__llm_proposal **out)
{
    struct ws__llm_proposal *p = ws__alloc(ctx, 1, sizeof(*p));
    int rc;

    *out = NULL;
    if (!p)
        return WS_ENOMEM;
    ws__arena_init(&p->arena, ctx);
    rc = parse(ctx, reply, source, roots, p);
    if (rc < 0)
        ws__llm_proposal_free(p);
    else
        *out = p;
    return rc;
}

void ws__llm_proposal_free(struct ws__llm_proposal *p)
{
    struct ws_ctx *ctx;

    if (!p)
        return;
    ctx = p->arena.ctx;
    ws__arena_free(&p->arena);
    ws__free(ctx, p);
}
