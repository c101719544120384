/*
 * plan_compile.h: what the files of ws_compile share.
 *
 * plan_compile.c decides what is wanted and keeps the folder, compile_worker.c
 * talks to Python, compile_sweep.c clears up after runs that were killed.
 */
#ifndef WS_PLAN_COMPILE_H
#define WS_PLAN_COMPILE_H

#include "plan/plan.h"

/* One thing to compile, and what came of it. */
struct ws__compiled {
    const char *key;
    const char *failed; /* words; NULL: it compiled */
    const char *entry;
    uint32_t threads, shared_bytes, nulls;
    const void *cubin;
    size_t bytes;
};

/* A running compiler. */
struct ws__compiler {
    struct ws_ctx *ctx;
    struct ws__proc proc;
    struct ws__buf in;
    int log;
    uint64_t limit_ns; /* until there is another result */
    char version[64];  /* of Triton */
};

/* Starts Python on a kernel's text for a target; it may write below `folder`
 * only, and take limit_s for a file. WS_EREFERENCE: with its words. */
int ws__compiler_start(struct ws_ctx *ctx, const struct ws__kernel *k,
                       const char *target, const char *folder, unsigned jobs,
                       unsigned limit_s, struct ws__compiler *out);
/* What is wanted; again when all of it came. */
int ws__compiler_send(struct ws__compiler *c, const char *const *key, size_t n);
/* 1: *index of the keys and its result, valid until the next call; 0: there is
 * none left. */
int ws__compiler_next(struct ws__compiler *c, size_t n, size_t *index,
                      struct ws__compiled *out);
/* As a file of a kernel, but for its data; the key is kept. */
int ws__compiled_file(struct ws__arena *a, const char *key,
                      const struct ws__compiled *r, struct ws__source_file *f);
void ws__compiler_stop(struct ws__compiler *c);

/* compile_sweep.c */
#define WS__COMPILE_WORK ".work-" /* and the process's number */
/* Removes what killed runs have left in the folder. */
void ws__compile_sweep(struct ws_ctx *ctx, const char *folder);
/* A folder and all that is in it, as far as that is possible. */
void ws__compile_remove(const char *folder);

#endif
