/*
 * plan_image.c: the binaries of a pack.
 *
 * Where the device has something that can be loaded without a compiler, a
 * pack carries it for whatever it may pick: each entry's choice, compiled for
 * its workload, and each kernel's default, for every workload whose compiled
 * in values differ. Where it has none (OpenCL, recordings) the pack is as good
 * without, for its users have a compiler. A run that was stopped leaves its
 * pack without binaries: the same command again goes on and adds them.
 */
#include "plan/plan_tune.h"

#include "base/banned.h"

struct wish_list {
    struct ws_spec *spec;
    struct ws__candidate *candidate;
    struct ws__image *image;
    size_t n;
};

/* Would what is compiled for these two workloads be the same? */
static bool same_baked(const struct ws__kernel *k, const struct ws__workload *a,
                       const struct ws__workload *b)
{
    uint32_t baked = ws__kernel_baked(k);

    for (size_t i = 0; i < k->op->naxis; i++)
        if ((baked >> i & 1) && a->axis[i] != b->axis[i])
            return false;
    return true;
}

static void wish(struct wish_list *l, const struct ws__candidate *c,
                 uint32_t workload)
{
    const struct ws__spec *s = l->spec->s;
    const struct ws__kernel *k = &s->kernel[c->kernel];

    /* Its files are in the pack as they are (plan_ready.c). */
    if (k->dialect == WS__DIALECT_TRITON)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (l->candidate[i].kernel == c->kernel &&
            ws__config_eq(&l->candidate[i].config, &c->config) &&
            same_baked(k, &s->workload[l->image[i].workload],
                       &s->workload[workload]))
            return;
    l->candidate[l->n] = *c;
    l->image[l->n].candidate = &l->candidate[l->n];
    l->image[l->n++].workload = workload;
}

/* Defaults that do not fit a workload are not wished for there. */
static int wish_defaults(struct wish_list *l, struct ws__measure *m)
{
    const struct ws__spec *s = l->spec->s;

    for (uint32_t k = 0; k < s->nkernel; k++)
        for (uint32_t w = 0; w < s->nworkload; w++) {
            struct ws__candidate c;
            char reason[256];
            int rc;

            memset(&c, 0, sizeof(c));
            c.kernel = k;
            ws__config_default(&s->kernel[k], &c.config);
            rc = ws__measure_fits(m, &c, w, reason);
            if (rc < 0)
                return rc;
            if (rc)
                wish(l, &c, w);
        }
    return 0;
}

/* What a model may pick, once for each of its types: with axes compiled in
 * there is no end of binaries, and none are wished for. */
static int wish_portfolio(struct wish_list *l, struct ws__arena *a,
                          const struct ws__pack_content *c, size_t model)
{
    const struct ws__pack_model *m = &c->model[model];
    const struct ws__spec *s = l->spec->s;
    bool *keep = ws__arena_alloc(a, m->nform + 1, sizeof(*keep));
    uint32_t w = 0;

    if (!keep)
        return WS_ENOMEM;
    WS_TRY(ws__pack_portfolio(l->spec->ctx, c, model, keep));
    while (w + 1 < s->nworkload &&
           ws__op_compare_types(s->op, s->workload[w].axis, m->type))
        w++;
    for (size_t i = 0; i < m->nform; i++)
        if (keep[i] && !s->kernel[m->form[i].candidate.kernel].specialize)
            wish(l, &m->form[i].candidate, w);
    return 0;
}

#define EM_CUDA 190 /* an ELF file's machine */

/* "sm_90" of a cubin, "sm_90a" of PTX, else "". A cubin of a newer layout has
 * its number one byte further. */
static void find_target(const struct ws__built *b, char *out, size_t n)
{
    const unsigned char *p = b->image;
    const char *text = b->image, *at;

    *out = '\0';
    if (b->image_bytes >= 52 && !memcmp(p, "\177ELF", 4)) {
        if (p[18] == EM_CUDA && !p[19])
            snprintf(out, n, "sm_%u", (unsigned)p[p[8] > 7 ? 49 : 48]);
        return;
    }
    if (text[b->image_bytes - 1])
        return; /* no text */
    at = strstr(text, ".target ");
    if (at)
        snprintf(out, n, "%.*s", (int)strcspn(at + 8, ", \n\r"), at + 8);
}

static int take(struct wish_list *l, struct ws__arena *a, const char *family,
                struct ws__pack_content *c)
{
    struct ws__pack_binary *b = ws__arena_alloc(a, l->n + 1, sizeof(*b));

    if (!b)
        return WS_ENOMEM;
    c->binary = b;
    for (size_t i = 0; i < l->n; i++) {
        const struct ws__image *m = &l->image[i];
        char target[24];

        if (!m->built.image)
            continue;
        find_target(&m->built, target, sizeof(target));
        *b = (struct ws__pack_binary){.candidate = l->candidate[i],
                                      .workload =
                                          &l->spec->s->workload[m->workload],
                                      .image = m->built.image,
                                      .bytes = m->built.image_bytes,
                                      .symbol = m->symbol,
                                      .family = family,
                                      .target = ws__arena_strdup(a, target)};
        if (!b->target)
            return WS_ENOMEM;
        b++;
        c->nbinary++;
    }
    return 0;
}

int ws__plan_images(struct ws_spec *spec, struct ws__measure *m,
                    struct ws__arena *a, const char *family,
                    struct ws__pack_content *c, struct ws__pack_images *out)
{
    const struct ws__spec *s = spec->s;
    size_t room = c->nentry + s->nkernel * s->nworkload + 1;
    struct wish_list l = {.spec = spec};
    int rc;

    memset(out, 0, sizeof(*out));
    if (!m)
        return 0;
    for (size_t i = 0; i < c->nmodel; i++)
        room += c->model[i].nform;
    l.candidate = ws__arena_alloc(a, room, sizeof(*l.candidate));
    l.image = ws__arena_alloc(a, room, sizeof(*l.image));
    if (!l.candidate || !l.image)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->nentry; i++)
        wish(&l, &c->entry[i].candidate,
             (uint32_t)(c->entry[i].workload - s->workload));
    WS_TRY(wish_defaults(&l, m));
    for (size_t i = 0; i < c->nmodel; i++)
        WS_TRY(wish_portfolio(&l, a, c, i));
    *out = (struct ws__pack_images){l.image, l.n};
    rc = ws__measure_images(m, l.image, l.n);
    if (rc == WS_ECANCEL)
        ws__log(spec->ctx, WS_LOG_WARN,
                "stopped: the pack has not all of its binaries");
    return rc < 0 && rc != WS_ECANCEL ? rc : take(&l, a, family, c);
}

void ws__plan_images_free(struct ws_ctx *ctx, struct ws__pack_images *images)
{
    for (size_t i = 0; i < images->n; i++)
        ws__image_clear(ctx, &images->image[i]);
}
