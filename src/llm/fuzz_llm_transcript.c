/*
 * fuzz_llm_transcript.c: hostile lines of a transcript. One that is taken has
 * a reply and a model; one that is not has a message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm/llm_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__llm_line l;
    struct ws__arena a;
    int rc;

    if (!ctx || size > 100000)
        goto done;
    ws__arena_init(&a, ctx);
    rc = ws__llm_line_read(ctx, &a, (const char *)data, size, &l);
    if (rc >= 0 && (!l.model || !l.text || !*l.text))
        abort();
    if (rc < 0 && (rc != WS_ECORRUPT || !*ws_ctx_error(ctx)->message))
        abort();
    ws__arena_free(&a);
done:
    ws_ctx_free(ctx);
    return 0;
}
