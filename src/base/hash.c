/* hash.c: see hash.h. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/banned.h"

struct ws__hash ws__hash_bytes(const void *data, size_t n)
{
    XXH128_hash_t h = XXH3_128bits(data, n);

    return (struct ws__hash){h.low64, h.high64};
}

struct ws__hash ws__hash_mix(struct ws__hash h, const void *data, size_t n)
{
    struct ws__hash d = ws__hash_bytes(data, n);
    uint64_t all[5] = {h.lo, h.hi, d.lo, d.hi, n};

    return ws__hash_bytes(all, sizeof(all));
}

struct ws__hash ws__hash_str(struct ws__hash h, const char *s)
{
    return ws__hash_mix(h, s ? s : "", s ? strlen(s) : 0);
}

struct ws__hash ws__hash_u64(struct ws__hash h, uint64_t v)
{
    return ws__hash_mix(h, &v, sizeof(v));
}

bool ws__hash_eq(struct ws__hash a, struct ws__hash b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

void ws__hash_hex(struct ws__hash h, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.hi,
             (unsigned long long)h.lo);
}

static bool parse_half(const char *hex, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < 16; i++) {
        char c = hex[i];
        unsigned d;

        if (c >= '0' && c <= '9')
            d = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            d = (unsigned)(c - 'a') + 10;
        else
            return false;
        *out = *out << 4 | d;
    }
    return true;
}

bool ws__hash_parse(const char *hex, struct ws__hash *out)
{
    return strlen(hex) == 32 && parse_half(hex, &out->hi) &&
           parse_half(hex + 16, &out->lo);
}

void ws__rng_seed(struct ws__rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = ws__splitmix(&seed);
}

static uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

uint64_t ws__rng_u64(struct ws__rng *r)
{
    uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t ws__rng_below(struct ws__rng *r, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;

    do
        x = ws__rng_u64(r);
    while (x >= limit);
    return x % n;
}

double ws__rng_unit(struct ws__rng *r)
{
    return (double)(ws__rng_u64(r) >> 11) * 0x1p-53;
}
