/*
 * plan_recordings.c: results on record instead of a device: which file is
 * what, and the best that a complete recording holds.
 *
 * A store is told from other files by its first bytes. Its trials answer for
 * this specification if candidate and workload are the same by content; those
 * of several devices never mix, so a store of more than one is refused.
 */
#include "plan/plan_recordings.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fs.h"
#include "store/store.h"
#include "base/banned.h"

static const struct ws__workload recorded = {.name = WS__RECORDED, .weight = 1};

struct ws__subject ws__plan_subject(const struct ws_spec *spec)
{
    const struct ws__spec *s = spec->s;

    return s->op ? (struct ws__subject){s->workload, s->nworkload}
                 : (struct ws__subject){&recorded, 1};
}

int ws__plan_print_workload(struct ws__buf *b, const struct ws_spec *spec,
                            const struct ws__workload *w)
{
    return spec->s->op ? ws__workload_print(b, spec->s->op, w)
                       : ws__buf_puts(b, w->name);
}

/* --- stores ----------------------------------------------------------------
 */

static bool is_database(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char head[16] = "";

    return ws__fs_head(path, head, sizeof(head)) == sizeof(head) &&
           !memcmp(head, magic, sizeof(magic));
}

struct loading {
    struct ws__recordings *r;
    const struct ws__spec *s;
    struct ws__hash device;
};

/* Imports once left out what a candidate without a source is. Where the run is
 * of this space, the config's indices say it. */
static void identify(const struct ws__spec *s, const struct ws__run *run,
                     struct ws__trial *t)
{
    static const struct ws__hash none;
    const struct ws__config *c = &t->candidate.config;
    const struct ws__kernel *k;

    if (s->op || !ws__hash_eq(t->candidate_hash, none) ||
        !ws__hash_eq(run->spec, s->hash) || t->candidate.kernel >= s->nkernel)
        return;
    k = &s->kernel[t->candidate.kernel];
    if (c->n != k->nparam)
        return;
    for (size_t i = 0; i < k->nparam; i++)
        if (c->at[i] >= k->param[i].nvalue)
            return;
    t->candidate_hash = ws__candidate_hash(k, c, "");
}

static int load_trial(void *user, const struct ws__run *run,
                      const struct ws__question *q, const struct ws__trial *t)
{
    struct loading *l = user;
    struct ws__trial known = *t;

    (void)q;
    if (!ws__hash_eq(run->device, l->device))
        return 0;
    identify(l->s, run, &known);
    return ws__recordings_add_trial(l->r, &known);
}

/* The one device of a store. What was measured goes before what a tune on
 * recordings left there. */
static int choose_device(struct ws_ctx *ctx, const char *path,
                         const struct ws__store_device *list, size_t n,
                         const struct ws__store_device **out)
{
    size_t chosen = 0, measured = 0;

    for (size_t i = 0; i < n; i++)
        measured += strcmp(list[i].family, "recordings") != 0;
    for (size_t i = 0; i < n; i++) {
        if (measured && !strcmp(list[i].family, "recordings"))
            continue;
        chosen++;
        *out = &list[i];
    }
    if (chosen == 1)
        return 0;
    if (!chosen)
        return ws__fail(ctx, WS_EINVAL, "'%s' holds no trials", path);
    ws__fail(ctx, WS_EINVAL,
             "'%s' holds trials of more than one device or setting", path);
    return ws__hint(ctx, "trials of different identity never mix; give a "
                         "store of one");
}

static int load_store(const struct ws_spec *spec, const char *path,
                      struct ws__recordings *r,
                      struct ws__results_report *report, bool *is_cpu)
{
    struct ws__store_device *list = NULL;
    const struct ws__store_device *d = NULL;
    struct loading l = {.r = r, .s = spec->s};
    struct ws_ctx *ctx = spec->ctx;
    struct ws__store *s;
    size_t n;
    int rc;

