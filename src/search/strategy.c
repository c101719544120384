/*
 * strategy.c: strategies by name, and what they all judge trials by.
 *
 * The table is generated from the folders of this family; nothing here or in
 * the engine names a member.
 */
#include "search/search.h"

#include <math.h>

#include "base/banned.h"

const struct ws__strategy_ops *ws__strategy_find(const char *name)
{
    for (size_t i = 0; ws__strategy_table[i]; i++)
        if (!strcmp(ws__strategy_table[i]->name, name))
            return ws__strategy_table[i];
    return NULL;
}

/* Screening takes far fewer samples: their median needs no allocation and so
 * cannot fail. */
#define FEW 512

double ws__trial_score(struct ws_ctx *ctx, const struct ws__trial *t)
{
    struct ws__summary s;
    double few[FEW];

    if (t->verdict != WS__V_OK || !t->nsample)
        return INFINITY;
    if (t->nsample <= FEW) {
        memcpy(few, t->sample_ns, t->nsample * sizeof(few[0]));
        return ws__median(few, t->nsample);
    }
    if (ws__summarize(ctx, t->sample_ns, t->nsample, &s) < 0)
        return INFINITY;
    return s.median;
}
