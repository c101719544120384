/*
 * isolate.c: a device in a worker process, behind the same operations.
 *
 * Every operation is one message and one answer; `run` carries a whole batch,
 * so nothing is sent while something is timed. Content of buffers goes
 * through a shared area in chunks.
 *
 * Invariant: once the worker was lost (crash, time-out, cancellation, broken
 * protocol) `lost` stays set, the process is dead and reaped, and every
 * operation is WS_ECRASH until the device is closed and opened again. The
 * words of such an error come from three places: how the process ended, what
 * the member logged last, and the last lines of the worker's error output,
 * which goes to an anonymous file, never to the terminal or the disk.
 *
 * That file has its full size from the start and cannot grow: of a kernel that
 * prints for ever it takes ERRORS_BYTES and refuses the rest. Its offset is
 * shared with the worker, so it tells where the worker is, and between two
 * operations we move it back to the start.
 */
#include "device/devwire.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/banned.h"

/* For what set_limit does not cover: loading a driver may take seconds. */
#define OPEN_LIMIT_NS 60000000000u
#define END_GRACE_NS 2000000000u
/* What a worker runs below may have to write down what it saw. */
#define BELOW_GRACE_NS 20000000000u
#define TAIL_BYTES 600u
#define ERRORS_BYTES ((off_t)16 << 20)
#define MAX_ENV 8

struct isolate {
    struct ws_ctx *ctx;
    struct ws__proc proc;
    struct ws__shm area;
    int err_fd;
    off_t err_from; /* where the running operation's output begins */
    struct ws__buf out, in;
    uint64_t limit_ns, grace_ns;
    bool lost;
    struct ws__device_info info;
};

/* --- losing a worker ---------------------------------------------------- */

static void trim_tail(char *s)
{
    size_t n = strlen(s);

    while (n && (s[n - 1] == '\n' || s[n - 1] == ' '))
        s[--n] = '\0';
}

/* The last whole lines that the worker wrote since the operation began. */
static void read_tail(const struct isolate *d, char out[TAIL_BYTES])
{
    off_t end = lseek(d->err_fd, 0, SEEK_CUR), from = d->err_from;
    ssize_t n;
    char *line;

    out[0] = '\0';
    if (end <= from)
        return;
    if (end - from > (off_t)TAIL_BYTES - 1)
        from = end - (off_t)TAIL_BYTES + 1;
    n = pread(d->err_fd, out, TAIL_BYTES - 1, from);
    out[n > 0 ? n : 0] = '\0';
    trim_tail(out);
    line = from > d->err_from ? strchr(out, '\n') : NULL;
    if (line)
        memmove(out, line + 1, strlen(line + 1) + 1);
}

static const char *last_words(struct isolate *d, char out[256])
{
    out[0] = '\0';
    if (d->area.p) {
        memcpy(out, d->area.p, 255);
        out[255] = '\0';
    }
    return out;
}

/* The worker is gone or has to go: kills, reaps, words the error. */
static int lose(struct isolate *d, int code, const char *op, uint64_t limit)
{
    char how[96], said[256], tail[TAIL_BYTES];
    struct ws_ctx *ctx = d->ctx;

    d->lost = true;
    if (code == WS_ECRASH)
        ws__proc_stop(&d->proc, d->grace_ns);
    else
        ws__proc_kill(&d->proc);
    if (code == WS_ECRASH) {
        ws__proc_describe(&d->proc, how, sizeof(how));
        last_words(d, said);
        read_tail(d, tail);
        ws__fail(ctx, WS_ECRASH, "the worker ended in %s: %s%s%s",
                 said[0] ? said : op, how, tail[0] ? ": " : "", tail);
        ctx->err.signal = ws__proc_signal(&d->proc);
        return WS_ECRASH;
    }
    if (code == WS_EPROTO && !strstr(ctx->err.message, "the worker"))
        return ws__error_prefix(ctx, "wrong answer from the worker to %s", op);
    if (code == WS_ETIMEOUT && ws__check_stop(ctx) == 0) {
        last_words(d, said);
        ws__fail(ctx, WS_ETIMEOUT, "%s did not end within %.3g s",
                 said[0] ? said : op, (double)limit * 1e-9);
    }
    return code;
}

/* --- one operation ------------------------------------------------------ */

