/*
 * wavesmith.h: the public interface of the library.
 *
 * Conventions. A call that can fail returns 0 or a negative WS_E* code and
 * leaves the details in the context (ws_ctx_error). Handles are opaque and are
 * freed by the matching _free, which accepts NULL. Structures that cross the
 * interface are plain data; one that may grow begins with `size`, to be set to
 * sizeof by the caller (0 fields mean "default"; a NULL structure of options is
 * all defaults, or WS_EINVAL if one of its fields is needed). Handles, contexts
 * and places for results may not be NULL. The library never prints,
 * never exits and never reads the environment.
 *
 * Threads: a context and everything made from it belong to one thread at a
 * time; different contexts are independent. ws_ctx_cancel alone may be called
 * from any thread and from a signal handler.
 */
#ifndef WAVESMITH_H
#define WAVESMITH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WS_API __attribute__((visibility("default")))
#define WS_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define WS_API
#define WS_PRINTF(f, a)
#endif

#define WS_VERSION_MAJOR 0
#define WS_VERSION_MINOR 1
#define WS_VERSION_PATCH 0
#define WS_VERSION "0.1.0"

/* code, name, text. A released code keeps its number for ever. */
#define WS_STATUS_MAP(X)                                                       \
    X(0, OK, "ok")                                                             \
    X(-1, ENOMEM, "out of memory")                                             \
    X(-2, EINVAL, "bad argument")                                              \
    X(-3, EPARSE, "cannot be parsed")                                          \
    X(-4, ESPEC, "specification is not valid")                                 \
    X(-5, EEXPR, "expression is not valid")                                    \
    X(-6, EOVERFLOW, "integer overflow")                                       \
    X(-7, EIO, "file operation failed")                                        \
    X(-8, ENOENT, "not found")                                                 \
    X(-9, EFULL, "no space left")                                              \
    X(-10, EACCES, "permission denied")                                        \
    X(-11, EBUSY, "in use by another process")                                 \
    X(-12, EVERSION, "version is not supported")                               \
    X(-13, ECORRUPT, "file is damaged")                                        \
    X(-14, ENODRIVER, "driver or library is missing")                          \
    X(-15, ENODEVICE, "no such device")                                        \
    X(-16, EDEVICE, "device reports an error")                                 \
    X(-17, ECRASH, "worker process crashed")                                   \
    X(-18, ETIMEOUT, "timed out")                                              \
    X(-19, ECANCEL, "stopped on request")                                      \
    X(-20, EBUILD, "kernel does not compile")                                  \
    X(-21, ELAUNCH, "kernel cannot be launched")                               \
    X(-22, EDEVMEM, "device is out of memory")                                 \
    X(-23, EPROTO, "worker protocol error")                                    \
    X(-24, ELIMIT, "over a limit")                                             \
    X(-25, EDONE, "nothing more to do")                                        \
    X(-26, ENOTSUP, "not supported here")                                      \
    X(-27, EMISS, "not among the recorded results")                            \
    X(-28, EREFERENCE, "reference failed")                                     \
    X(-29, EBUG, "internal error")

enum ws_status {
#define WS_X(code, name, text) WS_##name = (code),
    WS_STATUS_MAP(WS_X)
#undef WS_X
};

/* Name ("WS_EINVAL") and text of a code; never NULL. Any thread. */
WS_API const char *ws_status_name(int code);
WS_API const char *ws_status_text(int code);

/* The last failure of a context. Strings are never NULL, empty if unknown. */
struct ws_error {
    int code;
    uint32_t line, column; /* 1-based, 0 if unknown */
    char file[512];
    char message[1024]; /* failure first, subject quoted */
    char hint[512];     /* what to do */
    int signal;         /* that ended a worker process; 0: none */
};

/*
 * Memory. realloc(user, NULL, n) allocates, realloc(user, p, n) resizes; both
 * may return NULL. free(user, NULL) is a no-op. All functions must be safe to
 * call from any thread (helper contexts share the allocator).
 */
struct ws_alloc {
    void *(*realloc)(void *user, void *p, size_t bytes);
    void (*free)(void *user, void *p);
    void *user;
};

enum ws_log_level { WS_LOG_DEBUG, WS_LOG_INFO, WS_LOG_WARN };
typedef void ws_log_fn(void *user, enum ws_log_level level, const char *text);

struct ws_ctx_opts {
    size_t size;
    const struct ws_alloc *alloc; /* NULL: malloc */
    ws_log_fn *log;               /* NULL: silent; called from any thread */
    void *log_user;
    const char *worker_path; /* NULL: beside the executable, then libexec */
    const char *share_dir;   /* shipped operators; NULL: found as the worker */
    const char *cache_dir;   /* driver caches; NULL: .wavesmith/cache */
    const char *turn_dir;    /* where processes wait for their turn on a device,
                                the same for all; NULL: "/tmp" */
    const char *python;      /* for references; NULL: python3 of the PATH */
    const char *data_dir;    /* what is known of devices, over all projects;
                                NULL: nothing is kept, nothing is known */
    const char *tools;       /* folders, separated by ':' as in PATH, that may
                                have programs of the CUDA toolkit
                                (compute-sanitizer, nvdisasm, cuobjdump); it is
                                looked for in its usual place, too */
};

struct ws_ctx;

/* NULL opts: all defaults. Returns NULL only if memory is short. */
WS_API struct ws_ctx *ws_ctx_new(const struct ws_ctx_opts *opts);
WS_API void ws_ctx_free(struct ws_ctx *ctx);
/* The last failure; owned by ctx, valid until its next call. */
WS_API const struct ws_error *ws_ctx_error(const struct ws_ctx *ctx);
/* Asks the running call to stop soon with WS_ECANCEL. Signal safe. */
WS_API void ws_ctx_cancel(struct ws_ctx *ctx);
/* The running call stops with WS_ETIMEOUT after `ns` from now; 0: never. */
WS_API void ws_ctx_set_timeout(struct ws_ctx *ctx, uint64_t ns);

/* ---- specifications ---------------------------------------------------- */

/* A kernel file, an op folder (all its kernels), the name of a shipped op, a
 * T1 file, or a Definition of flashinfer-bench. */
struct ws_spec;

/* workloads: a file that replaces the op's own list, or NULL. The context
 * must outlive the specification. */
WS_API int ws_spec_open(struct ws_ctx *ctx, const char *path,
                        const char *workloads, struct ws_spec **out);

struct ws_spec_open_opts {
    size_t size;
    const char *path;      /* as above; needed */
    const char *workloads; /* a file; NULL: those of the op */
    /* Kernel files for the op of `path` (an op file or folder, the name of a
     * shipped op, a Definition), instead of those in its folder. A kernel for
     * the shipped op that computes a Definition fits the Definition. */
    const char *const *kernels;
    size_t nkernels;
    int uncompiled; /* 1: kernels in Triton come without what was compiled of
                       them: for ws_compile and ws_forge */
};
WS_API int ws_spec_open_with(struct ws_ctx *ctx,
                             const struct ws_spec_open_opts *opts,
                             struct ws_spec **out);
