/* fuzz_ncu.c: tables from hostile bytes: a value is a finite number or missing,
 * and a failure has words. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__arena a = {0};
    struct ws__ncu ncu;

    if (!ctx || size > 100000) {
        ws_ctx_free(ctx);
        return 0;
    }
    ws__arena_init(&a, ctx);
    if (ws__ncu_parse(ctx, &a, "fuzz", (const char *)data, size, &ncu) == 0) {
        if (!ncu.nlaunch || !ncu.known)
            abort();
        for (size_t i = 0; i < ncu.nlaunch; i++)
            for (size_t m = 0; m < WS__NMETRIC; m++)
                if (!ncu.launch[i].kernel || isinf(ncu.launch[i].value[m]))
                    abort();
    } else if (!*ws_ctx_error(ctx)->message || ncu.launch) {
        abort();
    }
    ws__arena_free(&a);
    ws_ctx_free(ctx);
    return 0;
}
