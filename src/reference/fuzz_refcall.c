/*
 * fuzz_refcall.c: the message that calls a reference.
 *
 * Whatever arrives, parsing it neither crashes nor accepts a tensor outside
 * of its area; what is accepted is packed and parsed again to the same bytes.
 */
#include "reference/refpriv.h"

#include <stdlib.h>

#define AREA 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const struct ws__ref_request *q)
{
    for (size_t i = 0; i < q->ntensor; i++) {
        uint64_t at = q->result_at[i];

        if (at != WS__REF_NOWHERE &&
            (at > AREA || q->tensor[i].elements > (AREA - at) / 8))
            abort();
        if (q->generate[i] && q->input_at[i] == WS__REF_NOWHERE)
            abort();
    }
    if (q->nconstant > WS__MAX_CONSTANTS)
        abort();
    for (size_t i = 0; i < q->nconstant; i++)
        if (!q->constant[i].name)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__ref_request q, again;
    struct ws__buf b;

    if (!ctx)
        return 0;
    ws__buf_init(&b, ctx, (size_t)1 << 20);
    if (ws__ref_request_get(ctx, data, n, AREA, AREA, &q) == 0) {
        check(&q);
        ws__ref_request_put(&b, &q);
        if (b.failed == 0 &&
            ws__ref_request_get(ctx, b.data, b.len, AREA, AREA, &again) < 0)
            abort();
    }
    ws__buf_free(&b);
    ws_ctx_free(ctx);
    return 0;
}
