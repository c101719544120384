/*
 * devserve.c: the worker's side of isolate. See devwire.h.
 *
 * One request after the other, on one thread. What the member logs is kept as
 * a line of text in the shared area: if this process dies or hangs, the tool
 * reads there what was going on. The line is cleared at the start of each
 * request, so that it never tells of an earlier one.
 */
#include "device/devwire.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/fs.h"
#include "base/banned.h"

struct server {
    struct ws_ctx *ctx;
    int fd; /* that came with the request, -1 if none */
    const struct ws__device_ops *ops;
    void *dev;
    struct ws__shm area;
    struct ws__buf in, out;
    struct ws__arena arena;
};

static void note(void *user, enum ws_log_level level, const char *text)
{
    struct server *s = user;

    (void)level;
    if (s->area.p)
        snprintf(s->area.p, WS__AREA_WORDS, "%s", text);
}

static int serve_probe(struct server *s, struct ws__reader *r)
{
    const char *family = ws__get_str(r);
    const struct ws__device_ops *ops = family ? ws__device_find(family) : NULL;
    struct ws__device_list list = {NULL, 0};
    int rc;

    if (!ops)
        return ws__fail(s->ctx, WS_ENODEVICE, "unknown family of devices");
    rc = ops->probe(s->ctx, &list);
    ws__put_u32(&s->out, (uint32_t)list.n);
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        ws__put_info(&s->out, &list.item[i]);
    ws__free(s->ctx, list.item);
    return rc;
}

/* Kernels for a processor run in this process: from here on it can do nothing
 * but what its driver must be able to do. Without a cache folder the driver
 * writes where only it knows, and files stay as they are. */
static int confine(struct server *s, const char *cache_dir)
{
    const char *const writable[] = {cache_dir, NULL};
    int rc;

    if (!s->ops->info(s->dev)->id.is_cpu)
        return 0;
    rc = ws__confine(s->ctx, cache_dir ? writable : NULL, false);
    return rc == WS_ENOTSUP ? 0 : rc;
}

/* Compilers look for files in the current folder, too, and no hash holds what
 * they find: so it is an empty one that nobody writes to, else the root. Only
 * once the driver is loaded: the environment may name it by a relative path. */
static int leave_folder(struct server *s, const char *cache_dir)
{
    char *path = cache_dir ? ws__path_join(s->ctx, cache_dir, "empty") : NULL;
    bool left = false;

    if (cache_dir && !path)
        return WS_ENOMEM;
    /* A cache that cannot be written to is no reason to fail. */
    if (path && ws__fs_mkdirs(s->ctx, cache_dir) >= 0 &&
        (mkdir(path, 0555) == 0 || errno == EEXIST))
        left = chdir(path) == 0;
    ws__free(s->ctx, path);
    ws__error_clear(s->ctx);
    if (left || chdir("/") == 0)
        return 0;
    return ws__sys_fail(s->ctx, errno, "leave the current folder");
}

static int serve_open(struct server *s, struct ws__reader *r)
{
    const char *family = ws__get_str(r);
    uint32_t index = ws__get_u32(r);
    const char *cache_dir = ws__get_str(r);

    s->ops = family ? ws__device_find(family) : NULL;
    if (!s->ops || s->dev || !s->area.p)
        return ws__fail(s->ctx, WS_EPROTO, "bad request to open a device");
    WS_TRY(s->ops->open(s->ctx, index, cache_dir, &s->dev));
    WS_TRY(leave_folder(s, cache_dir));
    WS_TRY(confine(s, cache_dir));
    if (s->ops->area)
        s->ops->area(s->dev, (char *)s->area.p + WS__AREA_WORDS,
                     WS__AREA_BOUNCE);
    ws__put_info(&s->out, s->ops->info(s->dev));
    return 0;
}

static int serve_build(struct server *s, struct ws__reader *r)
{
    struct ws__build build;
    struct ws__built built;
    int rc;

    memset(&built, 0, sizeof(built));
    WS_TRY(ws__get_build(r, &s->arena, &build));
    rc = s->ops->build(s->dev, &build, &built);
    ws__put_built(&s->out, &built);
    ws__built_free(s->ctx, &built);
    return rc;
}

