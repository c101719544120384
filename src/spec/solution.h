/*
 * solution.h: solutions of flashinfer-bench (JSON with sources inside) read.
 */
#ifndef WS_SOLUTION_H
#define WS_SOLUTION_H

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

#endif
