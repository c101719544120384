/*
 * shuffle.h: a random order of 0 .. n-1 that takes no memory.
 *
 * A keyed permutation of the next larger power of four (a four-round Feistel
 * network over ws__rng_at), walked along its cycles until it lands below n: at
 * most a few steps on average. Position i of the order is computed from i and
 * the seed alone.
 */
#ifndef WS_SHUFFLE_H
#define WS_SHUFFLE_H

#include "base/hash.h"

struct ws__shuffle {
    uint64_t n, seed;
    unsigned half; /* bits of half a number */
};

void ws__shuffle_init(struct ws__shuffle *s, uint64_t n, uint64_t seed);
/* i < n */
uint64_t ws__shuffle_at(const struct ws__shuffle *s, uint64_t i);

#endif