static int serve_describe(struct server *s, struct ws__reader *r)
{
    struct ws__entry_info *list = NULL;
    struct ws__build build;
    size_t n = 0;
    int rc;

    WS_TRY(ws__get_build(r, &s->arena, &build));
    if (!s->ops->describe)
        return ws__fail(s->ctx, WS_ENOTSUP, "'%s' cannot describe sources",
                        s->ops->name);
    rc = s->ops->describe(s->dev, &build, &list, &n);
    ws__put_blob(&s->out, list, n * sizeof(*list));
    ws__free(s->ctx, list);
    return rc;
}

static int serve_unload(struct server *s, struct ws__reader *r)
{
    s->ops->unload(s->dev, ws__get_u32(r));
    return 0;
}

static int serve_alloc(struct server *s, struct ws__reader *r)
{
    uint64_t bytes = ws__get_u64(r);
    uint32_t guard = ws__get_u32(r), shift = ws__get_u32(r), buffer = 0;

    WS_TRY(s->ops->alloc(s->dev, bytes, guard, shift, &buffer));
    ws__put_u32(&s->out, buffer);
    return 0;
}

static int serve_release(struct server *s, struct ws__reader *r)
{
    s->ops->release(s->dev, ws__get_u32(r));
    return 0;
}

static int serve_transfer(struct server *s, struct ws__reader *r, bool write)
{
    uint32_t buffer = ws__get_u32(r);
    uint64_t offset = ws__get_u64(r), bytes = ws__get_u64(r);
    void *p = (char *)s->area.p + WS__AREA_WORDS;

    if (bytes > WS__AREA_BOUNCE)
        return ws__fail(s->ctx, WS_EPROTO, "transfer is too long");
    if (write)
        return s->ops->write(s->dev, buffer, offset, p, bytes);
    return s->ops->read(s->dev, buffer, offset, p, bytes);
}

static int serve_write(struct server *s, struct ws__reader *r)
{
    return serve_transfer(s, r, true);
}

static int serve_read(struct server *s, struct ws__reader *r)
{
    return serve_transfer(s, r, false);
}

static int serve_fill(struct server *s, struct ws__reader *r)
{
    uint32_t buffer = ws__get_u32(r);

    return s->ops->fill(s->dev, buffer, ws__get_u32(r));
}

static int serve_copy(struct server *s, struct ws__reader *r)
{
    uint32_t to = ws__get_u32(r);

    return s->ops->copy(s->dev, to, ws__get_u32(r));
}

static int serve_hash(struct server *s, struct ws__reader *r)
{
    uint64_t h = 0;

    WS_TRY(s->ops->hash(s->dev, ws__get_u32(r), &h));
    ws__put_u64(&s->out, h);
    return 0;
}

static int serve_guard(struct server *s, struct ws__reader *r)
{
    int64_t offset = 0;
    int rc = s->ops->guard(s->dev, ws__get_u32(r), &offset);

    WS_TRY(rc);
    ws__put_u32(&s->out, (uint32_t)rc);
    ws__put_u64(&s->out, (uint64_t)offset);
    return 0;
}

static int serve_run(struct server *s, struct ws__reader *r)
{
    struct ws__dev_batch b;
    struct ws__dev_sample *samples;
    size_t n = 0, room;

    WS_TRY(ws__get_batch(r, &s->arena, &b));
    room = (size_t)b.rounds * b.nprog;
    if (room > WS__WIRE_MAX / sizeof(*samples))
        return ws__fail(s->ctx, WS_ELIMIT, "too many samples in one batch");
    samples = ws__arena_alloc(&s->arena, room, sizeof(*samples));
    if (!samples)
        return WS_ENOMEM;
    WS_TRY(s->ops->run(s->dev, &b, samples, &n));
    ws__put_blob(&s->out, samples, n * sizeof(*samples));
    return 0;
}

static int serve_count(struct server *s, struct ws__reader *r)
{
    struct ws__dev_count c;
    uint32_t passes = 0;
    double *value;
    size_t n;

    WS_TRY(ws__get_count(r, &s->arena, &c));
    if (!s->ops->count)
        return ws__fail(s->ctx, WS_ENOTSUP, "devices of '%s' have no counters",
                        s->ops->name);
    n = c.n * c.seq.nlaunch;
    value = ws__arena_alloc(&s->arena, n, sizeof(*value));
    if (!value)
        return WS_ENOMEM;
    WS_TRY(s->ops->count(s->dev, &c.seq, c.flush_bytes, c.metric, c.n, value,
                         &passes));
    ws__put_u32(&s->out, passes);
    ws__put_blob(&s->out, value, n * sizeof(*value));
    return 0;
}

