/* plan_matrix.h: private to the folder: a timing matrix as a table of the wave
 * model, with arrays of times; the options that its users share. */
#ifndef WS_PLAN_MATRIX_H
#define WS_PLAN_MATRIX_H

#include "plan/plan.h"
#include "space/space.h"
#include "spec/matrix.h"
#include "wave/wave_judge.h"
#include "wave/wave_table.h"

/* Of a matrix, or of two: fit and held-out; and one shape more, if `extra`. */
struct ws__model_data {
    struct ws_ctx *ctx;
    const struct ws__kernel *kernel;
    const struct ws_model_eval_opts *o;
    struct ws__matrix fit, held; /* held.nshape 0: none */
    struct ws__wave_sheet sheet;
    bool any_default; /* the default need not have been timed */
    /* Both together: shapes of `fit` first, configs of either. */
    size_t nshape, nconfig;
    int64_t *axis;
    struct ws__config *config;
    uint32_t *occupancy;
    const struct ws__matrix_cell **cell; /* shape * nconfig + config */
    int fit_pass[WS__MATRIX_PASSES];
    size_t nfit_pass;
    int truth_pass[2]; /* of fit, of held */
    struct ws__wave_maker maker;
    double *log_ns, *clock, *first, *truth;
    uint32_t *group;
    enum ws__judge_part *part;
    size_t ngroup;
    const int64_t *extra;    /* axes of a shape that need not be timed */
    struct ws__space *space; /* of it */
    struct ws__judge_data data;
};

/* ctx, kernel, o, sheet and extra are set. WS_EINVAL: passes, shapes or a
 * default that the files do not have. */
int ws__model_load(struct ws__model_data *e);
void ws__model_clear(struct ws__model_data *e);
/* Method, budget, sheet, margin. Texts are of the arena. */
int ws__model_opts(struct ws__model_data *e, struct ws__arena *arena,
                   struct ws__judge_opts *o);
/* A sheet by its name or file (NULL: the first); texts are of the arena.
 * WS_EINVAL: there is none. */
int ws__model_sheet(struct ws_ctx *ctx, struct ws__arena *arena,
                    const char *name, struct ws__wave_sheet *out);
/* "2%" of pairs, or "200" cells. */
int ws__model_budget(struct ws_ctx *ctx, const char *text,
                     struct ws__judge_opts *o);
/* The kernel of a specification that has only one. */
int ws__model_kernel(struct ws_spec *spec, const struct ws__kernel **out);
/* Texts of a config and of a shape. NULL: no memory. */
const char *ws__model_config_text(struct ws__model_data *e,
                                  struct ws__arena *arena, uint32_t config);
const char *ws__model_shape_text(struct ws__model_data *e,
                                 struct ws__arena *arena, size_t shape);

#endif
