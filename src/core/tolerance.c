/*
 * tolerance.c: rules of other projects, restated.
 *
 * flashinfer-bench (BenchmarkConfig and compute_error_stats of its bench
 * folder, 2026): an element fails if its error is above atol = 1e-2 and above
 * rtol = 1e-2 of |r| + 1e-8; none may fail (its low-bit definitions: 5 %), and
 * NaN or infinity fails anywhere.
 *
 * GPU MODE (verbose_allclose of its reference kernels, 2026): |a-r| <= atol +
 * rtol |r| for every element, NaN and infinities at the same places; rtol =
 * 1e-5 and atol = 1e-8 unless the problem sets its own, as most do (TriMul
 * both to 2e-2).
 *
 * Both compare with a result that was rounded to the output's type; here r is
 * the reference in double precision.
 */
#include "core/op.h"

#include "base/banned.h"

static const struct ws__tolerance rules[] = {
    {.kind = WS__TOL_EITHER,
     .atol = 1e-2,
     .rtol = 1e-2,
     .ratio = 1,
     .accumulate = WS__DT_F32,
     .rule = "flashinfer-bench"},
    {.kind = WS__TOL_EXPLICIT,
     .atol = 1e-8,
     .rtol = 1e-5,
     .ratio = 1,
     .accumulate = WS__DT_F32,
     .rule = "gpu-mode"},
};

struct ws__tolerance ws__tolerance_named(int which)
{
    return rules[which];
}

const char *ws__tolerance_rule(const struct ws__tolerance *t)
{
    if (t->rule)
        return t->rule;
    return t->kind == WS__TOL_AUTO ? "automatic" : "explicit";
}
