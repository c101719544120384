/*
 * plan_profile_image.c: what a candidate's binary tells: registers and shared
 * memory of each launch, how many of its blocks a unit holds and what limits
 * them, and its instructions. A device without binaries lacks what its driver
 * does not say; a machine without a disassembler lacks the instructions. Both
 * are said in words; errors are those of memory and of being stopped.
 */
#include "plan/plan_profile.h"

#include <math.h>

#include "core/cubin.h"

#include "base/banned.h"

static double known(uint64_t v, bool is)
{
    return is ? (double)v : NAN;
}

static bool one_entry(const struct ws__plan *plan)
{
    for (size_t i = 1; i < plan->nlaunch; i++)
        if (strcmp(ws__plan_entry(&plan->launch[0]),
                   ws__plan_entry(&plan->launch[i])))
            return false;
    return true;
}

/* The driver's words are the most of all entries: those of the one entry. A
 * driver that counts no registers (of a processor) has other zeros that mean
 * nothing, too. */
static void use_of_driver(struct ws__profiling *p, struct ws__profile_use *u)
{
    const struct ws__resources *r = &p->res;
    bool one = one_entry(&p->plan), all = one && r->registers;

    u->registers = known(r->registers, all);
    u->shared_bytes = known(r->shared_bytes, all || (one && r->shared_bytes));
    u->local_bytes = known(r->spill_bytes, all);
}

static uint64_t launch_bytes(const struct ws__plan_launch *l)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < l->narg; i++)
        if (l->arg[i].kind == WS__ARG_SHARED)
            sum += l->arg[i].bytes;
    return sum;
}

static void use_of_image(const struct ws__plan_launch *l,
                         const struct ws__built *b, const char *symbol,
                         struct ws__profile_use *u)
{
    struct ws__cubin_use c;

    if (!symbol || !ws__cubin_use(b->image, b->image_bytes, symbol, &c))
        return;
    u->registers = c.registers;
    u->shared_bytes = (double)c.shared_bytes + (double)launch_bytes(l);
    u->local_bytes = c.local_bytes;
}

static uint32_t whole(double v)
{
    return v > 0 && v < UINT32_MAX ? (uint32_t)v : 0;
}

/* The driver counts blocks of the first launch; a processor works on one at a
 * time. */
static void make_occupancy(struct ws__profiling *p, size_t i)
{
    const struct ws__plan_launch *l = &p->plan.launch[i];
    const struct ws__plan_launch *first = &p->plan.launch[0];
    struct ws__profile_use *u = &p->use[i];
    struct ws__unit_limits limits;
    uint32_t told = p->device->id.is_cpu;

    if (!told && !strcmp(ws__plan_entry(l), ws__plan_entry(first)) &&
        !memcmp(l->block, first->block, sizeof(l->block)))
        told = p->res.blocks_per_unit;
    if (!told && isnan(u->registers))
        return; /* nothing but a guess */
    ws__unit_limits(&p->device->id, p->device->extra, &limits);
    ws__occupancy_make(&limits, whole(u->registers), whole(u->shared_bytes),
                       (uint64_t)l->block[0] * l->block[1] * l->block[2],
                       l->grid[0] * l->grid[1] * l->grid[2], told,
                       &u->occupancy);
    if (isnan(u->registers))
        u->occupancy.limiter = WS__LIMIT_NONE;
}

static bool all_timed(const struct ws__profiling *p)
{
    for (size_t i = 0; i < p->plan.nlaunch; i++)
        if (!p->counter || !(p->counter[i * WS__NMETRIC + WS__M_TIME] > 0))
            return false;
    return true;
}

/* How much of the kernel a launch is: its time where all were counted, else its
 * threads. */
static double weight(const struct ws__profiling *p, size_t i)
{
    const struct ws__plan_launch *l = &p->plan.launch[i];
    double threads = 1;

    if (all_timed(p))
        return p->counter[i * WS__NMETRIC + WS__M_TIME];
    for (int d = 0; d < 3; d++)
        threads *= (double)l->grid[d] * l->block[d];
    return threads;
}

static void make_uses(struct ws__profiling *p, const struct ws__image *image)
{
    double most = 0;

    for (size_t i = 0; i < p->plan.nlaunch; i++) {
        struct ws__profile_use *u = &p->use[i];

        use_of_driver(p, u);
        if (image->built.image)
            use_of_image(&p->plan.launch[i], &image->built,
                         image->symbol ? image->symbol[p->launch_of[i]] : NULL,
                         u);
        make_occupancy(p, i);
        if (weight(p, i) > most) {
            most = weight(p, i);
            p->main_launch = i;
        }
    }
}

/* ---- instructions -------------------------------------------------------- */

/* What no other part of a profile needs is no error of it. */
static int forgive(struct ws__profiling *p, int rc)
{
    struct ws_ctx *ctx = p->spec->ctx;
    const struct ws_error *e = ws_ctx_error(ctx);

    if (rc >= 0 || rc == WS_ENOMEM || rc == WS_ECANCEL || ws__check_stop(ctx))
        return rc;
    p->mix_why = ws__arena_printf(&p->spec->arena, "%s%s%s", e->message,
                                  *e->hint ? "; " : "", e->hint);
    ws__error_clear(ctx);
    return p->mix_why ? 0 : WS_ENOMEM;
}

static int count_instructions(struct ws__profiling *p,
                              const struct ws__image *image)
{
    const char *symbol[WS__MAX_LAUNCHES];
    struct ws__sass *s;

    for (size_t i = 0; i < p->plan.nlaunch; i++)
        symbol[i] = image->symbol ? image->symbol[p->launch_of[i]] : NULL;
    WS_TRY(ws__sass_read(p->spec->ctx, p->spec->ctx->tools, image->built.image,
                         image->built.image_bytes, &s));
    ws__sass_sum(s, symbol, p->plan.nlaunch, &p->mix);
    ws__sass_free(s);
    return 0;
}

/* A kernel in Triton comes as a file a launch, which is what the device was
 * given: that of the first is looked at, with all launches that run it. */
static int image_of_file(struct ws__profiling *p, struct ws__image *out)
{
    struct ws_ctx *ctx = p->spec->ctx;
    const struct ws__source_file *f = p->plan.launch[0].file;
    struct ws__built *b = &out->built;

    if (!f || !f->data)
        return 0;
    out->symbol = ws__alloc(ctx, WS__MAX_LAUNCHES, sizeof(*out->symbol));
    b->image = ws__alloc(ctx, f->bytes, 1);
    if (!out->symbol || !b->image)
        return WS_ENOMEM;
    memcpy(b->image, f->data, f->bytes);
    b->image_bytes = f->bytes;
    for (size_t i = 0; i < p->plan.nlaunch; i++)
        if (p->plan.launch[i].file == f)
            out->symbol[p->launch_of[i]] = f->entry;
    return 0;
}

int ws__profile_image(struct ws__profiling *p)
{
    const struct ws__kernel *k = &p->spec->s->kernel[p->c.kernel];
    struct ws__image image = {.candidate = &p->c};
    int rc = k->dialect == WS__DIALECT_TRITON
                 ? image_of_file(p, &image)
                 : ws__measure_images(p->m, &image, 1);

    make_uses(p, &image);
    if (!rc && !image.built.image)
        p->mix_why = "the device gives no binary";
    else if (!rc)
        rc = count_instructions(p, &image);
    ws__image_clear(p->spec->ctx, &image);
    return forgive(p, rc);
}
