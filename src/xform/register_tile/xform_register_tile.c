/*
 * xform_register_tile.c: a product by tiles, several outputs a thread.
 *
 * A thread that has TM x TN outputs reads TM + TN numbers of the tiles for
 * TM * TN terms: what a product by tiles in shared memory alone waits for.
 * Sums and parts lie in arrays that are indexed by constants once their loops
 * are unrolled, so in registers. The order of additions stays.
 */
#include "core/trial.h"
#include "xform/product.h"

#include "base/banned.h"

static const char *const findings[] = {"waste",       "wait_memory",
                                       "wait_lg",     "wait_mio",
                                       "wait_shared", "uncoalesced_loads",
                                       NULL};
static const struct ws__xform_delta deltas[] = {{"waste", 0.05, 1},
                                                {"fma_busy", 1, 8},
                                                {NULL, 0, 0}};
static const char what[] = "tile the product in shared memory and registers";

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct ws__product p;
    struct ws__site *s;
    int rc = 0;

    if (!ws__product_find(in, &p, &rc))
        return rc < 0 || !p.why ? rc
                                : ws__site_refuse(in, out, p.at, what, p.why);
    if (!ws__product_planned(in, &p))
        return ws__site_refuse(in, out, p.side[0].bound, what,
                               "the launch does not say how many rows and "
                               "columns there are");
    s = ws__site_add(in, out, p.loop.loop, &rc, "%s: %s by %s over %s", what,
                     p.side[0].name, p.side[1].name, p.k);
    if (s)
        s->trust = "the arrays that are read are not those that are written, "
                   "and the launch covers all rows and columns";
    return rc;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct ws__product p;
    int rc = 0;

    (void)s;
    if (!ws__product_find(in, &p, &rc))
        return rc < 0 ? rc : ws__fail(in->ctx, WS_EBUG, "the product is gone");
    return ws__product_emit(in, &p, true, out);
}

const struct ws__xform_ops ws__xform_register_tile = {
    .abi = WS__XFORM_ABI,
    .name = "register_tile",
    .about = "a product by tiles, several outputs a thread",
    .needs = "an output a thread that is a sum over k of terms of one array's "
             "rows and another's columns; bounds of rows and columns",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .cuda = true,
    .opencl = true,
    .gain = 4,
    .find = find,
    .apply = apply,
};
