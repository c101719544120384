/*
 * pack.h: writes packs. The format is in runtime/wsrt_format.h, shared by the
 * writer and the runtime; docs/pack.md describes it.
 */
#ifndef WS_PACK_H
#define WS_PACK_H

#include "core/trial.h"
#include "wsrt.h"

struct ws__pack_entry {
    const struct ws__workload *workload;
    struct ws__candidate candidate;
    double time_ns, default_ns; /* 0: unknown */
};

struct ws__pack_content {
    const struct ws__op *op;
    const struct ws__kernel *kernel; /* those that entries index */
    size_t nkernel;
    const struct ws__pack_entry *entry;
    size_t nentry;
    /* Text sections, NULL-terminated list of name, text pairs. */
    const char *const *text;
};

/* Guards of every variant (constraints that read axes, op's require, ranges)
 * are written as bytecode, so that the runtime never picks a variant that may
 * not run the shape; the default config of every kernel
 * is always among the variants, last resort. The file appears whole or not at all; it is opened
 * and checked by the runtime before it gets its name. */
int ws__pack_write(struct ws_ctx *ctx, const char *path,
                   const struct ws__pack_content *c);

#endif
