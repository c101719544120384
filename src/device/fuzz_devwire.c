/* fuzz_devwire.c: requests for builds, batches and counts, and what a worker
 * says of a device, from any bytes. The first byte picks which is read. */
#include <stddef.h>
#include <stdint.h>

#include "device/devwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__reader r;
    struct ws__dev_batch batch;
    struct ws__build build;
    struct ws__dev_count count;
    struct ws__device_info info;
    struct ws__arena a;

    if (!ctx || !size) {
        ws_ctx_free(ctx);
        return 0;
    }
    r = (struct ws__reader){data + 1, data + size, false};
    ws__arena_init(&a, ctx);
    if (data[0] == '2') {
        ws__get_info(&r, &info);
        if (!r.bad && info.usable)
            ws__identity_seal(&info.id);
    } else if (data[0] == '4')
        ws__get_count(&r, &a, &count);
    else if (data[0] % 2)
        ws__get_batch(&r, &a, &batch);
    else
        ws__get_build(&r, &a, &build);
    ws__arena_free(&a);
    ws_ctx_free(ctx);
    return 0;
}
