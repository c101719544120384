/*
 * results_size.c: of which size are results of such inputs?
 *
 * What an automatic tolerance allows is in units of the size of the results,
 * which stands for the size of what was summed (compare.c). Many results tell
 * it. A single one may be the sum of terms that cancel: then it is far smaller
 * than its partial sums, an honest kernel errs by what these are of, and the
 * result itself tells nothing of them. One result in a hundred is sixty times
 * smaller than most.
 *
 * So the reference is asked for results of other seeds, and the size is the
 * median of theirs. It is no maximum: a huge element in one of the draws does
 * not widen what is allowed in the others. Of DRAWS with a single result each
 * five have to be ten times too small for the median to be, which happens once
 * in 2500 times, and only where the first one was as small does it matter.
 *
 * A tolerance in numbers is for the values that its author had: on a family of
 * larger ones an error of atol is less than their rounding, wherever terms
 * cancel. There it is compared with the size of plain results, and compare.c
 * allows as many times atol as the family's are larger.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/banned.h"

/* Of so many the root mean square is a tenth of what it should be once in
 * 10^14 times. */
#define MANY 16
#define DRAWS 9
#define SEED_OF_SIZE 0x73697a6500u

static bool in_numbers(const struct ws__problem *p)
{
    return p->in->op->tolerance.kind == WS__TOL_EXPLICIT;
}

bool ws__problem_asks(const struct ws__problem *p, size_t tensor)
{
    const struct ws__tensor_shape *s = &p->in->shape[tensor];

    if (!p->result[tensor] || !ws__dtype_is_float(s->dtype))
        return false;
    return in_numbers(p) ? p->family != WS__FAMILY_PLAIN
                         : p->in->op->tolerance.kind == WS__TOL_AUTO &&
                               s->elements < MANY;
}

static double size_of(const double *v, uint64_t n)
{
    double sum = 0, count = 0;

    for (uint64_t i = 0; i < n; i++)
        if (isfinite(v[i]) && v[i] != 0) {
            sum += v[i] * v[i];
            count++;
        }
    return count > 0 ? sqrt(sum / count) : 0;
}

/* Into a sorted list of n. */
static void insert(double *list, size_t n, double x)
{
    for (; n > 0 && x < list[n - 1]; n--)
        list[n] = list[n - 1];
    list[n] = x;
}

/* The medians over n draws of a family, of outputs that ask for it. */
static int medians(struct ws__problem *p, ws__draw_fn *draw, void *user,
                   enum ws__family f, size_t n, double *median)
{
    double size[WS__MAX_TENSORS][DRAWS];
    struct ws__problem *other;
    int rc = 0;

    WS_TRY(ws__problem_new(p->ctx, p->in, &other));
    for (size_t i = 0; i < n && rc >= 0; i++) {
        rc = draw(user, other, ws__rng_at(p->seed ^ SEED_OF_SIZE, i) >> 1, f);
        for (size_t t = 0; rc >= 0 && t < p->in->op->ntensor; t++)
            if (ws__problem_asks(p, t))
                insert(size[t], i,
                       size_of(other->result[t], p->in->shape[t].elements));
    }
    ws__problem_free(other);
    WS_TRY(rc);
    for (size_t t = 0; t < p->in->op->ntensor; t++)
        median[t] = ws__problem_asks(p, t) ? size[t][n / 2] : 0;
    return 0;
}

int ws__problem_sizes(struct ws__problem *p, ws__draw_fn *draw, void *user)
{
    double own[WS__MAX_TENSORS] = {0}, plain[WS__MAX_TENSORS] = {0};
    bool any = false, few = false;

    for (size_t t = 0; t < p->in->op->ntensor; t++)
        if (ws__problem_asks(p, t)) {
            any = true;
            few = few || p->in->shape[t].elements < MANY;
            own[t] = size_of(p->result[t], p->in->shape[t].elements);
        }
    if (few)
        WS_TRY(medians(p, draw, user, p->family, DRAWS, p->size));
    if (any && in_numbers(p))
        WS_TRY(
            medians(p, draw, user, WS__FAMILY_PLAIN, few ? DRAWS : 1, plain));
    for (size_t t = 0; any && in_numbers(p) && t < p->in->op->ntensor; t++)
        p->size[t] = plain[t] > 0 ? fmax(own[t], p->size[t]) / plain[t] : 0;
    p->sized = true;
    return 0;
}
