/*
 * llm_meter.c: the budget of tokens. See llm.h for its rules.
 */
#include "llm/llm_int.h"

#include "base/banned.h"

static uint64_t left(const struct ws__llm_meter *m)
{
    uint64_t used = m->prompt + m->completion;

    return used < m->budget ? m->budget - used : 0;
}

int ws__llm_admit(struct ws_ctx *ctx, struct ws__llm_meter *m,
                  const struct ws__llm_ask *ask)
{
    uint64_t prompt = ws__llm_tokens_most(ask->msg, ask->n);

    if (m->budget && prompt + ask->max_tokens > left(m)) {
        ws__fail(ctx, WS_ELIMIT,
                 "the budget of %llu tokens has %llu left, and this ask could "
                 "take %llu (prompt %llu at most, reply %u); it was not sent",
                 (unsigned long long)m->budget, (unsigned long long)left(m),
                 (unsigned long long)(prompt + ask->max_tokens),
                 (unsigned long long)prompt, ask->max_tokens);
        return ws__hint(ctx, "raise the budget of tokens");
    }
    m->attempts++;
    return 0;
}

uint64_t ws__llm_left(const struct ws__llm_meter *m,
                      const struct ws__llm_ask *ask)
{
    uint64_t prompt = ws__llm_tokens_most(ask->msg, ask->n);

    if (!m->budget)
        return UINT64_MAX;
    return left(m) > prompt ? left(m) - prompt : 0;
}

void ws__llm_charge(struct ws__llm_meter *m, const struct ws__llm_opts *opts,
                    uint64_t prompt, uint64_t completion)
{
    m->prompt += prompt;
    m->completion += completion;
    m->cost += ((double)prompt * opts->price_in +
                (double)completion * opts->price_out) /
               1e6;
}

void ws__llm_settle(struct ws__llm_meter *m, const struct ws__llm_opts *opts,
                    const struct ws__llm_ask *ask, struct ws__llm_reply *r,
                    uint64_t hidden_bytes)
{
    double before = m->cost;

    if (!r->reported) {
        uint64_t bytes = strlen(r->text) + hidden_bytes;

        r->prompt_tokens = ws__llm_tokens_most(ask->msg, ask->n);
        r->completion_tokens =
            bytes < ask->max_tokens ? bytes : ask->max_tokens;
    }
    ws__llm_charge(m, opts, r->prompt_tokens, r->completion_tokens);
    r->cost = m->cost - before;
}

void ws__llm_settle_lost(struct ws__llm_meter *m,
                         const struct ws__llm_opts *opts,
                         const struct ws__llm_ask *ask)
{
    ws__llm_charge(m, opts, ws__llm_tokens_most(ask->msg, ask->n),
                   ask->max_tokens);
}
