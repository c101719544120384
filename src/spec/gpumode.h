/*
 * gpumode.h: tasks of GPU MODE (task.yml) read into a draft of an op.
 *
 * The file tells the sizes of its tests and benchmarks and nothing of tensors:
 * those, and the reference, are Python beside it. What it does not tell is
 * left as a blank.
 */
#ifndef WS_GPUMODE_H
#define WS_GPUMODE_H

#include "spec/node.h"

#define WS__GPUMODE_NOTES 40

struct ws__gpumode {
    struct ws__buf op;    /* the op file, with the benchmarks as workloads */
    struct ws__buf tests; /* a file of workloads; empty: there are none */
    size_t ntests, nbenchmarks;
    const char *found[WS__GPUMODE_NOTES]; /* axes, one a line */
    size_t nfound;
    const char *note[WS__GPUMODE_NOTES]; /* what is no axis, and why */
    size_t nnote;
};

/* `name`: of the op; `file` is named in errors and in the draft. WS_ESPEC: it
 * is no such task. Free the result whatever it is. */
int ws__gpumode_draft(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *text, size_t len, const char *file,
                      const char *name, struct ws__gpumode *out);
void ws__gpumode_free(struct ws__gpumode *g);

#endif
