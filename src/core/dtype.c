/*
 * dtype.c: element types and their conversion to and from double.
 *
 * The small floats (16 and 8 bits) differ only in a handful of numbers: how
 * many mantissa bits, which exponent bias, which codes stand for infinity and
 * NaN. One description and two inline functions cover them all; with constant
 * descriptions the compiler reduces each to straight-line code that it can
 * put into vectors.
 *
 * Rounding is to nearest even in one step from double, so nothing is rounded
 * twice on the way. Subnormal results use the adder of the processor: adding
 * a power of two whose last mantissa bit is worth the smallest subnormal
 * leaves the rounded code in the low bits.
 *
 * NaN keeps its sign and as much of its payload as fits, so that every code
 * survives the way to double and back.
 */
#include "core/dtype.h"

#include <math.h>

#include "base/banned.h"

static const struct {
    const char *name;
    size_t bytes;
    double eps;
} types[] = {
#define WS_X(code, name, text, bytes, eps) [code] = {text, bytes, eps},
    WS__DTYPE_MAP(WS_X)
#undef WS_X
};

static bool known(enum ws__dtype t)
{
    return t > WS__DT_NONE && (size_t)t < WS_COUNT(types);
}

const char *ws__dtype_name(enum ws__dtype t)
{
    return known(t) ? types[t].name : "none";
}

enum ws__dtype ws__dtype_parse(const char *name)
{
    for (size_t i = 1; i < WS_COUNT(types); i++)
        if (!strcmp(types[i].name, name))
            return (enum ws__dtype)i;
    return WS__DT_NONE;
}

size_t ws__dtype_bytes(enum ws__dtype t)
{
    return known(t) ? types[t].bytes : 0;
}

double ws__dtype_eps(enum ws__dtype t)
{
    return known(t) ? types[t].eps : 0;
}

bool ws__dtype_is_float(enum ws__dtype t)
{
    return ws__dtype_eps(t) > 0;
}

/* Codes are without the sign bit, which is bit `sign`. */
struct small {
    unsigned mant, sign;
    int bias;
    uint32_t largest;  /* largest finite code */
    uint32_t overflow; /* what finite values beyond it become */
    uint32_t inf;      /* what infinity becomes */
    uint32_t nan;      /* codes from here on are NaN */
};

#define SMALL_F16 ((struct small){10, 15, 15, 0x7bff, 0x7c00, 0x7c00, 0x7c01})
#define SMALL_BF16 ((struct small){7, 15, 127, 0x7f7f, 0x7f80, 0x7f80, 0x7f81})
#define SMALL_E4M3 ((struct small){3, 7, 7, 0x7e, 0x7e, 0x7e, 0x7f})
#define SMALL_E5M2 ((struct small){2, 7, 15, 0x7b, 0x7b, 0x7c, 0x7d})

#define DOUBLE_INF 0x7ff0000000000000u

/* 2^e for a normal result. */
static inline double pow2(int e)
{
    return ws__double_of((uint64_t)(e + 1023) << 52);
}

static inline uint32_t small_encode(double v, const struct small f)
{
    const unsigned shift = 52 - f.mant;
    uint64_t u = ws__bits_of(v), a = u & ~(1ull << 63);
    uint32_t sign = (uint32_t)(u >> 63) << f.sign, code, payload;
    /* Normal: round the mantissa, a carry moves on into the exponent. */
    uint64_t r = a + ((1ull << (shift - 1)) - 1) + (a >> shift & 1);
    int64_t normal =
        (int64_t)(r >> shift) - ((int64_t)(1023 - f.bias) << f.mant);
    double magic = pow2(52 + 1 - f.bias - (int)f.mant);
    /* Values far too large would spoil the sum: they are not subnormal. */
    bool tiny = ws__double_of(a) < pow2(1 - f.bias);
    uint64_t sub =
        ws__bits_of((tiny ? ws__double_of(a) : 0) + magic) - ws__bits_of(magic);

    code = tiny ? (uint32_t)sub
                : (normal > f.largest ? f.overflow : (uint32_t)normal);
    payload = (uint32_t)(a >> shift) & ((1u << f.mant) - 1);
    payload |= f.nan & ~((1u << f.mant) - 1);
    payload = payload < f.nan ? f.nan | 1u << (f.mant - 1) : payload;
    code = a == DOUBLE_INF ? f.inf : code;
    code = a > DOUBLE_INF ? payload : code;
    return code | sign;
}

