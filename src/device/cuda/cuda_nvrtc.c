/*
 * cuda_nvrtc.c: finding NVRTC, names of its errors. See cuda_nvrtc.h.
 *
 * By name first, so that the system's configuration and LD_LIBRARY_PATH (a
 * Python wheel's folder, for one) have the say; then where installers put the
 * toolkit without telling the loader. The newest of several goes first.
 */
#include "device/cuda/cuda_nvrtc.h"

#include <glob.h>

#include "base/dl.h"
#include "base/banned.h"

#define MAX_NAMES 40

static const struct {
    int error;
    const char *name;
    int code;
} errors[] = {
#define WS_X(name, value, code) {(value), "NVRTC_ERROR_" #name, WS_##code},
    NVRTC_ERRORS(WS_X)
#undef WS_X
};

const char *ws__nvrtc_error_name(int error)
{
    for (size_t i = 0; i < WS_COUNT(errors); i++)
        if (errors[i].error == error)
            return errors[i].name;
    return NULL;
}

int ws__nvrtc_fail(struct ws_ctx *ctx, int error, const char *what)
{
    for (size_t i = 0; i < WS_COUNT(errors); i++)
        if (errors[i].error == error) {
            ws__fail(ctx, errors[i].code, "cannot %s: %s", what,
                     errors[i].name);
            if (errors[i].code == WS_ENODRIVER)
                ws__hint(ctx, "NVRTC lacks its file libnvrtc-builtins.so: "
                              "install the toolkit again");
            return errors[i].code;
        }
    return ws__fail(ctx, WS_EDEVICE, "cannot %s: NVRTC error %d", what, error);
}

static int load(struct ws_ctx *ctx, const char *const *names,
                struct nvrtc_api *api)
{
    const struct ws__dl_symbol symbols[] = {
#define WS_X(name, suffix, args)                                               \
    {"nvrtc" #name #suffix, (void **)&api->name, false},
        NVRTC_FUNCTIONS(WS_X)
#undef WS_X
#define WS_X(name, suffix, args)                                               \
    {"nvrtc" #name #suffix, (void **)&api->name, true},
            NVRTC_OPTIONAL(WS_X)
#undef WS_X
                {NULL, NULL, false},
    };

    return ws__dl_open(ctx, names,
                       "install NVIDIA's CUDA toolkit (of its packages "
                       "'cuda-nvrtc' and 'cuda-cudart-dev' are enough), or let "
                       "LD_LIBRARY_PATH name the folder of libnvrtc.so",
                       symbols, &api->lib);
}

int ws__nvrtc_load(struct ws_ctx *ctx, struct nvrtc_api *api)
{
    static const char *const fixed[] = {
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so",
        "/usr/local/cuda/lib64/libnvrtc.so",
        "/usr/local/cuda/targets/x86_64-linux/lib/libnvrtc.so",
    };
    const char *names[MAX_NAMES + 1] = {NULL};
    size_t n = WS_COUNT(fixed);
    glob_t found = {0};
    int rc;

    memset(api, 0, sizeof(*api));
    memcpy(names, fixed, sizeof(fixed));
    if (!glob("/usr/local/cuda-*/lib64/libnvrtc.so", 0, NULL, &found))
        for (size_t i = found.gl_pathc; i > 0 && n < MAX_NAMES; i--)
            names[n++] = found.gl_pathv[i - 1];
    rc = load(ctx, names, api);
    globfree(&found);
    return rc;
}

void ws__nvrtc_unload(struct nvrtc_api *api)
{
    ws__dl_close(api->lib);
    memset(api, 0, sizeof(*api));
}
