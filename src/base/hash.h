/*
 * hash.h: 128-bit content hashes (XXH3) and the generator of random numbers.
 *
 * Hashes identify content; they guard against accidents, not attackers.
 */
#ifndef WS_HASH_H
#define WS_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws__hash {
    uint64_t lo, hi;
};

struct ws__hash ws__hash_bytes(const void *data, size_t n);
/* Continues from `h`: order matters, lengths are part of the content. */
struct ws__hash ws__hash_mix(struct ws__hash h, const void *data, size_t n);
struct ws__hash ws__hash_str(struct ws__hash h, const char *s); /* NULL: "" */
struct ws__hash ws__hash_u64(struct ws__hash h, uint64_t v);
bool ws__hash_eq(struct ws__hash a, struct ws__hash b);
/* 32 hex digits and a NUL. */
void ws__hash_hex(struct ws__hash h, char out[33]);
bool ws__hash_parse(const char *hex, struct ws__hash *out);

/* xoshiro256**, seeded through splitmix64. Same seed, same numbers. */
struct ws__rng {
    uint64_t s[4];
};

void ws__rng_seed(struct ws__rng *r, uint64_t seed);
uint64_t ws__rng_u64(struct ws__rng *r);
/* Uniform in [0, n), n > 0, without modulo bias. */
uint64_t ws__rng_below(struct ws__rng *r, uint64_t n);
double ws__rng_unit(struct ws__rng *r); /* [0, 1) */

/* Steps the state and mixes it: splitmix64. */
static inline uint64_t ws__splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A stateless mix of (seed, index): for generators that run in parallel. Here
 * and not in hash.c so that a loop over it can use vectors. */
static inline uint64_t ws__rng_at(uint64_t seed, uint64_t index)
{
    uint64_t x = seed ^ index * 0xd1342543de82ef95u;

    return ws__splitmix(&x);
}

#endif
