/*
 * plan_roof.c: ceilings at the public interface, and for the diagnosis.
 *
 * Measured once a device and kept in a folder of the user's, outside of any
 * project. What was not measured is taken from a data sheet where there is
 * one; nothing of a sheet is stored.
 */
#include "plan/plan_roof.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/turn.h"
#include "ceilings/ceilings.h"
#include "profile/profile.h"
#include "spec/roof_file.h"
#include "wave/wave.h"

#include "base/banned.h"

static char *folder(struct ws_ctx *ctx)
{
    return ctx->data_dir ? ws__path_join(ctx, ctx->data_dir, "roofs") : NULL;
}

int ws__plan_roof(struct ws_ctx *ctx, const struct ws__identity *id,
                  struct ws__roof *out, char why[512])
{
    struct ws__roof measured;
    char *dir = folder(ctx);
    bool found;
    int rc;

    if (ctx->data_dir && !dir)
        return WS_ENOMEM;
    ws__roof_of_sheet(id, out);
    rc = ws__roof_load(ctx, dir, id, &measured, &found, why);
    ws__free(ctx, dir);
    if (rc < 0 || !found)
        return rc;
    for (unsigned c = 0; c < WS__NROOF; c++)
        if (measured.ceiling[c].known)
            out->ceiling[c] = measured.ceiling[c];
    snprintf(out->device, sizeof(out->device), "%s", measured.device);
    out->hash = measured.hash;
    out->measured_ns = measured.measured_ns;
    out->quick = measured.quick;
    if (measured.cache_bytes > 0)
        out->cache_bytes = measured.cache_bytes;
    return 0;
}

/* ---- the command --------------------------------------------------------- */

struct work {
    struct ws_ctx *ctx;
    struct ws_roof_opts o;
    const struct ws__device *dev;
    const struct ws__device_info *info;
    char *dir;
    struct ws__roof roof;
    struct ws__ceilings_why why;
};

static void progress(void *user, enum ws__ceiling_of c)
{
    const struct ws_roof_opts *o = user;

    if (o->progress)
        o->progress(o->user, ws__roof_key(c));
}

static int measure(struct work *w)
{
    const struct ws__ceilings_opts mo = {.quick = w->o.quick != 0,
                                         .progress = progress,
                                         .user = &w->o};
    struct ws__turn turn;
    int rc;

    ws__device_turn(w->ctx, w->info, &turn);
    rc = ws__turn_take(w->ctx, &turn);
    if (rc == 0)
        rc = ws__ceilings_measure(w->ctx, w->dev, &mo, &w->roof, &w->why);
    ws__turn_close(&turn);
    WS_TRY(rc);
    w->roof.measured_ns = ws__wall_ns();
    w->roof.quick = mo.quick;
    return w->dir ? ws__roof_save(w->ctx, w->dir, &w->info->id, &w->roof) : 0;
}

static int show(struct work *w)
{
    char why[512];
    bool found;

    WS_TRY(ws__roof_load(w->ctx, w->dir, &w->info->id, &w->roof, &found, why));
    if (!found)
        return ws__fail(w->ctx, WS_ENOENT, "%s", why);
    for (unsigned c = 0; c < WS__NROOF; c++)
        if (!w->roof.ceiling[c].known)
            snprintf(w->why.text[c], sizeof(w->why.text[c]), "not measured");
    return 0;
}

static void publish_one(const struct work *w, unsigned c,
                        const struct ws__ceiling *sheet, struct ws_ceiling *o)
{
    const struct ws__ceiling *x = &w->roof.ceiling[c];

    o->key = ws__roof_key((enum ws__ceiling_of)c);
    o->unit = ws__roof_unit((enum ws__ceiling_of)c);
    o->about = ws__roof_about((enum ws__ceiling_of)c);
    o->known = x->known;
    o->value = x->value;
    o->lo = x->lo;
    o->hi = x->hi;
    o->sustained = x->sustained;
    o->sheet = sheet->known ? sheet->value : 0;
    o->samples = x->nsample;
    o->mhz = x->mhz;
    o->sustained_mhz = x->sustained_mhz;
    ws__slow_text(x->slowed, o->slowed);
    ws__slow_text(x->sustained_slowed, o->sustained_slowed);
    snprintf(o->why, sizeof(o->why), "%s", w->why.text[c]);
}

static int publish(const struct work *w, struct ws_roof *out)
{
    const struct ws__identity *id = &w->info->id;
    struct ws__roof sheet;
    bool any = false;

    ws__roof_of_sheet(id, &sheet);
    snprintf(out->device, sizeof(out->device), "%s", id->device);
    snprintf(out->driver, sizeof(out->driver), "%s", id->driver);
    snprintf(out->compiler, sizeof(out->compiler), "%s", id->compiler);
    ws__hash_hex(w->roof.hash, out->hash);
    out->measured_ns = w->roof.measured_ns;
    out->n = WS__NROOF;
    for (unsigned c = 0; c < WS__NROOF; c++) {
        any = any || sheet.ceiling[c].known;
        publish_one(w, c, &sheet.ceiling[c], &out->ceiling[c]);
    }
    if (any)
        snprintf(out->sheet, sizeof(out->sheet), "%.63s", sheet.device);
    if (w->dir) {
        char *path = ws__roof_path(w->ctx, w->dir, id);

        if (!path)
            return WS_ENOMEM;
        snprintf(out->file, sizeof(out->file), "%s", path);
        ws__free(w->ctx, path);
    }
    return 0;
}

int ws_roof(struct ws_ctx *ctx, const struct ws_roof_opts *opts,
            struct ws_roof *out)
{
    _Static_assert(WS__NROOF <= WS_CEILINGS, "public roofs have room");
    struct work *w = ws__alloc(ctx, 1, sizeof(*w));
    struct ws__device dev = {0};
    int rc;

    if (!w)
        return WS_ENOMEM;
    memset(out, 0, sizeof(*out));
    w->ctx = ctx;
    memcpy(&w->o, opts,
           opts->size && opts->size < sizeof(w->o) ? opts->size : sizeof(w->o));
    w->dev = &dev;
    w->dir = folder(ctx);
    WS_TRY_DONE(ctx->data_dir && !w->dir ? WS_ENOMEM : 0);
    WS_TRY_DONE(ws__device_open(ctx, w->o.device, &dev));
    w->info = dev.ops->info(dev.self);
    WS_TRY_DONE(w->o.show ? show(w) : measure(w));
    rc = publish(w, out);
done:
    ws__device_close(&dev);
    ws__free(ctx, w->dir);
    ws__free(ctx, w);
    return rc;
}
