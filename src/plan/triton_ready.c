/*
 * triton_ready.c: kernels in Triton, compiled when they are asked for.
 *
 * A forge makes kernels whose spaces nobody will look at as a whole, so their
 * files are not compiled ahead as 'wavesmith compile' does it: what a launch
 * needs is compiled before it, into memory, by the same worker under the same
 * rules. While it is at it, processors that have nothing to do compile what
 * will be asked for next: the config on the other workloads, the other value of
 * bools that shapes decide, and other values of one parameter.
 *
 * The compiler has the text of one kernel; it is started anew for another one.
 */
#include "plan/plan_triton.h"

#include <unistd.h>

#include "base/cpus.h"
#include "base/fs.h"
#include "core/cubin.h"

#include "base/banned.h"

#define MAX_KEYS 256 /* of one time */
#define MAX_JOBS 16  /* compilers take some hundred MB each */
#define LIMIT_S 120  /* to compile a file */
#define MAX_THREADS 1024u
#define MAX_SHARED (1u << 24)

struct wanted {
    struct ws__triton_ready *r;
    const struct ws__kernel *k;
    const char *key[MAX_KEYS];
    size_t n, max;
};

/* --- what is wanted ------------------------------------------------------- */

static int want(struct wanted *w, const char *key)
{
    if (ws__triton_file(w->k, key))
        return 0;
    for (size_t i = 0; i < w->n; i++)
        if (!strcmp(w->key[i], key))
            return 0;
    if (w->n >= w->max)
        return 0;
    w->key[w->n] = ws__arena_strdup(&w->r->spec->arena, key);
    return w->key[w->n++] ? 0 : WS_ENOMEM;
}

/* With every value of the bools that shapes decide, or as they are. What has no
 * key here is told when it is launched. */
static int want_launches(struct wanted *w, const union wsrt_value *vars,
                         bool flips)
{
    struct ws_ctx *ctx = w->r->spec->ctx;
    char key[WS__MAX_TRITON_KEY];

    for (size_t i = 0; i < w->k->nlaunch; i++) {
        const struct ws__launch *l = &w->k->launch[i];
        uint32_t both = 0, flip = 0;

        if (!ws__triton_may_run(w->k, l, vars))
            continue;
        for (size_t m = 0; flips && m < l->nmeta; m++)
            both |= l->meta[m].both ? 1u << m : 0;
        do {
            int rc = ws__triton_key(ctx, w->k, l, vars, flip, key);

            if (rc == WS_ENOMEM)
                return rc;
            if (rc < 0)
                break;
            WS_TRY(want(w, key));
            flip = (flip - both) & both; /* the next subset of `both` */
        } while (flip);
    }
    ws__error_clear(ctx);
    return 0;
}

static bool is_valid(const struct ws__kernel *k, const union wsrt_value *vars)
{
    for (size_t i = 0; i < k->nconstraint; i++)
        if (ws__expr_test(k->constraint[i].expr, vars) != 1)
            return false;
    return true;
}

/* The values on another workload. */
static int want_workload(struct wanted *w, const struct ws__workload *work,
                         const union wsrt_value *vars)
{
    struct ws_spec *spec = w->r->spec;
    union wsrt_value other[WS__MAX_SLOTS];
    struct ws__instance *in = ws__alloc(spec->ctx, 1, sizeof(*in));
    int rc = in ? 0 : WS_ENOMEM;

    if (rc >= 0)
        rc = ws__instance_make(spec->ctx, spec->s->op, work, in);
    if (rc >= 0) {
        memcpy(other, vars, sizeof(other));
        for (size_t a = 0; a < spec->s->op->naxis; a++)
            other[a] = in->vars[a];
        rc = is_valid(w->k, other) ? want_launches(w, other, true) : 0;
    }
    ws__free(spec->ctx, in);
    return rc;
}

static int want_values(struct wanted *w, const union wsrt_value *vars)
{
    union wsrt_value other[WS__MAX_SLOTS];

    for (size_t p = 0; p < w->k->nparam; p++)
        for (size_t v = 0; v < w->k->param[p].nvalue && w->n < w->max; v++) {
            memcpy(other, vars, sizeof(other));
            other[ws__kernel_param_slot(w->k, p)] = w->k->param[p].slot[v];
            if (is_valid(w->k, other))
                WS_TRY(want_launches(w, other, false));
        }
    return 0;
}

/* What is needed now; if that is anything, as much besides (`extra`) as there
 * are processors. */