static int serve_watch(struct server *s, struct ws__reader *r)
{
    struct ws__dev_touch touch;
    struct ws__dev_watch w;

    memset(&touch, 0, sizeof(touch));
    WS_TRY(ws__get_watch(r, &s->arena, &w));
    if (!s->ops->watch)
        return ws__fail(s->ctx, WS_ENOTSUP, "devices of '%s' watch no memory",
                        s->ops->name);
    WS_TRY(s->ops->watch(s->dev, &w.seq, w.input, w.ninput, &touch));
    ws__put_blob(&s->out, &touch, sizeof(touch));
    return 0;
}

static int (*const handler[WS__DEV_END])(struct server *,
                                         struct ws__reader *) = {
    [WS__DEV_PROBE] = serve_probe, [WS__DEV_OPEN] = serve_open,
    [WS__DEV_BUILD] = serve_build, [WS__DEV_UNLOAD] = serve_unload,
    [WS__DEV_ALLOC] = serve_alloc, [WS__DEV_RELEASE] = serve_release,
    [WS__DEV_WRITE] = serve_write, [WS__DEV_READ] = serve_read,
    [WS__DEV_FILL] = serve_fill,   [WS__DEV_COPY] = serve_copy,
    [WS__DEV_HASH] = serve_hash,   [WS__DEV_GUARD] = serve_guard,
    [WS__DEV_RUN] = serve_run,     [WS__DEV_DESCRIBE] = serve_describe,
    [WS__DEV_COUNT] = serve_count, [WS__DEV_WATCH] = serve_watch,
};

/* The area comes with the first message. */
static int take_area(struct server *s)
{
    int fd = s->fd;

    if (fd < 0 || s->area.p)
        return 0;
    s->fd = -1;
    return ws__shm_map(s->ctx, fd, WS__AREA_BYTES, true, &s->area);
}

static int dispatch(struct server *s, uint32_t type)
{
    struct ws__reader r = ws__reader_of(&s->in);

    WS_TRY(take_area(s));
    if (type >= WS__DEV_END || !handler[type])
        return ws__fail(s->ctx, WS_EPROTO, "unknown message %u",
                        (unsigned)type);
    if (type > WS__DEV_OPEN && !s->dev)
        return ws__fail(s->ctx, WS_EPROTO, "no device is open");
    return handler[type](s, &r);
}

static void reset(struct server *s)
{
    ws__buf_free(&s->out);
    ws__arena_free(&s->arena);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static int answer(struct server *s, int sock, uint32_t type)
{
    int rc;

    if (s->area.p)
        *(char *)s->area.p = '\0';
    ws__put_u32(&s->out, 0);
    rc = dispatch(s, type);
    if (rc >= 0 && s->out.failed)
        rc = s->out.failed;
    if (rc < 0) {
        ws__buf_free(&s->out);
        ws__put_u32(&s->out, (uint32_t)rc);
        ws__put_str(&s->out, s->ctx->err.message);
        ws__put_str(&s->out, s->ctx->err.hint);
    }
    if (s->out.failed)
        return s->out.failed;
    return ws__wire_send(s->ctx, sock, type, s->out.data, s->out.len, -1);
}

int ws__device_serve(struct ws_ctx *ctx, int sock)
{
    struct server s = {.ctx = ctx, .fd = -1, .area = {.fd = -1}};
    ws_log_fn *log = ctx->log;
    void *log_user = ctx->log_user;
    uint32_t type;
    int rc;

    ws__buf_init(&s.in, ctx, WS__WIRE_MAX);
    ws__buf_init(&s.out, ctx, WS__WIRE_MAX);
    ws__arena_init(&s.arena, ctx);
    ctx->log = note;
    ctx->log_user = &s;
    do {
        rc = ws__wire_recv(ctx, sock, &type, &s.in, &s.fd, 0);
        if (rc == 0)
            rc = answer(&s, sock, type);
        reset(&s);
    } while (rc == 0);
    if (s.dev)
        s.ops->close(s.dev);
    ctx->log = log;
    ctx->log_user = log_user;
    ws__shm_free(&s.area);
    ws__buf_free(&s.in);
    ws__buf_free(&s.out);
    return rc == WS_ECRASH ? 0 : rc; /* the other side has gone: done */
}
