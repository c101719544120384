/*
 * record.c: a device whose operations are kept in a file. See shim.h.
 *
 * The first opening in a context makes the file, later ones (after a crash)
 * go on in it, so one file holds all that one command did with its device. A
 * file that is there is never written over. The device is opened first: one
 * that is not there leaves no file behind.
 *
 * If the file cannot be written any more, that is the error of this operation
 * and of every one after it: a recording with holes would be worthless.
 */
#include "device/recfile.h"

#include "base/banned.h"

struct record {
    struct ws__shim shim;
    struct ws__recwriter file;
    struct ws_error broken; /* code 0: all is well */
};

static int record_hook(struct ws__shim *s, struct ws__call *c)
{
    struct record *d = (struct record *)s;
    int rc, put;

    if (d->broken.code) {
        s->ctx->err = d->broken;
        return d->broken.code;
    }
    rc = ws__call_do(s->ctx, &s->inner, c);
    put = ws__rec_put(&d->file, c, rc, NULL);
    if (put >= 0)
        return rc;
    d->broken = s->ctx->err;
    if (c->op == WS__CALL_BUILD) {
        ws__free(s->ctx, c->built->log);
        memset(c->built, 0, sizeof(*c->built));
    }
    return put;
}

static void record_end(struct ws__shim *s)
{
    struct record *d = (struct record *)s;
    struct ws_error kept = s->ctx->err;

    ws__device_close(&s->inner);
    /* Closing has no result: what is lost here, replaying will find. */
    if (ws__rec_close(&d->file) < 0)
        ws__log(s->ctx, WS_LOG_WARN, "%s", s->ctx->err.message);
    s->ctx->err = kept;
    ws__free(s->ctx, s);
}

static int start(struct record *d, const char *path, const char *device)
{
    struct ws__call open = {.op = WS__CALL_OPEN};
    struct ws__shim *s = &d->shim;
    uint64_t *opened;
    char key[1100];
    int rc;

    snprintf(key, sizeof(key), "record:%s", path);
    opened = ws__ctx_counter(s->ctx, key);
    if (!opened)
        return WS_ENOMEM;
    rc = ws__device_open(s->ctx, device, &s->inner);
    if (rc < 0 && !*opened)
        return rc;
    if (rc >= 0) {
        s->info = s->inner.ops->info(s->inner.self);
        WS_TRY(ws__rec_open(s->ctx, path, !*opened, &d->file));
    } else {
        struct ws_error why = s->ctx->err;

        WS_TRY(ws__rec_open(s->ctx, path, false, &d->file));
        s->ctx->err = why;
    }
    ++*opened;
    WS_TRY(ws__rec_put(&d->file, &open, rc, s->info));
    return rc;
}

int ws__record_open(struct ws_ctx *ctx, const char *rest,
                    struct ws__device *out)
{
    char path[1024];
    const char *device =
        ws__shim_split(ctx, "record", rest, path, sizeof(path));
    struct record *d;
    int rc;

    if (!device)
        return ws__hint(ctx, "a name is 'record:FILE:DEVICE'; the path of the "
                             "file has no colon");
    d = ws__alloc(ctx, 1, sizeof(*d));
    if (!d)
        return WS_ENOMEM;
    d->shim =
        (struct ws__shim){.ctx = ctx, .hook = record_hook, .end = record_end};
    d->file.ctx = ctx;
    d->file.fd = -1;
    rc = start(d, path, device);
    if (rc < 0) {
        record_end(&d->shim);
        return rc;
    }
    *out = (struct ws__device){&ws__device_shim, d};
    return 0;
}
