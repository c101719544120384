/*
 * generate.c: values of inputs from a seed.
 *
 * Element i of a tensor is a function of (seed, i) alone, so any number of
 * threads writes the same bytes. All arithmetic is in double with the basic
 * operations and sqrt, which IEEE 754 fixes to the last bit, and without
 * contraction: the same bytes under any compiler and processor. The value is
 * then rounded once to the element's type, to nearest even.
 *
 * Normal values come in pairs from one 64-bit number by the Box-Muller
 * transform: exact but for its 32-bit uniforms (largest magnitude 6.76, so
 * the tails beyond 6.6 are coarse) and for polynomials that are off by less
 * than 1e-10. The loops are free of branches and calls so that the compiler
 * can put them into vectors.
 *
 * A family of values changes the doubles before they are rounded, by position
 * and seed alone as well.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/clones.h"
#include "base/banned.h"

/* Of the normal values made here. */
#define NORMAL_PEAK 6.77

/* A number below 2^52 as double: the mantissa of 2^52 + n. */
static inline double small_to_double(uint64_t n)
{
    return ws__double_of(n | 0x4330000000000000u) - 0x1p52;
}

/* ln x for normal x > 0. With m in [sqrt(1/2), sqrt(2)) and
 * f = (m-1)/(m+1): ln m = 2 (f + f^3/3 + f^5/5 + ...). */
static inline double log_of(double x)
{
    /* Adding the distance from sqrt(1/2) to 1 makes the exponent field step
     * at sqrt(1/2) times the powers of two. */
    const uint64_t lift = 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu;
    uint64_t u = ws__bits_of(x) + lift;
    double e = small_to_double(u >> 52) - 1023;
    double m = ws__double_of((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double f = (m - 1) / (m + 1), q = f * f, s;

    s = 1.0 / 13 + q * (1.0 / 15);
    s = 1.0 / 11 + q * s;
    s = 1.0 / 9 + q * s;
    s = 1.0 / 7 + q * s;
    s = 1.0 / 5 + q * s;
    s = 1.0 / 3 + q * s;
    return e * 0x1.62e42fefa39efp-1 + 2 * f * (1 + q * s);
}

/* sin(2 pi t) for |t| <= 1/4: the Taylor series, its next term is 6e-12. */
static inline double sin_turn(double t)
{
    double x = t * 0x1.921fb54442d18p+2, q = x * x, s;

    s = 1.0 / 6227020800 - q * (1.0 / 1307674368000);
    s = 1.0 / 39916800 - q * s;
    s = 1.0 / 362880 - q * s;
    s = 1.0 / 5040 - q * s;
    s = 1.0 / 120 - q * s;
    s = 1.0 / 6 - q * s;
    return x * (1 - q * s);
}

/* Pairs of standard normal values; 2n of them. */
WS__CLONES
static void normal_pairs(const uint64_t *restrict r, double *restrict v,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double u = (small_to_double(r[i] >> 32) + 0.5) * 0x1p-32;
        double y = small_to_double(r[i] & 0xffffffffu) * 0x1p-32 - 0.5;
        double radius = sqrt(-2 * log_of(u)), fold = fabs(y);
        double c = sin_turn(0.25 - fold);
        double s = sin_turn(0.25 - fabs(fold - 0.25));

        v[2 * i] = radius * c;
        v[2 * i + 1] = copysign(radius * s, y);
    }
}

WS__CLONES
static void scale(double *v, size_t n, double add, double mul)
{
    for (size_t i = 0; i < n; i++)
        v[i] = add + mul * v[i];
}

WS__CLONES
static void draw(uint64_t seed, uint64_t first, uint64_t *restrict r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r[i] = ws__rng_at(seed, first + i);
}

static void unit(const uint64_t *r, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (double)(int64_t)(r[i] >> 11) * 0x1p-53;
}

/* Values of one block of elements starting at `first`. */
static void block_values(const struct ws__fill *rule, uint64_t seed,
                         uint64_t first, double *v, size_t n)
{
    uint64_t r[WS__FILL_BLOCK];

    switch (rule->kind) {
    case WS__FILL_NORMAL:
        draw(seed, first / 2, r, (n + 1) / 2);
        normal_pairs(r, v, (n + 1) / 2);
        scale(v, n, rule->a, rule->b);
        break;
    case WS__FILL_UNIFORM:
        draw(seed, first, r, n);
        unit(r, v, n);
        scale(v, n, rule->a, rule->b - rule->a);
        break;
    case WS__FILL_INTEGERS:
        draw(seed, first, r, n);
        unit(r, v, n);
        for (size_t i = 0; i < n; i++)
            v[i] = rule->a + floor(v[i] * (rule->b - rule->a + 1));
        break;
    case WS__FILL_CONSTANT:
    case WS__FILL_NATIVE: /* until the generator of the op writes it: its gaps
                             must not depend on what was there before */
        for (size_t i = 0; i < n; i++)
            v[i] = rule->a;
        break;
    }
}

double ws__fill_rms(const struct ws__fill *rule)
{
    double a = rule->a, b = rule->b;

    return rule->kind == WS__FILL_UNIFORM ? sqrt((a * a + a * b + b * b) / 3)
                                          : sqrt(a * a + b * b);
}

double ws__fill_peak(const struct ws__fill *rule)
{
    double a = fabs(rule->a), b = fabs(rule->b);

    return rule->kind == WS__FILL_UNIFORM ? fmax(a, b) : a + NORMAL_PEAK * b;
}

/* --- families ------------------------------------------------------------ */

#define TIE_SEED 0x7469657300u
#define SPIKE_SEED 0x7370696b00u
#define SPIKE_SIGN 0x7370696b01u
#define SIGNS_SEED 0x7369676e00u

/* Four values: at random, or, in every second stretch, all the same. Zero is
 * among them where normal values lie around it: some kernels take the first
 * zero for an end. */
static void tie(const struct ws__fill *rule, uint64_t seed, uint64_t first,
                double *v, size_t n)
{
    static const double normal[] = {-1, -0.25, 0, 1.25};
    static const double uniform[] = {0.125, 0.375, 0.625, 0.875};
    const double *of = rule->kind == WS__FILL_UNIFORM ? uniform : normal;
    double unit = rule->kind == WS__FILL_UNIFORM ? rule->b - rule->a : rule->b;

    for (size_t i = 0; i < n; i++) {
        uint64_t stretch = (first + i) / WS__STRETCH;
        uint64_t at = stretch % 2 ? stretch * WS__STRETCH : first + i;

        v[i] = rule->a + unit * of[ws__rng_at(seed ^ TIE_SEED, at) >> 62];
    }
}

/* One element in each stretch, at a random place of it. All of a tensor have
 * the same sign, another one for another seed: products of the spikes of two
 * tensors do not cancel, which would leave a result that is far smaller than
 * what its partial sums rounded off. */
static void spike(const struct ws__twist *w, uint64_t seed, uint64_t first,
                  double *v, size_t n)
{
    double value = ws__rng_at(seed ^ SPIKE_SIGN, 0) >> 63 ? -w->size : w->size;

    for (size_t i = 0; i < n; i += WS__STRETCH) {
        uint64_t left = w->elements - (first + i);
        uint64_t r = ws__rng_at(seed ^ SPIKE_SEED, (first + i) / WS__STRETCH);
        size_t at = i + (size_t)(r % (left < WS__STRETCH ? left : WS__STRETCH));

        if (at < n)
            v[at] = value;
    }
}

/* A fourth and not a half of them: a sum of terms of one sign keeps it mostly,
 * and what is divided by such a sum stays well-conditioned. */
static void turn_some(uint64_t seed, uint64_t first, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(ws__rng_at(seed ^ SIGNS_SEED, first + i) >> 62))
            v[i] = -v[i];
}

