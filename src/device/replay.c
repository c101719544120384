/*
 * replay.c: a recording as a device. See shim.h, recfile.h.
 *
 * It answers what was asked when the recording was made, in the same order,
 * with the same results and failures; it takes no time and needs no driver. An
 * operation that differs from the recorded one is WS_EMISS, with its number
 * and both in words, and so is everything after it: from there on the
 * recording says nothing.
 *
 * How far a context is in a file is kept in the context, so that a device
 * which is opened again after a recorded crash goes on behind it.
 */
#include "device/recfile.h"

#include "base/fs.h"

#include "base/banned.h"

struct replay {
    struct ws__shim shim;
    struct ws__recreader file;
    struct ws__device_info info;
    char *data, *path;
    uint64_t *done;         /* records */
    struct ws_error missed; /* code 0: not yet */
};

static int miss(struct replay *d, const char *asked, const char *recorded)
{
    struct ws_ctx *ctx = d->shim.ctx;
    unsigned long long n = (unsigned long long)*d->done + 1;

    ws__fail(ctx, WS_EMISS,
             "operation %llu differs from the recording '%.300s': asked for "
             "%s, recorded %s",
             n, d->path, asked, recorded);
    ws__hint(ctx, "replay the command that was recorded, with the same files "
                  "and options; after a change of these or of the protocol, "
                  "record again");
    d->missed = ctx->err;
    return WS_EMISS;
}

/* 1, or the error that the recording has nothing like this. */
static int find(struct replay *d, const struct ws__call *c,
                struct ws__record *rec)
{
    struct ws__hash h = ws__call_digest(c);
    char asked[220];
    int rc = ws__recreader_next(&d->file, rec);

    WS_TRY(rc);
    ws__call_describe(c, asked, sizeof(asked));
    if (!rc)
        return miss(d, asked, "nothing more");
    if (rec->op == c->op && ws__hash_eq(rec->digest, h)) {
        ++*d->done;
        return 1;
    }
    if (!strcmp(rec->words, asked))
        return miss(d, asked, "the same with other content");
    return miss(d, asked, rec->words);
}

static int replay_hook(struct ws__shim *s, struct ws__call *c)
{
    struct replay *d = (struct replay *)s;
    struct ws__record rec;

    if (d->missed.code) {
        s->ctx->err = d->missed;
        return d->missed.code;
    }
    if (c->op != WS__CALL_CLOCK)
        WS_TRY(ws__check_stop(s->ctx));
    WS_TRY(find(d, c, &rec));
    return ws__rec_results(&d->file, &rec, c);
}

static void replay_end(struct ws__shim *s)
{
    struct replay *d = (struct replay *)s;

    ws__recreader_free(&d->file);
    ws__free(s->ctx, d->data);
    ws__free(s->ctx, d->path);
    ws__free(s->ctx, d);
}

static int start(struct replay *d, const char *path)
{
    struct ws__call open = {.op = WS__CALL_OPEN};
    struct ws_ctx *ctx = d->shim.ctx;
    struct ws__record rec;
    char key[1100];
    size_t n = 0;

    d->path = ws__strdup(ctx, path);
    if (!d->path)
        return WS_ENOMEM;
    snprintf(key, sizeof(key), "replay:%s", path);
    d->done = ws__ctx_counter(ctx, key);
    if (!d->done)
        return WS_ENOMEM;
    WS_TRY(ws__fs_read(ctx, path, WS__REC_FILE_MAX, &d->data, &n));
    WS_TRY(ws__recreader_open(ctx, d->path, d->data, n, &d->file));
    while (d->file.number < *d->done) {
        int rc = ws__recreader_next(&d->file, &rec);

        WS_TRY(rc);
        if (!rc)
            return miss(d, "open", "nothing more: the file has changed");
    }
    WS_TRY(find(d, &open, &rec));
    return ws__rec_info(&d->file, &rec, &d->info);
}

int ws__replay_open(struct ws_ctx *ctx, const char *rest,
                    struct ws__device *out)
{
    struct replay *d;
    int rc;

    if (!rest[0] || strlen(rest) > 1000) {
        ws__fail(ctx, WS_EINVAL, "bad device name: 'replay:%.60s'", rest);
        return ws__hint(ctx, "a name is 'replay:FILE'");
    }
    d = ws__alloc(ctx, 1, sizeof(*d));
    if (!d)
        return WS_ENOMEM;
    d->shim = (struct ws__shim){.ctx = ctx,
                                .info = &d->info,
                                .hook = replay_hook,
                                .end = replay_end};
    rc = start(d, rest);
    if (rc < 0) {
        replay_end(&d->shim);
        return rc;
    }
    *out = (struct ws__device){&ws__device_shim, d};
    return 0;
}
