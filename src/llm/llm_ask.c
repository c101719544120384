/*
 * llm_ask.c: an ask as data: names, the most tokens that it can be, its hash.
 */
#include "llm/llm_int.h"

#include "base/banned.h"

/* A service wraps each message in a few tokens of its own (4 to 7 in the
 * templates in use), and a prompt in some more. */
#define TOKENS_A_MESSAGE 16u
#define TOKENS_A_PROMPT 32u

const char *ws__llm_role_name(enum ws__llm_role role)
{
    static const char *const name[WS__LLM_NROLE] = {[WS__LLM_SYSTEM] = "system",
                                                    [WS__LLM_USER] = "user",
                                                    [WS__LLM_ASSISTANT] =
                                                        "assistant"};

    return (unsigned)role < WS__LLM_NROLE ? name[role] : NULL;
}

const char *ws__llm_finish_name(enum ws__llm_finish finish)
{
    static const char *const name[] = {[WS__LLM_STOP] = "stop",
                                       [WS__LLM_LENGTH] = "length",
                                       [WS__LLM_FILTER] = "filter",
                                       [WS__LLM_OTHER] = "other"};

    return (unsigned)finish < WS_COUNT(name) ? name[finish] : "other";
}

uint64_t ws__llm_tokens_most(const struct ws__llm_msg *msg, size_t n)
{
    uint64_t sum = TOKENS_A_PROMPT;

    for (size_t i = 0; i < n; i++)
        sum += strlen(msg[i].text) + TOKENS_A_MESSAGE;
    return sum;
}

struct ws__hash ws__llm_hash(const struct ws__llm_ask *ask)
{
    struct ws__hash h = ws__hash_u64((struct ws__hash){0}, ask->n);
    char number[32];

    for (size_t i = 0; i < ask->n; i++) {
        h = ws__hash_u64(h, ask->msg[i].role);
        h = ws__hash_str(h, ask->msg[i].text);
    }
    h = ws__hash_u64(h, ask->max_tokens);
    snprintf(number, sizeof(number), "%.9g",
             ask->temperature < 0 ? -1.0 : ask->temperature);
    return ws__hash_str(h, number);
}
