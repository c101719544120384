/*
 * compile_sweep.c: what compiling runs that were killed have left behind.
 *
 * A run has a folder of its own, ".work-PID", where Triton may write, and files
 * appear under a temporary name, "NAME.PID-NUMBER.tmp" with the PID in
 * hexadecimal. Those of processes that are gone are nobody's. Others may
 * compile into the same folder, so what belongs to one that lives stays.
 */
#include "plan/plan_compile.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/banned.h"

#define DEPTH 16 /* descriptors of a walk */

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path); /* what cannot be removed stays, and what holds it */
    return 0;
}

void ws__compile_remove(const char *folder)
{
    nftw(folder, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}

static bool is_gone(const char *digits, int base, char end)
{
    char *stop;
    long pid;

    errno = 0;
    pid = strtol(digits, &stop, base);
    return stop != digits && *stop == end && pid > 0 && !errno &&
           kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static bool is_left(const char *name)
{
    size_t n = strlen(name);
    const char *dot;

    if (!strncmp(name, WS__COMPILE_WORK, strlen(WS__COMPILE_WORK)))
        return is_gone(name + strlen(WS__COMPILE_WORK), 10, '\0');
    if (n < 5 || strcmp(name + n - 4, ".tmp"))
        return false;
    for (dot = name + n - 5; dot > name && *dot != '.'; dot--)
        ;
    return is_gone(dot + 1, 16, '-');
}

void ws__compile_sweep(struct ws_ctx *ctx, const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;

    while (d && (e = readdir(d))) {
        char *path =
            is_left(e->d_name) ? ws__path_join(ctx, folder, e->d_name) : NULL;

        if (path)
            ws__compile_remove(path);
        ws__free(ctx, path);
    }
    if (d)
        closedir(d);
}