static inline double small_decode(uint32_t x, const struct small f)
{
    const uint32_t mask = (1u << f.sign) - 1, code = x & mask;
    const unsigned shift = 52 - f.mant;
    uint64_t sign = (uint64_t)(x >> f.sign) << 63;
    uint64_t normal =
        ((uint64_t)code << shift) + ((uint64_t)(1023 - f.bias) << 52);
    double sub = (double)(int32_t)code * pow2(1 - f.bias - (int)f.mant);
    uint64_t u = code >> f.mant ? normal : ws__bits_of(sub);

    u = code > f.largest ? DOUBLE_INF | (uint64_t)code << shift : u;
    u = code > f.largest && code < f.nan ? DOUBLE_INF : u;
    return ws__double_of((u & ~(1ull << 63)) | sign);
}

static inline int64_t to_int(double v, double lo, double hi)
{
    double r = rint(v);

    if (r != r)
        return 0;
    if (r <= lo)
        return (int64_t)lo;
    /* 2^63 is no int64: the largest one is what it saturates to. */
    if (r >= hi)
        return hi >= 0x1p63 ? INT64_MAX : (int64_t)hi;
    return (int64_t)r;
}

/* One loop a type: the body is a constant expression of `t`. */
#define LOAD(type, value)                                                      \
    do {                                                                       \
        const type *p = from;                                                  \
        for (size_t i = 0; i < n; i++) {                                       \
            type x = p[i];                                                     \
            to[i] = (value);                                                   \
        }                                                                      \
    } while (0)

void ws__dtype_load(enum ws__dtype t, const void *from, double *to, size_t n)
{
    switch (t) {
    case WS__DT_F64:
        if (n)
            memcpy(to, from, n * sizeof(double));
        break;
    case WS__DT_F32:
        LOAD(float, (double)x);
        break;
    case WS__DT_F16:
        LOAD(uint16_t, small_decode(x, SMALL_F16));
        break;
    case WS__DT_BF16:
        LOAD(uint16_t, small_decode(x, SMALL_BF16));
        break;
    case WS__DT_F8E4M3:
        LOAD(uint8_t, small_decode(x, SMALL_E4M3));
        break;
    case WS__DT_F8E5M2:
        LOAD(uint8_t, small_decode(x, SMALL_E5M2));
        break;
    case WS__DT_I64:
        LOAD(int64_t, (double)x);
        break;
    case WS__DT_I32:
        LOAD(int32_t, x);
        break;
    case WS__DT_I16:
        LOAD(int16_t, x);
        break;
    case WS__DT_I8:
        LOAD(int8_t, x);
        break;
    case WS__DT_U8:
        LOAD(uint8_t, x);
        break;
    case WS__DT_BOOL:
        LOAD(uint8_t, x != 0);
        break;
    case WS__DT_NONE:
        break;
    }
}

#define STORE(type, value)                                                     \
    do {                                                                       \
        type *p = to;                                                          \
        for (size_t i = 0; i < n; i++) {                                       \
            double v = from[i];                                                \
            p[i] = (type)(value);                                              \
        }                                                                      \
    } while (0)

void ws__dtype_store(enum ws__dtype t, const double *from, void *to, size_t n)
{
    switch (t) {
    case WS__DT_F64:
        if (n)
            memcpy(to, from, n * sizeof(double));
        break;
    case WS__DT_F32:
        STORE(float, v);
        break;
    case WS__DT_F16:
        STORE(uint16_t, small_encode(v, SMALL_F16));
        break;
    case WS__DT_BF16:
        STORE(uint16_t, small_encode(v, SMALL_BF16));
        break;
    case WS__DT_F8E4M3:
        STORE(uint8_t, small_encode(v, SMALL_E4M3));
        break;
    case WS__DT_F8E5M2:
        STORE(uint8_t, small_encode(v, SMALL_E5M2));
        break;
    case WS__DT_I64:
        STORE(int64_t, to_int(v, -0x1p63, 0x1p63));
        break;
    case WS__DT_I32:
        STORE(int32_t, to_int(v, INT32_MIN, INT32_MAX));
        break;
    case WS__DT_I16:
        STORE(int16_t, to_int(v, INT16_MIN, INT16_MAX));
        break;
    case WS__DT_I8:
        STORE(int8_t, to_int(v, INT8_MIN, INT8_MAX));
        break;
    case WS__DT_U8:
        STORE(uint8_t, to_int(v, 0, UINT8_MAX));
        break;
    case WS__DT_BOOL:
        STORE(uint8_t, v != 0);
        break;
    case WS__DT_NONE:
        break;
    }
}

double ws__dtype_get(enum ws__dtype t, const void *array, size_t i)
{
    double v = 0;

    ws__dtype_load(t, (const char *)array + i * ws__dtype_bytes(t), &v, 1);
    return v;
}

void ws__dtype_set(enum ws__dtype t, void *array, size_t i, double v)
{
    ws__dtype_store(t, &v, (char *)array + i * ws__dtype_bytes(t), 1);
}
