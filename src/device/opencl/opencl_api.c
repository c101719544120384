/* opencl_api.c: loading OpenCL, names of its errors. See opencl_api.h. */
#include "device/opencl/opencl_api.h"

#include "base/dl.h"
#include "base/banned.h"

static const struct {
    int32_t error;
    const char *name;
    int code;
} errors[] = {
#define WS_X(name, value, code) {(value), "CL_" #name, WS_##code},
    OCL_ERRORS(WS_X)
#undef WS_X
        {OCL_PLATFORM_NOT_FOUND, "CL_PLATFORM_NOT_FOUND_KHR", WS_ENODRIVER},
};

static const struct {
    uint32_t value;
    const char *name;
} constants[] = {
#define WS_X(name, value) {(value), "CL_" #name},
    OCL_CONSTANTS(WS_X)
#undef WS_X
};

const char *ws__ocl_error_name(int32_t error)
{
    for (size_t i = 0; i < WS_COUNT(errors); i++)
        if (errors[i].error == error)
            return errors[i].name;
    return NULL;
}

const char *ws__ocl_constant_name(uint32_t value)
{
    for (size_t i = 0; i < WS_COUNT(constants); i++)
        if (constants[i].value == value)
            return constants[i].name;
    return "a property";
}

static int code_of(int stage, int32_t error)
{
    int own = WS_EDEVICE;

    for (size_t i = 0; i < WS_COUNT(errors); i++)
        if (errors[i].error == error)
            own = errors[i].code;
    if (own == WS_EDEVICE || own == WS_ENODEVICE || own == WS_ENODRIVER)
        return own;
    return own == WS_EDEVMEM && stage != WS_EBUILD ? own : stage;
}

int ws__ocl_fail(struct ws_ctx *ctx, int stage, int32_t error, const char *what)
{
    const char *name = ws__ocl_error_name(error);
    int code = code_of(stage, error);

    if (name)
        return ws__fail(ctx, code, "cannot %s: %s", what, name);
    return ws__fail(ctx, code, "cannot %s: OpenCL error %d", what, (int)error);
}

int ws__ocl_load(struct ws_ctx *ctx, struct ocl_api *api)
{
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    const struct ws__dl_symbol symbols[] = {
#define WS_X(result, name, args) {"cl" #name, (void **)&api->name, false},
        OCL_FUNCTIONS(WS_X)
#undef WS_X
            {NULL, NULL, false},
    };

    memset(api, 0, sizeof(*api));
    return ws__dl_open(ctx, names,
                       "install the packages 'ocl-icd-libopencl1' and, for "
                       "the processor as a device, 'pocl-opencl-icd'",
                       symbols, &api->lib);
}

void ws__ocl_unload(struct ocl_api *api)
{
    ws__dl_close(api->lib);
    memset(api, 0, sizeof(*api));
}
