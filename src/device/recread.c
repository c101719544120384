/*
 * recread.c: recorded operations from a file. See recfile.h.
 *
 * Nothing in the file is trusted: lengths are bounded before memory is asked
 * for, content is checked by its CRC, and whoever asks for results of another
 * kind than the record's gets WS_ECORRUPT.
 */
#include "device/recfile.h"

#include <math.h>
#include <zlib.h>

#include "base/banned.h"

#define HEAD_BYTES ((size_t)16)
#define FRAME_HEAD ((size_t)12)
#define CONTENT_MAX (2 * WS__REC_READ_MAX + ((size_t)2 << 20))
/* deflate makes of one byte at most so many */
#define INFLATE_MAX 1032u

static const char magic[8] = "wsrec\r\n\x1a";

static int damaged(const struct ws__recreader *r, const char *what)
{
    ws__fail(r->ctx, WS_ECORRUPT, "the recording '%s' is damaged: %s", r->path,
             what);
    return ws__hint(r->ctx, "record it again");
}

int ws__recreader_open(struct ws_ctx *ctx, const char *path, const void *data,
                       size_t n, struct ws__recreader *r)
{
    const unsigned char *p = data;

    *r = (struct ws__recreader){.ctx = ctx, .path = path};
    ws__buf_init(&r->content, ctx, CONTENT_MAX);
    if (n < HEAD_BYTES || memcmp(p, magic, sizeof(magic))) {
        ws__fail(ctx, WS_ECORRUPT, "'%s' is no recording", path);
        return ws__hint(ctx, "recordings are made by the device "
                             "'record:FILE:DEVICE'");
    }
    r->version = p[sizeof(magic)];
    if (!r->version || r->version > WS__REC_VERSION) {
        ws__fail(ctx, WS_EVERSION, "'%s' is a recording of version %u", path,
                 (unsigned)p[sizeof(magic)]);
        return ws__hint(ctx, "this program reads up to version %u",
                        WS__REC_VERSION);
    }
    r->p = p + HEAD_BYTES;
    r->end = p + n;
    return 0;
}

void ws__recreader_free(struct ws__recreader *r)
{
    ws__buf_free(&r->content);
}

static int inflate_frame(struct ws__recreader *r, const unsigned char *p,
                         uint32_t packed, uint32_t content, uint32_t crc)
{
    uLongf room = content;
    Bytef *to;
    int rc = 0;

    if (content > CONTENT_MAX || content / INFLATE_MAX > packed)
        return damaged(r, "a frame is too long");
    to = ws__alloc(r->ctx, content ? content : 1, 1);
    if (!to)
        return WS_ENOMEM;
    switch (uncompress(to, &room, p, packed)) {
    case Z_OK:
        break;
    case Z_MEM_ERROR:
        rc = ws__nomem(r->ctx);
        break;
    default:
        rc = damaged(r, "a frame cannot be unpacked");
        break;
    }
    if (rc >= 0 && (room != content || crc32(0, to, content) != crc))
        rc = damaged(r, "a frame has another checksum");
    ws__buf_free(&r->content);
    r->at = 0;
    if (rc >= 0)
        rc = ws__buf_add(&r->content, to, content);
    ws__free(r->ctx, to);
    return rc;
}

/* 1, or 0 at the end, which may be cut off. */
static int next_frame(struct ws__recreader *r)
{
    struct ws__reader head = {r->p, r->end, false};
    uint32_t content = ws__get_u32(&head), packed = ws__get_u32(&head);
    uint32_t crc = ws__get_u32(&head);

    if (head.bad || packed > (size_t)(head.end - head.p))
        return 0;
    r->p = head.p + packed;
    WS_TRY(inflate_frame(r, head.p, packed, content, crc));
    return 1;
}

static int parse(struct ws__recreader *r, struct ws__reader *in,
                 struct ws__record *out)
{
    uint32_t op = ws__get_u32(in);

    memset(out, 0, sizeof(*out));
    out->op = op < WS__CALL_END ? (enum ws__call_op)op : WS__CALL_NONE;
    out->rc = (int32_t)ws__get_u32(in);
    out->digest.lo = ws__get_u64(in);
    out->digest.hi = ws__get_u64(in);
    out->words = ws__get_str(in);
    if (out->rc < 0) {
        out->message = ws__get_str(in);
        out->hint = ws__get_str(in);
        out->signal = (int32_t)ws__get_u32(in);
    }
    if (in->bad || !out->op || !out->words || (out->rc < 0 && !out->message))
        return damaged(r, "a record makes no sense");
    out->result = *in;
    return 1;
}

int ws__recreader_next(struct ws__recreader *r, struct ws__record *out)
{
    struct ws__reader in;
    const void *p;
    size_t n;

    while (r->at >= r->content.len) {
        int rc = next_frame(r);

        if (rc <= 0)
            return rc;
    }
    in = ws__reader_of(&r->content);
    in.p += r->at;
    p = ws__get_blob(&in, &n);
    if (in.bad || !n)
        return damaged(r, "a record is cut");
    r->at = (size_t)(in.p - (const unsigned char *)r->content.data);
    r->number++;
    in = (struct ws__reader){p, (const unsigned char *)p + n, false};
    return parse(r, &in, out);
}

/* ---- results --------------------------------------------------------------
 */

static void get_text(struct ws__reader *r, char *to, size_t n)
{
    const char *s = ws__get_str(r);

    snprintf(to, n, "%s", s ? s : "");
}

