/*
 * matrix.h: timing matrices as they are: shapes, configs, passes, clocks.
 *
 * results.h gives one figure for a config on a workload that is known before.
 * Here the shapes come from the file itself, every pass is kept, and so is
 * what the file says of compiled configs. Columns: the kernel's parameters,
 * the op's axes, a time (as results.h finds it), and if they are there `pass`,
 * `shape` (a name), `src` (a group of shapes), `sm_mhz`, `blocks_per_sm`. Axes
 * `x_1`, `x_2`... without a column are filled from a column `x` with numbers
 * between slashes, in their order.
 *
 * A row with a parameter that is none of the kernel's is no part of the space.
 */
#ifndef WS_MATRIX_H
#define WS_MATRIX_H

#include "spec/results.h"

#define WS__MATRIX_PASSES 16

struct ws__matrix_shape {
    int64_t axis[WS__MAX_AXES]; /* all of the op's */
    const char *name, *group;   /* group: "" if the file has none */
};

/* One config on one shape; ns 0: not timed in that pass. */
struct ws__matrix_cell {
    double ns[WS__MATRIX_PASSES], mhz[WS__MATRIX_PASSES];
    uint32_t resident; /* blocks a multiprocessor holds; 0: not said */
    bool known;
};

struct ws__matrix {
    struct ws__arena arena;
    const struct ws__kernel *kernel;
    struct ws__matrix_shape *shape;
    size_t nshape, shape_cap;
    struct ws__config *config;
    size_t nconfig, config_cap;
    int64_t pass[WS__MATRIX_PASSES]; /* as numbered in the file */
    size_t npass;
    struct ws__matrix_cell *cell; /* shape * nconfig + config */
    uint64_t foreign;             /* rows of no config of the space, left out */
};

/* Reads a file; of several rows of a cell and pass the last counts. The kernel
 * has an op and must outlive it. Errors as of results.h. */
int ws__matrix_read(struct ws_ctx *ctx, const struct ws__kernel *k,
                    const char *path, struct ws__matrix *out);
/* Index of a pass, or -1. */
int ws__matrix_pass(const struct ws__matrix *m, int64_t pass);
void ws__matrix_clear(struct ws_ctx *ctx, struct ws__matrix *m);

#endif
