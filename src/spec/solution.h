/*
 * solution.h: solutions of flashinfer-bench (JSON with sources inside) in and
 * out.
 */
#ifndef WS_SOLUTION_H
#define WS_SOLUTION_H

#include "core/trial.h"
#include "spec/node.h"

struct ws__solution_file {
    const char *path; /* relative, below the folder that it is written to */
    const char *text;
    bool device; /* it has a function that a host launches */
};

struct ws__solution {
    const char *name, *definition, *language, *entry;
    struct ws__solution_file *file;
    size_t n;
};

/* WS_ESPEC: it is none, or a path would leave its folder. */
int ws__solution_read(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *text, size_t len, const char *file,
                      struct ws__solution *out);

/* A source in CUDA C with what only a host can compile left out: its lines are
 * empty, so that all others keep their numbers. *lines: how many they were, and
 * *first which. NULL: no memory. */
char *ws__device_part(struct ws__arena *arena, const char *text,
                      uint32_t *lines, uint32_t *first);

/* What is chosen for a workload. */
struct ws__solution_choice {
    const struct ws__workload *workload;
    const struct ws__config *config;
};

struct ws__solution_about {
    const struct ws__kernel *kernel;
    const char *name;
    const char *device;                  /* needed */
    const struct ws__identity *identity; /* whose numbers expressions read */
    const struct ws__solution_choice *choice;
    size_t n; /* at least one */
};

/* The text of a solution in CUDA C: the variants that were chosen, each with
 * its launches, and an entry for TVM-FFI that takes the variant of the nearest
 * workload which may run the shape. WS_ENOTSUP: what such a solution cannot
 * say, with the reason. */
int ws__solution_write(struct ws_ctx *ctx, const struct ws__solution_about *a,
                       struct ws__buf *out);

#endif
