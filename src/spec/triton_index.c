/*
 * triton_index.c: the list of what Triton compiled, index.json.
 *
 * 'wavesmith compile' writes it beside the cubins. It is data like a
 * specification: read through the same tree, every number within its limits,
 * every name that of a file in the same folder. Files that failed are in it
 * with the compiler's words, so that nobody compiles them a second time and a
 * verdict can say why.
 */
#include <ctype.h>
#include <stdlib.h>

#include "spec/parts.h"

#include "base/banned.h"

#define FORMAT "wavesmith-triton-1"
#define MAX_THREADS 1024
#define MAX_SHARED ((int64_t)1 << 24)
#define MAX_BYTES ((int64_t)64 << 20)

/* Beside the index, and none that is hidden. */
static int read_name(struct ws_ctx *ctx, const struct ws__node *n,
                     const char **out)
{
    WS_TRY(ws__node_str(ctx, n, "a file", out));
    for (const char *s = n->text; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("_-.", *s))
            return ws__node_fail(ctx, n, "'%s' is no file of the folder",
                                 n->text);
    if (!*n->text || *n->text == '.' || strlen(n->text) >= WS__MAX_ENTRY)
        return ws__node_fail(ctx, n, "'%s' is no file of the folder", n->text);
    return 0;
}

static int read_hash(struct ws_ctx *ctx, const struct ws__node *n,
                     struct ws__hash *out)
{
    const char *text;

    WS_TRY(ws__node_str(ctx, n, "a hash", &text));
    if (!ws__hash_parse(text, out))
        return ws__node_fail(ctx, n, "'%s' is no hash", text);
    return 0;
}

static int read_number(struct ws_ctx *ctx, const struct ws__node *map,
                       const char *key, int64_t lo, int64_t hi, int64_t *out)
{
    const struct ws__node *n;

    WS_TRY(ws__node_need(ctx, map, key, "the file", &n));
    return ws__node_int(ctx, n, key, lo, hi, out);
}

static int read_compiled(struct ws_ctx *ctx, const struct ws__node *map,
                         struct ws__source_file *f)
{
    const struct ws__node *n;
    int64_t threads, shared, nulls, bytes;

    WS_TRY(ws__node_need(ctx, map, "file", "the file", &n));
    WS_TRY(read_name(ctx, n, &f->name));
    WS_TRY(ws__node_need(ctx, map, "entry", "the file", &n));
    WS_TRY(ws__node_str(ctx, n, "an entry", &f->entry));
    if (!*f->entry || strlen(f->entry) >= WS__MAX_ENTRY)
        return ws__node_fail(ctx, n, "'%.60s' is no entry", f->entry);
    WS_TRY(read_number(ctx, map, "threads", 1, MAX_THREADS, &threads));
    WS_TRY(read_number(ctx, map, "shared", 0, MAX_SHARED, &shared));
    WS_TRY(read_number(ctx, map, "nulls", 0, WS__MAX_NULLS, &nulls));
    WS_TRY(read_number(ctx, map, "bytes", 1, MAX_BYTES, &bytes));
    f->threads = (uint32_t)threads;
    f->shared_bytes = (uint32_t)shared;
    f->nulls = (uint32_t)nulls;
    f->bytes = (size_t)bytes;
    if ((n = ws__node_get(map, "hash")))
        WS_TRY(read_hash(ctx, n, &f->hash));
    return 0;
}

static int read_file(struct ws_ctx *ctx, const struct ws__node *map,
                     struct ws__source_file *f)
{
    const struct ws__node *n;

    WS_TRY(ws__node_keys(ctx, map,
                         "key file entry threads shared nulls bytes hash "
                         "failed",
                         "a file"));
    WS_TRY(ws__node_need(ctx, map, "key", "the file", &n));
    WS_TRY(ws__node_str(ctx, n, "a key", &f->key));
    if (strlen(f->key) >= WS__MAX_TRITON_KEY)
        return ws__node_fail(ctx, n, "the key is too long");
    if (!(n = ws__node_get(map, "failed")))
        return read_compiled(ctx, map, f);
    f->name = f->entry = "";
    f->threads = 1;
    return ws__node_str(ctx, n, "words", &f->failed);
}

static int compare(const void *a, const void *b)
{
    const struct ws__source_file *x = a, *y = b;

    return strcmp(x->key, y->key);
}

static int read_files(struct ws_ctx *ctx, struct ws__arena *arena,
                      const struct ws__node *list, struct ws__triton_index *out)
{
    WS_TRY(ws__node_want(ctx, list, WS__LIST, "a list of files"));
    if (list->n > WS__MAX_FILES)
        return ws__fail_at(ctx, WS_ELIMIT, &list->loc, "more than %d files",
                           WS__MAX_FILES);
    out->file =
        ws__arena_alloc(arena, list->n ? list->n : 1, sizeof(*out->file));
    if (!out->file)
        return WS_ENOMEM;
    for (const struct ws__node *c = list->first; c; c = c->next) {
        WS_TRY(ws__node_want(ctx, c, WS__MAP, "a file"));
        WS_TRY(read_file(ctx, c, &out->file[out->n++]));
    }
    qsort(out->file, out->n, sizeof(*out->file), compare);
    for (size_t i = 1; i < out->n; i++)
        if (!strcmp(out->file[i - 1].key, out->file[i].key))
            return ws__node_fail(ctx, list, "the key '%.100s' is there twice",
                                 out->file[i].key);
    return 0;
}

int ws__triton_index_read(struct ws_ctx *ctx, struct ws__arena *arena,
                          const char *text, size_t len, const char *file,
                          struct ws__triton_index *out)
{
    const struct ws__node *n;
    struct ws__node *root;
    int word;

    memset(out, 0, sizeof(*out));
    WS_TRY(ws__node_parse(ctx, arena, text, len, file, 1, &root));
    WS_TRY(ws__node_keys(ctx, root, "format triton target files",
                         "a list of compiled files"));
    WS_TRY(ws__node_need(ctx, root, "format", "the list", &n));
    WS_TRY(ws__node_word(ctx, n, "a format", FORMAT, &word));
    WS_TRY(ws__node_need(ctx, root, "triton", "the list", &n));
    WS_TRY(ws__node_printable(ctx, n, "a version", &out->version));
    WS_TRY(ws__node_need(ctx, root, "target", "the list", &n));
    WS_TRY(ws__node_printable(ctx, n, "a target", &out->target));
    WS_TRY(ws__node_need(ctx, root, "files", "the list", &n));
    return read_files(ctx, arena, n, out);
}
