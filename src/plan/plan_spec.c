/*
 * plan_spec.c: specifications at the public interface, and the small
 * look-ups (kernel by name, workload by name or axes) every command shares.
 */
#include "plan/plan.h"

#include <stdlib.h>

#include "base/fs.h"
#include "plan/plan_roof.h"
#include "profile/profile.h"
#include "wsrt_format.h"
#include "base/banned.h"

int ws__plan_wrap(struct ws_ctx *ctx, struct ws__spec *s, const char *project,
                  struct ws_spec **out)
{
    struct ws_spec *w = ws__alloc(ctx, 1, sizeof(*w));

    if (w)
        w->project = project ? ws__strdup(ctx, project)
                             : ws__path_join(ctx, s->dir, ".wavesmith");
    if (!w || !w->project) {
        ws__free(ctx, w);
        ws__spec_free(s);
        return WS_ENOMEM;
    }
    w->ctx = ctx;
    w->s = s;
    ws__arena_init(&w->arena, ctx);
    *out = w;
    return 0;
}

/* A name without a slash that is no file here may be a shipped operator. */
static int shipped_path(struct ws_ctx *ctx, const char *name, char **out)
{
    char *share, *ops;

    *out = NULL;
    if (!*name || strchr(name, '/') || ws__fs_exists(name))
        return 0;
    if (ws__share_dir(ctx, &share) < 0) {
        ws__error_clear(ctx);
        return 0;
    }
    ops = ws__path_join(ctx, share, "ops");
    *out = ops ? ws__path_join(ctx, ops, name) : NULL;
    ws__free(ctx, ops);
    ws__free(ctx, share);
    if (!*out)
        return WS_ENOMEM;
    if (!ws__fs_is_dir(*out)) {
        ws__free(ctx, *out);
        *out = NULL;
    }
    return 0;
}

int ws_spec_open_with(struct ws_ctx *ctx, const struct ws_spec_open_opts *opts,
                      struct ws_spec **out)
{
    struct ws__spec_opts o = {.share_dir = ctx->share_dir};
    struct ws__spec *s = NULL;
    char *shipped;
    int rc;

    *out = NULL;
    if (!opts || !opts->path)
        return ws__fail(ctx, WS_EINVAL, "no specification is named");
    o.workloads = opts->workloads;
    o.kernels = opts->kernels;
    o.nkernels = opts->nkernels;
    o.uncompiled =
        opts->size > offsetof(struct ws_spec_open_opts, uncompiled) &&
        opts->uncompiled;
    WS_TRY(shipped_path(ctx, opts->path, &shipped));
    rc = ws__spec_load(ctx, shipped ? shipped : opts->path, &o, &s);
    /* What is shipped is shared, and a data set is somebody's: the project lies
     * where the user is. */
    if (!rc)
        rc = ws__plan_wrap(ctx, s,
                           shipped || s->definition ? ".wavesmith" : NULL, out);
    ws__free(ctx, shipped);
    return rc;
}

int ws_spec_open(struct ws_ctx *ctx, const char *path, const char *workloads,
                 struct ws_spec **out)
{
    struct ws_spec_open_opts o = {.size = sizeof(o),
                                  .path = path,
                                  .workloads = workloads};

    return ws_spec_open_with(ctx, &o, out);
}

void ws_spec_free(struct ws_spec *spec)
{
    if (!spec)
        return;
    ws__arena_free(&spec->arena);
    ws__spec_free(spec->s);
    ws__free(spec->ctx, spec->project);
    ws__free(spec->ctx, spec);
}

size_t ws_spec_kernel_count(const struct ws_spec *spec)
{
    return spec->s->nkernel;
}

size_t ws_spec_workload_count(const struct ws_spec *spec)
{
    return spec->s->nworkload;
}

const char *ws_spec_kernel_name(const struct ws_spec *spec, size_t i)
{
    return i < spec->s->nkernel ? spec->s->kernel[i].name : NULL;
}

const char *ws_spec_project(const struct ws_spec *spec)
{
    return spec->project;
}

