/*
 * traces.h: traces of flashinfer-bench (JSON lines) in and out: which solution
 * did how well on which workload.
 */
#ifndef WS_TRACES_H
#define WS_TRACES_H

#include "core/trial.h"

/* One line that has an evaluation; lines without one are workloads, and passed
 * over. Strings live during the call. */
struct ws__trace {
    const char *definition, *workload, *solution; /* workload: its uuid */
    const char *status;                           /* "PASSED", ... */
    bool passed;
    /* Milliseconds; 0: not known. latency_ms is known if it passed. */
    double latency_ms, reference_ms;
    uint32_t line;
};

/* A non-zero return ends the reading and is returned. */
typedef int ws__trace_fn(void *user, const struct ws__trace *t);

/* Errors carry file and line: WS_EPARSE, WS_ELIMIT, WS_ENOENT. */
int ws__traces_read(struct ws_ctx *ctx, const char *path, ws__trace_fn *fn,
                    void *user);
/* The same from a text at hand (a NUL behind it), called `file` in errors. */
int ws__traces_parse(struct ws_ctx *ctx, const char *text, size_t len,
                     const char *file, ws__trace_fn *fn, void *user);

/* What a verdict is there; NULL: nothing was judged. */
const char *ws__trace_status(enum ws__verdict v);

struct ws__trace_about {
    const struct ws__op *op; /* named as the Definition */
    const char *solution;
    const char *device;                  /* needed */
    const struct ws__identity *identity; /* NULL: not known */
};

/* Appends the line of a trial. WS_EINVAL: nothing was judged. */
int ws__trace_write(struct ws_ctx *ctx, const struct ws__trace_about *about,
                    const struct ws__workload *w, const struct ws__trial *t,
                    struct ws__buf *out);

#endif
