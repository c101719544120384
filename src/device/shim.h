/*
 * shim.h: a device wrapper that is one function.
 *
 * A wrapper that looks at every operation alike (record, replay, fault) would
 * need the same dozen functions each. So the operations of a shim pack their
 * arguments into one structure and hand it to the wrapper's hook, and
 * ws__call_do does on a device what such a structure says.
 *
 * Wrappers are found by name only ("fault:3:null"). A device is closed and
 * opened again after a crash; what a wrapper has to remember over that is kept
 * in the context (ws__ctx_counter).
 */
#ifndef WS_SHIM_H
#define WS_SHIM_H

#include "device/device.h"

/* code, name, what its arguments are called. Codes are in files: for ever. */
#define WS__CALL_MAP(X)                                                        \
    X(1, OPEN, "open", "")                                                     \
    X(2, BUILD, "build", "")                                                   \
    X(3, UNLOAD, "unload", "module")                                           \
    X(4, ALLOC, "alloc", "bytes guard shift")                                  \
    X(5, RELEASE, "release", "buffer")                                         \
    X(6, WRITE, "write", "buffer offset bytes")                                \
    X(7, READ, "read", "buffer offset bytes")                                  \
    X(8, FILL, "fill", "buffer pattern")                                       \
    X(9, COPY, "copy", "to from")                                              \
    X(10, HASH, "hash", "buffer")                                              \
    X(11, GUARD, "guard", "buffer")                                            \
    X(12, RUN, "run", "programs sets first rounds")                            \
    X(13, CLOCK, "clock", "")                                                  \
    X(14, COUNT, "count", "flush metrics launches")

enum ws__call_op {
    WS__CALL_NONE,
#define WS_X(code, NAME, name, args) WS__CALL_##NAME = (code),
    WS__CALL_MAP(WS_X)
#undef WS_X
        WS__CALL_END
};
#define WS__CALL_ARGS 4

const char *ws__call_name(enum ws__call_op op); /* "?" if there is none */

struct ws__call {
    enum ws__call_op op;
    uint64_t arg[WS__CALL_ARGS];
    const void *in; /* write */
    void *out;      /* read */
    const struct ws__build *build;
    struct ws__built *built;
    const struct ws__dev_batch *batch;
    struct ws__dev_sample *sample;
    const struct ws__dev_seq *seq; /* count */
    const char *const *metric;
    double *value;
    size_t n; /* run: samples taken */
    /* alloc: buffer; hash; guard: offset; clock; count: passes */
    uint64_t result;
};

/* Does it; not WS__CALL_OPEN. As the operation returns. */
int ws__call_do(struct ws_ctx *ctx, const struct ws__device *d,
                struct ws__call *c);

struct ws__shim {
    struct ws_ctx *ctx;
    const struct ws__device_info *info;
    struct ws__device inner; /* may be none */
    int (*hook)(struct ws__shim *s, struct ws__call *c);
    void (*end)(struct ws__shim *s); /* frees it, and closes inner */
};

extern const struct ws__device_ops ws__device_shim; /* self: a ws__shim */

/* What follows the prefix of each in a name. */
int ws__record_open(struct ws_ctx *ctx, const char *rest,
                    struct ws__device *out); /* FILE:DEVICE */
int ws__replay_open(struct ws_ctx *ctx, const char *rest,
                    struct ws__device *out); /* FILE */
int ws__fault_open(struct ws_ctx *ctx, const char *rest,
                   struct ws__device *out); /* [OPERATION@]N[=CODE]:DEVICE */

/* Splits "first:rest" at the first colon; first into `out` of n bytes. NULL
 * and the error if it does not fit, or there is no colon. */
const char *ws__shim_split(struct ws_ctx *ctx, const char *what,
                           const char *text, char *out, size_t n);

#endif