int ws__plan_cache_mode(struct ws_ctx *ctx, const char *text,
                        enum ws__cache_mode *out)
{
    *out = WS__CACHE_DEFAULT;
    if (!text)
        return 0;
    if (!strcmp(text, "cold"))
        *out = WS__CACHE_COLD;
    else if (!strcmp(text, "warm"))
        *out = WS__CACHE_WARM;
    else {
        ws__fail(ctx, WS_EINVAL, "unknown cache mode '%s'", text);
        return ws__hint(ctx, "cold or warm");
    }
    return 0;
}

int ws__plan_kernel(struct ws_spec *spec, const char *name, size_t *out)
{
    struct ws__buf names;

    *out = 0;
    if (!name)
        return 0;
    for (size_t i = 0; i < spec->s->nkernel; i++)
        if (!strcmp(spec->s->kernel[i].name, name)) {
            *out = i;
            return 0;
        }
    ws__fail(spec->ctx, WS_EINVAL, "no kernel '%s' in '%s'", name,
             spec->s->path);
    ws__buf_init(&names, spec->ctx, 400);
    for (size_t i = 0; i < spec->s->nkernel; i++)
        ws__buf_printf(&names, "%s%s", i ? ", " : "", spec->s->kernel[i].name);
    ws__fail(spec->ctx, WS_EINVAL, "no kernel '%s' in '%s'", name,
             spec->s->path);
    ws__hint(spec->ctx, "one of: %s", names.data ? names.data : "");
    ws__buf_free(&names);
    return WS_EINVAL;
}

int ws__plan_workload(struct ws_spec *spec, const char *text,
                      struct ws__workload *out)
{
    struct ws__spec *s = spec->s;

    if (!text) {
        if (!s->nworkload) {
            ws__fail(spec->ctx, WS_EINVAL, "'%s' names no workloads", s->path);
            return ws__hint(spec->ctx,
                            "say which: --workload axis=value,..., or give "
                            "a file of them: --workloads FILE");
        }
        *out = s->workload[0];
        return 0;
    }
    for (size_t i = 0; i < s->nworkload; i++)
        if (s->workload[i].name && !strcmp(s->workload[i].name, text)) {
            *out = s->workload[i];
            return 0;
        }
    return ws__spec_workload(s, text, out);
}

int ws__plan_need_op(struct ws_spec *spec, const char *command)
{
    struct ws__spec *s = spec->s;

    if (s->kind == WS__SPEC_T1 || !s->op) {
        ws__fail(spec->ctx, WS_EINVAL,
                 "cannot %s '%s': a T1 file describes a space, not an "
                 "operator that could be run",
                 command, s->path);
        return ws__hint(spec->ctx, "give a kernel file or an op folder; "
                                   "'wavesmith space' and 'tune "
                                   "--recordings' read T1 files");
    }
    if (!s->nkernel) {
        ws__fail(spec->ctx, WS_EINVAL, "cannot %s '%s': it has no kernels",
                 command, s->path);
        return ws__hint(spec->ctx,
                        s->definition
                            ? "give a kernel file: --kernel FILE"
                            : "give a kernel file, or put kernel files into "
                              "the folder kernels/ beside the op");
    }
    return 0;
}

/* Nothing of the machine's lack is a fault of the kernels. */
static int no_dialect(struct ws_spec *spec, const struct ws__device_info *d,
                      uint32_t dialects)
{
    const struct ws__kernel *k = &spec->s->kernel[0];
    char takes[128] = "";

    for (int i = 0; i <= WS__DIALECT_CUBIN; i++)
        if (dialects >> i & 1)
            snprintf(takes + strlen(takes), sizeof(takes) - strlen(takes),
                     "%s%s", *takes ? ", " : "",
                     ws__dialect_name((enum ws__dialect)i));
    ws__fail(spec->ctx, WS_ENODEVICE,
             "kernel '%s' has the dialect '%s', which device '%s' does not "
             "take",
             k->name, ws__dialect_name(k->dialect), d->name);
    return ws__hint(spec->ctx,
                    "it takes %s; 'wavesmith devices' lists what there is, "
                    "and why others cannot be used",
                    takes);
}

