/* plan_put.c: see plan_put.h. */
#include "plan/plan_put.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#include "base/banned.h"

#define MAX_OLD ((size_t)64 << 20)

struct ws__put {
    struct ws__put *before;
    const char *path;
    const char *new_dir; /* the first folder that was made for it, or NULL */
    char *old;           /* what was there; NULL: nothing */
    size_t n;
};

/* ---- checks ------------------------------------------------------------ */

static bool is_link(const char *path)
{
    struct stat st;

    return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

static int refuse_link(struct ws_ctx *ctx, const char *link)
{
    ws__fail(ctx, WS_EINVAL, "'%s' is a symbolic link", link);
    return ws__hint(ctx, "what it leads to is not written over: remove it, "
                         "or name another folder with --out");
}

int ws__put_check(const struct ws__puts *p, const char *path, const char *base)
{
    size_t at = base ? strlen(base) : strlen(path);

    for (size_t i = 0; i < WS__PUT_FROM; i++)
        if (p->from[i] && ws__fs_same(path, p->from[i])) {
            ws__fail(p->ctx, WS_EINVAL,
                     "'%s' would be written over by what "
                     "is made of it",
                     path);
            return ws__hint(p->ctx, "name another with --out");
        }
    for (; path[at]; at++) {
        const char *folder;

        if (path[at] != '/' || !at)
            continue;
        folder = ws__arena_strndup(p->arena, path, at);
        if (!folder)
            return WS_ENOMEM;
        if (is_link(folder))
            return refuse_link(p->ctx, folder);
    }
    if (is_link(path))
        return refuse_link(p->ctx, path);
    if (p->force || !ws__fs_exists(path))
        return 0;
    ws__fail(p->ctx, WS_EINVAL, "'%s' exists already", path);
    return ws__hint(p->ctx, "name another with --out, or write over it with "
                            "--force");
}

/* ---- writing ----------------------------------------------------------- */

/* The folders of a path, made where they are missing. */
static int make_dirs(struct ws__puts *p, struct ws__put *x)
{
    const char *base = ws__path_base(x->path);

    if (base == x->path)
        return 0;
    for (const char *c = x->path + 1; c < base && !x->new_dir; c++) {
        const char *dir;

        if (*c != '/')
            continue;
        dir = ws__arena_strndup(p->arena, x->path, (size_t)(c - x->path));
        if (!dir)
            return WS_ENOMEM;
        if (!ws__fs_exists(dir))
            x->new_dir = dir;
    }
    return x->new_dir
               ? ws__fs_mkdirs(p->ctx,
                               ws__arena_strndup(p->arena, x->path,
                                                 (size_t)(base - x->path) - 1))
               : 0;
}

int ws__put_write(struct ws__puts *p, const char *path, const char *data,
                  size_t n)
{
    struct ws__put *x = ws__arena_alloc(p->arena, 1, sizeof(*x));

    if (!x)
        return WS_ENOMEM;
    x->path = path;
    if (ws__fs_exists(path) && !ws__fs_is_odd(path))
        WS_TRY(ws__fs_read(p->ctx, path, MAX_OLD, &x->old, &x->n));
    x->before = p->last;
    p->last = x;
    WS_TRY(make_dirs(p, x));
    return ws__fs_write(p->ctx, path, data, n);
}

int ws__put_text(struct ws_ctx *ctx, const char *dir, const char *name,
                 const char *text)
{
    char *path = ws__path_join(ctx, dir, name);
    int rc = !path           ? WS_ENOMEM
             : is_link(path) ? refuse_link(ctx, path)
                             : ws__fs_write(ctx, path, text, strlen(text));

    ws__free(ctx, path);
    return rc;
}

void ws__put_keep(struct ws__puts *p)
{
    for (struct ws__put *x = p->last; x; x = x->before)
        ws__free(p->ctx, x->old);
    p->last = NULL;
}

/* ---- taking back ------------------------------------------------------- */

static void remove_new(const struct ws__puts *p, const struct ws__put *x)
{
    char *dir;

    if (!ws__fs_is_odd(x->path))
        unlink(x->path);
    if (!x->new_dir)
        return;
    dir = ws__path_dir(p->ctx, x->path);
    while (dir && !rmdir(dir) && strcmp(dir, x->new_dir) != 0) {
        char *up = ws__path_dir(p->ctx, dir);

        ws__free(p->ctx, dir);
        dir = up;
    }
    ws__free(p->ctx, dir);
}

void ws__put_undo(struct ws__puts *p)
{
    struct ws_error kept = p->ctx->err;

    for (struct ws__put *x = p->last; x; x = x->before) {
        if (!x->old)
            remove_new(p, x);
        else if (ws__fs_write(p->ctx, x->path, x->old, x->n) < 0)
            ws__log(p->ctx, WS_LOG_WARN, "'%s' is not what it was: %s", x->path,
                    p->ctx->err.message);
        ws__free(p->ctx, x->old);
        x->old = NULL;
    }
    p->last = NULL;
    p->ctx->err = kept;
}
