/* plan_space.c: spaces at the public interface. A device is asked for its
 * limits at most. */
#include "device/device.h"
#include "plan/plan.h"
#include "space/space.h"

#include "base/banned.h"

static int device_slots(struct ws_ctx *ctx, const struct ws__kernel *k,
                        const char *name, union wsrt_value *vars)
{
    struct ws__device_list found = {0};
    int rc;

    WS_TRY(ws__device_probe_all(ctx, &found));
    rc = ws__fail(ctx, WS_ENODEVICE, "no usable device '%s'", name);
    ws__hint(ctx, "'wavesmith devices' lists them");
    for (size_t i = 0; i < found.n; i++)
        if (found.item[i].usable && !strcmp(found.item[i].name, name)) {
            ws__identity_vars(&found.item[i].id, k, vars);
            rc = 0;
        }
    ws__free(ctx, found.item);
    return rc;
}

static int open_space(struct ws_spec *spec, size_t kernel, const char *workload,
                      const char *device, struct ws__space **out)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    struct ws__workload w;
    const struct ws__kernel *k = &spec->s->kernel[kernel];

    if (workload) {
        WS_TRY(ws__plan_need_op(spec, "apply a workload to"));
        WS_TRY(ws__plan_workload(spec, workload, &w));
        for (size_t i = 0; i < spec->s->op->naxis; i++)
            vars[i].i = w.axis[i];
    }
    if (device)
        WS_TRY(device_slots(spec->ctx, k, device, vars));
    return ws__space_new(spec->ctx, k, vars, workload != NULL, device != NULL,
                         out);
}

static int check_kernel(struct ws_spec *spec, size_t kernel)
{
    if (kernel < spec->s->nkernel)
        return 0;
    ws__fail(spec->ctx, WS_EINVAL, "'%s' has no kernel number %zu",
             spec->s->path, kernel);
    return ws__hint(spec->ctx, "it has %zu kernels", spec->s->nkernel);
}

int ws_space_report(struct ws_spec *spec, size_t kernel, const char *workload,
                    const char *device, struct ws_space_report *out)
{
    const struct ws__kernel *k;
    struct ws_space_constraint *c;
    struct ws__space *s = NULL;
    uint64_t *removed;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY(check_kernel(spec, kernel));
    k = &spec->s->kernel[kernel];
    WS_TRY(open_space(spec, kernel, workload, device, &s));
    c = ws__arena_alloc(&spec->arena, k->nconstraint + 1, sizeof(*c));
    removed =
        ws__arena_alloc(&spec->arena, k->nconstraint + 1, sizeof(*removed));
    if (!c || !removed) {
        rc = WS_ENOMEM;
        goto done;
    }
    WS_TRY_DONE(ws__space_count(s, &out->valid));
    WS_TRY_DONE(ws__space_removed(s, removed));
    for (size_t i = 0; i < k->nconstraint; i++) {
        c[i].text = k->constraint[i].expr->text;
        c[i].removed = removed[i];
        c[i].needs_axes = k->constraint[i].needs_axes;
        c[i].needs_device = k->constraint[i].needs_device;
        c[i].prune = k->constraint[i].prune;
        c[i].applied =
            (workload || !c[i].needs_axes) && (device || !c[i].needs_device);
    }
    out->kernel = k->name;
    out->size = ws__space_size(s);
    out->nparam = k->nparam;
    out->nconstraint = k->nconstraint;
    out->constraint = c;
done:
    ws__space_free(s);
    return rc;
}

struct walk {
    const struct ws__kernel *k;
    struct ws__buf text;
    int (*fn)(void *user, const char *config);
    void *user;
};

static int show(struct walk *w, const struct ws__config *c)
{
    w->text.len = 0;
    WS_TRY(ws__config_print(&w->text, w->k, c));
    return w->fn(w->user, w->text.data ? w->text.data : "");
}

static int walk_sample(struct ws_ctx *ctx, struct ws__space *s, size_t n,
                       uint64_t seed, struct walk *w)
{
    struct ws__config *c = NULL;
    struct ws__rng rng;
    uint64_t valid;
    size_t got = 0;
    int rc;

    ws__rng_seed(&rng, seed);
    WS_TRY_DONE(ws__space_count(s, &valid));
    if (n > valid)
        n = (size_t)valid;
    c = ws__alloc(ctx, n ? n : 1, sizeof(*c));
    if (!c)
        return WS_ENOMEM;
    WS_TRY_DONE(ws__space_sample(s, &rng, n, c, &got));
    for (size_t i = 0; i < got && !rc; i++)
        rc = show(w, &c[i]);
done:
    ws__free(ctx, c);
    return rc;
}

static int walk_all(struct ws_ctx *ctx, struct ws__space *s, uint64_t limit,
                    struct walk *w)
{
    struct ws__space_iter it;
    struct ws__config c;
    int rc;

    ws__space_begin(s, &it);
    for (uint64_t i = 0; !limit || i < limit; i++) {
        rc = ws__space_next(&it, &c);
        if (rc <= 0)
            return rc;
        rc = show(w, &c);
        if (rc)
            return rc;
        WS_TRY(ws__check_stop(ctx));
    }
    return 0;
}

int ws_space_each(struct ws_spec *spec, size_t kernel, const char *workload,
                  const char *device, uint64_t limit, int sample, uint64_t seed,
                  int (*fn)(void *user, const char *config), void *user)
{
    struct ws__space *s = NULL;
    struct walk w = {.fn = fn, .user = user};
    int rc;

    WS_TRY(check_kernel(spec, kernel));
    w.k = &spec->s->kernel[kernel];
    ws__buf_init(&w.text, spec->ctx, 1 << 16);
    WS_TRY_DONE(open_space(spec, kernel, workload, device, &s));
    rc = sample ? walk_sample(spec->ctx, s, (size_t)limit, seed, &w)
                : walk_all(spec->ctx, s, limit, &w);
done:
    ws__buf_free(&w.text);
    ws__space_free(s);
    return rc;
}
