/*
 * join.c: several sites of a transformation as one.
 *
 * A trial of a forge run costs seconds, and what a hint to the compiler or a
 * constant gains at one place it gains at the next. So a transformation may say
 * that its sites are made together: those of a function, or of all functions
 * that the kernel launches.
 */
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_WORDS 400 /* of a site */
#define MAX_NAMED 4   /* of its parts */

static bool is_part(const struct ws__sites *s, size_t i)
{
    return !s->site[i].refused;
}

/* Is the text among those of the parts before i? */
static bool is_said(const struct ws__sites *s, size_t from, size_t i)
{
    for (size_t k = from; k < i; k++)
        if (is_part(s, k) && s->site[k].trust &&
            !strcmp(s->site[k].trust, s->site[i].trust))
            return true;
    return false;
}

/* What all of them are called, or leave to the verdict. NULL: no memory. */
static const char *join_texts(const struct ws__xform_in *in,
                              const struct ws__sites *s, size_t from,
                              bool trust)
{
    char text[MAX_WORDS];
    size_t len = 0, named = 0, more = 0;

    text[0] = '\0';
    for (size_t i = from; i < s->n; i++) {
        const char *one = trust ? s->site[i].trust : s->site[i].words;
        size_t n = one ? strlen(one) : 0;

        if (!is_part(s, i) || !one || (trust && is_said(s, from, i)))
            continue;
        if (named == MAX_NAMED || len + n + 24 > sizeof(text)) {
            more++;
            continue;
        }
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                named++ ? "; " : "", one);
    }
    if (more)
        snprintf(text + len, sizeof(text) - len, "; and %zu more", more);
    return ws__arena_strdup(in->arena, text);
}

int ws__sites_join(const struct ws__xform_in *in, struct ws__sites *s,
                   size_t from)
{
    struct ws__site *part, whole;
    size_t n = 0, to;

    for (size_t i = from; i < s->n; i++)
        n += is_part(s, i);
    if (n < 2)
        return 0;
    part = ws__arena_alloc(in->arena, n, sizeof(*part));
    if (!part)
        return WS_ENOMEM;
    n = 0;
    for (size_t i = from; i < s->n; i++)
        if (is_part(s, i))
            part[n++] = s->site[i];
    whole = part[0];
    whole.words = join_texts(in, s, from, false);
    whole.trust = join_texts(in, s, from, true);
    whole.part = part;
    whole.npart = n;
    if (!whole.words || !whole.trust)
        return WS_ENOMEM;
    if (!*whole.trust)
        whole.trust = NULL;
    to = s->n;
    for (size_t i = s->n; i-- > from;) /* the refused stay, behind it */
        if (!is_part(s, i))
            s->site[--to] = s->site[i];
    memmove(&s->site[from + 1], &s->site[to], (s->n - to) * sizeof(*s->site));
    s->n = from + 1 + s->n - to;
    s->site[from] = whole;
    return 0;
}
