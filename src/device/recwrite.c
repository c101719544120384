/*
 * recwrite.c: recorded operations into a file. See recfile.h.
 *
 * Records gather until a frame is worth compressing, and each frame is one
 * write, so that a tool that is killed leaves whole frames behind (or a cut
 * one at the end, which readers bear). Nothing is written while something is
 * timed: a run is one operation.
 */
#include "device/recfile.h"

#include <zlib.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#include "base/banned.h"

#define FRAME_BYTES ((size_t)256 << 10)
#define RECORD_MAX (WS__REC_READ_MAX + ((size_t)1 << 20))

#define HEAD_BYTES 16

static const char magic[8] = "wsrec\r\n\x1a";

int ws__rec_open(struct ws_ctx *ctx, const char *path, bool make,
                 struct ws__recwriter *w)
{
    unsigned char head[HEAD_BYTES] = {0};
    int rc;

    *w = (struct ws__recwriter){.ctx = ctx, .fd = -1};
    ws__buf_init(&w->record, ctx, RECORD_MAX);
    ws__buf_init(&w->content, ctx, 2 * RECORD_MAX);
    ws__buf_init(&w->packed, ctx, 3 * RECORD_MAX);
    w->path = ws__strdup(ctx, path);
    if (!w->path)
        return WS_ENOMEM;
    if (make && ws__fs_exists(path)) {
        ws__fail(ctx, WS_EINVAL, "'%s' is there already", path);
        return ws__hint(ctx, "a recording is never written over: remove it or "
                             "give another name");
    }
    WS_TRY(ws__fs_begin(ctx, path, make, &w->fd));
    w->made = make;
    if (!make)
        return 0;
    memcpy(head, magic, sizeof(magic));
    head[sizeof(magic)] = WS__REC_VERSION;
    rc = ws__fs_append(ctx, path, w->fd, head, sizeof(head));
    w->bytes = sizeof(head);
    return rc;
}

static int pack(struct ws__recwriter *w)
{
    uLongf room = compressBound((uLong)w->content.len);
    Bytef *p = ws__alloc(w->ctx, room, 1);
    int rc;

    if (!p)
        return WS_ENOMEM;
    ws__buf_free(&w->packed);
    if (compress2(p, &room, (const Bytef *)w->content.data,
                  (uLong)w->content.len, 6) != Z_OK) {
        ws__free(w->ctx, p);
        return ws__nomem(w->ctx);
    }
    ws__put_u32(&w->packed, (uint32_t)w->content.len);
    ws__put_u32(&w->packed, (uint32_t)room);
    ws__put_u32(&w->packed, (uint32_t)crc32(0, (const Bytef *)w->content.data,
                                            (uInt)w->content.len));
    rc = ws__buf_add(&w->packed, p, room);
    ws__free(w->ctx, p);
    return w->packed.failed ? w->packed.failed : rc;
}

static int flush(struct ws__recwriter *w)
{
    if (!w->content.len || w->fd < 0)
        return 0;
    WS_TRY(pack(w));
    if (w->bytes + w->packed.len > WS__REC_FILE_MAX) {
        ws__fail(w->ctx, WS_ELIMIT,
                 "the recording '%s' would be longer than %zu MiB", w->path,
                 WS__REC_FILE_MAX >> 20);
        return ws__hint(w->ctx, "record small shapes and few trials");
    }
    WS_TRY(
        ws__fs_append(w->ctx, w->path, w->fd, w->packed.data, w->packed.len));
    w->bytes += w->packed.len;
    ws__buf_free(&w->content);
    return 0;
}

/* ---- results --------------------------------------------------------------
 */

static void put_identity(struct ws__buf *b, const struct ws__identity *id)
{
    ws__put_str(b, id->device);
    ws__put_str(b, id->driver);
    ws__put_str(b, id->compiler);
    ws__put_str(b, id->tool);
    ws__put_str(b, id->family);
    ws__put_u32(b, id->units);
    ws__put_u32(b, id->max_threads);
    ws__put_u64(b, id->memory_bytes);
    ws__put_u64(b, id->cache_bytes);
    ws__put_u64(b, id->shared_bytes);
    ws__put_u32(b, id->vector_bytes);
    ws__put_u32(b, id->is_cpu);
    ws__put_str(b, id->protocol);
    ws__put_u64(b, id->hash.lo);
    ws__put_u64(b, id->hash.hi);
}

static void put_info(struct ws__buf *b, const struct ws__device_info *info)
{
    ws__put_str(b, info->name);
    put_identity(b, &info->id);
    ws__put_u64(b, info->max_alloc_bytes);
    for (int i = 0; i < 3; i++) {
        ws__put_u32(b, info->max_block[i]);
        ws__put_u64(b, info->max_grid[i]);
    }
    ws__put_str(b, info->extra);
}

