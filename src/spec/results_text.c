/*
 * results_text.c: the text of a file, gzipped or not, in pieces.
 *
 * zlib reads both. A few kilobytes can unpack to gigabytes, so what comes out
 * is bounded; nothing here keeps more than a piece.
 */
#include "spec/results_read.h"

#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/fs.h"
#include "base/banned.h"

#define TEXT_MAX ((uint64_t)1 << 30)

int ws__text_open(struct ws_ctx *ctx, const char *path,
                  struct ws__text_source *s)
{
    struct stat st;

    memset(s, 0, sizeof(*s));
    s->ctx = ctx;
    s->file = path;
    if (stat(path, &st) < 0)
        return ws__fs_fail(ctx, errno, "read", path);
    if (!S_ISREG(st.st_mode)) {
        ws__fail(ctx, WS_EINVAL, "cannot read '%s': not a regular file", path);
        return ws__hint(ctx, "give a file of results");
    }
    errno = 0;
    s->gz = gzopen(path, "rbe");
    if (!s->gz)
        return errno ? ws__fs_fail(ctx, errno, "read", path) : ws__nomem(ctx);
    return 0;
}

static int damaged(struct ws__text_source *s)
{
    struct ws__loc loc = {.file = s->file};
    int e = errno, code;
    const char *why = gzerror(s->gz, &code);

    if (code == Z_ERRNO)
        return ws__fs_fail(s->ctx, e, "read", s->file);
    if (code == Z_MEM_ERROR)
        return ws__nomem(s->ctx);
    ws__fail_at(s->ctx, WS_ECORRUPT, &loc, "the gzip is damaged: %s",
                code == Z_BUF_ERROR ? "it ends too early" : why);
    return ws__hint(s->ctx, "copy the file again");
}

static int read_gz(struct ws__text_source *s, char *to, size_t n, size_t *got)
{
    int rc = gzread(s->gz, to, (unsigned)(n < 1u << 20 ? n : 1u << 20)), code;

    if (rc < 0)
        return damaged(s);
    *got = (size_t)rc;
    if (rc == 0) {
        gzerror(s->gz, &code);
        if (code == Z_BUF_ERROR)
            return damaged(s);
    }
    return 0;
}

int ws__text_read(struct ws__text_source *s, char *to, size_t n, size_t *got)
{
    struct ws__loc loc = {.file = s->file};

    WS_TRY(ws__check_stop(s->ctx));
    if (s->gz) {
        WS_TRY(read_gz(s, to, n, got));
    } else {
        *got = n < s->left ? n : s->left;
        if (*got)
            memcpy(to, s->mem, *got);
        s->mem += *got;
        s->left -= *got;
    }
    s->total += *got;
    if (s->total <= TEXT_MAX)
        return 0;
    ws__fail_at(s->ctx, WS_ELIMIT, &loc, "the text is larger than %llu MiB",
                (unsigned long long)(TEXT_MAX >> 20));
    return ws__hint(s->ctx, "split the file");
}

void ws__text_close(struct ws__text_source *s)
{
    if (s->gz)
        gzclose_r(s->gz);
    s->gz = NULL;
}