WS_API void ws_spec_free(struct ws_spec *spec);
WS_API size_t ws_spec_kernel_count(const struct ws_spec *spec);
WS_API size_t ws_spec_workload_count(const struct ws_spec *spec);
WS_API const char *ws_spec_kernel_name(const struct ws_spec *spec, size_t i);
/* Where its project lies by default: ".wavesmith" beside the specification,
 * or in the current folder for a shipped op that was named and for a
 * Definition (data sets are not ours to write into). */
WS_API const char *ws_spec_project(const struct ws_spec *spec);

/* ---- devices ----------------------------------------------------------- */

struct ws_device_info {
    char name[32]; /* what --device takes; empty for a missing driver */
    char family[32];
    int usable;
    char reason[512]; /* not usable: why and what to do */
    char device[128], driver[128], compiler[128], extra[512];
    uint32_t units, max_threads, vector_bytes;
    uint64_t memory_bytes, max_alloc_bytes, cache_bytes, shared_bytes;
    int is_cpu;
    int by_name;    /* no real device: used only when it is named */
    char place[64]; /* which hardware: "cpu", "pci 0000:1b:00"; may be "" */
};

/* Every device found and every one that is not usable. Free the list with
 * ws_devices_free. */
WS_API int ws_devices_list(struct ws_ctx *ctx, struct ws_device_info **list,
                           size_t *n);
WS_API void ws_devices_free(struct ws_ctx *ctx, struct ws_device_info *list);

/* ---- kernels in Triton --------------------------------------------------- */

struct ws_compile_progress {
    const char *kernel, *key; /* what was compiled last */
    const char *failure;      /* the compiler's words; NULL: it compiled */
    size_t done, planned;
};

struct ws_compile_opts {
    size_t size;
    const char *kernel; /* NULL: every kernel in Triton */
    const char *target; /* "sm_90"; NULL: as the kernel files say, or sm_90 */
    unsigned jobs;      /* at the same time; 0: one a processor */
    int trust_python;   /* 1: the kernels' source may run; it is code */
    void (*progress)(void *user, const struct ws_compile_progress *p);
    void *user;
    const char *config; /* "K=V,...", the rest at its default: this one alone;
                           NULL: every valid one */
};

struct ws_compile_result {
    size_t kernels, files; /* files: what the configs and workloads need */
    size_t compiled, kept; /* kept: there already, from the same source */
    size_t failed;         /* of `files`: the compiler refuses */
    char triton[64], target[64];
    char folder[1024];  /* of the last kernel */
    char failure[1024]; /* a key that failed and why; or "" */
};

/* Compiles the kernels in Triton of a specification that was opened with
 * `uncompiled`, for every valid config on every workload, in a worker that may
 * write in one folder only. No GPU is needed. What is there already and of the
 * same source, version and target is kept; stopped early, it goes on next
 * time. Errors: WS_EACCES (not trusted), WS_EREFERENCE (Python or Triton fails
 * or is missing), those of files. */
WS_API int ws_compile(struct ws_spec *spec, const struct ws_compile_opts *opts,
                      struct ws_compile_result *out);

/* ---- wave models -------------------------------------------------------- */

/* How well a method chooses configs for shapes that it never timed, on a timing
 * matrix (docs/wave.md). Zero: the default of each. */
struct ws_model_eval_opts {
    size_t size;             /* of this struct, as the caller was compiled */
    const char *data;        /* CSV, also gzipped */
    const char *fit_shapes;  /* file with names of shapes, one a line: the fit
                                part; NULL: drawn, or all but --holdout's */
    const char *holdout;     /* CSV of held-out shapes; NULL: of `data` */
    const char *budget;      /* "2%" of the fit part's pairs, or "200" cells */
    const char *method;      /* wave bilinear nearest single random */
    const char *sheet;       /* a device's, or a file; NULL: "h200" */
    const int64_t *fit_pass; /* NULL: 1 and 2, or the only one */
    size_t nfit_pass;
    int64_t truth_pass; /* 0: 3, or the only one */
    uint64_t seed;      /* the first; 0: 1 */
    unsigned seeds;     /* 0: 5 */
    double held;        /* share of shapes held out where drawn; 0: 0.4 */
    int full;      /* 1: ask the process, not the weights that a pack carries */
    double margin; /* of "wave": deviations by which a choice is predicted below
                      the default, or it is the default; 0: any */
    double beyond; /* list choices slower than the best times this; 0: none */
};

/* Names as the JSON output has them; shares, but for counts and seconds. */
#define WS_MODEL_FIGURES(X)                                                    \
    X(mean_oracle_over_chosen)                                                 \
    X(regret_mean)                                                             \
    X(regret_p95)                                                              \
    X(regret_worst)                                                            \
    X(within_5pct)                                                             \
    X(below_default)                                                           \
    X(below_default_worst)                                                     \
    X(below_margin)                                                            \
    X(left_default)                                                            \
    X(top3_mean_oracle_over_chosen)                                            \
    X(error_median)                                                            \
    X(error_p95)                                                               \
    X(cells)                                                                   \
    X(fit_pairs)                                                               \
    X(fit_shapes)                                                              \
    X(held_shapes)                                                             \
    X(seconds)

struct ws_model_figures {
#define WS_X(name) double name;
    WS_MODEL_FIGURES(WS_X)
#undef WS_X
    uint64_t seed;
    const char *worst_shape, *worst_chosen, *worst_best; /* texts of them */
    const char *warning; /* why the model knows little; NULL: no reason */
};

/* A choice for a held-out shape. */
struct ws_model_choice {
    uint64_t seed;
    const char *shape, *chosen, *best;
    double chosen_ns, best_ns;
};

struct ws_model_eval {
    struct ws_model_figures mean; /* of the seeds; regret_worst: their median */
    const struct ws_model_figures *seed;
    size_t nseed;
    const struct ws_model_choice *loss; /* by seed and shape */
    size_t nloss;
    uint64_t foreign; /* rows of no config of the space, left out */
};

/* The specification has one kernel with an op. The result lives until the
 * specification is freed. WS_EINVAL: nothing to fit on, or to judge. */
WS_API int ws_model_eval(struct ws_spec *spec,
                         const struct ws_model_eval_opts *opts,
                         struct ws_model_eval *out);

/* A model that was fitted on one device, on another one: its constants keep
 * their distance from what the first device's sheet says, and are fitted again
 * to `cells` times. Zero: the default of each. */
struct ws_model_transfer_opts {
    size_t size;              /* of this struct, as the caller was compiled */
    const char *data, *sheet; /* CSV of the one device, and its sheet (a name or
                                 a file; NULL: "h200") */
    const char *to_data, *to_sheet; /* of the other */
    const char *budget;             /* of `data`, as of ws_model_eval_opts;
                                       NULL: all of it */
    uint64_t cells;                 /* of `to_data`; 0: none */
    uint64_t seed;                  /* the first; 0: 1 */
    unsigned seeds;                 /* 0: 5 */
};