int ws__plan_bind(struct ws_spec *spec, struct ws__measure *m)
{
    const struct ws__device_info *d = ws__measure_device(m);
    const struct ws__device_ops *ops = ws__device_find(d->id.family);
    bool any = !ops || !ops->dialects;

    for (size_t i = 0; i < spec->s->nkernel; i++) {
        struct ws__kernel *k = &spec->s->kernel[i];

        ws__kernel_bind(k, d->id.is_cpu);
        any = any || (ops->dialects >> ws__dialect_built(k->dialect) & 1);
    }
    return any ? 0 : no_dialect(spec, d, ops->dialects);
}

/* A kernel without one is a space that recordings know. */
static int need_sources(struct ws_spec *spec)
{
    for (size_t k = 0; k < spec->s->nkernel; k++) {
        if (spec->s->kernel[k].source)
            continue;
        ws__fail(spec->ctx, WS_EINVAL, "kernel '%s' has no source to run",
                 spec->s->kernel[k].name);
        return ws__hint(spec->ctx, "'wavesmith tune --recordings FILE' "
                                   "searches in results on record");
    }
    return 0;
}

/* "s.db-wal" beside "s.db", and the store itself. */
static bool is_of_store(const char *path, const char *store)
{
    static const char *const end[] = {"", "-wal", "-shm", "-journal"};
    size_t n = store ? strlen(store) : 0;

    for (size_t i = 0; store && i < WS_COUNT(end); i++)
        if (!strncmp(path, store, n) && !strcmp(path + n, end[i]))
            return true;
    return false;
}

int ws__plan_may_replace(struct ws_ctx *ctx, const char *path, bool pack,
                         const char *store)
{
    char head[512] = "";
    size_t n = ws__fs_head(path, head, sizeof(head) - 1);
    bool known = pack ? !strncmp(head, WSRT_MAGIC, WSRT_MAGIC_STEM)
                      : *head == '{' || strstr(head, "time_ns");

    if (is_of_store(path, store)) {
        ws__fail(ctx, WS_EINVAL, "'%s' is the store's own file", path);
        return ws__hint(ctx, "name another file");
    }
    if (!n || known)
        return 0;
    ws__fail(ctx, WS_EINVAL, "'%s' is there and is no %s: it is not replaced",
             path, pack ? "pack" : "export");
    return ws__hint(ctx, "name another file, or remove it first");
}

static int launch_mode(struct ws_ctx *ctx, const char *text, bool *graph)
{
    *graph = text && !strcmp(text, "graph");
    if (!text || *graph || !strcmp(text, "stream"))
        return 0;
    ws__fail(ctx, WS_EINVAL, "unknown launch mode '%s'", text);
    return ws__hint(ctx, "stream or graph");
}

static int roof_of(struct ws_ctx *ctx, const struct ws__identity *id,
                   struct ws__roof *out)
{
    char why[512];

    WS_TRY(ws__plan_roof(ctx, id, out, why));
    if (out->quick) /* too rough to tell what is too fast */
        ws__roof_of_sheet(id, out);
    return 0;
}

int ws__plan_measure_opts(struct ws_spec *spec, const char *cache,
                          const char *launch, struct ws__measure_opts *o)
{
    struct ws_ctx *ctx = spec->ctx;

    WS_TRY(need_sources(spec));
    WS_TRY(ws__plan_cache_mode(ctx, cache, &o->cache));
    WS_TRY(launch_mode(ctx, launch, &o->graph));
    WS_TRY(ws__reference_allowed(ctx, spec->s->op, o->trust_python));
    o->roof = roof_of;
    if (!ctx->cache_dir) {
        ctx->cache_dir = ws__path_join(ctx, spec->project, "cache");
        if (!ctx->cache_dir)
            return WS_ENOMEM;
    }
    WS_TRY(ws__fs_mkdirs(ctx, ctx->cache_dir));
    if (ws__fs_can_create(ctx, ctx->cache_dir) < 0) {
        ws__error_prefix(ctx, "the driver cannot keep compiled kernels");
        return ws__hint(ctx, "make it writable, or name another folder in "
                             "WAVESMITH_CACHE");
    }
    return 0;
}