static void get_identity(struct ws__reader *r, struct ws__identity *id)
{
    get_text(r, id->device, sizeof(id->device));
    get_text(r, id->driver, sizeof(id->driver));
    get_text(r, id->compiler, sizeof(id->compiler));
    get_text(r, id->tool, sizeof(id->tool));
    get_text(r, id->family, sizeof(id->family));
    id->units = ws__get_u32(r);
    id->max_threads = ws__get_u32(r);
    id->memory_bytes = ws__get_u64(r);
    id->cache_bytes = ws__get_u64(r);
    id->shared_bytes = ws__get_u64(r);
    id->vector_bytes = ws__get_u32(r);
    id->is_cpu = ws__get_u32(r) != 0;
    get_text(r, id->protocol, sizeof(id->protocol));
    id->hash.lo = ws__get_u64(r);
    id->hash.hi = ws__get_u64(r);
}

static int fail_as_recorded(struct ws__recreader *r,
                            const struct ws__record *rec)
{
    ws__fail(r->ctx, rec->rc, "%s", rec->message);
    if (rec->hint && rec->hint[0])
        ws__hint(r->ctx, "%s", rec->hint);
    r->ctx->err.signal = rec->signal;
    return rec->rc;
}

int ws__rec_info(struct ws__recreader *r, struct ws__record *rec,
                 struct ws__device_info *info)
{
    struct ws__reader *in = &rec->result;

    memset(info, 0, sizeof(*info));
    if (rec->rc < 0)
        return fail_as_recorded(r, rec);
    get_text(in, info->name, sizeof(info->name));
    get_identity(in, &info->id);
    info->max_alloc_bytes = ws__get_u64(in);
    for (int i = 0; i < 3; i++) {
        info->max_block[i] = ws__get_u32(in);
        info->max_grid[i] = ws__get_u64(in);
    }
    get_text(in, info->extra, sizeof(info->extra));
    info->usable = true;
    return in->bad ? damaged(r, "a device is cut") : 0;
}

static void get_built(const struct ws__recreader *file, struct ws__reader *in,
                      struct ws__built *x)
{
    struct ws__resources *r = &x->res;

    x->module = ws__get_u32(in);
    r->binary_bytes = ws__get_u64(in);
    r->build_ns = ws__get_u64(in);
    r->registers = ws__get_u32(in);
    r->spill_bytes = ws__get_u32(in);
    r->shared_bytes = ws__get_u32(in);
    r->private_bytes = ws__get_u32(in);
    r->max_threads = ws__get_u32(in);
    r->blocks_per_unit = file->version > 1 ? ws__get_u32(in) : 0;
    r->binary.lo = ws__get_u64(in);
    r->binary.hi = ws__get_u64(in);
}

static void get_samples(const struct ws__recreader *file, struct ws__reader *in,
                        struct ws__call *c)
{
    uint64_t room = (uint64_t)c->batch->rounds * c->batch->nprog;
    uint32_t n = ws__get_u32(in);

    if (n > room || n > (size_t)(in->end - in->p) / sizeof(double))
        in->bad = true;
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        struct ws__dev_sample *s = &c->sample[i];

        s->ns = ws__get_f64(in);
        s->prog = ws__get_u32(in);
        s->set = ws__get_u32(in);
        s->round = ws__get_u32(in);
        s->hash = ws__get_u64(in);
        s->mhz = file->version > 1 ? ws__get_u32(in) : 0;
        s->slowed = file->version > 1 ? ws__get_u32(in) : 0;
        s->host_ns = file->version > 3 ? ws__get_f64(in) : 0;
    }
    c->n = in->bad ? 0 : n;
}

static void get_counts(struct ws__reader *in, struct ws__call *c)
{
    size_t room = (size_t)c->arg[1] * (size_t)c->arg[2];

    c->result = ws__get_u32(in);
    if (ws__get_u32(in) != room || room > (size_t)(in->end - in->p) / 8)
        in->bad = true;
    for (size_t i = 0; i < room && !in->bad; i++) {
        double v = ws__get_f64(in);

        in->bad = isinf(v);
        c->value[i] = v;
    }
    for (size_t i = 0; i < room && in->bad; i++)
        c->value[i] = NAN;
}

static void get_bytes(struct ws__reader *in, struct ws__call *c)
{
    size_t n;
    const void *p = ws__get_blob(in, &n);

    if (in->bad || n != c->arg[2])
        in->bad = true;
    else if (n)
        memcpy(c->out, p, n);
}

static int get_log(struct ws__recreader *r, struct ws__reader *in,
                   struct ws__call *c)
{
    const char *log = ws__get_str(in);

    c->built->log = log ? ws__strdup(r->ctx, log) : NULL;
    return log && !c->built->log ? WS_ENOMEM : 0;
}

int ws__rec_results(struct ws__recreader *r, struct ws__record *rec,
                    struct ws__call *c)
{
    struct ws__reader *in = &rec->result;

    if (rec->op != c->op)
        return damaged(r, "results of another operation");
    if (rec->rc >= 0) {
        if (c->op == WS__CALL_BUILD)
            get_built(r, in, c->built);
        else if (c->op == WS__CALL_READ)
            get_bytes(in, c);
        else if (c->op == WS__CALL_RUN)
            get_samples(r, in, c);
        else if (c->op == WS__CALL_COUNT)
            get_counts(in, c);
        else
            c->result = ws__get_u64(in);
    }
    if (c->op == WS__CALL_BUILD)
        WS_TRY(get_log(r, in, c));
    if (in->bad) {
        if (c->op == WS__CALL_BUILD) {
            ws__free(r->ctx, c->built->log);
            memset(c->built, 0, sizeof(*c->built));
        }
        return damaged(r, "results are cut");
    }
    return rec->rc < 0 ? fail_as_recorded(r, rec) : rec->rc;
}