/* Names as the JSON output has them. Errors are shares, |predicted / true - 1|
 * over the pairs that were not bought; bias: geometric mean of predicted /
 * true. Choices: on shapes with two configs or more, of those not bought. */
#define WS_TRANSFER_FIGURES(X)                                                 \
    X(error_median)                                                            \
    X(error_p95)                                                               \
    X(bias)                                                                    \
    X(cells)                                                                   \
    X(pairs)                                                                   \
    X(choices)                                                                 \
    X(mean_oracle_over_chosen)                                                 \
    X(regret_mean)                                                             \
    X(regret_p95)                                                              \
    X(regret_worst)

struct ws_transfer_figures {
#define WS_X(name) double name;
    WS_TRANSFER_FIGURES(WS_X)
#undef WS_X
    uint64_t seed;
};

struct ws_model_transfer {
    /* Means of the seeds: from the first device's model, and from the second's
     * sheet alone, with the same cells. */
    struct ws_transfer_figures mean, neutral;
    const struct ws_transfer_figures *seed, *neutral_seed;
    size_t nseed;
    double source_cells, source_rms; /* what was fitted, and how well: root
                                        mean square of log residuals */
};

/* The specification has one kernel with an op. The result lives until the
 * specification is freed. WS_EINVAL: a sheet that does not exist, or nothing to
 * judge. */
WS_API int ws_model_transfer(struct ws_spec *spec,
                             const struct ws_model_transfer_opts *opts,
                             struct ws_model_transfer *out);
/* What a model that is fitted on all shapes of a matrix holds, and how it comes
 * to one prediction. Fields of the same name as above mean the same. */
struct ws_model_explain_opts {
    size_t size;
    const char *data, *budget, *method, *sheet; /* method: wave or bilinear */
    const int64_t *fit_pass;
    size_t nfit_pass;
    int64_t truth_pass;
    uint64_t seed;
    const char *shape;  /* a workload's name or "axis=value,..."; NULL: none */
    const char *config; /* "name=value,..."; NULL: the one that is chosen */
};

/* A fitted constant. Deviations are of its natural logarithm if `is_log`. */
struct ws_model_constant {
    const char *name, *unit;
    double prior, prior_deviation, fitted, deviation;
    int is_log;
};

/* WaveTune's table A: ns = a G L + b G + c L + d of a macro config, for a
 * number of waves (the last one: or more). */
struct ws_model_bucket {
    const char *macro; /* a config of it */
    unsigned waves;
    double samples, a, b, c, d;
};

struct ws_model_term {
    const char *group; /* coordinates waves step launch correction result */
    const char *name, *unit;
    double value;
};

struct ws_model_explain {
    const struct ws_model_constant *constant; /* wave */
    size_t nconstant;
    const struct ws_model_bucket *bucket; /* bilinear */
    size_t nbucket;
    double cells, failed, outliers;   /* what it was fitted on */
    double formula_rms, left_out_rms; /* of logarithms; wave */
    double process;                   /* share of the process; wave */
    const char *warning;              /* NULL: none */
    /* If a shape was asked for: */
    const char *shape, *config, *chosen;
    const char *micro; /* bilinear: what table B says; NULL: nothing */
    const struct ws_model_term *term;
    size_t nterm;
    double predicted_ns, measured_ns; /* 0: not known */
    double deviation;                 /* of the prediction's logarithm; wave */
};

/* As ws_model_eval; WS_ESPEC: no such shape or config. */
WS_API int ws_model_explain(struct ws_spec *spec,
                            const struct ws_model_explain_opts *opts,
                            struct ws_model_explain *out);

/* ---- spaces ------------------------------------------------------------ */

struct ws_space_constraint {
    const char *text;
    int applied;      /* 0: it waits for a workload or a device */
    uint64_t removed; /* configs it removes that earlier ones do not */
    int needs_axes, needs_device;
    int prune; /* says what is worth trying, not what may run */
};

struct ws_space_report {
    const char *kernel;
    uint64_t size; /* of the product, saturating */
    uint64_t valid;
    size_t nparam, nconstraint;
    const struct ws_space_constraint *constraint;
};

/* workload ("M=1,N=64,..." or a name) and device (as ws_devices_list names
 * it) include the constraints that read axes or the device; NULL leaves them
 * out. The report lives until the spec is freed. */
WS_API int ws_space_report(struct ws_spec *spec, size_t kernel,
                           const char *workload, const char *device,
                           struct ws_space_report *out);

/* Calls fn with the text of each config ("BM=64,BN=32"): the first `limit`
 * in enumeration order (0: all), or if `sample` a uniform sample of that many
 * without repeats. A non-zero return of fn ends the walk and is returned. */
WS_API int ws_space_each(struct ws_spec *spec, size_t kernel,
                         const char *workload, const char *device,
                         uint64_t limit, int sample, uint64_t seed,
                         int (*fn)(void *user, const char *config), void *user);

/* ---- check: is it right? ------------------------------------------------ */

struct ws_run_opts {
    size_t size;
    const char *device;   /* NULL: the first usable GPU, else CPU */
    const char *kernel;   /* NULL: the first */
    const char *config;   /* "k=v,...": over the default; NULL: the default */
    const char *workload; /* "M=1,..." or the name of one; NULL: the first */
    const char *cache;    /* "cold", "warm"; NULL: as the op says */
    uint64_t seed;
    int trust_python;      /* 1: a reference in Python may run; it is code */
    const char *launch;    /* "stream"; "graph": launches are recorded once and
                              replayed, where a device can; NULL: stream */
    uint64_t run_limit_ns; /* a launch hangs that takes longer; 0: 20 s, less
                              where a right one's time is known */
    int proof; /* of ws_check: every gate, as for what a tune chooses: it is
                  timed, too, and run on hidden shapes and other values */
};

/* A gate of the judge, in the order of their cost. */
#define WS_GATES 10
struct ws_gate {
    const char *name;
    const char *about; /* who passes "compiles", who fails "does not compile" */
    const char *end; /* "passed", "failed", "absent": not asked for, or there is
                        no such gate here; "": not come to */
    uint64_t ns;     /* what it cost */
    const char *why; /* absent: why, where that is known; else "" */
};

struct ws_check_result {
    char kernel[128], config[1024], workload[512], device[128];
    char verdict[16];    /* "ok", "wrong", "build", ... */
    char reason[2048];   /* empty if ok */
    char elsewhere[512]; /* a hidden shape that it is wrong on, as a workload;
                            else empty */
    /* valid if `judged` */
    int judged;
    char tensor[64]; /* the worst output */
    uint64_t elements, bad, nan, unwritten;
    double max_abs, max_rel, rms_err, rms_ref;
    char worst_at[96], first_at[96]; /* "[3, 17]" */
    double worst_got, worst_want, first_got, first_want, allowed;
    uint64_t build_ns, input_seed;
    struct ws_gate gate[WS_GATES];
};

