/*
 * dtype.h: element types and their conversion to and from double.
 *
 * Values are stored in 8-bit and 16-bit formats by round to nearest even;
 * overflow saturates for the fp8 types and becomes infinity for f16 and bf16.
 */
#ifndef WS_DTYPE_H
#define WS_DTYPE_H

#include <string.h>

#include "base/ctx.h"

/* code, name in specifications, bytes, unit roundoff of stored values */
#define WS__DTYPE_MAP(X)                                                       \
    X(1, F64, "float64", 8, 0x1p-53)                                           \
    X(2, F32, "float32", 4, 0x1p-24)                                           \
    X(3, F16, "float16", 2, 0x1p-11)                                           \
    X(4, BF16, "bfloat16", 2, 0x1p-8)                                          \
    X(5, F8E4M3, "float8_e4m3fn", 1, 0x1p-4)                                   \
    X(6, F8E5M2, "float8_e5m2", 1, 0x1p-3)                                     \
    X(7, I64, "int64", 8, 0)                                                   \
    X(8, I32, "int32", 4, 0)                                                   \
    X(9, I16, "int16", 2, 0)                                                   \
    X(10, I8, "int8", 1, 0)                                                    \
    X(11, U8, "uint8", 1, 0)                                                   \
    X(12, BOOL, "bool", 1, 0)

enum ws__dtype {
    WS__DT_NONE = 0,
#define WS_X(code, name, text, bytes, eps) WS__DT_##name = (code),
    WS__DTYPE_MAP(WS_X)
#undef WS_X
};

/* The bits of a double as an integer, and back. */
static inline uint64_t ws__bits_of(double v)
{
    uint64_t u;

    memcpy(&u, &v, sizeof(u));
    return u;
}

static inline double ws__double_of(uint64_t u)
{
    double v;

    memcpy(&v, &u, sizeof(v));
    return v;
}

const char *ws__dtype_name(enum ws__dtype t);
enum ws__dtype ws__dtype_parse(const char *name); /* NONE if unknown */
size_t ws__dtype_bytes(enum ws__dtype t);
double ws__dtype_eps(enum ws__dtype t); /* unit roundoff; 0 for integers */
bool ws__dtype_is_float(enum ws__dtype t);

/* Element i of an array, as double, and back. */
double ws__dtype_get(enum ws__dtype t, const void *array, size_t i);
void ws__dtype_set(enum ws__dtype t, void *array, size_t i, double v);
/* Whole runs, for speed. */
void ws__dtype_load(enum ws__dtype t, const void *from, double *to, size_t n);
void ws__dtype_store(enum ws__dtype t, const double *from, void *to, size_t n);

#endif
