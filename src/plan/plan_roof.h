/* plan_roof.h: the ceilings that a time is compared with; private to plan. */
#ifndef WS_PLAN_ROOF_H
#define WS_PLAN_ROOF_H

#include "core/roof.h"

/* What was measured on the device (a folder of the context's data_dir), else
 * its data sheet's, ceiling by ceiling; each says which. `why`: nothing
 * measured is used, and what to do, or "". Errors: those of ws__roof_load. */
int ws__plan_roof(struct ws_ctx *ctx, const struct ws__identity *id,
                  struct ws__roof *out, char why[512]);

#endif