    WS_TRY(ws__store_open(ctx, path, true, &s));
    WS_TRY_DONE(ws__store_devices(s, &list, &n));
    WS_TRY_DONE(choose_device(ctx, path, list, n, &d));
    l.device = d->hash;
    *is_cpu = d->is_cpu;
    WS_TRY_DONE(ws__store_each(s, load_trial, &l));
    snprintf(report->device, sizeof(report->device), "%s", d->device);
    report->format = "store";
    report->used = ws__recordings_count(r);
done:
    ws__free(ctx, list);
    ws__store_close(s);
    return rc;
}

/* --- opening ---------------------------------------------------------------
 */

static int load(struct ws_spec *spec, const char *path, const char *where,
                const char *time, const char *device,
                struct ws__results_report *report, struct ws__recordings *r)
{
    struct ws_ctx *ctx = spec->ctx;
    bool is_cpu = false; /* other tools tune for GPUs */

    if (!is_database(path)) {
        WS_TRY(ws__recordings_add_file(r, path, where, time, report));
        ws__recordings_seal(r, device);
    } else {
        if (where || time)
            return ws__fail(ctx, WS_EINVAL,
                            "'%s' is a store: it has no columns to choose "
                            "from",
                            path);
        WS_TRY(load_store(spec, path, r, report, &is_cpu));
        ws__recordings_seal(r, report->device);
    }
    for (size_t k = 0; k < spec->s->nkernel; k++)
        ws__kernel_bind(&spec->s->kernel[k], is_cpu);
    if (ws__recordings_count(r))
        return 0;
    ws__fail(ctx, WS_EINVAL, "'%s' holds nothing about '%s'", path,
             spec->s->path);
    if (report->foreign)
        return ws__hint(ctx, "the first of %llu that do not belong: %s",
                        (unsigned long long)report->foreign,
                        report->foreign_why);
    return ws__hint(ctx, report->left ? "--where selects no row"
                                      : "it has no results");
}

int ws__plan_recordings(struct ws_spec *spec, const char *path,
                        const char *where, const char *time, const char *device,
                        struct ws__results_report *report,
                        struct ws__recordings **out)
{
    struct ws__spec *s = spec->s;
    struct ws__subject about = ws__plan_subject(spec);
    int rc;

    *out = NULL;
    memset(report, 0, sizeof(*report));
    WS_TRY(ws__recordings_new(spec->ctx, s->kernel, s->nkernel, about.workload,
                              about.nworkload, out));
    rc = load(spec, path, where, time, device, report, *out);
    if (rc < 0) {
        ws__recordings_free(*out);
        *out = NULL;
    }
    return rc;
}

/* --- the best there is -----------------------------------------------------
 */

/* 1: all valid configs of the kernel are recorded; *ns keeps the least. */
static int walk(struct ws_ctx *ctx, struct ws__recordings *r,
                struct ws__space *space, uint32_t kernel, uint32_t w,
                double *ns)
{
    struct ws__candidate c = {.kernel = kernel};
    struct ws__space_iter it;
    uint64_t valid;
    double t;
    int rc;

    /* Without this a space of billions would be counted through. */
    WS_TRY(ws__space_count(space, &valid));
    if (valid > ws__recordings_count(r))
        return 0;
    ws__space_begin(space, &it);
    while ((rc = ws__space_next(&it, &c.config)) > 0) {
        rc = ws__recordings_look(r, &c, w, &t);
        if (rc <= 0)
            return rc;
        if (t > 0 && (*ns <= 0 || t < *ns))
            *ns = t;
        WS_TRY(ws__check_stop(ctx));
    }
    return rc < 0 ? rc : 1;
}

int ws__plan_oracle(struct ws_spec *spec, struct ws__recordings *r,
                    struct ws__space *const *spaces, uint32_t workload,
                    double *ns)
{
    size_t nw = ws__plan_subject(spec).nworkload;
    double best = 0;

    *ns = 0;
    for (size_t k = 0; k < spec->s->nkernel; k++) {
        int rc = walk(spec->ctx, r, spaces[k * nw + workload], (uint32_t)k,
                      workload, &best);

        if (rc <= 0)
            return rc;
    }
    *ns = best;
    return 0;
}
