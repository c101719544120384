/*
 * where.c: where our own files are. See spawn.h.
 *
 * Nothing is compiled in: an installation may be moved as a whole. We look
 * beside the running executable and beside the library that holds this code
 * (a script may have loaded it), in the installed layout, and last in a build
 * tree: a folder above the executable that is recognised by what only a build
 * tree has. So tests and fresh builds find the worker of their own variant.
 */
#include "base/spawn.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define WORKER "wavesmith-worker"
#define MAX_UP 6

static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
    else
        path[0] = '\0';
}

static void exe_dir(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

    out[n > 0 ? n : 0] = '\0';
    cut_name(out);
}

/* Without /proc a program does not know where it is. */
static bool lacks_proc(struct ws_ctx *ctx, const char *what,
                       const char *setting)
{
    char dir[PATH_MAX];

    exe_dir(dir);
    if (dir[0])
        return false;
    ws__fail(ctx, WS_ENOENT,
             "cannot find %s: /proc is not mounted, which is needed to know "
             "where this program is",
             what);
    ws__hint(ctx, "mount /proc, or set %s", setting);
    return true;
}

static void lib_dir(char out[PATH_MAX])
{
    static const char here = 0; /* an address inside this library */
    Dl_info info;

    out[0] = '\0';
    if (dladdr(&here, &info) && info.dli_fname)
        snprintf(out, PATH_MAX, "%s", info.dli_fname);
    cut_name(out);
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

static bool join(char out[PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

    return n > 0 && n < PATH_MAX;
}

static bool has(const char *dir, const char *name)
{
    char path[PATH_MAX];

    return join(path, dir, name) && access(path, F_OK) == 0;
}

struct place {
    const char *below; /* of the executable's folder */
    const char *mark;  /* file that must exist in it */
};

/* `out` becomes the first folder that has its mark. */
static bool find_beside(const struct place *places, char out[PATH_MAX])
{
    char dir[2][PATH_MAX], path[PATH_MAX];

    exe_dir(dir[0]);
    lib_dir(dir[1]);
    for (size_t d = 0; d < 2; d++)
        for (const struct place *p = places; dir[d][0] && p->below; p++)
            if (join(path, dir[d], p->below) && has(path, p->mark) &&
                realpath(path, out))
                return true;
    return false;
}

/* `out` becomes the first folder at or above the executable's that has both
 * marks. */
static bool find_above(const char *mark, const char *also, char out[PATH_MAX])
{
    exe_dir(out);
    for (int i = 0; i < MAX_UP && out[0]; i++, cut_name(out))
        if (has(out, mark) && has(out, also))
            return true;
    return false;
}

int ws__worker_path(struct ws_ctx *ctx, char **out)
{
    static const struct place places[] = {
        {".", WORKER},
        {"../libexec/wavesmith", WORKER},
        {NULL, NULL},
    };
    char dir[PATH_MAX] = "", path[PATH_MAX] = "";
    bool found = false;

    *out = NULL;
    if (ctx->worker_path) {
        if (!is_program(ctx->worker_path))
            return ws__fail(ctx, WS_ENOENT, "no worker at '%s'",
                            ctx->worker_path);
        *out = ws__strdup(ctx, ctx->worker_path);
        return *out ? 0 : WS_ENOMEM;
    }
    if (find_beside(places, dir) ||
        find_above(WORKER, "gen/table_device.c", dir))
        found = join(path, dir, WORKER) && is_program(path);
    if (!found && lacks_proc(ctx, "'" WORKER "'", "the worker's path"))
        return WS_ENOENT;
    if (!found) {
        exe_dir(dir);
        ws__fail(ctx, WS_ENOENT,
                 "cannot find '%s': looked in '%s' and in "
                 "'../libexec/wavesmith' from there",
                 WORKER, dir);
        return ws__hint(ctx, "install it beside the program, or set the "
                             "worker's path");
    }
    *out = ws__strdup(ctx, path);
    return *out ? 0 : WS_ENOMEM;
}

int ws__share_dir(struct ws_ctx *ctx, char **out)
{
    static const struct place places[] = {
        {"../share/wavesmith", "ops"},
        {NULL, NULL},
    };
    char dir[PATH_MAX] = "";
    const char *found = NULL;

    *out = NULL;
    if (ctx->share_dir)
        found = ctx->share_dir;
    else if (find_beside(places, dir) ||
             find_above("ops", "include/wavesmith/wavesmith.h", dir))
        found = dir;
    if (!found || !has(found, "ops")) {
        if (!found && lacks_proc(ctx, "the shipped operators", "their folder"))
            return WS_ENOENT;
        if (!found)
            exe_dir(dir);
        ws__fail(ctx, WS_ENOENT, "no operators: '%s' has no folder 'ops'",
                 found ? found : dir);
        return ws__hint(ctx, "install the shipped operators, or set their "
                             "folder");
    }
    *out = ws__strdup(ctx, found);
    return *out ? 0 : WS_ENOMEM;
}
