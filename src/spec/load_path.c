/*
 * load_path.c: finding and reading the files of a specification.
 *
 * All paths that end in the specification are built here and live in its
 * arena, in the form in which the user gave them: errors then name files as
 * people know them.
 */
#include <dirent.h>
#include <errno.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/spawn.h"
#include "spec/parts.h"

#include "base/banned.h"

#define MAX_KERNELS 256

char *ws__load_join(struct ws__load *l, const char *dir, const char *name)
{
    size_t n = strlen(dir);

    if (*name == '/' || !strcmp(dir, "."))
        return ws__arena_strdup(l->arena, name);
    return ws__arena_printf(l->arena, "%s%s%s", dir,
                            n && dir[n - 1] == '/' ? "" : "/", name);
}

char *ws__load_dir(struct ws__load *l, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return ws__arena_strdup(l->arena, ".");
    return ws__arena_strndup(l->arena, path,
                             slash == path ? 1 : (size_t)(slash - path));
}

/* What a draft for the op does not need. */
static void leave_outline(struct ws__node *root)
{
    static const char *const left_out[] = {"reference", "tolerance",
                                           "workloads"};
    struct ws__node **at = &root->first;

    if (root->kind != WS__MAP || !ws__node_get(root, "op"))
        return;
    root->last = NULL;
    while (*at) {
        bool leave = false;

        for (size_t i = 0; i < WS_COUNT(left_out); i++)
            leave = leave || !strcmp((*at)->key, left_out[i]);
        root->n -= leave;
        if (leave) {
            *at = (*at)->next;
        } else {
            root->last = *at;
            at = &(*at)->next;
        }
    }
}

int ws__load_tree(struct ws__load *l, const char *path,
                  const struct ws__node **out)
{
    struct ws__node *root;
    char *text;
    size_t len;
    int rc;

    WS_TRY(ws__fs_read(l->ctx, path, WS__SPEC_TEXT_MAX, &text, &len));
    rc = ws__node_parse(l->ctx, l->arena, text, len, path, 1, &root);
    ws__free(l->ctx, text);
    if (rc >= 0 && l->op_outline)
        leave_outline(root);
    if (rc >= 0)
        rc = ws__node_no_blanks(l->ctx, root);
    *out = root;
    return rc;
}

/* The folder that has the operators' folders in it. */
int ws__load_share_dir(struct ws__load *l, const char **out)
{
    char *found = NULL, *ops;

    if (!l->share_dir) {
        WS_TRY(ws__share_dir(l->ctx, &found));
        l->share_dir = ws__arena_strdup(l->arena, found);
        ws__free(l->ctx, found);
        if (!l->share_dir)
            return WS_ENOMEM;
    }
    ops = ws__load_join(l, l->share_dir, "ops");
    if (!ops)
        return WS_ENOMEM;
    *out = ws__fs_is_dir(ops) ? ops : l->share_dir;
    return 0;
}

int ws__load_find_op(struct ws__load *l, const char *dir, const char **out)
{
    static const char *const names[] = {"op.yaml", "op.yml", "op.json"};

    *out = NULL;
    for (size_t i = 0; i < WS_COUNT(names) && !*out; i++) {
        char *path = ws__load_join(l, dir, names[i]);

        if (!path)
            return WS_ENOMEM;
        if (ws__fs_exists(path))
            *out = path;
    }
    return 0;
}

static bool is_spec_name(const char *name)
{
    static const char *const ends[] = {".yaml", ".yml", ".json"};
    size_t n = strlen(name);

    for (size_t i = 0; *name != '.' && i < WS_COUNT(ends); i++)
        if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
            return true;
    return false;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_dir(struct ws__load *l, DIR *d, const char *folder,
                    const char **list, size_t *n)
{
    struct dirent *e;

    while ((e = readdir(d)) != NULL) {
        if (!is_spec_name(e->d_name))
            continue;
        if (*n == MAX_KERNELS)
            return ws__fail(l->ctx, WS_ELIMIT, "more than %d kernels in '%s'",
                            MAX_KERNELS, folder);
        list[*n] = ws__load_join(l, folder, e->d_name);
        if (!list[(*n)++])
            return WS_ENOMEM;
    }
    qsort(list, *n, sizeof(*list), compare_texts);
    return 0;
}

void ws__load_nearest_file(struct ws__load *l, const char *path, char *name,
                           size_t n)
{
    const char *dir = ws__load_dir(l, path);
    struct ws__nearest near;
    struct dirent *e;
    DIR *d = dir ? opendir(dir) : NULL;

    *name = '\0';
    ws__nearest_begin(&near, ws__path_base(path));
    while (d && (e = readdir(d)) != NULL) {
        ws__nearest_see(&near, e->d_name);
        if (near.best == e->d_name) {
            snprintf(name, n, "%s", e->d_name);
            near.best = name;
        }
    }
    if (d)
        closedir(d);
    if (!ws__nearest_name(&near))
        *name = '\0';
}

int ws__load_list_kernels(struct ws__load *l, const char *dir,
                          const char ***out, size_t *n)
{
    const char *folder = ws__load_join(l, dir, "kernels");
    DIR *d;
    int rc;

    *n = 0;
    *out = ws__arena_alloc(l->arena, MAX_KERNELS, sizeof(**out));
    if (!folder || !*out)
        return WS_ENOMEM;
    d = opendir(folder);
    if (!d)
        return errno == ENOENT ? 0 : ws__fs_fail(l->ctx, errno, "list", folder);
    rc = list_dir(l, d, folder, *out, n);
    closedir(d);
    return rc;
}