/* 0 whatever the verdict is. */
WS_API int ws_check(struct ws_spec *spec, const struct ws_run_opts *opts,
                    struct ws_check_result *out);

/* ---- audit: is the checker right? --------------------------------------- */

struct ws_audit_opts {
    size_t size;
    const char *workload; /* "M=1,..." or the name of one; NULL: quick ones */
    const char *device;   /* where a trusted kernel runs; NULL: the default */
    uint64_t seed;
    int trust_python; /* 1: a reference in Python may run; it is code */
};

struct ws_audit_line {
    const char *workload;
    /* "result": a mistake made from the reference's result; "mutant": one of a
     * native reference; "misread": inputs of fewer bits, without their signs,
     * without the last of a dimension; "input": another value of it;
     * "reference": that is sound; "values": a family of values. */
    const char *kind;
    const char *name;   /* of the mistake, the input or the family */
    const char *tensor; /* the output that was judged; "": all */
    const char *why;    /* what to change, or why there is nothing to judge */
    int end; /* 1: rejected, as it must be (or sound); 0: the op is refused for
                it; -1: it is no mistake here (values: the op takes none) */
    double share; /* worst error in units of what is allowed; infinite: no
                     number, or not written */
    int flashinfer_bench, gpu_mode; /* 1: their rules reject it, too */
    unsigned tried, caught;         /* values: mistakes, and rejected ones */
};

struct ws_audit_report {
    const char *op, *reference; /* "native", "Python", "trusted kernel" */
    const char *rule;   /* "automatic", "explicit", "flashinfer-bench", ... */
    uint64_t seed;      /* of the audit */
    uint64_t left_out;  /* workloads that are too large, and not in lines */
    size_t refused;     /* lines for which the op is refused; 0: it is fit */
    const char *reason; /* of the first; NULL: fit */
    size_t nline;
    const struct ws_audit_line *line;
};

/* Judges results with the mistakes of kernels under the op's tolerance, on few
 * workloads. 0 whatever comes of it. The report lives until the spec is freed.
 * WS_EREFERENCE: the reference fails; WS_EACCES: it is Python and not trusted;
 * else as ws_check. */
WS_API int ws_op_audit(struct ws_spec *spec, const struct ws_audit_opts *opts,
                       struct ws_audit_report *out);

/* ---- tune --------------------------------------------------------------- */

struct ws_tune_progress {
    const char *stage; /* "default", "search", "confirm" */
    /* Screening trials (planned 0: limited by time); in "confirm" its
     * interleaved pairs. */
    uint64_t done, planned;
    uint64_t ok, failed, filtered, reused;
    const char *workload, *config, *verdict;     /* of the last trial */
    double time_ns;                              /* of it; 0 if none */
    double default_ns, best_ns, geomean_speedup; /* provisional */
    uint64_t elapsed_ns, left_ns;
    double floor_ns;  /* the ceilings allow no less; 0: unknown */
    const char *tree; /* of a strategy that has one, lines for people: what is
                         tried on this workload and why, its best path, what is
                         open; now and then, else NULL */
};

/* A question of a tune whose trials come from outside. Strings live during the
 * call. */
struct ws_question {
    uint64_t number;
    const char *workload, *workload_name, *kernel, *config;
    const char *kernel_b, *config_b; /* to be measured in turn with the first,
                                        the two sample by sample; NULL: alone */
    const char *effort;              /* "normal" (defaults), "screen",
                                        "confirm" */
};
/* Must last until the function that filled it is called again. */
struct ws_answer {
    const char *verdict; /* a name of ws_verdict_name but "none", "filtered" */
    const char *reason;  /* or NULL */
    const double *sample_ns; /* if ok; of a pair as many as its other has */
    size_t nsample;
};

struct ws_tune_opts {
    size_t size;
    const char *device, *strategy, *cache, *store, *pack; /* NULL: default;
        store: "<project>/store.db"; pack: none is written */
    uint64_t budget_trials, budget_ns; /* both 0: 100 trials */
    uint64_t seed;
    unsigned parallel, builders; /* 0: chosen */
    void (*progress)(void *user, const struct ws_tune_progress *p);
    void *user;
    /* Several devices of one model, instead of `device`: each with a worker
     * of its own; they share the questions. */
    const char *const *devices;
    size_t ndevice; /* 0: `device` */
    /* Results on record instead of a device (then `device`, `cache` and
     * `builders` mean nothing): a timing matrix, T4 results, a cache file of
     * Kernel Tuner, or a store. where: "COLUMN=VALUE,..." selects rows of a
     * matrix; time_column: its time. NULL: measure on a device. */
    const char *recordings, *where, *time_column;
    int trust_python;   /* as in ws_run_opts */
    const char *launch; /* likewise */
    uint64_t run_limit_ns;
    double budget_share; /* instead of budget_trials: of all pairs of a config
                            and a workload, 0 to 1; 0: not given */
    int few_gates; /* only the gates that no time can be had without: what the
                      judge costs is measured with it. Nothing is proven then,
                      and such trials mix with no others */
    int counters;  /* keep hardware counters of each candidate that is timed, a
                      set of one pass, where the device has some */
    /* A search for the best kernels: how a kernel is made is in play whatever
     * the strategy, and the best of each regime is told. `dir`: where kernel
     * files, the tree and all attempts are written; NULL: nowhere. */
    int search;
    const char *dir;
    /* Somebody else measures: `device` is what they call theirs (needed), and
     * is opened by nobody; what needs one (`cache`, `pack`, `recordings`) must
     * be NULL. `a` has two entries, the second of a pair; NULL: the question is
     * only announced. 0; WS_ECANCEL: no answer yet, the tune ends with what is
     * known. */
    int (*answer)(void *user, const struct ws_question *q, struct ws_answer *a);
    void *answer_user;
};

struct ws_tune_row {
    const char *workload, *name; /* "M=1,N=4096,K=4096"; its name or "" */
    const char *kernel, *config; /* the choice; NULL if nothing was right */
    const char *changes; /* of config: what differs from the default; or "" */
    int attempted;       /* 0: stopped before anything was tried on it */
    const char *failure; /* a candidate that failed and why; NULL: none */
    double default_ns, best_ns;             /* 0: unknown */
    double speedup, speedup_lo, speedup_hi; /* 1 1 1: the default stays */
    int confirmed;                          /* by interleaved samples */
    uint64_t ok, failed, filtered;          /* verdicts while screening */
    uint64_t verdicts[16];
    uint64_t trial, default_trial; /* numbers in the store */
    /* On recordings that hold every valid config: the best recorded time, and
     * how much longer the choice takes (0.05: 5%). 0: unknown. */
    double oracle_ns, regret;
    /* 1: the choice was proven on hidden shapes, on families of values, under
     * a sanitizer. */
    int shapes, values, sanitizer;
    const char *regime; /* of the op's strategies.yaml, if that was read; of a
                           search else "all"; NULL: unknown */
    double floor_ns;    /* the ceilings allow no less; 0: unknown */
};

