/*
 * pack.c: writes a pack: plan, bytes, a look by the runtime, the file.
 *
 * With a model it takes two images. The first, the draft, has all candidates
 * and no tree; the portfolio and the tree are what its predictions say. The
 * second is the pack, and what it loses against the draft is looked for with
 * the code that will use it.
 *
 * An image is opened with the runtime's own code before anything is written:
 * what a user's program will refuse never gets a name. If the runtime finds a
 * fault that planning did not, it is ours, hence WS_EBUG.
 */
#include "pack/pack.h"

#include "base/fs.h"
#include "pack/pack_build.h"

#include "base/banned.h"

static int look(struct ws_ctx *ctx, const void *image, size_t bytes,
                struct wsrt_pack **out)
{
    char reason[256] = "";
    int rc = wsrt_open_memory(image, bytes, out, reason, sizeof(reason));

    if (rc == WSRT_ENOMEM)
        return ws__nomem(ctx);
    if (rc != WSRT_OK)
        return ws__fail(ctx, WS_EBUG, "the runtime refuses the new pack: %s",
                        reason);
    return 0;
}

static int layout(struct ws_ctx *ctx, const struct ws__pack_content *c,
                  struct ws__pack_choice *choice, bool is_draft, void **image,
                  size_t *bytes)
{
    struct ws__pack_plan plan;
    int rc;

    WS_TRY(ws__pack_plan_make(ctx, c, choice, &plan));
    if (is_draft)
        ws__pack_spans(&plan, choice);
    rc = ws__pack_layout(ctx, &plan, image, bytes);
    ws__pack_plan_clear(ctx, &plan);
    return rc;
}

/* An image and what is open over it; cleared by drop. */
struct open_image {
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
};

static void drop(struct ws_ctx *ctx, struct open_image *o)
{
    wsrt_close(o->p);
    ws__free(ctx, o->image);
    memset(o, 0, sizeof(*o));
}

static int make(struct ws_ctx *ctx, const struct ws__pack_content *c,
                struct ws__pack_choice *choice, bool is_draft,
                struct open_image *out)
{
    int rc = layout(ctx, c, choice, is_draft, &out->image, &out->bytes);

    if (rc >= 0)
        rc = look(ctx, out->image, out->bytes, &out->p);
    if (rc < 0)
        drop(ctx, out);
    return rc;
}

static int prune(const struct ws__pack_draft *d, const struct ws__pack_model *m,
                 struct ws__pack_choice *choice)
{
    return ws__pack_prune(d, m->portfolio ? m->portfolio : 64, choice);
}

static int decide(struct ws_ctx *ctx, struct ws__arena *a,
                  const struct ws__pack_content *c, const struct wsrt_pack *p,
                  struct ws__pack_choice *choice)
{
    for (uint32_t i = 0; i < c->nmodel; i++) {
        const struct ws__pack_model *m = &c->model[i];
        struct ws__pack_draft d = {ctx, p, ws__pack_model_index(c, i)};

        WS_TRY(prune(&d, m, &choice[i]));
        WS_TRY(ws__pack_tree(&d, a, m->nodes ? m->nodes : 901,
                             m->shapes ? m->shapes : 60000, &choice[i]));
    }
    return 0;
}

/* Into the finished image, whose models follow the order of their types. */
static void state_losses(struct ws_ctx *ctx, const struct ws__pack_content *c,
                         const struct wsrt_pack *draft,
                         const struct ws__pack_choice *choice,
                         struct open_image *done)
{
    struct wsrt_f_header *h = done->image;
    struct wsrt_f_model *model =
        (void *)((char *)done->image + h->section[WSRT_S_MODELS].at);

    for (uint32_t i = 0; i < c->nmodel; i++) {
        uint32_t at = ws__pack_model_index(c, i);
        struct ws__pack_draft d = {ctx, draft, at};
        size_t points = c->model[i].points ? c->model[i].points : 20000;

        ws__pack_losses(&d, done->p, points, &choice[i], &model[at]);
    }
    h->check_sum = wsrt__file_sum(h, done->bytes);
}

static int compile(struct ws_ctx *ctx, struct ws__arena *a,
                   const struct ws__pack_content *c, struct open_image *draft,
                   struct open_image *done)
{
    struct ws__pack_choice *choice;

    WS_TRY(ws__pack_choice_start(ctx, a, c, &choice));
    WS_TRY(make(ctx, c, choice, true, c->nmodel ? draft : done));
    if (!c->nmodel)
        return 0;
    WS_TRY(decide(ctx, a, c, draft->p, choice));
    WS_TRY(make(ctx, c, choice, false, done));
    state_losses(ctx, c, draft->p, choice, done);
    return 0;
}

int ws__pack_image(struct ws_ctx *ctx, const struct ws__pack_content *c,
                   void **image, size_t *bytes)
{
    struct open_image draft = {0}, done = {0};
    struct ws__arena arena;
    int rc;

    *image = NULL;
    *bytes = 0;
    ws__arena_init(&arena, ctx);
    rc = compile(ctx, &arena, c, &draft, &done);
    if (rc >= 0) {
        *image = done.image;
        *bytes = done.bytes;
        done.image = NULL;
    }
    drop(ctx, &draft);
    drop(ctx, &done);
    ws__arena_free(&arena);
    return rc;
}

int ws__pack_portfolio(struct ws_ctx *ctx, const struct ws__pack_content *c,
                       size_t model, bool *keep)
{
    struct ws__pack_draft d = {.ctx = ctx,
                               .model = ws__pack_model_index(c, model)};
    struct open_image draft = {0};
    struct ws__pack_choice *choice;
    struct ws__arena arena;
    int rc;

    ws__arena_init(&arena, ctx);
    WS_TRY_DONE(ws__pack_choice_start(ctx, &arena, c, &choice));
    WS_TRY_DONE(make(ctx, c, choice, true, &draft));
    d.p = draft.p;
    WS_TRY_DONE(prune(&d, &c->model[model], &choice[model]));
    memset(keep, 0, c->model[model].nform * sizeof(*keep));
    for (size_t i = 0; i < choice[model].nkeep; i++)
        keep[choice[model].keep[i]] = true;
    rc = 0;
done:
    drop(ctx, &draft);
    ws__arena_free(&arena);
    return rc;
}

int ws__pack_write(struct ws_ctx *ctx, const char *path,
                   const struct ws__pack_content *c)
{
    void *image;
    size_t bytes;
    int rc;

    WS_TRY(ws__pack_image(ctx, c, &image, &bytes));
    rc = ws__fs_write(ctx, path, image, bytes);
    ws__free(ctx, image);
    return rc;
}