static void begin(struct isolate *d)
{
    ws__buf_free(&d->out);
}

static int take_failure(struct isolate *d, int code, struct ws__reader *r)
{
    const char *message = ws__get_str(r), *hint = ws__get_str(r);

    if (r->bad || !message) {
        ws__fail(d->ctx, WS_EPROTO, "damaged answer from the worker");
        return lose(d, WS_EPROTO, "an answer", 0);
    }
    ws__fail(d->ctx, code, "%s", message);
    if (hint && hint[0])
        ws__hint(d->ctx, "%s", hint);
    if (code == WS_ECRASH) { /* the process lives, but has lost the device */
        d->lost = true;
        ws__proc_kill(&d->proc);
    }
    return code;
}

/* Where the running operation's output begins: what came before is of no
 * interest, and makes room when the file is half full. */
static void mark_errors(struct isolate *d)
{
    off_t at = lseek(d->err_fd, 0, SEEK_CUR);

    if (at > ERRORS_BYTES / 2)
        at = lseek(d->err_fd, 0, SEEK_SET);
    d->err_from = at;
}

/* Sends what was packed since begin() and leaves the reader at the results. */
static int call(struct isolate *d, enum ws__dev_msg type, const char *op,
                int fd, uint64_t limit, struct ws__reader *r)
{
    uint32_t answer = 0;
    int rc;

    if (d->lost)
        return ws__fail(d->ctx, WS_ECRASH, "the device's worker is gone");
    if (d->out.failed)
        return d->out.failed;
    if (type > WS__DEV_OPEN) /* before that, all output is of interest */
        mark_errors(d);
    rc = ws__wire_send(d->ctx, d->proc.sock, type, d->out.data, d->out.len, fd);
    if (rc == 0)
        rc = ws__wire_recv(d->ctx, d->proc.sock, &answer, &d->in, NULL, limit);
    if (rc < 0)
        return lose(d, rc, op, limit);
    *r = ws__reader_of(&d->in);
    rc = (int32_t)ws__get_u32(r);
    if (answer != (uint32_t)type || r->bad || rc > 0) {
        ws__fail(d->ctx, WS_EPROTO, "wrong answer from the worker to %s", op);
        return lose(d, WS_EPROTO, op, 0);
    }
    return rc < 0 ? take_failure(d, rc, r) : 0;
}

static int check_end(struct isolate *d, const struct ws__reader *r,
                     const char *op)
{
    if (!r->bad)
        return 0;
    ws__fail(d->ctx, WS_EPROTO, "short answer from the worker to %s", op);
    return lose(d, WS_EPROTO, op, 0);
}

/* --- starting ----------------------------------------------------------- */

static void isolate_close(void *dev)
{
    struct isolate *d = dev;

    if (!d)
        return;
    ws__proc_stop(&d->proc, d->grace_ns);
    ws__shm_free(&d->area);
    if (d->err_fd >= 0)
        close(d->err_fd);
    ws__buf_free(&d->out);
    ws__buf_free(&d->in);
    ws__free(d->ctx, d);
}

/* "VARIABLE=folder" of the member becomes "VARIABLE=<cache>/folder". */
static int make_env(struct ws__arena *a, const struct ws__device_ops *family,
                    const char *cache_dir, const char *env[MAX_ENV + 1])
{
    size_t n = 0;

    for (const char *const *v = family->cache_env;
         cache_dir && v && *v && n < MAX_ENV; v++, n++) {
        const char *folder = strchr(*v, '=');
        int name = folder ? (int)(folder - *v) : (int)strlen(*v);

        env[n] = ws__arena_printf(a, "%.*s=%s/%s", name, *v, cache_dir,
                                  folder ? folder + 1 : "");
        if (!env[n])
            return WS_ENOMEM;
    }
    env[n] = NULL;
    return 0;
}

/* A relative one from its root on: the worker leaves our folder. */
static int absolute(struct ws_ctx *ctx, struct ws__arena *a, const char **dir)
{
    char here[4096];

    if (!*dir || **dir == '/')
        return 0;
    if (!getcwd(here, sizeof(here)))
        return ws__sys_fail(ctx, errno, "find the current folder");
    *dir = ws__arena_printf(a, "%s/%s", here, *dir);
    return *dir ? 0 : WS_ENOMEM;
}

