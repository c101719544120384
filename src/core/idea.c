/* idea.c: see idea.h. */
#include "core/idea.h"

#include "base/banned.h"

bool ws__idea_holds(const struct ws__idea *idea, const struct ws__candidate *c)
{
    bool any = false;

    if (idea->kernel >= 0)
        return (uint32_t)idea->kernel == c->kernel;
    for (size_t i = 0; i < idea->nset; i++) {
        const struct ws__idea_set *s = &idea->set[i];

        if (s->kernel != c->kernel)
            continue;
        if (!s->allowed[c->config.at[s->param]])
            return false;
        any = true;
    }
    return any;
}

size_t ws__catalogue_regime(const struct ws__catalogue *c,
                            const struct ws__workload *w)
{
    union wsrt_value vars[WS__MAX_SLOTS];

    memset(vars, 0, sizeof(vars));
    for (size_t a = 0; a < WS__MAX_AXES; a++)
        vars[a].i = w->axis[a];
    for (size_t r = 0; r < c->nregime; r++)
        if (!c->regime[r].when || ws__expr_test(c->regime[r].when, vars) > 0)
            return r;
    return c->nregime;
}

const char *ws__idea_state_key(enum ws__idea_state s)
{
    static const char *const key[] = {
        [WS__IDEA_OPEN] = "open",
        [WS__IDEA_WORKED] = "worked on",
        [WS__IDEA_CLOSED] = "closed",
        [WS__IDEA_HOPELESS] = "hopeless",
    };

    return key[s];
}
