/* hoist.h: what the parts of this transformation have in common. */
#ifndef WS_XFORM_HOIST_H
#define WS_XFORM_HOIST_H

#include "xform/loop.h"

#define WS__HOIST_BOUND 1 /* site.arg[0] */

/* Loops whose bounds are loaded or computed in every turn: appends sites. */
int ws__hoist_find_bounds(const struct ws__xform_in *in, struct ws__sites *out);
int ws__hoist_bound(const struct ws__xform_in *in, const struct ws__site *s,
                    struct ws__rewrite *out);

#endif