static int want_all(struct wanted *w, const union wsrt_value *vars, bool extra)
{
    const struct ws__spec *s = w->r->spec->s;

    w->max = MAX_KEYS;
    WS_TRY(want_launches(w, vars, false));
    if (!w->n || !extra)
        return 0;
    w->max = w->r->jobs;
    for (size_t i = 0; i < s->nworkload && w->n < w->max; i++)
        WS_TRY(want_workload(w, &s->workload[i], vars));
    return want_values(w, vars);
}

/* --- compiling ------------------------------------------------------------ */

static void stop(struct ws__triton_ready *r)
{
    if (r->of >= 0)
        ws__compiler_stop(&r->compiler);
    r->of = -1;
}

static int start(struct ws__triton_ready *r, size_t kernel)
{
    struct ws_ctx *ctx = r->spec->ctx;

    if (r->of == (long)kernel)
        return 0;
    stop(r);
    WS_TRY(ws__compiler_start(ctx, &r->spec->s->kernel[kernel], r->target,
                              r->work, r->jobs, LIMIT_S, &r->compiler));
    r->of = (long)kernel;
    if (!*r->version)
        snprintf(r->version, sizeof(r->version), "%s", r->compiler.version);
    if (strcmp(r->version, r->compiler.version) != 0)
        return ws__fail(ctx, WS_EVERSION,
                        "Triton was %s when the run began, and is %s now",
                        r->version, r->compiler.version);
    return 0;
}

/* The kernel's files with one more among them: those that somebody points to
 * stay where they are. */
static int add_file(struct ws__triton_ready *r, struct ws__kernel *k,
                    const struct ws__source_file *f)
{
    struct ws__source_file *all =
        ws__arena_alloc(&r->spec->arena, k->nready + 1, sizeof(*all));
    size_t at = 0;

    if (!all)
        return WS_ENOMEM;
    while (at < k->nready && strcmp(k->ready[at].key, f->key) < 0)
        at++;
    if (at)
        memcpy(all, k->ready, at * sizeof(*all));
    all[at] = *f;
    if (at < k->nready)
        memcpy(all + at + 1, k->ready + at, (k->nready - at) * sizeof(*all));
    k->ready = all;
    k->nready++;
    return 0;
}

/* Within what readers of an index rely on. */
static bool is_launch(const struct ws__source_file *f)
{
    return *f->entry && strlen(f->entry) < WS__MAX_ENTRY && f->threads &&
           f->threads <= MAX_THREADS && f->shared_bytes <= MAX_SHARED &&
           f->nulls <= WS__MAX_NULLS;
}

static int take(struct ws__triton_ready *r, struct ws__kernel *k,
                const char *key, const struct ws__compiled *c)
{
    struct ws__source_file f;
    const char *why;
    char *data;

    WS_TRY(ws__compiled_file(&r->spec->arena, key, c, &f));
    if (!f.failed) {
        data = ws__arena_alloc(&r->spec->arena, c->bytes + 1, 1);
        if (!data)
            return WS_ENOMEM;
        memcpy(data, c->cubin, c->bytes);
        f.data = data;
        why = ws__cubin_lacks(data, f.bytes, f.entry);
        if (why || !is_launch(&f))
            return ws__fail(r->spec->ctx, WS_EPROTO,
                            "the compiler answers nonsense: %s",
                            why ? why : "it cannot be launched");
    }
    return add_file(r, k, &f);
}

static int compile(struct ws__triton_ready *r, struct ws__kernel *k,
                   struct wanted *w)
{
    struct ws__compiled c;
    size_t i;
    int rc;

    WS_TRY(ws__compiler_send(&r->compiler, w->key, w->n));
    while ((rc = ws__compiler_next(&r->compiler, w->n, &i, &c)) > 0) {
        if (!w->key[i])
            return ws__fail(r->spec->ctx, WS_EPROTO,
                            "the compiler answers the same twice");
        WS_TRY(take(r, k, w->key[i], &c));
        w->key[i] = NULL;
    }
    return rc;
}

/* What is needed; `extra`: and what will be. */
static int attempt(struct ws__triton_ready *r, size_t kernel,
                   const union wsrt_value *vars, bool extra)
{
    struct ws__kernel *k = &r->spec->s->kernel[kernel];
    struct wanted *w = ws__alloc(r->spec->ctx, 1, sizeof(*w));
    int rc = w ? 0 : WS_ENOMEM;

    if (rc >= 0) {
        w->r = r;
        w->k = k;
        rc = want_all(w, vars, extra);
    }
    if (rc >= 0 && w->n) {
        rc = start(r, kernel);
        if (rc >= 0)
            rc = compile(r, k, w);
        if (rc < 0)
            stop(r); /* it may be in the middle of an answer */
    }
    ws__free(r->spec->ctx, w);
    return rc < 0 ? rc : 0;
}