/* Where the time went, since the devices were opened. Shares are of that time,
 * and of all devices: 0 to 1. */
struct ws_throughput {
    double seconds;  /* 0: nothing was measured */
    uint64_t trials; /* measured here, none from the store */
    double trials_a_minute;
    double run_share; /* inside of batches of launches, as the tool sees it:
                         with what comes between two launches */
    uint64_t ahead;   /* questions whose inputs had been prepared before */
    size_t nstep;
    const char *step[12]; /* "inputs", "verify", "time", ... */
    double step_share[12];
    uint64_t slowed;               /* samples thrown away: slowed device */
    uint64_t lost_some, kept_some; /* trials with such; with slowed samples */
};

/* An idea that a strategy tried ("worldmodel" has such): a choice on an axis of
 * design, added to another one's. Factors: above 1 is faster. */
struct ws_tune_idea {
    const char *axis, *choice, *place; /* a workload */
    int32_t parent;                    /* index; -1: the default */
    uint32_t depth, tries;   /* configs that look so, that were tried */
    double expected, lo, hi; /* factor, as believed before; its 95% interval */
    double factor;  /* its best over the parent's; 0: nothing was right, or the
                       run ended before it was done with */
    double speedup; /* its best over the default; 0: nothing was right */
};

/* The best candidate of a regime: of the choices of its workloads the one that
 * is the fastest on all of them, as far as was measured. */
struct ws_tune_regime {
    const char *name, *about;              /* about: or "" */
    const char *kernel, *config, *changes; /* NULL: nothing was right */
    size_t workloads, measured; /* of the regime; of them with this config */
    double speedup;   /* geometric mean over the default; 1 where it was not
                         measured */
    const char *file; /* written, for tune and check; NULL: none was */
};

struct ws_tune_result {
    const struct ws_tune_row *row;
    size_t nrow;
    uint64_t trials, reused, filtered; /* answered; of them from the store */
    double geomean_speedup; /* over the workloads attempted; failures are 1 */
    int stopped;            /* 0, or the WS_E* that ended it early */
    int pack_status; /* 0, or why no pack was written: words in the context */
    const char *device, *store, *pack; /* pack NULL: not written */
    /* How many candidates the resource filter removed before building, and
     * why the first of them. */
    uint64_t unfit;
    char unfit_why[256];
    void *priv;
    /* Nothing was measured: all answers come from this file (NULL: measured).
     * Of it: results used, not of the space (and the first of them), and
     * configs that were asked for but are not recorded. */
    const char *recordings;
    uint64_t recorded, foreign, missed;
    char foreign_why[256];
    int unfinished;        /* the file broke off; what is whole was used */
    double geomean_regret; /* over the rows that have one; 0: none has */
    struct ws_throughput throughput;
    int few_gates;                   /* 1: asked for, so nothing was proven */
    const struct ws_tune_idea *idea; /* parents before children, by place */
    size_t nidea;
    /* Of a strategy with a tree: for people, and as JSON; NULL: it has none. */
    const char *tree, *tree_json;
    /* Of a search; those that have workloads. */
    const struct ws_tune_regime *regime;
    size_t nregime;
    const char *written; /* the folder; NULL: none was asked for */
    int files_status;    /* 0, or why it is not whole: words in the context */
    uint64_t run;        /* its number in the store */
};

WS_API int ws_tune(struct ws_spec *spec, const struct ws_tune_opts *opts,
                   struct ws_tune_result **out);
WS_API void ws_tune_result_free(struct ws_ctx *ctx, struct ws_tune_result *r);
/* Key of a verdict ("ok", "wrong", ...) by index into verdicts[]; NULL past
 * the last. */
WS_API const char *ws_verdict_name(unsigned index);
/* Name and description of strategy i; NULL past the last. */
WS_API const char *ws_strategy_name(unsigned i, const char **about);

/* ---- the tree of a search ------------------------------------------------ */

struct ws_tree_opts {
    size_t size;
    const char *store; /* as in ws_trials_opts */
    uint64_t run;      /* number; 0: the latest that has a tree */
    const char *node;  /* read: how the belief in one came about: the beginning
                          of its name, or "root"; NULL: the whole tree */
};

struct ws_tree {
    uint64_t run;
    const char *text, *json; /* for people, for programs */
    void *priv;
};

/* What a search tells of its tree while it goes on and when it ended, with what
 * people decided. WS_ENOENT: there is none. */
WS_API int ws_tree_read(struct ws_ctx *ctx, const struct ws_tree_opts *opts,
                        struct ws_tree **out);
WS_API void ws_tree_free(struct ws_ctx *ctx, struct ws_tree *t);

/* Decides something: `what` is "add" (to the node an idea: words are
 * PARAM=VALUE,... each), "pin" (the node is tried first), "prune" (what has all
 * its ideas is never tried again) or "note" (words for who looks; no node).
 * It is added to the store and takes effect at the next question of a search
 * that goes on, or when it is run again; from then on it always takes effect
 * there. expected: of an idea, the factor, 0: 1.2. *number: of the decision.
 * WS_EINVAL: no such node, parameter or value. */
struct ws_tree_change {
    size_t size;
    const char *what, *node;
    const char *const *word;
    size_t nword;
    double expected;
};
WS_API int ws_tree_steer(struct ws_ctx *ctx, const struct ws_tree_opts *opts,
                         const struct ws_tree_change *change, uint64_t *number);

/* ---- bench: interleaved comparison --------------------------------------- */

struct ws_bench_row {
    char workload[512], kernel_a[128], kernel_b[128];
    char config_a[1024], config_b[1024];
    char verdict_a[16], verdict_b[16], reason[1024];
    double a_ns, a_lo_ns, a_hi_ns, b_ns, b_lo_ns, b_hi_ns; /* medians */
    double ratio, ratio_lo, ratio_hi; /* a over b: above 1, b is faster */
    size_t samples;                   /* of each */
    uint32_t a_mhz, b_mhz;            /* as in ws_trial_info */
    uint32_t slowed;                  /* rounds thrown away, of both */
    char kept_slowed[32];
};

/* a: opts->config (default config if NULL); b: `against` likewise. One row;
 * opts->kernel applies to both. */
WS_API int ws_bench(struct ws_spec *spec, const struct ws_run_opts *opts,
                    const char *against, struct ws_bench_row *out);

/* ---- roof: what does the device reach? ----------------------------------- */

#define WS_CEILINGS 16

struct ws_roof_opts {
    size_t size;
    const char *device; /* NULL: the first usable */
    int quick;          /* fewer ways and samples: seconds, rougher */
    int show;           /* measure nothing: what is stored */
    /* Before each ceiling is measured, on the calling thread; or NULL. */
    void (*progress)(void *user, const char *key);
    void *user;
};

