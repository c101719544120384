/* plan_init.h: a draft in the making, private to plan. */
#ifndef WS_PLAN_INIT_H
#define WS_PLAN_INIT_H

#include "core/facts.h"
#include "device/device.h"
#include "plan/plan.h"
#include "spec/draft.h"
#include "spec/host.h"
#include "xform/ast.h"

#define WS__INIT_NAMES WS__FACT_NAMES

struct ws__init {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    struct ws__draft_source source;
    struct ws__signature sig;
    const struct ws__op *op; /* NULL: new */
    const char *read_by;
    struct ws__host host; /* device NULL: the source is of the device alone */
    /* What libclang made of it. */
    const char *raw; /* the text without what it includes */
    bool parsed;     /* there is a tree */
    struct ws__ast ast;
    const char *missing[WS__INIT_NAMES + 1]; /* that nobody defines */
    size_t nmissing;
    struct ws__facts *facts; /* NULL: none */
    const char *wide;        /* the source with doubles; NULL: why_not */
    const char *why_not;
};

/* plan_init_read.c. Parses the source (in->parsed). No libclang, and what it
 * does not know, is a note; what is no C is WS_ESPEC with file and line. */
int ws__init_parse(struct ws__init *in, const char *path);
/* The facts of these functions, and a source with doubles; in->facts stays NULL
 * where there are templates. */
int ws__init_infer(struct ws__init *in, const char *path, const size_t *entry,
                   size_t nentry);
/* A note of what was not read. */
int ws__init_note(struct ws__init *in, const char *fmt, ...) WS_PRINTF(2, 3);

/* Adds what a device's driver says of the source (device NULL: the first
 * OpenCL one, and none is no error). */
int ws__init_ask(struct ws__init *in, const char *device);

#endif
