/* shuffle.c: see shuffle.h. */
#include "search/shuffle.h"

#include "base/banned.h"

#define ROUNDS 4

void ws__shuffle_init(struct ws__shuffle *s, uint64_t n, uint64_t seed)
{
    s->n = n;
    s->seed = seed;
    s->half = 1;
    while (s->half < 32 && (uint64_t)1 << 2 * s->half < n)
        s->half++;
}

static uint64_t permute(const struct ws__shuffle *s, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << s->half) - 1;
    uint64_t l = x >> s->half, r = x & mask;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t f = ws__rng_at(ws__rng_at(s->seed, i), r) >> 32 & mask;
        uint64_t t = l ^ f;

        l = r;
        r = t;
    }
    return l << s->half | r;
}

uint64_t ws__shuffle_at(const struct ws__shuffle *s, uint64_t i)
{
    do
        i = permute(s, i);
    while (i >= s->n);
    return i;
}
