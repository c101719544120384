/*
 * measure.h: the protocol: build, verdict, time. An evaluator over a device
 * and a reference. docs/measuring.md says what is done and why.
 */
#ifndef WS_MEASURE_H
#define WS_MEASURE_H

#include "core/counters.h"
#include "core/floor.h"
#include "device/device.h"
#include "reference/reference.h"

struct ws__measure_opts {
    const char *device;   /* as ws__device_open; NULL: default */
    unsigned builders;    /* workers that build; 0: processors, at most 16 */
    unsigned ref_threads; /* 0: processors */
    enum ws__cache_mode cache; /* DEFAULT: the op's, else cold */
    /* Time-outs. 0: 60 s to build; to run 20 s, less where a right candidate's
     * time on the workload is known. */
    uint64_t build_limit_ns, run_limit_ns;
    uint64_t seed;      /* of the run: input seeds derive from it */
    uint64_t max_bytes; /* device memory to use; 0: half of it */
    bool trust_python;  /* the op's reference may be Python */
    bool as_reference;  /* the kernel is the op's trusted one: it has none */
    bool graph; /* launches replay a recorded graph, where there is one */
    /* No gates but a build, one checked launch, and right timed launches: what
     * the others cost is measured with it. Such trials are not a judge's, and
     * mix with no others. */
    bool few_gates;
    /* The ceilings of a device, against which times are held; they are added
     * to *out, which knows none. NULL: there are none. Not asked for recorded
     * devices: what is on record must not depend on where it is read. */
    int (*roof)(struct ws_ctx *ctx, const struct ws__identity *id,
                struct ws__roof *out);
    /* The counters to keep with each trial that is timed: fills in at most
     * WS__MAX_COUNTERS names of the device's and the keys they are kept by, and
     * says how many. NULL: none. */
    size_t (*counters)(const struct ws__device_info *d, const char **name,
                       const char **key);
    /* Asked before a kernel in Triton is launched with these values, so that
     * what it needs may be compiled; in the caller's thread. NULL: what is not
     * compiled is filtered. The resource filter alone does not ask. */
    int (*ready)(void *user, const struct ws__kernel *k,
                 const union wsrt_value *vars);
    void *ready_user;
    bool inner;              /* of another session: takes no turns */
    struct ws__below *below; /* measure_int.h: for a tool that watches memory */
};

struct ws__measure;

/* kernels, workloads: arrays that questions index; must outlive it. They are
 * read when a question names them. */
int ws__measure_open(struct ws_ctx *ctx, const struct ws__op *op,
                     const struct ws__kernel *kernel, size_t nkernel,
                     const struct ws__workload *workload, size_t nworkload,
                     const struct ws__measure_opts *opts,
                     struct ws__measure **out);
void ws__measure_close(struct ws__measure *m);
struct ws__evaluator ws__measure_evaluator(struct ws__measure *m);
const struct ws__device_info *ws__measure_device(struct ws__measure *m);

/* Computes p->result from p->input by the op's trusted kernel, in the worker
 * that the session has for it; p is of the session's workload of that number.
 * WS_EREFERENCE: the kernel fails, or p wants to be judged and is not right
 * (p->unjudged). The op must have one. */
int ws__measure_trusted(struct ws__measure *m, uint32_t workload,
                        struct ws__problem *p);
/* Resource filter without building: 1 fits, 0 not (reason filled), negative
 * on error. */
int ws__measure_fits(struct ws__measure *m, const struct ws__candidate *c,
                     uint32_t workload, char reason[256]);
/* A candidate built to be kept (measure_image.c). */
struct ws__image {
    const struct ws__candidate *candidate;
    uint32_t workload; /* its values are compiled in */
    /* What came of it; built.image NULL: nothing. */
    struct ws__built built;
    const char **symbol; /* by launch of the kernel; NULL: not in the image */
};
/* Fills in the images that the device has to give: none of members whose
 * drivers compile sources themselves, none of recorded ones. What does not
 * build is said in the log. Errors are those of memory and of being stopped. */
int ws__measure_images(struct ws__measure *m, struct ws__image *list, size_t n);
void ws__image_clear(struct ws_ctx *ctx, struct ws__image *image);

/* Can candidates be proven (WS__WANT_PROOF)? Recorded devices cannot. */
bool ws__measure_can_prove(const struct ws__measure *m);
/* Is there a sanitizer for this device (WS__WANT_SANITIZER)? */
bool ws__measure_can_sanitize(const struct ws__measure *m);

/* Counters of a candidate on a workload, after a verdict of its own on inputs
 * of the run's seed; of several launches one after the other. */
struct ws__counts_of {
    enum ws__verdict verdict; /* not OK: nothing was counted */
    char *reason;             /* of the verdict; or why nothing is counted, and
                                 what to do */
    struct ws__resources res;
    struct ws__hash candidate, source; /* as in a trial; of the final source */
    enum ws__cache_mode cache; /* before each pass: emptied, or as one run of
                                  the candidate leaves it */
    size_t nlaunch, nmetric;
    struct ws__plan_launch *launch; /* as launched; entries and files belong to
                                       the kernel. NULL: it is not right */
    double *value;   /* launch * nmetric + metric; NaN: missing; NULL: the
                        device has no counters, or may not be asked */
    uint32_t passes; /* how often each launch was counted; 0: no metric of the
                        list can be had */
};
/* metric: names as the device knows them. n 0: only the verdict and the
 * launches. 0, also if nothing could be counted; negative as an answer. *out is
 * ws__counts_clear'd by the caller. Not to be called beside an answer. */
int ws__measure_count(struct ws__measure *m, const struct ws__candidate *c,
                      uint32_t workload, const char *const *metric, size_t n,
                      struct ws__counts_of *out);
void ws__counts_clear(struct ws_ctx *ctx, struct ws__counts_of *c);

/* Kernels that were added behind those of the session's array: from here on
 * there are n. Between two questions. */
void ws__measure_more(struct ws__measure *m, size_t nkernel);

/* Slots of device variables for spaces and constraints (WS__MAX_SLOTS). */
void ws__measure_vars(struct ws__measure *m, const struct ws__kernel *k,
                      uint32_t workload, union wsrt_value *vars);

#endif
