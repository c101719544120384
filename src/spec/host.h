/*
 * host.h: code for the host in a CUDA source.
 *
 * A program has its kernels beside main, cudaMalloc and <<<...>>>. What
 * concerns the device is what its words say: __global__, __device__,
 * __constant__, constexpr, types, macros. The rest of the file's scope is taken
 * out, line by line, so that lines keep their numbers; and of its launches what
 * can be said of grid and block in terms of the kernel's arguments is said.
 */
#ifndef WS_HOST_H
#define WS_HOST_H

#include "base/mem.h"

#define WS__HOST_LAUNCHES 16
#define WS__HOST_ARGS 64

/* A launch as it stands there; the texts are those of the source. */
struct ws__host_launch {
    const char *kernel;
    const char *config[3]; /* grid, block, bytes; NULL: none */
    const char *arg[WS__HOST_ARGS];
    size_t narg;
    uint32_t line;
    const char *scope; /* the text of the function it is in, up to its end */
    size_t at;         /* of the launch, in scope */
};

struct ws__host {
    const char *device; /* the source without it; NULL: it has none */
    const char *text;   /* all of it */
    size_t nfunction;   /* for the host, that were taken out */
    const char *why;    /* it could not be taken out; NULL: it was */
    struct ws__host_launch launch[WS__HOST_LAUNCHES];
    size_t nlaunch;
};
/* Everything lies in the arena, the text must stay. WS_ENOMEM. */
int ws__host_read(struct ws_ctx *ctx, struct ws__arena *a, const char *text,
                  struct ws__host *out);

/* An expression of a launch in the language of specifications. $N stands for
 * the kernel's argument N. is_number: it is `value`. */
struct ws__host_value {
    const char *text;
    bool is_number;
    int64_t value;
};
/* One to three dimensions of a grid or a block. 1; 0: `why` says what is not
 * understood; WS_ENOMEM. */
int ws__host_sizes(struct ws_ctx *ctx, struct ws__arena *a,
                   const struct ws__host *h, const struct ws__host_launch *l,
                   const char *config, struct ws__host_value out[3],
                   const char **why);

#endif
