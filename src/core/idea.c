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
