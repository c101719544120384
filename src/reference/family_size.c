/*
 * family_size.c: how large the values of a family are.
 *
 * HUGE is near the end of what a right result can hold, and spikes may not go
 * beyond it either: a result that overflows in one order of summation and not
 * in another would refuse right kernels. Nothing is known of the op but its
 * types, the length K of its longest sum and the mean and size of its inputs,
 * so with all of them at root mean square m
 *
 *   sums of squares stay in the accumulate type:  128 K m^2 <= max(acc)
 *     (one square may be 6.77^2 = 46 times the mean one),
 *   sums of products stay in the type of each output, two powers of two below
 *     its end:  2 m^2 (K c + 8 sqrt(K)) <= max(out),  where c is the product of
 *     the two largest |mean| / rms of inputs (0 for terms of zero mean),
 *   values stay in their own type:  8 m <= max(type).
 *
 * Spikes are one of WS__STRETCH elements: K is that much smaller for them, c is
 * 1, and they are at most SPIKE times the tensor's size.
 *
 * ONE_SIDED: as HUGE, with c = 1.
 *
 * DENORMAL: the largest magnitude is half the smallest normal number.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/banned.h"

#define SPIKE 32.0

static const struct {
    double largest, normal; /* numbers */
} ends[] = {
    [WS__DT_F64] = {0x1.fffffffffffffp1023, 0x1p-1022},
    [WS__DT_F32] = {0x1.fffffep127, 0x1p-126},
    [WS__DT_F16] = {65504, 0x1p-14},
    [WS__DT_BF16] = {0x1.fep127, 0x1p-126},
    [WS__DT_F8E4M3] = {448, 0x1p-6},
    [WS__DT_F8E5M2] = {57344, 0x1p-14},
};

bool ws__family_changes(const struct ws__instance *in, size_t tensor)
{
    const struct ws__tensor *t = &in->op->tensor[tensor];
    const struct ws__fill *f = ws__workload_fill(in->op, in->workload, tensor);

    return t->role != WS__OUTPUT && t->ndim > 0 && f &&
           ws__dtype_is_float(in->shape[tensor].dtype) &&
           (f->kind == WS__FILL_NORMAL || f->kind == WS__FILL_UNIFORM);
}

/* Is it the first, third, ... of those that families change? */
bool ws__family_below(const struct ws__instance *in, size_t tensor)
{
    bool below = true;

    for (size_t t = 0; t < tensor; t++)
        if (ws__family_changes(in, t))
            below = !below;
    return below;
}

/* Has it values of one sign, or mostly? */
static bool leans(const struct ws__fill *f)
{
    return f->kind == WS__FILL_UNIFORM ? f->a + f->b != 0 : f->a != 0;
}

bool ws__family_tells(const struct ws__instance *in, enum ws__family f)
{
    bool any = f != WS__FAMILY_SIGNS;

    for (size_t t = 0; t < in->op->ntensor && !any; t++)
        any = ws__family_changes(in, t) &&
              leans(ws__workload_fill(in->op, in->workload, t));
    return any;
}

/* The declared length of sums, else that of the longest dimension. */
static double terms(const struct ws__instance *in)
{
    int64_t most = 1;

    if (in->op->tolerance.reduction)
        return (double)in->reduction;
    for (size_t t = 0; t < in->op->ntensor; t++)
        for (size_t d = 0; d < in->shape[t].ndim; d++)
            if (in->shape[t].dim[d] > most)
                most = in->shape[t].dim[d];
    return (double)most;
}

/* How far inputs are from zero mean: c above. */
static double bias(const struct ws__instance *in)
{
    double most = 0, next = 0;
    size_t n = 0;

    for (size_t t = 0; t < in->op->ntensor; t++) {
        const struct ws__fill *f;
        double rms, mean;

        if (!ws__family_changes(in, t))
            continue;
        f = ws__workload_fill(in->op, in->workload, t);
        rms = ws__fill_rms(f);
        mean = f->kind == WS__FILL_UNIFORM ? (f->a + f->b) / 2 : f->a;
        mean = rms > 0 ? fabs(mean) / rms : 0;
        n++;
        next = fmax(next, fmin(mean, most));
        most = fmax(most, mean);
    }
    return n > 1 ? most * next : most * most;
}

/* c: how far inputs are from zero mean. */
static double limit(const struct ws__instance *in, double k, double c,
                    size_t tensor)
{
    enum ws__dtype acc = in->op->tolerance.accumulate;
    double m2 = ends[acc && ws__dtype_is_float(acc) ? acc : WS__DT_F32].largest;

    m2 /= 128 * k;
    for (size_t t = 0; t < in->op->ntensor; t++) {
        enum ws__dtype d = in->shape[t].dtype;

        if (in->op->tensor[t].role != WS__INPUT && ws__dtype_is_float(d))
            m2 = fmin(m2, ends[d].largest / 2 / (k * c + 8 * sqrt(k)));
    }
    return fmin(sqrt(m2), ends[in->shape[tensor].dtype].largest / 8);
}

double ws__family_size(const struct ws__instance *in, enum ws__family f,
                       size_t tensor)
{
    const struct ws__fill *rule =
        ws__workload_fill(in->op, in->workload, tensor);
    double k = terms(in);

    switch (f) {
    case WS__FAMILY_HUGE:
        return limit(in, k, bias(in), tensor);
    case WS__FAMILY_ONE_SIDED:
        return limit(in, k, 1, tensor);
    case WS__FAMILY_SPIKES:
        return fmin(SPIKE * ws__fill_rms(rule),
                    limit(in, fmax(k / WS__STRETCH, 1), 1, tensor));
    case WS__FAMILY_DENORMAL:
        return ends[in->shape[tensor].dtype].normal / 2;
    default:
        return 0;
    }
}