/* One ceiling. Values and the ends of intervals are in its unit. */
struct ws_ceiling {
    const char *key, *unit, *about; /* "copy", "B/s", "device memory, ..." */
    int known;
    double value, lo, hi; /* best median, with its 95% interval */
    double sustained;     /* after a while at full load; 0: not looked at */
    double sheet;         /* of the device's data sheet; 0: it has none */
    uint32_t samples;
    uint32_t mhz, sustained_mhz; /* clock of the units; 0: not known */
    /* Why samples were slowed ("power, thermal"), or "". */
    char slowed[32], sustained_slowed[32];
    char why[256]; /* not known: why */
};

struct ws_roof {
    char device[128], driver[128], compiler[128], hash[33];
    char sheet[64];       /* the data sheet's device; "": there is none */
    char file[1024];      /* where it is stored; "": nowhere */
    uint64_t measured_ns; /* UTC */
    size_t n;
    struct ws_ceiling ceiling[WS_CEILINGS];
};

/*
 * Measures what a device reaches at most and keeps it in the folder data_dir of
 * the context, for its driver and compiler; no other run may use the device
 * meanwhile. With `show` reads what is kept. *out is the caller's; nothing in
 * it has to be freed. WS_ENOENT: nothing is kept (show); WS_ESPEC, WS_EPARSE:
 * what is kept is damaged, with file and line; WS_ENODEVICE and errors of the
 * device and of files. What the device does not have or run is a ceiling that
 * is not known.
 */
WS_API int ws_roof(struct ws_ctx *ctx, const struct ws_roof_opts *opts,
                   struct ws_roof *out);

/* ---- forge: a kernel that somebody wrote, made faster ---------------------
 */

struct ws_forge_event {
    const char *kind; /* "start", "diagnosis", "try", "failed", "same", "kept",
                         "prepares", "back", "end" */
    unsigned round;
    const char *move, *words; /* the transformation; what it does, where */
    const char *on;     /* "try": the moves that its kernel is made of, "a,
                           b"; "": the original */
    const char *config; /* what is measured; or NULL */
    const char *verdict, *why;
    const char *bound, *finding; /* of a diagnosis, in words; or NULL */
    double expected;             /* factor; 0: not known */
    double ratio, lo, hi;        /* of this candidate over the best; 0: none */
    double gap;     /* of the best, time over the floor, geometric over the
                       workloads; 0: not known */
    double speedup; /* of the best over the original so far */
    uint64_t trials, elapsed_ns;
};

struct ws_forge_opts {
    size_t size;
    const char *device, *kernel, *config, *cache, *launch, *store; /* as
        ws_tune_opts; kernel, config: what to begin with */
    const char *out; /* folder for the new source, kernel file, patch and list
                        of moves; NULL: none is written */
    uint64_t budget_trials, budget_ns; /* both 0: 200 trials */
    uint64_t seed, run_limit_ns;
    int trust_python;
    double enough; /* time over the floor at which nothing is left to win; 0:
                      1.05 */
    int explain;   /* list the moves and run nothing */
    /* For comparisons: without diagnosis, without what earlier projects
     * learnt, no pairs of moves. */
    int blind, forgetful, single;
    void (*progress)(void *user, const struct ws_forge_event *e);
    void *user;
    /* A model that proposes beside the transformations: "http" (a service that
     * speaks OpenAI's chat completions), "command" (a program, the prompt on
     * its input, the reply on its output), "replay" (a transcript); NULL: none.
     */
    const char *proposer;
    const char *model_target;      /* URL, or the transcript's path */
    const char *model;             /* its name */
    const char *model_key;         /* the secret of the service; kept nowhere */
    const char *const *model_argv; /* command: program and arguments, NULL ends
                                    */
    uint64_t model_tokens;         /* at most, of the whole run; 0: no limit */
    double price_in, price_out;    /* of a million tokens */
    const char *transcript; /* file that every reply is appended to; or NULL */
    const char *path;       /* where programs are looked for, as PATH */
};

struct ws_forge_move {
    const char *name, *words;
    const char *refused; /* why it may not be done here; NULL: it may */
    const char *trust;   /* what only the verdict can tell; NULL: nothing */
    const char *needs;   /* what must hold for the transformation */
    double gain;         /* factor to be expected, knowing nothing */
    int rounds;          /* 1: results may differ in rounding */
    const char *gates;   /* that its kernel must pass to be kept: "values,
                            shapes" */
    /* When it was tried: how it ended ("kept"...), else NULL. */
    const char *end, *why, *bound, *config;
    const char *on; /* as of an event */
    double expected, ratio, lo, hi;
    uint64_t trial; /* the evidence in the store; 0: none */
    int part;       /* 1: of what the result is made of */
};

struct ws_forge_row {
    const char *workload, *name; /* its axes; its name */
    double original_ns, best_ns, speedup, lo, hi;
    int unchanged; /* 1: a guard leaves it to the original: 1 1 1 */
};

struct ws_forge_result {
    const char *device, *kernel, *config;
    const char *verdict, *why; /* of the original */
    const char *end;           /* why it ended */
    int stopped;               /* 0, or the code that ended it early */
    const struct ws_forge_row *row;
    size_t nrow;
    const struct ws_forge_move *move;
    size_t nmove;
    double speedup, lo, hi; /* geometric, over the workloads; 1 1 1: nothing
                               was better */
    double gap_before, gap_after;             /* as gap of an event */
    const char *source, *kernel_file, *patch; /* texts; NULL: the original
                                                 stays; patch "": its source
                                                 does */
    const char *written; /* the folder; NULL: nothing was written */
    const char *gates;   /* what the result was proven by: "values, shapes" */
    uint64_t trials;
    double seconds;
    double device_seconds; /* of them: the device was held for this run */
    struct ws_throughput throughput;
    uint64_t tokens; /* of the model */
    double cost;
};

/* Profiles, moves, verifies, keeps or rolls back. The result lives as long as
 * the specification. WS_ENODRIVER: there is no libclang 19. Of a kernel in
 * Triton: WS_EREFERENCE: there is no Python, or (unless it is explained) no
 * Triton; WS_EACCES: it is not trusted (trust_python). */
WS_API int ws_forge(struct ws_spec *spec, const struct ws_forge_opts *opts,
                    struct ws_forge_result **out);

/* ---- profile: what holds it back? ---------------------------------------- */

struct ws_profile_opts {
    size_t size;
    const char *device, *kernel, *workload, *cache,
        *launch;        /* as ws_run_opts */
    const char *config; /* NULL: the fastest that the project's store knows for
                           the workload on the device, else the default */
    uint64_t seed, run_limit_ns;
    int trust_python;
    const char *set;       /* counters: "one" pass, "full" or "none"; NULL:
                              full */
    const char *ncu;       /* a file that `ncu --csv --page raw` wrote: the
                              counters of the last run in it are taken, none
                              are asked for */
    const char *ncu_cache; /* its --cache-control: "all" or "none"; NULL: not
                              known */
};