/* A text that Python cannot load, or that makes the compiler end or talk
 * nonsense, has no files, and that is no error of a run that tried it. */
static int refuse(struct ws__triton_ready *r, size_t kernel,
                  const union wsrt_value *vars)
{
    struct ws_ctx *ctx = r->spec->ctx;
    struct ws__kernel *k = &r->spec->s->kernel[kernel];
    struct wanted *w = ws__alloc(ctx, 1, sizeof(*w));
    struct ws__compiled c = {0};
    char words[500];
    int rc = w ? 0 : WS_ENOMEM;

    snprintf(words, sizeof(words), "%.490s", ctx->err.message);
    ws__error_clear(ctx);
    c.failed = words;
    if (rc >= 0) {
        w->r = r;
        w->k = k;
        rc = want_all(w, vars, false);
    }
    for (size_t i = 0; rc >= 0 && i < w->n; i++)
        rc = take(r, k, w->key[i], &c);
    ws__free(ctx, w);
    return rc;
}

static bool is_its_fault(int rc)
{
    return rc == WS_EREFERENCE || rc == WS_EPROTO;
}

int ws__triton_ready_make(struct ws__triton_ready *r, size_t kernel,
                          const union wsrt_value *vars)
{
    struct ws__kernel *k = &r->spec->s->kernel[kernel];
    int rc = attempt(r, kernel, vars, true);

    if (is_its_fault(rc)) { /* or memory was short */
        ws__error_clear(r->spec->ctx);
        rc = attempt(r, kernel, vars, false);
    }
    if (is_its_fault(rc))
        rc = refuse(r, kernel, vars);
    if (rc >= 0 && !k->triton) {
        k->triton =
            ws__arena_printf(&r->spec->arena, "%s %s", r->version, r->target);
        rc = k->triton ? 0 : WS_ENOMEM;
    }
    return rc;
}

/* --- opening -------------------------------------------------------------- */

static int make_work(struct ws__triton_ready *r)
{
    struct ws_spec *spec = r->spec;
    char name[40];

    WS_TRY(ws__fs_mkdirs(spec->ctx, spec->project));
    ws__compile_sweep(spec->ctx, spec->project);
    snprintf(name, sizeof(name), WS__COMPILE_WORK "%ld", (long)getpid());
    r->work = ws__path_join(spec->ctx, spec->project, name);
    return r->work ? ws__fs_mkdirs(spec->ctx, r->work) : WS_ENOMEM;
}

static int check_trust(struct ws_spec *spec, size_t kernel, bool trusted)
{
    if (trusted)
        return 0;
    ws__fail(spec->ctx, WS_EACCES, "kernel '%s' is Python code and not trusted",
             spec->s->kernel[kernel].name);
    return ws__hint(spec->ctx, "read it; then let it run with --trust-python");
}

int ws__triton_ready_open(struct ws_spec *spec,
                          const struct ws__device_info *device, size_t kernel,
                          bool trusted, struct ws__triton_ready *out)
{
    unsigned n = ws__processors();
    int major, minor, rc;

    *out = (struct ws__triton_ready){.spec = spec, .of = -1};
    out->jobs = n > MAX_JOBS ? MAX_JOBS : n;
    WS_TRY(check_trust(spec, kernel, trusted));
    if (!ws__plan_capability(device, &major, &minor))
        return ws__fail(spec->ctx, WS_ENODEVICE,
                        "kernel '%s' is in Triton, for NVIDIA's devices; '%s' "
                        "is none",
                        spec->s->kernel[kernel].name, device->id.device);
    snprintf(out->target, sizeof(out->target), "sm_%d%d", major, minor);
    rc = make_work(out);
    if (rc >= 0)
        rc = start(out, kernel);
    if (rc < 0)
        ws__triton_ready_close(out);
    return rc;
}

void ws__triton_ready_close(struct ws__triton_ready *r)
{
    if (!r->spec)
        return;
    stop(r);
    if (r->work)
        ws__compile_remove(r->work);
    ws__free(r->spec->ctx, r->work);
    r->work = NULL;
}
