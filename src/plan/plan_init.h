/* plan_init.h: a draft in the making, private to plan. */
#ifndef WS_PLAN_INIT_H
#define WS_PLAN_INIT_H

#include "device/device.h"
#include "plan/plan.h"
#include "spec/draft.h"

struct ws__init {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    struct ws__draft_source source;
    struct ws__signature sig;
    const struct ws__op *op; /* NULL: new */
    const char *read_by;
};

/* Adds what a device's driver says of the source (device NULL: the first
 * OpenCL one, and none is no error). */
int ws__init_ask(struct ws__init *in, const char *device);

#endif