/* A number with a name. A value that is missing is NaN, never 0. */
struct ws_profile_value {
    const char *key, *unit, *about;
    double value;
};
/* A transformation, and the metric that it should raise or lower. */
struct ws_profile_move {
    unsigned id; /* of the catalogue in docs/profiling.md */
    const char *name;
    int up;
    struct ws_profile_value metric; /* as it is now; about: the counter's name
                                       on the device, "" if it has none */
};
struct ws_profile_finding {
    const char *key, *text, *bound; /* bound: "memory", as of ws_profile */
    const struct ws_profile_value *evidence;
    size_t nevidence;
    const struct ws_profile_move *move;
    size_t nmove;
};
/* A rule that nothing could be said of, the fact that it lacked, and what must
 * be there to know it: "counters". */
struct ws_profile_blind {
    const char *key, *text, *missing, *needs;
};
struct ws_profile_launch {
    const char *entry;
    uint64_t grid[3];
    uint32_t block[3];
    /* Resources, and how many of its blocks a unit holds. NaN: not known. */
    double registers, shared_bytes, local_bytes, blocks_per_unit, occupancy,
        waves;
    const char *limiter;                    /* "registers"; "not known" */
    const struct ws_profile_value *counter; /* about: the driver's name */
    size_t ncounter;
};

struct ws_profile {
    const char *kernel, *config, *workload, *device;
    const char *config_from;        /* "given", "best", "default" */
    const char *verdict, *reason;   /* reason: or NULL */
    const char *candidate, *binary; /* hashes; binary: NULL if not known */
    const char *cache;              /* of the times: "cold" or "warm" */
    const char *bound, *bound_text;
    const char *counters;         /* "cupti", "ncu", "none" */
    const char *counters_why;     /* none: why; else how they were counted */
    uint32_t passes;              /* 0: none, or not said */
    double time_ns, lo_ns, hi_ns; /* NaN: not timed */
    /* The floor; NaN where there is no ceiling. */
    double bytes, flops, bytes_ns, flops_ns, floor_ns, launch_ns, gap;
    double declared_bytes; /* before rows that inputs name twice went off */
    const char *bytes_by, *flops_by;     /* "copy", "tensor_bf16" */
    const char *bytes_from, *flops_from; /* "measured", "data sheet" */
    double cached_bytes; /* of `bytes`: those at the rate of the last cache */
    const char *cached_from, *launch_from;
    const char *roof; /* the device that the ceilings are of */
    uint64_t roof_ns; /* when they were measured (UTC); 0: none was */
    int partly;       /* 1: something of the floor has no ceiling here */
    /* The most of all entries. NaN: not known. */
    double registers, spill_bytes, shared_bytes, private_bytes;
    size_t main_launch; /* whose occupancy and waves the facts are */
    /* Another size, timed where there are no counters. NULL: it was not. */
    const char *scaled_axis;
    int64_t scaled_to;
    double scaled_ns, fixed_ns;
    const struct ws_profile_value *mix; /* instructions of the binary */
    size_t nmix;
    const char *mix_why;                 /* why there is none; NULL */
    const struct ws_profile_value *fact; /* all that are known */
    size_t nfact;
    const struct ws_profile_value *stall; /* the largest three at most */
    size_t nstall;
    const struct ws_profile_finding *finding;
    size_t nfinding;
    const struct ws_profile_blind *blind;
    size_t nblind;
    const struct ws_profile_launch *launch;
    size_t nlaunch;
};

/* Builds, judges, times and counts one config on one workload, and says what
 * holds it back. A kernel that fails is a result: its verdict says so, and
 * nothing else is known. Everything in *out lives until the specification is
 * freed. Errors: those of ws_check; WS_ESPEC, with file and line, of the ncu
 * file. */
WS_API int ws_profile(struct ws_spec *spec, const struct ws_profile_opts *opts,
                      struct ws_profile *out);

/* ---- trials: what a store holds ------------------------------------------ */

/* Which trials; fields that are 0 or NULL leave none out. */
struct ws_trials_opts {
    size_t size;
    const char *store;    /* a file; or a folder: its store.db, or that of the
                             folder .wavesmith in it */
    struct ws_spec *spec; /* tells what an older store does not; may be NULL */
    const char *verdict;  /* "ok", "wrong", ... */
    const char *workload; /* its name, some of its axes ("M=16,K=64"), or the
                             beginning of its hash (8 digits or more) */
    const char *device;   /* a part of its name, or its hash likewise */
    uint64_t run;         /* number */
    uint64_t since_ns;    /* begun then or later; ns since 1970, UTC */
    uint64_t limit;       /* only the newest */
    int slowed;           /* only those that something slowed: they lost samples
                             or have slowed ones */
};

/* What hardware counted of a launch (docs/profiling.md). */
struct ws_trial_counter {
    uint32_t launch; /* of the plan, from 0 on */
    char key[32];    /* as in profiles */
    double value;    /* in the unit that profiles name */
};

/* One trial. Strings and samples live during the call that shows it. */
struct ws_trial_info {
    uint64_t id, run, seq, question;             /* seq: its place in the run */
    unsigned part;                               /* 0 alone; 1, 2: of a pair */
    const char *name, *strategy, *spec_hash;     /* of the run */
    const char *device, *device_hash;            /* device: or "" */
    const char *driver, *compiler, *tool;        /* or "" */
    const char *op, *kernel, *config, *workload; /* NULL: not known */
    const char *workload_name;                   /* or NULL */
    uint32_t kernel_index, workload_index;
    const char *config_index; /* "3,0,1": a number for each parameter */
    const char *candidate_hash, *workload_hash;
    const char *verdict, *reason;   /* reason: or NULL */
    const char *effort, *cache;     /* "screen"...; "cold", "warm", "default" */
    double median_ns, lo_ns, hi_ns; /* of the samples; 0: none */
    const double *sample_ns;        /* in the order taken */
    size_t nsample;
    uint64_t spent_ns, wall_ns, input_seed; /* wall: when it began, UTC */
    uint32_t mhz;            /* median clock while sampled; 0: unknown */
    uint32_t slowed;         /* samples thrown away: the device was slowed */
    const char *kept_slowed; /* what slowed it while samples were taken that
                                are kept: "power", "thermal", "hardware", with
                                ", " between; "": nothing */
    uint32_t registers, spill_bytes, blocks_per_unit; /* 0: unknown */
    struct ws_gate gate[WS_GATES];
    const struct ws_trial_counter *counter; /* by launch; missing ones are not
                                               there */
    size_t ncounter;
};

/* Calls fn for each, the oldest first. A non-zero return of fn ends the walk
 * and is returned. Works while a tune writes. */
WS_API int ws_trials_each(struct ws_ctx *ctx, const struct ws_trials_opts *opts,
                          int (*fn)(void *user, const struct ws_trial_info *t),
                          void *user);

/* One run: a specification, a device, a strategy and a seed. */
struct ws_run_info {
    uint64_t id, seed, begun_ns, last_ns; /* last: latest trial's begin, or 0 */
    const char *name, *strategy, *op, *device; /* op, device: or "" */
    const char *spec_hash, *device_hash;
    uint64_t trials, samples, spent_ns;
    uint64_t verdicts[16];
    int measuring; /* a live process works on it */
    int64_t pid;   /* that one */
    const char
        *protocol; /* how it was measured ("graph": launch mode), or "" */
};

