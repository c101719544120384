/*
 * llm_json.c: what requests and transcripts share of their JSON.
 */
#include "llm/llm_int.h"

#include <jansson.h>

#include "base/banned.h"

json_t *ws__llm_messages(const struct ws__llm_ask *ask)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < ask->n; i++) {
        json_t *m =
            json_pack("{s:s, s:s}", "role", ws__llm_role_name(ask->msg[i].role),
                      "content", ask->msg[i].text);

        if (json_array_append_new(list, m) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static int add(const char *text, size_t n, void *user)
{
    return ws__buf_add(user, text, n) < 0 ? -1 : 0;
}

char *ws__llm_dump(struct ws_ctx *ctx, const json_t *value)
{
    struct ws__buf b;

    ws__buf_init(&b, ctx, WS__LLM_TRANSCRIPT_BYTES);
    if (json_dump_callback(value, add, &b,
                           JSON_COMPACT | JSON_REAL_PRECISION(9)) < 0) {
        ws__buf_free(&b);
        ws__nomem(ctx);
        return NULL;
    }
    return ws__buf_take(&b);
}