static void put_built(struct ws__buf *b, const struct ws__built *x)
{
    const struct ws__resources *r = &x->res;

    ws__put_u32(b, x->module);
    ws__put_u64(b, r->binary_bytes);
    ws__put_u64(b, r->build_ns);
    ws__put_u32(b, r->registers);
    ws__put_u32(b, r->spill_bytes);
    ws__put_u32(b, r->shared_bytes);
    ws__put_u32(b, r->private_bytes);
    ws__put_u32(b, r->max_threads);
    ws__put_u32(b, r->blocks_per_unit);
    ws__put_u64(b, r->binary.lo);
    ws__put_u64(b, r->binary.hi);
}

static void put_samples(struct ws__buf *b, const struct ws__call *c)
{
    ws__put_u32(b, (uint32_t)c->n);
    for (size_t i = 0; i < c->n; i++) {
        const struct ws__dev_sample *s = &c->sample[i];

        ws__put_f64(b, s->ns);
        ws__put_u32(b, s->prog);
        ws__put_u32(b, s->set);
        ws__put_u32(b, s->round);
        ws__put_u64(b, s->hash);
        ws__put_u32(b, s->mhz);
        ws__put_u32(b, s->slowed);
        ws__put_f64(b, s->host_ns);
    }
}

static void put_counts(struct ws__buf *b, const struct ws__call *c)
{
    size_t n = (size_t)c->arg[1] * (size_t)c->arg[2];

    ws__put_u32(b, (uint32_t)c->result);
    ws__put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        ws__put_f64(b, c->value[i]);
}

static int too_large(struct ws__recwriter *w, const struct ws__call *c)
{
    if (c->op != WS__CALL_READ || c->arg[2] <= WS__REC_READ_MAX)
        return 0;
    ws__fail(w->ctx, WS_ELIMIT,
             "a read of %llu bytes does not fit into a recording",
             (unsigned long long)c->arg[2]);
    return ws__hint(w->ctx, "record small shapes: outputs up to %zu MiB",
                    WS__REC_READ_MAX >> 20);
}

static void put_results(struct ws__buf *b, const struct ws__call *c,
                        const struct ws__device_info *info)
{
    switch (c->op) {
    case WS__CALL_OPEN:
        put_info(b, info);
        break;
    case WS__CALL_BUILD:
        put_built(b, c->built);
        break;
    case WS__CALL_READ:
        ws__put_blob(b, c->out, (size_t)c->arg[2]);
        break;
    case WS__CALL_RUN:
        put_samples(b, c);
        break;
    case WS__CALL_COUNT:
        put_counts(b, c);
        break;
    default:
        ws__put_u64(b, c->result);
        break;
    }
}

int ws__rec_put(struct ws__recwriter *w, const struct ws__call *c, int rc,
                const struct ws__device_info *info)
{
    struct ws__hash h = ws__call_digest(c);
    struct ws__buf *b = &w->record;
    char words[200];

    WS_TRY(too_large(w, c));
    ws__call_describe(c, words, sizeof(words));
    ws__buf_free(b);
    ws__put_u32(b, (uint32_t)c->op);
    ws__put_u32(b, (uint32_t)rc);
    ws__put_u64(b, h.lo);
    ws__put_u64(b, h.hi);
    ws__put_str(b, words);
    if (rc < 0) {
        ws__put_str(b, w->ctx->err.message);
        ws__put_str(b, w->ctx->err.hint);
        ws__put_u32(b, (uint32_t)w->ctx->err.signal);
    } else {
        put_results(b, c, info);
    }
    if (c->op == WS__CALL_BUILD) /* a compiler has words in any case */
        ws__put_str(b, c->built->log);
    ws__put_blob(&w->content, b->data, b->len);
    if (b->failed || w->content.failed)
        return b->failed ? b->failed : w->content.failed;
    return w->content.len >= FRAME_BYTES ? flush(w) : 0;
}

/* A file without a record says nothing, and would be in the way of the next
 * try, for a recording is never written over. */
static void drop_empty(const struct ws__recwriter *w)
{
    struct stat st;

    if (w->made && !stat(w->path, &st) && st.st_size <= HEAD_BYTES)
        unlink(w->path);
}

int ws__rec_close(struct ws__recwriter *w)
{
    int rc = flush(w), end = ws__fs_end(w->ctx, w->path, w->fd, true);

    drop_empty(w);
    w->fd = -1;
    ws__buf_free(&w->record);
    ws__buf_free(&w->content);
    ws__buf_free(&w->packed);
    ws__free(w->ctx, w->path);
    w->path = NULL;
    return rc < 0 ? rc : end;
}