/* Of opts only store, spec, run and device are read. */
WS_API int ws_trials_runs(struct ws_ctx *ctx, const struct ws_trials_opts *opts,
                          int (*fn)(void *user, const struct ws_run_info *r),
                          void *user);

/* Checks the file, its rules and every row: 0, or WS_ECORRUPT and the first
 * finding in the context. trials, runs: how many; may be NULL. */
WS_API int ws_trials_verify(struct ws_ctx *ctx, const char *store,
                            uint64_t *trials, uint64_t *runs);

struct ws_trials_export_opts {
    size_t size;
    const char *store, *file; /* file: replaced as a whole */
    const char *format;   /* "jsonl" (NULL): exact, complete, for import; "t4",
                             "cache", "csv": one figure a config, for others;
                             "trace": a trace of flashinfer-bench a workload;
                             "solution": the solution that they are of */
    struct ws_spec *spec; /* needed but for jsonl */
    uint64_t run;         /* 0: all */
    const char *device;   /* as in ws_trials_opts; NULL: all (jsonl), else the
                             store's only one */
    const char *kernel, *workload; /* not jsonl: NULL: the first; csv, trace:
                                      all workloads */
    /* trace, solution: the config, "BM=64,..."; NULL: the fastest right one of
     * each workload. What the solution is called; NULL: after the kernel. */
    const char *config, *solution;
};

/* *records: lines of jsonl, or results. May be NULL. */
WS_API int ws_trials_export(struct ws_ctx *ctx,
                            const struct ws_trials_export_opts *opts,
                            uint64_t *records);

struct ws_trials_import_opts {
    size_t size;
    const char *store, *file; /* store: made if it is not there */
    struct ws_spec *spec; /* with it: results of another tool (T4, Kernel Tuner
                             cache, CSV), else jsonl */
    const char *kernel, *workload; /* with spec: what they are about; NULL: the
                                      first kernel; the only workload, or as the
                                      file says */
    const char *device; /* with spec: where they were measured, if the file
                           does not say */
    const char *where, *time_column; /* CSV: rows "COLUMN=VALUE,...", and the
                                        time's column; NULL: all, by name */
};

struct ws_trials_imported {
    uint64_t records;                     /* in the file */
    uint64_t trials, runs, specs, values; /* new */
    uint64_t matched;                     /* there already, the same */
    uint64_t foreign; /* with spec: not of its space or workloads; left out */
    char foreign_why[256]; /* the first of them */
    int unfinished;        /* the file broke off; what is whole was taken */
};

/* All or nothing. An error names the line; WS_EINVAL: it contradicts the
 * store; WS_EBUSY: one of its runs is being measured. */
WS_API int ws_trials_import(struct ws_ctx *ctx,
                            const struct ws_trials_import_opts *opts,
                            struct ws_trials_imported *out);

/* ---- scores -------------------------------------------------------------- */

struct ws_score_opts {
    size_t size;
    const char *candidate; /* traces of flashinfer-bench, ours or others' */
    const char *baseline;  /* the same; NULL: the reference's time in the
                              candidate's own traces */
    /* Of each file: NULL where it has one solution a Definition. */
    const char *solution, *baseline_solution;
    const double *p; /* of fast_p; NULL: 0, 0.8, 1, 1.5, 2 */
    size_t np;
};

struct ws_score_workload {
    const char *definition, *workload;
    const char *status; /* the candidate's: "PASSED", ...; "": no trace of it */
    double baseline_ms, candidate_ms, ratio; /* 0: it did not pass */
};

struct ws_score_sum {
    const char *definition; /* NULL: over all */
    size_t workloads, right;
    double mean_x100; /* arithmetic mean of the ratios times 100, failures 0 */
    double geomean;   /* failures 1 */
    double geomean_right; /* of those that passed; 0: there are none */
    const double *fast;   /* fast_p for each p */
};

struct ws_score {
    const struct ws_score_workload *workload;
    size_t nworkload;
    const struct ws_score_sum *sum; /* each Definition; then over all, if there
                                       are several */
    size_t nsum;
    const double *p;
    size_t np;
    size_t left; /* workloads of the candidate's that have no baseline's time */
};

/* Free the result with ws_score_free. WS_EPARSE: a line of a file; WS_EINVAL:
 * several solutions of one Definition and none chosen, or nothing in common. */
WS_API int ws_score(struct ws_ctx *ctx, const struct ws_score_opts *opts,
                    struct ws_score **out);
WS_API void ws_score_free(struct ws_ctx *ctx, struct ws_score *score);

/* A pack as a specification: the op, kernels and sources it carries. */
WS_API int ws_spec_from_pack(struct ws_ctx *ctx, const char *path,
                             struct ws_spec **out);

/* ---- init: a specification with blanks, from a kernel -------------------- */

struct ws_init_opts {
    size_t size;
    const char *source; /* the kernel's source file; or a solution of
                           flashinfer-bench (*.json), whose sources are written
                           first; or a task of GPU MODE (*.yml, *.yaml): then
                           only an op is drafted */
    const char *out;    /* the kernel file to write; NULL: beside the source */
    const char *entry;  /* functions to launch, "a" or "a,b"; NULL: all, in the
                           order of the text */
    const char *op;     /* a shipped op's name, or the path of an op; NULL: a
                           new op, written too */
    const char *device; /* asked about OpenCL C; NULL: the first OpenCL one */
    int force;          /* write over files that exist */
};

struct ws_init_blank {
    const char *file;
    uint32_t line, column;
    const char *subject, *wants; /* "'shape' of tensor 'x'", what goes there */
};

struct ws_init_result {
    const char *kernel_path, *op_path; /* written; NULL: none */
    const char *dialect;
    const char *read_by;      /* who read the source */
    const char *const *found; /* functions and parameters, one a line */
    size_t nfound;
    const char *const *note; /* what was not read and why */
    size_t nnote;
    const struct ws_init_blank *blank;
    size_t nblank;
    void *priv;
    const char *reference_path; /* written, with its source; NULL: none */
    const char *source_path;    /* written: the source without its code for the
                                   host; NULL: it has none */
    const char *const
        *guess; /* lines that are guesses, as "file:line: words" */
    size_t nguess;
    const char *tests_path; /* workloads that are tests, written; NULL: none */
    const char
        *definition_path; /* the op is this Definition; NULL: it is none */
};

/* Writes all files or none. With libclang the drafts of a new op are meant to
 * run as they are; a blank is what could not be read. WS_EINVAL: a file exists,
 * or there is no function to launch. WS_ESPEC: the source is no C; file and
 * line are in the words. */
WS_API int ws_init(struct ws_ctx *ctx, const struct ws_init_opts *opts,
                   struct ws_init_result **out);
WS_API void ws_init_result_free(struct ws_ctx *ctx, struct ws_init_result *r);

#ifdef __cplusplus
}
#endif
#endif