static void change(const struct ws__fill *rule, uint64_t seed,
                   const struct ws__twist *w, uint64_t first, double *v,
                   size_t n)
{
    double unit;

    switch (w->family) {
    case WS__FAMILY_TRIPLE:
        scale(v, n, 0, 3);
        break;
    case WS__FAMILY_HUNDREDTH:
        scale(v, n, 0, 0.01);
        break;
    case WS__FAMILY_MINUS:
        scale(v, n, 0, -1);
        break;
    case WS__FAMILY_TIES:
        tie(rule, seed, first, v, n);
        break;
    case WS__FAMILY_ZEROS:
        memset(v, 0, n * sizeof(*v));
        break;
    case WS__FAMILY_HUGE:
    case WS__FAMILY_DENORMAL:
        unit = w->family == WS__FAMILY_HUGE ? ws__fill_rms(rule)
                                            : ws__fill_peak(rule);
        scale(v, n, 0, unit > 0 ? w->size / unit : 0);
        break;
    case WS__FAMILY_SPIKES:
        spike(w, seed, first, v, n);
        break;
    case WS__FAMILY_ONE_SIDED:
        unit = ws__fill_rms(rule);
        scale(v, n, 0, unit > 0 ? w->size / unit : 0);
        for (size_t i = 0; i < n; i++)
            v[i] = copysign(v[i], w->below ? -1 : 1);
        break;
    case WS__FAMILY_SIGNS:
        turn_some(seed, first, v, n);
        break;
    case WS__FAMILY_PLAIN:
    case WS__NFAMILY:
        break;
    }
}

void ws__fill_run(const struct ws__fill *rule, enum ws__dtype t, uint64_t seed,
                  const struct ws__twist *twist, void *data, uint64_t begin,
                  uint64_t end)
{
    double v[WS__FILL_BLOCK];
    size_t bytes = ws__dtype_bytes(t);

    while (begin < end) {
        size_t n = end - begin < WS__FILL_BLOCK ? (size_t)(end - begin)
                                                : WS__FILL_BLOCK;

        block_values(rule, seed, begin, v, n);
        if (twist)
            change(rule, seed, twist, begin, v, n);
        ws__dtype_store(t, v, (char *)data + begin * bytes, n);
        begin += n;
    }
}