static int make_errors(struct isolate *d)
{
    d->err_fd = ws__fd_keep(
        memfd_create("wavesmith-errors", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (d->err_fd < 0 || ftruncate(d->err_fd, ERRORS_BYTES) < 0 ||
        fcntl(d->err_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return ws__sys_fail(d->ctx, errno, "make a file in memory");
    return 0;
}

/* A worker that ended before it could be asked anything had words, too. */
static void add_tail(struct isolate *d)
{
    struct ws_error err = d->ctx->err;
    char tail[TAIL_BYTES];

    read_tail(d, tail);
    if (!tail[0])
        return;
    ws__fail(d->ctx, err.code, "%.400s: %s", err.message, tail);
    d->ctx->err.signal = err.signal;
}

static int start(struct ws_ctx *ctx, const struct ws__device_ops *family,
                 const char *cache_dir, struct isolate **out)
{
    const char *env[MAX_ENV + 1];
    struct ws__arena a;
    struct isolate *d = ws__alloc(ctx, 1, sizeof(*d));
    int rc;

    if (!d)
        return WS_ENOMEM;
    d->ctx = ctx;
    d->grace_ns = ctx->worker_prefix ? BELOW_GRACE_NS : END_GRACE_NS;
    d->err_fd = d->area.fd = d->proc.sock = -1;
    ws__arena_init(&a, ctx);
    ws__buf_init(&d->out, ctx, WS__WIRE_MAX);
    ws__buf_init(&d->in, ctx, WS__WIRE_MAX);
    WS_TRY_DONE(make_errors(d));
    WS_TRY_DONE(make_env(&a, family, cache_dir, env));
    WS_TRY_DONE(ws__shm_new(ctx, WS__AREA_BYTES, &d->area));
    WS_TRY_DONE(
        ws__worker_start(ctx, WS__ROLE_DEVICE, env, d->err_fd, &d->proc));
done:
    ws__arena_free(&a);
    if (rc == WS_ECRASH)
        add_tail(d);
    if (rc < 0) {
        isolate_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

static int open_at(struct ws_ctx *ctx, const struct ws__device_ops *family,
                   uint32_t index, const char *cache_dir, void **dev)
{
    struct ws__reader r;
    struct isolate *d;
    int rc;

    WS_TRY(start(ctx, family, cache_dir, &d));
    begin(d);
    ws__put_str(&d->out, family->name);
    ws__put_u32(&d->out, index);
    ws__put_str(&d->out, cache_dir);
    rc = call(d, WS__DEV_OPEN, "opening the device", d->area.fd, OPEN_LIMIT_NS,
              &r);
    if (rc == 0) {
        ws__get_info(&r, &d->info);
        rc = check_end(d, &r, "open");
    }
    if (rc < 0) {
        isolate_close(d);
        return rc;
    }
    *dev = d;
    return 0;
}

int ws__isolate_open(struct ws_ctx *ctx, const struct ws__device_ops *family,
                     uint32_t index, const char *cache_dir, void **dev)
{
    struct ws__arena a;
    int rc;

    *dev = NULL;
    ws__arena_init(&a, ctx);
    rc = absolute(ctx, &a, &cache_dir);
    if (rc == 0)
        rc = open_at(ctx, family, index, cache_dir, dev);
    if (rc == WS_ECRASH) /* once may have been somebody's kill */
        rc = open_at(ctx, family, index, cache_dir, dev);
    ws__arena_free(&a);
    return rc;
}

static int probe_once(struct ws_ctx *ctx, const struct ws__device_ops *family,
                      struct ws__device_list *out)
{
    struct ws__device_info info;
    struct ws__reader r;
    struct isolate *d;
    int rc;

    WS_TRY(start(ctx, family, ctx->cache_dir, &d));
    begin(d);
    ws__put_str(&d->out, family->name);
    rc = call(d, WS__DEV_PROBE, "looking for devices", d->area.fd,
              OPEN_LIMIT_NS, &r);
    for (uint32_t n = rc < 0 ? 0 : ws__get_u32(&r); n && rc == 0; n--) {
        ws__get_info(&r, &info);
        rc = check_end(d, &r, "probe");
        if (rc == 0)
            rc = ws__device_list_add(ctx, out, &info);
    }
    isolate_close(d);
    return rc;
}

/* A worker that ends while it looks may have been killed by somebody: that says
 * nothing of the device, so another one looks. */
int ws__isolate_probe(struct ws_ctx *ctx, const struct ws__device_ops *family,
                      struct ws__device_list *out)
{
    size_t before = out->n;
    int rc = probe_once(ctx, family, out);

    if (rc != WS_ECRASH)
        return rc;
    out->n = before;
    return probe_once(ctx, family, out);
}

/* --- the operations ----------------------------------------------------- */

static int isolate_probe(struct ws_ctx *ctx, struct ws__device_list *out)
{
    (void)out;
    return ws__fail(ctx, WS_ENOTSUP, "'isolate' wraps another device");
}

static int isolate_plain_open(struct ws_ctx *ctx, uint32_t index,
                              const char *cache_dir, void **dev)
{
    (void)index;
    (void)cache_dir;
    *dev = NULL;
    return ws__fail(ctx, WS_ENOTSUP, "'isolate' wraps another device");
}

static const struct ws__device_info *isolate_info(void *dev)
{
    return &((struct isolate *)dev)->info;
}

/* Operations that cannot fail have no way to say that they did: a worker that
 * is lost here says so at the next one. */
static void call_quietly(struct isolate *d, enum ws__dev_msg type,
                         uint32_t handle)
{
    struct ws_error kept = d->ctx->err;
    struct ws__reader r;

    begin(d);
    ws__put_u32(&d->out, handle);
    if (!d->lost && call(d, type, "freeing", -1, d->limit_ns, &r) < 0)
        ws__log(d->ctx, WS_LOG_WARN, "%s", d->ctx->err.message);
    d->ctx->err = kept;
}

static void isolate_unload(void *dev, uint32_t module)
{
    call_quietly(dev, WS__DEV_UNLOAD, module);
}

static int isolate_build(void *dev, const struct ws__build *b,
                         struct ws__built *out)
{
    struct isolate *d = dev;
    struct ws__reader r;
    struct ws__arena a;
    int rc;

    memset(out, 0, sizeof(*out));
    begin(d);
    ws__put_build(&d->out, b);
    WS_TRY(call(d, WS__DEV_BUILD, "building", -1, d->limit_ns, &r));
    ws__arena_init(&a, d->ctx);
    rc = ws__get_built(&r, &a, out);
    ws__arena_free(&a);
    if (rc == WS_EPROTO)
        return lose(d, rc, "build", 0);
    if (rc < 0 && out->module)
        isolate_unload(d, out->module);
    if (rc < 0)
        out->module = 0;
    return rc;
}

static void isolate_release(void *dev, uint32_t buffer)
{
    call_quietly(dev, WS__DEV_RELEASE, buffer);
}

static int isolate_alloc(void *dev, uint64_t bytes, uint32_t guard,
                         uint32_t shift, uint32_t *buffer)
{
    struct isolate *d = dev;
    struct ws__reader r;

    *buffer = 0;
    begin(d);
    ws__put_u64(&d->out, bytes);
    ws__put_u32(&d->out, guard);
    ws__put_u32(&d->out, shift);
    WS_TRY(call(d, WS__DEV_ALLOC, "allocating", -1, d->limit_ns, &r));
    *buffer = ws__get_u32(&r);
    return check_end(d, &r, "alloc");
}

static void put_span(struct isolate *d, uint32_t buffer, uint64_t offset,
                     uint64_t bytes)
{
    begin(d);
    ws__put_u32(&d->out, buffer);
    ws__put_u64(&d->out, offset);
    ws__put_u64(&d->out, bytes);
}

static void *bounce(struct isolate *d)
{
    return (char *)d->area.p + WS__AREA_WORDS;
}

static uint64_t chunk(uint64_t left)
{
    return left < WS__AREA_BOUNCE ? left : WS__AREA_BOUNCE;
}

static int isolate_write(void *dev, uint32_t buffer, uint64_t offset,
                         const void *p, uint64_t bytes)
{
    struct isolate *d = dev;
    const char *from = p;
    struct ws__reader r;

    do {
        uint64_t n = chunk(bytes);

        if (n)
            memcpy(bounce(d), from, n);
        put_span(d, buffer, offset, n);
        WS_TRY(call(d, WS__DEV_WRITE, "writing", -1, d->limit_ns, &r));
        from += n;
        offset += n;
        bytes -= n;
    } while (bytes);
    return 0;
}

static int isolate_read(void *dev, uint32_t buffer, uint64_t offset, void *p,
                        uint64_t bytes)
{
    struct isolate *d = dev;
    char *to = p;
    struct ws__reader r;

    do {
        uint64_t n = chunk(bytes);

        put_span(d, buffer, offset, n);
        WS_TRY(call(d, WS__DEV_READ, "reading", -1, d->limit_ns, &r));
        if (n)
            memcpy(to, bounce(d), n);
        to += n;
        offset += n;
        bytes -= n;
    } while (bytes);
    return 0;
}

static int isolate_fill(void *dev, uint32_t buffer, uint32_t pattern)
{
    struct isolate *d = dev;
    struct ws__reader r;

    begin(d);
    ws__put_u32(&d->out, buffer);
    ws__put_u32(&d->out, pattern);
    return call(d, WS__DEV_FILL, "filling", -1, d->limit_ns, &r);
}

static int isolate_copy(void *dev, uint32_t to, uint32_t from)
{
    struct isolate *d = dev;
    struct ws__reader r;

    begin(d);
    ws__put_u32(&d->out, to);
    ws__put_u32(&d->out, from);
    return call(d, WS__DEV_COPY, "copying", -1, d->limit_ns, &r);
}

static int isolate_hash(void *dev, uint32_t buffer, uint64_t *out)
{
    struct isolate *d = dev;
    struct ws__reader r;

    begin(d);
    ws__put_u32(&d->out, buffer);
    WS_TRY(call(d, WS__DEV_HASH, "hashing", -1, d->limit_ns, &r));
    *out = ws__get_u64(&r);
    return check_end(d, &r, "hash");
}

static int isolate_guard(void *dev, uint32_t buffer, int64_t *offset)
{
    struct isolate *d = dev;
    struct ws__reader r;
    uint32_t damaged;

    begin(d);
    ws__put_u32(&d->out, buffer);
    WS_TRY(call(d, WS__DEV_GUARD, "checking a guard", -1, d->limit_ns, &r));
    damaged = ws__get_u32(&r);
    *offset = (int64_t)ws__get_u64(&r);
    WS_TRY(check_end(d, &r, "guard"));
    return damaged ? 1 : 0;
}

static int isolate_run(void *dev, const struct ws__dev_batch *b,
                       struct ws__dev_sample *samples, size_t *n)
{
    struct isolate *d = dev;
    struct ws__reader r;
    const void *p;
    size_t bytes;

    *n = 0;
    begin(d);
    ws__put_batch(&d->out, b);
    WS_TRY(call(d, WS__DEV_RUN, "running", -1, d->limit_ns, &r));
    p = ws__get_blob(&r, &bytes);
    if (bytes % sizeof(*samples) ||
        bytes / sizeof(*samples) > (uint64_t)b->rounds * b->nprog)
        r.bad = true;
    WS_TRY(check_end(d, &r, "run"));
    if (bytes)
        memcpy(samples, p, bytes);
    *n = bytes / sizeof(*samples);
    return 0;
}

/* Names and counts come from another process. */
static bool is_sound(struct ws__entry_info *e)
{
    e->name[sizeof(e->name) - 1] = '\0';
    for (size_t i = 0; i < WS__MAX_ARGS; i++) {
        e->arg[i].name[sizeof(e->arg[i].name) - 1] = '\0';
        e->arg[i].type[sizeof(e->arg[i].type) - 1] = '\0';
    }
    return e->narg <= WS__MAX_ARGS;
}

static int isolate_describe(void *dev, const struct ws__build *b,
                            struct ws__entry_info **list, size_t *n)
{
    struct isolate *d = dev;
    struct ws__reader r;
    const void *p;
    size_t bytes;

    *list = NULL;
    *n = 0;
    begin(d);
    ws__put_build(&d->out, b);
    WS_TRY(
        call(d, WS__DEV_DESCRIBE, "describing a source", -1, d->limit_ns, &r));
    p = ws__get_blob(&r, &bytes);
    if (bytes % sizeof(**list))
        r.bad = true;
    WS_TRY(check_end(d, &r, "describe"));
    *list = ws__alloc(d->ctx, bytes ? bytes : 1, 1);
    if (!*list)
        return WS_ENOMEM;
    if (bytes)
        memcpy(*list, p, bytes);
    *n = bytes / sizeof(**list);
    for (size_t i = 0; i < *n; i++)
        r.bad = r.bad || !is_sound(&(*list)[i]);
    if (!r.bad)
        return 0;
    ws__free(d->ctx, *list);
    *list = NULL;
    *n = 0;
    return check_end(d, &r, "describe");
}

/* Of another process: as many as were asked for, each a number or missing. */
static int take_counts(struct isolate *d, struct ws__reader *r, double *value,
                       size_t n, uint32_t *passes)
{
    size_t bytes;
    const void *p;

    *passes = ws__get_u32(r);
    p = ws__get_blob(r, &bytes);
    if (bytes != n * sizeof(*value))
        r->bad = true;
    if (!r->bad && bytes)
        memcpy(value, p, bytes);
    for (size_t i = 0; !r->bad && i < n; i++)
        r->bad = isinf(value[i]) || (!*passes && !isnan(value[i]));
    return check_end(d, r, "count");
}

static int isolate_count(void *dev, const struct ws__dev_seq *seq,
                         uint64_t flush_bytes, const char *const *metric,
                         size_t n, double *value, uint32_t *passes)
{
    const struct ws__dev_count c = {*seq, flush_bytes, metric, n};
    struct isolate *d = dev;
    struct ws__reader r;
    int rc;

    *passes = 0;
    begin(d);
    ws__put_count(&d->out, &c);
    rc = call(d, WS__DEV_COUNT, "counting", -1, d->limit_ns, &r);
    if (rc == 0)
        rc = take_counts(d, &r, value, n * seq->nlaunch, passes);
    if (rc == 0)
        return 0;
    *passes = 0;
    for (size_t i = 0; i < n * seq->nlaunch; i++)
        value[i] = NAN;
    return rc;
}

/* Of another process: a kind there is, a place that it may name. */
static int take_touch(struct isolate *d, struct ws__reader *r,
                      struct ws__dev_touch *out)
{
    size_t bytes;
    const void *p = ws__get_blob(r, &bytes);
    int kind;

    if (bytes != sizeof(*out))
        r->bad = true;
    if (!r->bad) {
        memcpy(out, p, sizeof(*out));
        memcpy(&kind, &out->kind, sizeof(kind));
        r->bad = kind < WS__TOUCH_NONE || kind > WS__TOUCH_SOME;
    }
    return check_end(d, r, "watch");
}

static int isolate_watch(void *dev, const struct ws__dev_seq *seq,
                         const uint32_t *input, size_t ninput,
                         struct ws__dev_touch *out)
{
    const struct ws__dev_watch w = {*seq, input, ninput};
    struct isolate *d = dev;
    struct ws__reader r;
    int rc;

    begin(d);
    ws__put_watch(&d->out, &w);
    rc = call(d, WS__DEV_WATCH, "a launch", -1, d->limit_ns, &r);
    if (rc == 0)
        rc = take_touch(d, &r, out);
    if (rc < 0)
        memset(out, 0, sizeof(*out));
    return rc;
}

static void isolate_set_limit(void *dev, uint64_t ns)
{
    ((struct isolate *)dev)->limit_ns = ns;
}

const struct ws__device_ops ws__device_isolate = {
    .abi = WS__DEVICE_ABI,
    .name = "isolate",
    .about = "another device in a process of its own",
    .probe = isolate_probe,
    .open = isolate_plain_open,
    .close = isolate_close,
    .info = isolate_info,
    .build = isolate_build,
    .unload = isolate_unload,
    .alloc = isolate_alloc,
    .release = isolate_release,
    .write = isolate_write,
    .read = isolate_read,
    .fill = isolate_fill,
    .copy = isolate_copy,
    .hash = isolate_hash,
    .guard = isolate_guard,
    .run = isolate_run,
    .set_limit = isolate_set_limit,
    .describe = isolate_describe,
    .count = isolate_count,
    .watch = isolate_watch,
};
