/*
 * cuda_cupti.c: finding CUPTI, names of its errors. See cuda_cupti.h.
 *
 * Looked for as NVRTC is (cuda_nvrtc.c). Only CUDA 13's: earlier ones have
 * another interface, or the same one with other structures.
 */
#include "device/cuda/cuda_cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include "base/dl.h"
#include "base/banned.h"

#define MAX_NAMES 40

static const struct {
    int error;
    const char *name;
    int code;
    const char *hint;
} errors[] = {
#define WS_X(name, value, code, hint)                                          \
    {(value), "CUPTI_ERROR_" #name, WS_##code, (hint)},
    CUPTI_ERRORS(WS_X)
#undef WS_X
};

const char *ws__cupti_error_name(int error)
{
    for (size_t i = 0; i < WS_COUNT(errors); i++)
        if (errors[i].error == error)
            return errors[i].name;
    return NULL;
}

int ws__cupti_fail(struct ws_ctx *ctx, int error, const char *what)
{
    for (size_t i = 0; i < WS_COUNT(errors); i++) {
        if (errors[i].error != error)
            continue;
        ws__fail(ctx, errors[i].code, "cannot %s: %s", what, errors[i].name);
        if (errors[i].hint)
            ws__hint(ctx, "%s", errors[i].hint);
        return errors[i].code;
    }
    return ws__fail(ctx, WS_EDEVICE, "cannot %s: CUPTI error %d", what, error);
}

static int load(struct ws_ctx *ctx, const char *const *names,
                struct cupti_api *api)
{
    const struct ws__dl_symbol symbols[] = {
#define WS_X(name, theirs, fields, last)                                       \
    {"cupti" #name, (void **)&api->name, false},
        CUPTI_FUNCTIONS(WS_X)
#undef WS_X
            {NULL, NULL, false},
    };

    return ws__dl_open(ctx, names,
                       "install CUPTI of CUDA 13 (the package 'cuda-cupti', or "
                       "from PyPI 'nvidia-cuda-cupti'), or let "
                       "LD_LIBRARY_PATH name the folder of libcupti.so.13",
                       symbols, &api->lib);
}

/* CUPTI opens its helpers by their bare names, which finds nothing where its
 * folder is on nobody's path: so those beside it are opened first. */
static void load_helpers(struct ws_ctx *ctx, const struct cupti_api *api)
{
    static const char *const helper[] = {"libnvperf_host.so",
                                         "libnvperf_target.so"};
    const char *slash;
    Dl_info own;
    char path[1024];

    if (!dladdr((void *)(uintptr_t)api->ProfilerInitialize, &own) ||
        !own.dli_fname)
        return;
    slash = strrchr(own.dli_fname, '/');
    for (size_t i = 0; slash && i < WS_COUNT(helper); i++) {
        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - own.dli_fname),
                 own.dli_fname, helper[i]);
        if (!access(path, R_OK) && ws__dl_try(ctx, path) < 0)
            ws__error_clear(ctx); /* it says itself what it lacks */
    }
}

int ws__cupti_load(struct ws_ctx *ctx, struct cupti_api *api)
{
    static const char *const fixed[] = {
        "libcupti.so.13",
        "/usr/local/cuda/lib64/libcupti.so.13",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
        "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so.13",
    };
    const char *names[MAX_NAMES + 1] = {NULL};
    size_t n = WS_COUNT(fixed);
    glob_t found = {0};
    int rc;

    memset(api, 0, sizeof(*api));
    memcpy(names, fixed, sizeof(fixed));
    if (!glob("/usr/local/cuda-13*/lib64/libcupti.so.13", 0, NULL, &found))
        for (size_t i = found.gl_pathc; i > 0 && n < MAX_NAMES; i--)
            names[n++] = found.gl_pathv[i - 1];
    rc = load(ctx, names, api);
    globfree(&found);
    if (rc == 0)
        load_helpers(ctx, api);
    if (rc == WS_ENODRIVER) { /* the device works, it is counters that lack */
        ws__error_prefix(ctx, "no counters");
        ctx->err.code = rc = WS_ENOTSUP;
    }
    return rc;
}

void ws__cupti_unload(struct cupti_api *api)
{
    ws__dl_close(api->lib);
    memset(api, 0, sizeof(*api));
}
