/*
 * draft_text.c: what a draft is made from and what it leaves open: the source
 * with its includes in place, and the blanks of a text.
 */
#include "base/fs.h"
#include "spec/draft.h"
#include "spec/parts.h"

#include "base/banned.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

static enum ws__dialect dialect_of(const char *path, const char *text)
{
    if (strstr(text, "ws_dialect.h") || strstr(text, "WS_KERNEL"))
        return WS__DIALECT_PORTABLE;
    if (ends_with(path, ".cu") || ends_with(path, ".cuh") ||
        (!ends_with(path, ".cl") && strstr(text, "__global__")))
        return WS__DIALECT_CUDA;
    return WS__DIALECT_OPENCL;
}

static int put_includes(struct ws__load *l, const char *path, const char *raw,
                        struct ws__draft_source *out)
{
    char *dir = ws__load_dir(l, path);
    int rc = dir ? ws__load_source_text(l, dir, path, NULL, out->dialect, raw,
                                        &out->text)
                 : WS_ENOMEM;

    if (rc == 0 || rc == WS_ENOMEM || rc == WS_ECANCEL)
        return rc;
    out->note =
        ws__arena_printf(l->arena, "what is included (line %u: %.200s)",
                         (unsigned)l->ctx->err.line, l->ctx->err.message);
    out->text = ws__arena_strdup(l->arena, raw);
    ws__error_clear(l->ctx);
    return out->note && out->text ? 0 : WS_ENOMEM;
}

int ws__draft_read(struct ws_ctx *ctx, struct ws__arena *arena,
                   const char *path, const char *share_dir,
                   struct ws__draft_source *out)
{
    struct ws__load l = {.ctx = ctx, .arena = arena, .share_dir = share_dir};
    char *raw;
    size_t n;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY(ws__fs_read(ctx, path, WS__DRAFT_SOURCE_MAX, &raw, &n));
    if (strlen(raw) != n) {
        ws__free(ctx, raw);
        ws__fail(ctx, WS_EINVAL, "'%s' is not a text", path);
        return ws__hint(ctx, "give a source in OpenCL C, CUDA C or the "
                             "portable dialect");
    }
    if (strspn(raw, " \t\r\n") == n) {
        ws__free(ctx, raw);
        return ws__fail(ctx, WS_EINVAL, "'%s' is empty", path);
    }
    out->dialect = dialect_of(path, raw);
    rc = put_includes(&l, path, raw, out);
    ws__free(ctx, raw);
    return rc;
}

struct list {
    struct ws__arena *arena;
    struct ws__blank_at *at; /* NULL: only counted */
    size_t n;
};

static int add_blank(void *user, const struct ws__blank *b)
{
    struct list *l = user;

    if (l->at) {
        l->at[l->n] =
            (struct ws__blank_at){b->loc.line, b->loc.column,
                                  ws__arena_strdup(l->arena, b->subject),
                                  b->wants};
        if (!l->at[l->n].subject)
            return WS_ENOMEM;
    }
    l->n++;
    return 0;
}

int ws__draft_blanks(struct ws_ctx *ctx, struct ws__arena *arena,
                     const char *text, struct ws__blank_at **out, size_t *n)
{
    struct list l = {.arena = arena};
    struct ws__node *root;

    WS_TRY(ws__node_parse(ctx, arena, text, strlen(text), "draft", 1, &root));
    ws__node_blanks(root, add_blank, &l);
    l.at = ws__arena_alloc(arena, l.n ? l.n : 1, sizeof(*l.at));
    if (!l.at)
        return WS_ENOMEM;
    *n = l.n;
    *out = l.at;
    l.n = 0;
    return ws__node_blanks(root, add_blank, &l);
}
