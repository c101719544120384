/*
 * plan_pack.c: a pack as a specification. It carries its op, kernels and
 * resolved sources as text, so that it can be checked and timed anywhere,
 * without the files it was made from.
 */
#include "plan/plan.h"
#include "wsrt.h"

#include "base/fs.h"
#include "base/banned.h"

static int open_pack(struct ws_ctx *ctx, const char *path,
                     struct wsrt_pack **out)
{
    char reason[256] = "";
    int rc = wsrt_open(path, out, reason, sizeof(reason));

    switch (rc) {
    case WSRT_OK:
        return 0;
    case WSRT_EIO:
        return ws__fail(ctx, WS_ENOENT, "cannot read '%s': %s", path, reason);
    case WSRT_EVERSION:
        ws__fail(ctx, WS_EVERSION, "cannot use '%s': %s", path, reason);
        return ws__hint(ctx, "it was made by a newer wavesmith: update");
    case WSRT_ENOMEM:
        return ws__nomem(ctx);
    default:
        ws__fail(ctx, WS_ECORRUPT, "cannot use '%s': %s", path, reason);
        return ws__hint(ctx, "write it again with 'wavesmith tune --out'");
    }
}

/* A ready-made kernel is a section of its own. */
static const void *find_file(void *user, size_t kernel, const char *name,
                             size_t *bytes)
{
    char section[WS__MAX_ENTRY + 40];

    snprintf(section, sizeof(section), "file:%zu:%s", kernel, name);
    return wsrt_text(user, section, bytes);
}

/* The pack's texts as a specification. */
static int load(struct ws_ctx *ctx, const char *path, struct wsrt_pack *p,
                struct ws__spec **out)
{
    const struct ws__spec_files files = {find_file, p};
    size_t n = wsrt_kernel_count(p);
    const char *op = wsrt_text(p, "op", NULL);
    const char **text = ws__alloc(ctx, 2 * n, sizeof(*text));
    bool whole = op && n;
    int rc;

    if (!text)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "kernel:%zu", i);
        text[i] = wsrt_text(p, name, NULL);
        snprintf(name, sizeof(name), "source:%zu", i);
        text[n + i] = wsrt_text(p, name, NULL);
        whole = whole && text[i] && text[n + i];
    }
    if (whole) {
        rc = ws__spec_from_parts(ctx, op, text, text + n, n, &files, out);
    } else {
        ws__fail(ctx, WS_ECORRUPT, "'%s' carries no specification to run",
                 path);
        rc = ws__hint(ctx, "write it again with 'wavesmith tune --out'");
    }
    ws__free(ctx, text);
    return rc;
}

int ws_spec_from_pack(struct ws_ctx *ctx, const char *path,
                      struct ws_spec **out)
{
    struct wsrt_pack *p = NULL;
    struct ws__spec *s = NULL;
    char *dir = NULL, *project = NULL;
    int rc;

    *out = NULL;
    WS_TRY(open_pack(ctx, path, &p));
    WS_TRY_DONE(load(ctx, path, p, &s));
    dir = ws__path_dir(ctx, path);
    project = dir ? ws__path_join(ctx, dir, ".wavesmith") : NULL;
    if (!project) {
        ws__spec_free(s);
        rc = WS_ENOMEM;
        goto done;
    }
    rc = ws__plan_wrap(ctx, s, project, out);
done:
    ws__free(ctx, dir);
    ws__free(ctx, project);
    wsrt_close(p);
    return rc;
}
