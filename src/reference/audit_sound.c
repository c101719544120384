/*
 * audit_sound.c: can anybody be judged by the results of this reference?
 *
 * They must be numbers, the same each time for the same inputs, and other ones
 * for another seed. What is the same each time is asked under another seed of
 * the run, too: a reference in Python that draws from a generator gets one that
 * was seeded (pyref.c), and would repeat itself under the same.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/banned.h"

#define NUMBERS "the reference is of numbers, and other ones for another seed"
#define REPEATED "the same results each time for the same inputs"

const char *ws__audit_unsound(const struct ws__auditing *x,
                              const double *const *v, size_t *which)
{
    for (size_t t = 0; t < x->in->op->ntensor; t++) {
        const struct ws__tensor *tensor = &x->in->op->tensor[t];

        *which = t;
        for (uint64_t i = 0; v[t] && i < x->in->shape[t].elements; i++) {
            if (isnan(v[t][i]))
                return "the reference is no number in places";
            if (isinf(v[t][i]) && !tensor->infinite)
                return "the reference is infinite in places; if that is right, "
                       "say 'infinite: true' of the output";
        }
    }
    return NULL;
}

/* A line that refuses, of one output. */
static int refuse(const struct ws__auditing *x, size_t t, const char *name,
                  const char *why)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_SOUND,
                                  .end = WS__AUDIT_REFUSED,
                                  .name = name,
                                  .tensor = x->in->op->tensor[t].name,
                                  .why = why};

    return ws__audit_tell(x, &line);
}

static int fine(const struct ws__auditing *x, const char *name)
{
    struct ws__audit_line line = {.kind = WS__AUDIT_SOUND,
                                  .end = WS__AUDIT_FINE,
                                  .name = name};

    return ws__audit_tell(x, &line);
}

/* --- the same each time? ---------------------------------------------------
 */

/* A trusted kernel may be declared to add in any order: then its results must
 * be the same within the tolerance. 1: they are. */
static int agrees(const struct ws__auditing *x, size_t t)
{
    const struct ws__kernel *k = x->in->op->trusted.kernel;
    struct ws__right r = ws__audit_output(x, t, x->right[t], NULL);
    struct ws__mistaken m;

    if (!memcmp(x->right[t], x->p->result[t],
                x->in->shape[t].elements * sizeof(double)))
        return 1;
    if (!k || !k->order_dependent)
        return 0;
    WS_TRY(
        ws__write_result(x->ctx, &x->in->shape[t], x->p->result[t], x->got[t]));
    WS_TRY(ws__judge_output(&r, WS__JUDGE_END, &m));
    return m.end == WS__MISTAKE_PASSES;
}

static int differs(const struct ws__auditing *x, size_t t)
{
    uint64_t n = x->in->shape[t].elements, count = 0, first = 0;
    char text[400];

    for (uint64_t i = n; i-- > 0;)
        if (memcmp(&x->right[t][i], &x->p->result[t][i], sizeof(double)) != 0) {
            count++;
            first = i;
        }
    snprintf(text, sizeof(text),
             "it is not deterministic: of the same inputs the second run "
             "computes other values in %llu of %llu elements, the first at "
             "%llu: %.9g, before %.9g; take random numbers, time and state "
             "that lasts out of the reference",
             (unsigned long long)count, (unsigned long long)n,
             (unsigned long long)first, x->p->result[t][first],
             x->right[t][first]);
    return refuse(x, t, REPEATED, text);
}

static int repeated(const struct ws__auditing *x, bool *fit)
{
    uint64_t seed = x->p->seed;
    int rc;

    x->p->seed = x->other->seed;
    rc = x->a->run(x->a->self, x->p);
    x->p->seed = seed;
    WS_TRY(rc);
    for (size_t t = 0; t < x->in->op->ntensor; t++) {
        if (!x->right[t])
            continue;
        rc = agrees(x, t);
        WS_TRY(rc);
        if (!rc) {
            *fit = false;
            return differs(x, t);
        }
    }
    return fine(x, REPEATED);
}

/* --- other ones for another seed? ------------------------------------------
 */

static bool of_the_seed(const struct ws__auditing *x)
{
    for (size_t t = 0; t < x->in->op->ntensor; t++)
        if (x->p->input[t] && memcmp(x->p->input[t], x->other->input[t],
                                     x->in->shape[t].bytes) != 0)
            return true;
    return false;
}

/* Each output that is not so is told by itself. */
static int varied(const struct ws__auditing *x)
{
    bool all = true;

    for (size_t t = 0; of_the_seed(x) && t < x->in->op->ntensor; t++) {
        size_t bytes = x->in->shape[t].elements * sizeof(double);

        if (!x->right[t] ||
            memcmp(x->right[t], x->other->result[t], bytes) != 0)
            continue;
        all = false;
        WS_TRY(refuse(x, t, NUMBERS,
                      "it is the same for two seeds: a kernel need not compute "
                      "it; give inputs on which it depends"));
    }
    return all ? fine(x, NUMBERS) : 0;
}

int ws__audit_sound(const struct ws__auditing *x, bool *fit)
{
    size_t t;
    const char *why = ws__audit_unsound(x, (const double *const *)x->right, &t);

    *fit = !why;
    if (why)
        return refuse(x, t, NUMBERS, why);
    WS_TRY(repeated(x, fit));
    if (!*fit)
        return 0;
    WS_TRY(x->a->run(x->a->self, x->other));
    return varied(x);
}
