/* plan_tune.h: private to plan: from an outcome to rows and a pack. */
#ifndef WS_PLAN_TUNE_H
#define WS_PLAN_TUNE_H

#include "measure/fleet.h"
#include "pack/pack.h"
#include "plan/plan_tree.h"
#include "store/store.h"

/* Of a tune on recordings. */
struct ws__recorded {
    const struct ws__results_report *report;
    const double *oracle_ns; /* a workload; 0: unknown */
};

/* Who answered, and where the answers are. */
struct ws__tuned {
    const struct ws__identity *id;
    const struct ws__recorded *rec; /* NULL: it was measured */
    struct ws__measure *m;          /* builds the pack's binaries, or NULL */
    struct ws__journal journal;
    const struct ws__run *run;
    const struct ws__catalogue *catalogue; /* NULL: the op has none */
    const json_t *tree;                    /* NULL: there is none */
    const double *floor_ns;                /* a workload; 0: unknown */
};

/* Rows, and the pack if opts->pack names one and anything is right. */
int ws__tune_result(struct ws_spec *spec, const struct ws_tune_opts *opts,
                    const struct ws__outcome *o, const struct ws__tuned *t,
                    struct ws_tune_result **out);

/* plan_search.c: the best of each regime into the result, and with opts->dir
 * the files. Rows and tree are there already. */
int ws__search_result(struct ws_spec *spec, const struct ws_tune_opts *opts,
                      const struct ws__outcome *o, const struct ws__tuned *t,
                      struct ws__arena *a, struct ws_tune_result *r);
/* Can the files be written? */
int ws__search_check(struct ws_spec *spec, const struct ws_tune_opts *opts);

/* plan_outside.c: the caller answers. `o` lives as long as the evaluator. */
struct ws__outside {
    struct ws_spec *spec;
    const struct ws_tune_opts *opts;
    struct ws__identity id;
};
int ws__outside_open(struct ws_spec *spec, const struct ws_tune_opts *opts,
                     struct ws__outside *o, struct ws__evaluator *out);

/* plan_wave.c: the models of a pack, from the trials of a run; none if there
 * are too few. Everything lies in the arena. */
int ws__plan_waves(struct ws_spec *spec, const struct ws__journal *j,
                   const struct ws__run *run, const struct ws__identity *id,
                   struct ws__arena *a, struct ws__pack_content *c);

/* plan_ready.c: the ready-made kernels that a pack's choices and defaults
 * need, as its blobs, in the arena. */
int ws__plan_ready(struct ws_spec *spec, struct ws__arena *a,
                   struct ws__pack_content *c);

/* plan_image.c: what a pack's choices and defaults are launched from, as its
 * binaries. `out` holds the bytes, to be freed after the pack is written, also
 * after a failure. m NULL: there are none. */
struct ws__pack_images {
    struct ws__image *image;
    size_t n;
};
int ws__plan_images(struct ws_spec *spec, struct ws__measure *m,
                    struct ws__arena *a, const char *family,
                    struct ws__pack_content *c, struct ws__pack_images *out);
void ws__plan_images_free(struct ws_ctx *ctx, struct ws__pack_images *images);

/* What the evaluator's devices did since they were opened; stays as it is
 * where that is not known. */
void ws__plan_throughput(const struct ws__evaluator *ev,
                         struct ws_throughput *out);

#endif
