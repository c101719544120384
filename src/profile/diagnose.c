/* diagnose.c: applies the rules of rules.c, in their order. */
#include "profile/profile.h"

#include <math.h>

#include "base/banned.h"

static const struct {
    const char *key, *text;
} BOUND[WS__NBOUND] = {
#define WS_X(name, key, text) {key, text},
    WS__BOUND_MAP(WS_X)
#undef WS_X
};

const char *ws__bound_key(enum ws__bound b)
{
    return BOUND[b].key;
}

const char *ws__bound_text(enum ws__bound b)
{
    return BOUND[b].text;
}

static bool holds(const struct ws__rule_test *t, double v)
{
    switch (t->op) {
    case WS__LE:
        return v <= t->than;
    case WS__LT:
        return v < t->than;
    case WS__GE:
        return v >= t->than;
    case WS__GT:
        return v > t->than;
    case WS__EQ:
        return v == t->than;
    case WS__RULE_END:
        break;
    }
    return true;
}

enum outcome { FIRES, DOES_NOT, BLIND };

/* A test that is known to fail decides, whatever else is missing. */
static enum outcome apply(const struct ws__rule *r, const double *fact,
                          enum ws__fact *missing)
{
    enum outcome out = FIRES;

    for (size_t i = 0; i < WS__RULE_TESTS && r->test[i].op; i++) {
        const struct ws__rule_test *t = &r->test[i];

        if (isnan(fact[t->fact])) {
            if (!t->maybe && out == FIRES) {
                out = BLIND;
                *missing = t->fact;
            }
        } else if (!holds(t, fact[t->fact])) {
            return DOES_NOT;
        }
    }
    return out;
}

static void add_evidence(struct ws__finding *f, const double *fact,
                         enum ws__fact one)
{
    if (isnan(fact[one]))
        return;
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i] == one)
            return;
    f->evidence[f->nevidence++] = one;
}

static void add_finding(struct ws__diagnosis *d, const struct ws__rule *r,
                        const double *fact)
{
    struct ws__finding *f = &d->finding[d->nfinding++];

    f->rule = r;
    for (size_t i = 0; i < WS__RULE_TESTS && r->test[i].op; i++)
        add_evidence(f, fact, r->test[i].fact);
    for (size_t i = 0; i < WS_COUNT(r->show) && r->show[i]; i++)
        add_evidence(f, fact, r->show[i]);
}

/* Stalls that can be mended: not the instruction's own start, nor that another
 * warp was ready, too. */
static void largest_stalls(struct ws__diagnosis *d, const double *fact)
{
    for (size_t n = 0; n < WS_COUNT(d->stall); n++) {
        enum ws__fact best = WS__NFACT;

        for (enum ws__fact f = WS__F_STALL_FIRST; f < WS__F_NOT_SELECTED; f++) {
            bool had = false;

            for (size_t i = 0; i < n; i++)
                had = had || d->stall[i] == f;
            if (!had && fact[f] > 0 &&
                (best == WS__NFACT || fact[f] > fact[best]))
                best = f;
        }
        if (best == WS__NFACT)
            return;
        d->stall[d->nstall++] = best;
    }
}

void ws__diagnose(const double fact[WS__NFACT], struct ws__diagnosis *out)
{
    memset(out, 0, sizeof(*out));
    largest_stalls(out, fact);
    for (size_t i = 0; i < ws__nrule && i < WS__MAX_FINDINGS; i++) {
        const struct ws__rule *r = &ws__rules[i];
        enum ws__fact missing = WS__F_TIME;
        enum outcome o = apply(r, fact, &missing);

        if (o == BLIND) {
            out->blind[out->nblind].rule = r;
            out->blind[out->nblind++].fact = missing;
        }
        if (o != FIRES)
            continue;
        add_finding(out, r, fact);
        if (!out->bound)
            out->bound = r->bound;
        if (r->ends)
            return;
    }
}
