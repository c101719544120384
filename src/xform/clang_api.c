/* clang_api.c: loading libclang. See clang_api.h. */
#include "xform/clang_api.h"

#include "base/dl.h"
#include "base/banned.h"

int ws__clang_open(struct ws_ctx *ctx, const char *path, struct cl_api *out)
{
    static const char *const usual[] = {"libclang-19.so.19", "libclang-19.so.1",
                                        "libclang-19.so", "libclang.so.19",
                                        NULL};
    const char *const given[] = {path, NULL};
    const struct ws__dl_symbol symbols[] = {
#define WS_X(result, name, args) {"clang_" #name, (void **)&out->name, false},
        CL_FUNCTIONS(WS_X)
#undef WS_X
            {NULL, NULL, false}};

    return ws__dl_open(ctx, path ? given : usual,
                       "source transformations need libclang 19: install "
                       "'libclang1-19' and 'libclang-common-19-dev'",
                       symbols, &out->handle);
}

void ws__clang_close(struct cl_api *a)
{
    ws__dl_close(a->handle);
    a->handle = NULL;
}
