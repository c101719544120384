/*
 * fuzz_safetensors.c: headers from hostile bytes. The first byte of the input
 * says how much data follows the header (a power of two, or none); the rest is
 * the header. What is accepted must lie inside the data, in order, without
 * overlaps, with sizes that fit the shapes.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ws__safetensors *f, uint64_t bytes)
{
    uint64_t end = 0;

    for (size_t i = 0; i < f->n; i++) {
        const struct ws__st_tensor *t = &f->tensor[i];
        uint64_t want = ws__dtype_bytes(t->dtype);

        if (t->at < end || t->bytes > bytes || t->at > bytes - t->bytes)
            abort();
        end = t->at + t->bytes;
        if (ws__safetensors_find(f, t->name) != t)
            abort();
        for (size_t d = 0; d < t->ndim && d < WS__MAX_DIMS; d++)
            want *= (uint64_t)t->dim[d];
        if (t->dtype && t->ndim <= WS__MAX_DIMS && want != t->bytes)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__safetensors *f;
    uint64_t bytes;

    if (!ctx || !size || size > 100000) {
        ws_ctx_free(ctx);
        return 0;
    }
    bytes = data[0] & 0x40 ? (uint64_t)1 << (data[0] & 0x3f) : 0;
    if (ws__safetensors_parse(ctx, "fuzz", (const char *)data + 1, size - 1,
                              bytes, &f) == 0)
        check(f, bytes);
    else if (!*ws_ctx_error(ctx)->message)
        abort();
    ws__safetensors_close(f);
    ws_ctx_free(ctx);
    return 0;
}
