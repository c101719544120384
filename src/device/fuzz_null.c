/* fuzz_null.c: the null device's compiler on any text. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ws__device_ops *ops = ws__device_find("null");
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = ctx ? ws__alloc(ctx, size + 1, 1) : NULL;
    struct ws__build b = {.source = text};
    struct ws__built built;
    void *dev;

    if (text && size)
        memcpy(text, data, size);
    if (text && ops->open(ctx, 0, NULL, &dev) == 0) {
        ops->build(dev, &b, &built);
        ops->close(dev);
    }
    if (ctx)
        ws__free(ctx, text);
    ws_ctx_free(ctx);
    return 0;
}
