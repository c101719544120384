/*
 * xform_shared_tile.c: a product by tiles in shared memory.
 *
 * Rows and columns that all threads of a block read are loaded once a block,
 * neighbours by neighbouring threads whichever way the arrays lie. A thread
 * keeps its one output, so this helps where registers or outputs are few; where
 * they are not, see xform_register_tile.c. The order of additions stays.
 */
#include "core/trial.h"
#include "xform/product.h"

#include "base/banned.h"

static const char *const findings[] = {"waste", "wait_memory", "wait_lg",
                                       "uncoalesced_loads", NULL};
static const struct ws__xform_delta deltas[] = {{"waste", 0.05, 1},
                                                {"fma_busy", 1, 8},
                                                {NULL, 0, 0}};
static const char what[] = "tile the product in shared memory";

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
    return ws__product_emit(in, &p, false, out);
}

const struct ws__xform_ops ws__xform_shared_tile = {
    .abi = WS__XFORM_ABI,
    .name = "shared_tile",
    .about = "a product by tiles in shared memory",
    .needs = "an output a thread that is a sum over k of terms of one array's "
             "rows and another's columns; bounds of rows and columns",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .cuda = true,
    .opencl = true,
    .gain = 1.6,
    .find = find,
    .apply = apply,
};
