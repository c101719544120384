/* fuzz_mix.c: disassembly from hostile bytes: the classes add up, and one
 * function has no more than all have. */
#include <stdint.h>
#include <stdlib.h>

#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__mix all, one;
    uint64_t sum = 0;

    if (!ctx || size > 100000) {
        ws_ctx_free(ctx);
        return 0;
    }
    if (ws__mix_parse(ctx, (const char *)data, size, NULL, &all) == 0) {
        for (size_t i = 0; i < WS__NMIX; i++)
            sum += all.count[i];
        if (sum != all.total || !sum)
            abort();
    }
    (void)ws__mix_parse(ctx, (const char *)data, size, "f", &one);
    if (one.total > all.total)
        abort();
    ws_ctx_free(ctx);
    return 0;
}
