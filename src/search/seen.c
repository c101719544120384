/* seen.c: see seen.h. */
#include "search/seen.h"

#include "base/banned.h"

static struct ws__hash hash_of(const struct ws__candidate *c)
{
    struct ws__hash h = ws__hash_bytes(&c->config, sizeof(c->config));

    return ws__hash_u64(h, c->kernel);
}

static bool is_free(struct ws__hash h)
{
    return !h.lo && !h.hi;
}

static size_t place(const struct ws__seen *s, struct ws__hash h)
{
    size_t i = (size_t)h.lo & (s->cap - 1);

    while (!is_free(s->slot[i]) && !ws__hash_eq(s->slot[i], h))
        i = (i + 1) & (s->cap - 1);
    return i;
}

bool ws__seen_has(const struct ws__seen *s, const struct ws__candidate *c)
{
    return s->cap && !is_free(s->slot[place(s, hash_of(c))]);
}

static int grow(struct ws_ctx *ctx, struct ws__seen *s)
{
    struct ws__seen next = {.n = s->n, .cap = s->cap ? s->cap * 2 : 64};

    next.slot = ws__alloc(ctx, next.cap, sizeof(*next.slot));
    if (!next.slot)
        return WS_ENOMEM;
    for (size_t i = 0; i < s->cap; i++)
        if (!is_free(s->slot[i]))
            next.slot[place(&next, s->slot[i])] = s->slot[i];
    ws__free(ctx, s->slot);
    *s = next;
    return 0;
}

int ws__seen_add(struct ws_ctx *ctx, struct ws__seen *s,
                 const struct ws__candidate *c)
{
    struct ws__hash h = hash_of(c);
    size_t i;

    if ((s->n + 1) * 2 > s->cap)
        WS_TRY(grow(ctx, s));
    i = place(s, h);
    if (!is_free(s->slot[i]))
        return 0;
    s->slot[i] = h;
    s->n++;
    return 1;
}

void ws__seen_clear(struct ws_ctx *ctx, struct ws__seen *s)
{
    ws__free(ctx, s->slot);
    memset(s, 0, sizeof(*s));
}
