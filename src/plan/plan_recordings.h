/* plan_recordings.h: private to plan: results on record instead of a device. */
#ifndef WS_PLAN_RECORDINGS_H
#define WS_PLAN_RECORDINGS_H

#include "plan/plan.h"
#include "recordings/recordings.h"
#include "space/space.h"

/* What a search on recordings is about: the specification's kernels and
 * workloads, or one workload without axes for a T1 file. */
/* The name of the one workload of a space without an op. */
#define WS__RECORDED "recorded"

struct ws__subject {
    const struct ws__workload *workload;
    size_t nworkload;
};

struct ws__subject ws__plan_subject(const struct ws_spec *spec);
/* "M=1,N=64"; without an op the workload's name. */
int ws__plan_print_workload(struct ws__buf *b, const struct ws_spec *spec,
                            const struct ws__workload *w);

/* A file of results (where, time: see spec/results.h) or a store. device: what
 * the results of a file were measured on, NULL: as the file says. */
int ws__plan_recordings(struct ws_spec *spec, const char *path,
                        const char *where, const char *time, const char *device,
                        struct ws__results_report *report,
                        struct ws__recordings **out);
/* The best recorded time of a workload in *ns, or 0: some valid config of some
 * kernel is not recorded, or none is right. spaces as in search/search.h. */
int ws__plan_oracle(struct ws_spec *spec, struct ws__recordings *r,
                    struct ws__space *const *spaces, uint32_t workload,
                    double *ns);

#endif
