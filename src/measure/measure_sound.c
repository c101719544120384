/*
 * measure_sound.c: is a failure the candidate's, or the machine's?
 *
 * Verdicts are stored for ever, so the machine's troubles must not become
 * verdicts. A compiler that cannot write its cache reports that a kernel does
 * not compile; a worker that the system killed looks like one that crashed.
 *
 * So after a build that failed a trivial kernel is built on the same device:
 * at the first failure of a session, and whenever the compiler's words do not
 * point at a place in the source. Its text is new every time, or a cache would
 * answer. If that fails, too, nothing is said about the candidate.
 */
#include "measure/measure_int.h"

#include <ctype.h>
#include <signal.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/fs.h"

#include "base/banned.h"

#define CACHE_ROOM (16ull << 20) /* bytes: what few kernels take */

/* ---- the cache folder --------------------------------------------------- */

static int full(struct ws_ctx *ctx, const char *what)
{
    ws__fail(ctx, WS_EFULL, "no %s left for the cache folder '%s'", what,
             ctx->cache_dir);
    return ws__hint(ctx, "make room there, or have the cache elsewhere "
                         "(WAVESMITH_CACHE)");
}

int ws__measure_check_cache(struct ws_ctx *ctx)
{
    const char *dir = ctx->cache_dir;
    struct statvfs v;

    if (!dir || !ws__fs_is_dir(dir)) /* drivers make one when they need it */
        return 0;
    if (ws__fs_can_create(ctx, dir) < 0) {
        ws__fail(ctx, WS_EACCES, "cannot write to the cache folder '%s'", dir);
        return ws__hint(ctx, "make it writable, or have the cache elsewhere "
                             "(WAVESMITH_CACHE)");
    }
    if (statvfs(dir, &v) < 0)
        return 0;
    if ((uint64_t)v.f_bavail * v.f_frsize < CACHE_ROOM)
        return full(ctx, "space");
    return v.f_files && !v.f_favail ? full(ctx, "files") : 0;
}

/* ---- the worker --------------------------------------------------------- */

bool ws__measure_killed(const struct ws_ctx *ctx, int rc)
{
    int sig = ctx->err.signal;

    return rc == WS_ECRASH &&
           (sig == SIGKILL || sig == SIGTERM || sig == SIGINT);
}

/* ---- the compiler ------------------------------------------------------- */

/* "12:5: error", "(12): error", "line 12: error": a place in the source. */
static bool names_a_place(const char *words)
{
    const char *p = words;

    while ((p = strstr(p, "error"))) {
        const char *q = p;

        if (p - words >= 6 && !strncmp(p - 6, "fatal ", 6))
            q -= 6;
        while (q > words && strchr(": )", q[-1]))
            q--;
        if (q < p && q > words && isdigit((unsigned char)q[-1]))
            return true;
        p++;
    }
    return false;
}

static const char *trivial_body(const char *family, enum ws__dialect *d)
{
    *d = WS__DIALECT_OPENCL;
    if (!strcmp(family, "opencl"))
        return "__kernel void ws_probe(__global int *p) { p[0] = 1; }";
    if (!strcmp(family, "null"))
        return "kernel ws_probe";
    *d = WS__DIALECT_CUDA;
    if (!strcmp(family, "cuda"))
        return "extern \"C\" __global__ void ws_probe(int *p) { p[0] = 1; }";
    return NULL;
}

static int build_trivial(struct ws__measure *m, struct ws__device *d,
                         uint64_t number)
{
    static const uint64_t bytes = 64;
    static const char *const entry = "ws_probe";
    struct ws__plan_launch hint = {.entry = entry,
                                   .grid = {1, 1, 1},
                                   .block = {1, 1, 1},
                                   .narg = 1};
    struct ws__build b = {.entry = &entry,
                          .nentry = 1,
                          .hint = &hint,
                          .nhint = 1,
                          .rehearse = m->info.id.is_cpu,
                          .compile_only = d != &m->dev && !m->info.id.is_cpu,
                          .tensor_bytes = &bytes,
                          .ntensor = 1};
    const char *body = trivial_body(m->info.id.family, &b.dialect);
    struct ws__built built = {0};
    char text[200];
    int rc;

    if (!body)
        return 0;
    hint.arg[0].kind = WS__ARG_TENSOR;
    snprintf(text, sizeof(text), "#define WS_PROBE %llu%llu\n%s\n",
             (unsigned long long)(d->ops->clock ? ws__device_clock(d)
                                                : ws__wall_ns()),
             (unsigned long long)number, body);
    b.source = text;
    if (d->ops->set_limit)
        d->ops->set_limit(d->self, m->opts.build_limit_ns);
    rc = d->ops->build(d->self, &b, &built);
    if (rc >= 0 && built.module)
        d->ops->unload(d->self, built.module);
    ws__built_free(m->ctx, &built);
    return rc;
}

static bool is_suspect(struct ws__measure *m, const struct ws_ctx *ctx, int rc)
{
    bool sound;

    if (rc == WS_ENOMEM || rc == WS_ECANCEL || rc == WS_ETIMEOUT ||
        rc == WS_ENOTSUP)
        return false;
    pthread_mutex_lock(&m->lock);
    sound = m->sound;
    pthread_mutex_unlock(&m->lock);
    return !sound || rc != WS_EBUILD || !names_a_place(ctx->err.message);
}

int ws__measure_sound(struct ws__measure *m, struct ws_ctx *ctx,
                      struct ws__device *d, int rc)
{
    struct ws_error err = ctx->err, why;
    uint64_t number;
    int now;

    if (!is_suspect(m, ctx, rc))
        return 0;
    pthread_mutex_lock(&m->lock);
    number = m->probes++;
    pthread_mutex_unlock(&m->lock);
    now = build_trivial(m, d, number);
    if (now >= 0) {
        pthread_mutex_lock(&m->lock);
        m->sound = true;
        pthread_mutex_unlock(&m->lock);
        ctx->err = err;
        return 0;
    }
    why = ctx->err;
    if (now == WS_ENOMEM || now == WS_ECANCEL || ws__measure_kills(now))
        return now;
    WS_TRY(ws__measure_check_cache(ctx));
    ws__fail(ctx, WS_EDEVICE,
             "device '%s' does not build even a trivial kernel: %.800s",
             m->info.name, why.message);
    return ws__hint(ctx,
                    "see whether the cache folder '%s' has space and can be "
                    "written to, and whether the driver is complete",
                    ctx->cache_dir ? ctx->cache_dir : "of the driver");
}
