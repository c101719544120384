/*
 * plan_results.h: private to plan: one result a config, out of a store.
 *
 * A config's result is its trial of the highest effort, of those the latest,
 * never one of a pair (its times are relative).
 */
#ifndef WS_PLAN_RESULTS_H
#define WS_PLAN_RESULTS_H

#include "plan/plan_trials.h"

struct ws__picked_device {
    const char *want;
    uint64_t run; /* 0: any */
    struct ws__hash found;
    char name[2][128];
    size_t n;
};

/* The one device that is meant (want NULL: the only one): of a run there is
 * one. */
int ws__pick_device(struct ws_ctx *ctx, struct ws__store *s, const char *want,
                    uint64_t run, struct ws__picked_device *p);
/* The number of a workload of the specification; text NULL: 0. */
int ws__results_workload(struct ws_spec *spec, const char *text, uint32_t *out);

struct ws__gathered {
    struct ws_ctx *ctx;
    struct ws_spec *spec;
    size_t kernel;
    uint32_t first, last; /* workloads */
    struct ws__hash device;
    char device_name[128];
    bool identified;
    struct ws__identity identity; /* who measured the last of them */
    struct ws__trial *trial;      /* by workload, then by config */
    size_t n, cap;
};

/* all: of every workload, if none is named; else of the first. WS_ENOENT:
 * there are none. Free the result in any case. */
int ws__gather(struct ws_ctx *ctx, const struct ws_trials_export_opts *o,
               struct ws__store *s, bool all, struct ws__gathered *g);
void ws__gathered_free(struct ws__gathered *g);

/* T4 results, cache files and timing matrices. */
int ws__export_results(struct ws_ctx *ctx,
                       const struct ws_trials_export_opts *o,
                       struct ws__store *s, struct ws__buf *out,
                       uint64_t *records);
/* plan_solution.c: traces and solutions of flashinfer-bench. */
int ws__export_flashinfer(struct ws_ctx *ctx,
                          const struct ws_trials_export_opts *o,
                          struct ws__store *s, struct ws__buf *out,
                          uint64_t *records);

#endif
