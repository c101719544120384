/*
 * t_fakecuda.h: for tests that want a CUDA device: where the fake one lies,
 * and whether there is a real one.
 */
#ifndef WS_T_FAKECUDA_H
#define WS_T_FAKECUDA_H

#include "base/t_base.h"

#include <limits.h>
#include <unistd.h>

#include "device/device.h"

/* The folder with the libraries, from the runner or from where this program
 * lies; false: they were not built ('make fakecuda'). */
static inline bool t_fakecuda_folder(char *out, size_t n)
{
    const char *build = getenv("WS_BUILD");
    char own[PATH_MAX] = "", lib[PATH_MAX + 64];

    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
        return false;
    for (;;) {
        char *slash = strrchr(own, '/');

        snprintf(out, n, "%.4000s/tests/fakecuda", build ? build : own);
        snprintf(lib, sizeof(lib), "%.4000s/libcuda.so.1", out);
        if (!access(lib, R_OK))
            return true;
        if (build || !slash)
            return false;
        *slash = '\0';
    }
}

/* Lets workers find the fake libraries before others. */
static inline void t_fakecuda_use(const char *folder)
{
    const char *was = getenv("LD_LIBRARY_PATH");
    char path[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s%s%s", folder, was ? ":" : "",
             was ? was : "");
    setenv("LD_LIBRARY_PATH", path, 1);
}

/* Without a real device the fake one, if it was built. False: it is real, or
 * there is none. */
static inline bool t_fakecuda_if_none(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device_list list = {NULL, 0};
    char folder[PATH_MAX];
    bool real = false;

    if (ws__device_probe_all(ctx, &list) == 0)
        for (size_t i = 0; i < list.n; i++)
            real = real || !strcmp(list.item[i].name, "cuda:0");
    ws__free(ctx, list.item);
    ws_ctx_free(ctx);
    if (real || !t_fakecuda_folder(folder, sizeof(folder)))
        return false;
    t_fakecuda_use(folder);
    return true;
}

#endif
