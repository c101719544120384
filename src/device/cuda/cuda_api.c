/* cuda_api.c: loading the driver and NVML, names of errors. See cuda_api.h. */
#include "device/cuda/cuda_api.h"

#include "base/dl.h"
#include "base/banned.h"

static const struct {
    int error;
    const char *name;
    int code;
} errors[] = {
#define WS_X(name, value, code) {(value), "CUDA_ERROR_" #name, WS_##code},
    CU_ERRORS(WS_X)
#undef WS_X
};

const char *ws__cu_error_name(int error)
{
    for (size_t i = 0; i < WS_COUNT(errors); i++)
        if (errors[i].error == error)
            return errors[i].name;
    return NULL;
}

/* What an error says by itself stands; one that a bad question and a bad device
 * have in common means what was asked for. A lack of memory where nothing was
 * asked for that could be too much is the device's. */
static int code_of(int stage, int error)
{
    int own = stage;

    for (size_t i = 0; i < WS_COUNT(errors); i++)
        if (errors[i].error == error)
            own = errors[i].code;
    switch (own) {
    case WS_ECRASH:
    case WS_ENODEVICE:
    case WS_ENODRIVER:
    case WS_EDEVICE:
        return own;
    case WS_EDEVMEM:
        return stage == WS_EDEVICE ? stage : own;
    default:
        return stage;
    }
}

int ws__cu_fail(struct ws_ctx *ctx, const struct cu_api *api, int stage,
                int error, const char *what)
{
    const char *name = ws__cu_error_name(error), *words = NULL;
    int code = code_of(stage, error);

    if (api->GetErrorString && api->GetErrorString(error, &words))
        words = NULL;
    if (name)
        return ws__fail(ctx, code, "cannot %s: %s%s%s%s", what, name,
                        words ? " (" : "", words ? words : "",
                        words ? ")" : "");
    return ws__fail(ctx, code, "cannot %s: CUDA error %d%s%s%s", what, error,
                    words ? " (" : "", words ? words : "", words ? ")" : "");
}

int ws__cu_load(struct ws_ctx *ctx, struct cu_api *api)
{
    static const char *const names[] = {"libcuda.so.1",
                                        "/usr/local/nvidia/lib64/libcuda.so.1",
                                        NULL};
    const struct ws__dl_symbol symbols[] = {
#define WS_X(name, suffix, args)                                               \
    {"cu" #name #suffix, (void **)&api->name, false},
        CU_FUNCTIONS(WS_X)
#undef WS_X
#define WS_X(name, suffix, args)                                               \
    {"cu" #name #suffix, (void **)&api->name, true},
            CU_OPTIONAL(WS_X)
#undef WS_X
                {NULL, NULL, false},
    };

    memset(api, 0, sizeof(*api));
    return ws__dl_open(ctx, names,
                       "install the NVIDIA driver, or in a container make its "
                       "libraries visible",
                       symbols, &api->lib);
}

void ws__cu_unload(struct cu_api *api)
{
    ws__dl_close(api->lib);
    memset(api, 0, sizeof(*api));
}

void ws__nvml_begin(struct ws_ctx *ctx, struct nvml_api *api)
{
    static const char *const names[] = {
        "libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1", NULL};
    const struct ws__dl_symbol symbols[] = {
#define WS_X(name, suffix, args)                                               \
    {"nvml" #name #suffix, (void **)&api->name, false},
        NVML_FUNCTIONS(WS_X)
#undef WS_X
            {NULL, NULL, false},
    };

    memset(api, 0, sizeof(*api));
    if (ws__dl_open(ctx, names, "it comes with the NVIDIA driver", symbols,
                    &api->lib) < 0) {
        ws__log(ctx, WS_LOG_DEBUG, "no clocks: %s", ctx->err.message);
        ws__error_clear(ctx);
        memset(api, 0, sizeof(*api));
    } else if (api->Init()) {
        ws__dl_close(api->lib);
        memset(api, 0, sizeof(*api));
    }
}

void ws__nvml_end(struct nvml_api *api)
{
    if (api->lib)
        api->Shutdown();
    ws__dl_close(api->lib);
    memset(api, 0, sizeof(*api));
}
