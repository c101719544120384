/*
 * fuzz_llm_reply.c: hostile replies to a model that was shown a kernel. What
 * is taken is data of the promised form; what is refused has a message of one
 * line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm/llm_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char source[] = "int a;\n  b();\n  c();\r\nint d;\n  b();\n}";

static void check(const struct ws__llm_proposal *p)
{
    if (!p->source && !p->nchange)
        abort();
    if (p->source && !strcmp(p->source, source))
        abort();
    for (size_t i = 0; i < p->nchange; i++)
        if (!*p->change[i].path || strchr(p->change[i].path, '/') ||
            !*p->change[i].yaml || strchr(p->change[i].yaml, '\n'))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const roots[] = {"parameters", "launches", NULL};
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *reply = malloc(size + 1);
    struct ws__llm_proposal *p = NULL;

    if (ctx && reply && size < 100000) {
        if (size)
            memcpy(reply, data, size);
        reply[size] = '\0';
        if (ws__llm_proposal_parse(ctx, reply, source, roots, &p) >= 0)
            check(p);
        else if (p || !*ws_ctx_error(ctx)->message ||
                 ws_ctx_error(ctx)->code != WS_EPARSE)
            abort();
        ws__llm_proposal_free(p);
    }
    free(reply);
    ws_ctx_free(ctx);
    return 0;
}
