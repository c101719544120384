/*
 * plan_files.c: kernel files that are written for people: how such a file names
 * its op.
 */
#include "plan/plan.h"

#include "base/fs.h"
#include "base/banned.h"

/* Do two absolute paths have more in common than the root? */
static bool share_folder(const char *a, const char *b)
{
    size_t n = strcspn(a + 1, "/") + 1;

    return a[n] == '/' && b[n] == '/' && !strncmp(a, b, n);
}

/* The name of a shipped op, by its folder; or NULL. */
static int shipped_op(struct ws_spec *spec, const char *file, const char **out)
{
    char *share, *ops = NULL, *real = NULL;
    int rc;

    *out = NULL;
    WS_TRY(ws__share_dir(spec->ctx, &share));
    ops = ws__path_join(spec->ctx, share, "ops");
    rc = !ops                  ? WS_ENOMEM
         : !ws__fs_is_dir(ops) ? 0
                               : ws__path_inside(spec->ctx, ops, ops, &real);
    if (real) {
        size_t n = strlen(real);
        const char *name = file + n + 1, *end = strchr(name, '/');

        if (!strncmp(file, real, n) && file[n] == '/' && end &&
            !strchr(end + 1, '/') &&
            !(*out =
                  ws__arena_strndup(&spec->arena, name, (size_t)(end - name))))
            rc = WS_ENOMEM;
    }
    ws__free(spec->ctx, share);
    ws__free(spec->ctx, ops);
    ws__free(spec->ctx, real);
    return rc < 0 ? rc : 0;
}

int ws__plan_op_path(struct ws_spec *spec, const char *dir, const char **out)
{
    const struct ws__op *op = spec->s->op;
    char *real, *out_dir = NULL, *near = NULL;
    int rc;

    WS_TRY(ws__path_inside(spec->ctx, op->dir, op->file, &real));
    rc = shipped_op(spec, real, out);
    if (rc >= 0 && !*out && dir)
        rc = ws__path_inside(spec->ctx, dir, dir, &out_dir);
    if (rc >= 0 && out_dir && share_folder(real, out_dir))
        rc = ws__path_relative(spec->ctx, out_dir, real, &near);
    if (rc >= 0 && !*out)
        rc = (*out = ws__arena_strdup(&spec->arena, near ? near : real))
                 ? 0
                 : WS_ENOMEM;
    ws__free(spec->ctx, near);
    ws__free(spec->ctx, out_dir);
    ws__free(spec->ctx, real);
    return rc;
}
