/*
 * pack.c: writes a pack: plan, bytes, a look by the runtime, the file.
 *
 * The image is opened with the runtime's own code before anything is written:
 * what a user's program will refuse never gets a name. If the runtime finds a
 * fault that planning did not, it is ours, hence WS_EBUG.
 */
#include "pack/pack.h"

#include "base/fs.h"
#include "pack/pack_build.h"

#include "base/banned.h"

static int look(struct ws_ctx *ctx, const void *image, size_t bytes)
{
    char reason[256] = "";
    struct wsrt_pack *p;
    int rc = wsrt_open_memory(image, bytes, &p, reason, sizeof(reason));

    wsrt_close(p);
    if (rc == WSRT_ENOMEM)
        return ws__nomem(ctx);
    if (rc != WSRT_OK)
        return ws__fail(ctx, WS_EBUG, "the runtime refuses the new pack: %s",
                        reason);
    return 0;
}

int ws__pack_image(struct ws_ctx *ctx, const struct ws__pack_content *c,
                   void **image, size_t *bytes)
{
    struct ws__pack_plan plan;
    int rc;

    *image = NULL;
    *bytes = 0;
    WS_TRY(ws__pack_plan_make(ctx, c, &plan));
    rc = ws__pack_layout(ctx, &plan, image, bytes);
    ws__pack_plan_clear(ctx, &plan);
    if (rc >= 0)
        rc = look(ctx, *image, *bytes);
    if (rc < 0) {
        ws__free(ctx, *image);
        *image = NULL;
    }
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
