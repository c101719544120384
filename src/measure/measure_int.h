/*
 * measure_int.h: what the files of this folder share.
 *
 * A question is answered for one or two subjects (candidates) in stages:
 * filter, build, verdict, time. Every stage that a candidate can fail ends in
 * the verdict of its trial; a negative return is an error of the evaluator
 * itself (stopped, no memory, device or reference lost).
 *
 * After a crash, a time-out or a protocol error every handle of the device
 * is gone: ws__measure_lose closes it, `gen` counts that, and whoever holds
 * handles compares generations before releasing them.
 */
#ifndef WS_MEASURE_INT_H
#define WS_MEASURE_INT_H

#include <pthread.h>

#include "base/turn.h"
#include "measure/measure.h"

#define WS__SETS 3 /* odd: order in a pair and buffer set stay independent */
#define WS__POISON_FIRST 0xffffffffu /* NaN in every float type */
#define WS__POISON_OLD 0x5a5a5a5au   /* what kernels may look for */
#define WS__MAX_MODULES 64
#define WS__BUILD_BUCKETS 1024
#define WS__MAX_BUILDERS 16
#define WS__KILLS 3 /* of a worker, from outside, that are borne */
#define WS__AHEAD 2 /* questions whose inputs are prepared before they come */
#define WS__REFERENCE_LIMIT_NS 600000000000ull

/* What the protocol stands on; tests put fakes here. */
struct ws__measure_deps {
    int (*device_open)(struct ws_ctx *ctx, const char *name,
                       struct ws__device *out);
    void (*device_close)(struct ws__device *d);
    int (*reference_open)(struct ws_ctx *ctx, const struct ws__op *op,
                          unsigned threads, uint64_t timeout_ns,
                          struct ws__reference **out);
    void (*reference_close)(struct ws__reference *r);
    int (*reference_run)(struct ws__reference *r, struct ws__problem *p);
    int (*problem_fill)(struct ws__problem *p, struct ws__reference *r,
                        uint64_t seed, unsigned threads);
    /* NULL: values are what the op says. */
    int (*problem_family)(struct ws__problem *p, struct ws__reference *r,
                          uint64_t seed, unsigned threads, enum ws__family f);
};

extern const struct ws__measure_deps ws__measure_real;

int ws__measure_open_with(struct ws_ctx *ctx,
                          const struct ws__measure_deps *deps,
                          const struct ws__op *op,
                          const struct ws__kernel *kernel, size_t nkernel,
                          const struct ws__workload *workload, size_t nworkload,
                          const struct ws__measure_opts *opts,
                          struct ws__measure **out);

/* fleet.c */
struct ws__fleet;
int ws__fleet_open_with(struct ws_ctx *ctx, const struct ws__measure_deps *deps,
                        const struct ws__op *op,
                        const struct ws__kernel *kernel, size_t nkernel,
                        const struct ws__workload *workload, size_t nworkload,
                        const struct ws__measure_opts *opts,
                        const char *const *device, size_t n,
                        struct ws__fleet **out);

/* A session whose device's worker runs below a program that watches memory.
 * There buffers have no guards and nothing is filled, since the program would
 * take both for the candidate's; there is one set of them, and one launch. It
 * has no reference: problems are given to it, with their results. */
struct ws__below {
    const char *const *argv; /* before the worker's own words; ends by NULL */
    char *log;               /* a word of it: written before each start */
    size_t log_size;
    const char *folder, *name; /* logs are FOLDER/NAME-N.log, N from 1 */
    unsigned starts;
    struct ws__problem *given; /* of the present question; not owned */
};

/* All that a device needs to compile a candidate. */
struct ws__recipe {
    struct ws__hash key; /* of source, dialect, options, launches, sizes */
    const struct ws__kernel *kernel;
    char *source;
    struct ws__plan_launch *hint; /* the plan's launches */
    size_t nhint;
    uint64_t tensor_bytes[WS__MAX_TENSORS], scratch_bytes[WS__MAX_SCRATCH];
    const struct ws__source_file *ready; /* of a cubin, the kernel's own */
    /* The file of each launch, where every one has its own: nhint of them. */
    const struct ws__source_file *file[WS__MAX_LAUNCHES];
};

/* What is known of building one recipe; guarded by m->lock. */
enum ws__job_state { WS__JOB_IDLE, WS__JOB_QUEUED, WS__JOB_RUNNING };
struct ws__job {
    struct ws__job *chain, *next; /* bucket; queue */
    struct ws__recipe recipe;     /* source and hints while queued, running */
    enum ws__job_state state;
    bool built;               /* the driver's cache has it */
    struct ws__hash binary;   /* of what was built; zero: not told */
    unsigned crashes;         /* of the timing device */
    enum ws__verdict verdict; /* NONE: no failure known */
    char *reason;
};

struct ws__builder {
    struct ws__measure *m;
    pthread_t thread;
    struct ws_ctx *ctx; /* a child with a stop flag of its own */
    struct ws__device dev;
    bool open;
};

/* measure_ahead.c: an announced question, as far as its inputs ask for it. */
struct ws__wish {
    const struct ws__instance *in;
    struct ws__job *job[2];
    struct ws__hash candidate[2], work;
    size_t n;
    uint64_t seed;
    bool done; /* prepared, or too late for it */
};

enum ws__ready_state { WS__READY_FREE, WS__READY_RUNNING, WS__READY_DONE };
struct ws__ready {
    enum ws__ready_state state;
    struct ws__problem *p; /* also while free: its memory is used again */
    uint64_t seed, bytes, ref_ns;
    bool computed; /* the reference, too */
    bool stale;    /* free when it is done: nobody waits for it any more */
};

struct ws__ahead {
    pthread_t thread;
    bool started;
    struct ws_ctx *ctx; /* as a builder's */
    struct ws__reference *ref;
    unsigned threads;
    uint64_t max_bytes;
    pthread_cond_t wake;
    struct ws__wish *wish;
    size_t nwish;
    struct ws__ready ready[WS__AHEAD];
};

struct ws__module {
    struct ws__hash key;
    /* One for all launches, or one a launch. n is 0: a free place. */
    uint32_t module[WS__MAX_LAUNCHES];
    size_t n;
    struct ws__resources res;
    uint64_t used; /* larger: later */
};

/* Host copies of all outputs, in one block that is used again: fresh memory
 * would take longer than the device takes to fill it. */
struct ws__result {
    char *data;
    size_t room, at[WS__MAX_TENSORS];
};

/* Guarded by the lock, since a fleet asks other threads' members. */
struct ws__clocks {
    enum ws__step step; /* that lasts */
    uint64_t opened_ns, since_ns;
    struct ws__throughput sum;
};

/* Workloads of our own, the cheapest first (measure_shapes.c). */
#define WS__HIDDEN_SHAPES 48
struct ws__hidden {
    struct ws__workload shape[WS__HIDDEN_SHAPES];
    double cost[WS__HIDDEN_SHAPES];
    size_t n;
};
struct ws__proof;
struct ws__sanitizing; /* measure_sanitize.c */

struct ws__count_wish; /* measure_count.c */
/* measure_dirt.c: a kernel of ours. */
struct ws__dirt {
    uint32_t module, buffer;
    unsigned gen;
    bool none; /* the device cannot have it */
    /* The device was lost while it was made: this candidate goes without. */
    struct ws__hash skip;
    uint32_t lost; /* how often that was */
    struct ws__plan_launch hint;
};

/* Of the samples that both clocks timed the one in which they differ least. */
struct ws__span {
    double ns, host_ns; /* by the device's and the host's */
    uint32_t n;         /* such samples */
};
void ws__span_see(struct ws__span *s, const struct ws__dev_sample *x,
                  uint32_t inner);
/* Is there more, each time, than the way to the device and back? */
bool ws__span_hides(const struct ws__span *s, bool cpu);

struct ws__measure {
    struct ws_ctx *ctx;
    struct ws__measure_deps deps;
    const struct ws__op *op;
    const struct ws__kernel *kernel;
    size_t nkernel;
    const struct ws__workload *workload;
    size_t nworkload;
    struct ws__instance **instance; /* by workload, made when needed */
    double *best_ns;                /* by workload; 0: none */
    struct ws__measure_opts opts;   /* defaults filled in */
    char *device_name;
    char *cache_dir; /* of its own, or NULL: that of the context */
    struct ws__device dev;
    bool open;
    unsigned gen, age; /* age: candidates run since it was opened */
    bool killed;       /* what failed last was killed from outside */
    bool broken;       /* what failed last was the device's compiler */
    bool ordered;      /* nothing is built beside it */
    bool fixed_limit;  /* of a launch: somebody said so */
    unsigned bore;     /* trials in a row that had to keep slowed samples */
    struct ws__device_info info;
    struct ws__hash raw_identity; /* before the protocol was added */
    struct ws__turn turn; /* with other processes, on the same hardware */

    struct ws__reference *ref;
    struct ws__refkernel *refkernel; /* instead of it, or NULL */
    bool *admitted;                  /* by workload: results fit to judge by */
    struct ws__problem *problem;     /* of the last verdict, or NULL */
    uint32_t problem_workload;
    enum ws__family family, problem_family; /* wanted; of the problem */
    bool problem_done;         /* filled and computed, for its seed */
    uint64_t ref_ns;           /* what its reference took */
    struct ws__roof roof;      /* opts.roof's */
    double fill_rate;          /* bytes a ns of device memory; 0: unknown */
    struct ws__result back[2]; /* memory for what candidates computed */
    bool rate_known;

    struct ws__module module[WS__MAX_MODULES];
    uint64_t tick;

    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct ws__job *bucket[WS__BUILD_BUCKETS];
    struct ws__job *queue, **queue_end;
    size_t pending;   /* queued or running */
    bool quit, sound; /* sound: the device was seen to build */
    uint64_t probes;
    struct ws__builder builder[WS__MAX_BUILDERS];
    size_t nbuilder;
    struct ws__ahead ahead;
    struct ws__clocks clocks;
    const struct ws__count_wish *count; /* after a verdict; NULL: nothing */
    char *sanitizer; /* the program; NULL: it is not here, or not for this */
    const char *counter[WS__MAX_COUNTERS]; /* opts.counters', names and keys */
    const char *counter_key[WS__MAX_COUNTERS];
    size_t ncounter; /* 0 also where the device gave none */
    bool fresh;      /* its process has run only what is compared on ... */
    uint32_t fresh_workload;
    struct ws__proof *proof;           /* NULL: nothing was to be proven yet */
    struct ws__sanitizing *sanitizing; /* NULL: nobody asked for it yet */
    struct ws__dirt dirt;
};

/* One candidate of a question on its way through the stages. */
struct ws__subject {
    struct ws__trial *t;
    const struct ws__kernel *kernel;
    const struct ws__instance *in;
    struct ws__plan *plan;
    struct ws__recipe recipe;
    uint32_t module[WS__MAX_LAUNCHES]; /* of each launch */
    size_t owner;                      /* its place in the buffers' scratch */
    bool judged;      /* the verdict is final unless timing changes it */
    bool told;        /* a build's verdict that is known for certain */
    uint64_t hash[2]; /* of the outputs, by the variant of the inputs */
    bool known[2];
    double first_ns;   /* time of the verified launch */
    uint64_t begun_ns; /* by the device's clock */
    uint64_t fresh_ns; /* what opening a process for it took */
};

/* An input's element that differs between the variants. */
struct ws__spot {
    size_t tensor, bytes;
    uint64_t offset;
    unsigned char value[2][8];
};

/* What the outputs of a set hold: written by whom, for which variant, and
 * what was there before. */
struct ws__held {
    uint32_t prog, poison;
    int variant;
};

/* The buffers of a question: sets that are alike but for their addresses and
 * for the variant of the inputs. */
struct ws__bufs {
    unsigned gen;
    size_t nset;
    uint64_t set_bytes;
    const struct ws__instance *in;
    uint32_t pristine[WS__MAX_TENSORS]; /* inouts: what to restore from */
    uint32_t tensor[WS__SETS][WS__MAX_TENSORS];
    uint32_t scratch[WS__SETS][2][WS__MAX_SCRATCH];
    uint64_t input_hash[WS__MAX_TENSORS]; /* of variant 0 */
    struct ws__rng rng;                   /* poison, variants */
    uint32_t poison; /* of all launches but the first, if outputs have gaps:
                        what lies between the elements is hashed, too */
    bool gaps;
    struct ws__spot spot[WS__MAX_TENSORS];
    size_t nspot;
    bool joint; /* spots of what is restored: one variant for all sets */
    int variant[WS__SETS];
    struct ws__held held[WS__SETS];
};

/* A subject bound to one buffer set. The first nout fills are the outputs'
 * poison, the others belong to scratch. */
struct ws__prog {
    struct ws__dev_seq seq;
    struct ws__dev_launch launch[WS__MAX_LAUNCHES];
    struct ws__dev_arg arg[WS__MAX_LAUNCHES][WS__MAX_ARGS];
    struct ws__dev_copy restore[2 * WS__MAX_TENSORS];
    struct ws__dev_fill fill[2 * WS__MAX_TENSORS + WS__MAX_SCRATCH];
    size_t nout, nown; /* nown: with scratch; the rest is of other sets */
    uint32_t hash[WS__MAX_TENSORS];
};

/* measure.c */
int ws__measure_instance(struct ws__measure *m, uint32_t workload,
                         const struct ws__instance **out);
int ws__measure_ready(struct ws__measure *m); /* opens the device again */
void ws__measure_lose(struct ws__measure *m);
/* The verdict that a device's failure means; NONE: not the candidate's. */
enum ws__verdict ws__measure_verdict_of(int rc);
bool ws__measure_kills(int rc); /* the device must be opened again */
/* Turns failure rc of a device operation into the verdict of n subjects. 0,
 * or the error it is in truth. */
int ws__measure_blame(struct ws__measure *m, int rc, struct ws__subject *s,
                      size_t n, const char *during);
/* The gate is behind n subjects, or one of them failed at it; it began at
 * start_ns (ws__now_ns), and they share the cost. */
void ws__measure_gate(struct ws__subject *s, size_t n, enum ws__gate g,
                      uint64_t start_ns);
/* Have two workloads the same element types? What is found of a candidate on
 * hidden shapes holds for these. */
bool ws__measure_same_types(const struct ws__measure *m, uint32_t a,
                            uint32_t b);
/* Another step begins; returns the one that ended. */
enum ws__step ws__measure_step(struct ws__measure *m, enum ws__step step);
void ws__measure_limit(struct ws__measure *m, uint64_t ns); /* 0: default */
/* The time-out of one launch on the present workload. */
uint64_t ws__measure_launch_limit(const struct ws__measure *m);
/* A batch of launches under a time-out of its own. */
int ws__measure_run(struct ws__measure *m, const struct ws__dev_batch *b,
                    uint64_t limit_ns, struct ws__dev_sample *samples,
                    size_t *n);
/* One launch of the sequence. */
int ws__measure_once(struct ws__measure *m, const struct ws__dev_seq *seq,
                     struct ws__dev_sample *sample);
uint64_t ws__measure_max_bytes(const struct ws__measure *m);

/* The reference results of m->problem, which are fit to judge by. */
int ws__measure_reference(struct ws__measure *m);
int ws__measure_admit(struct ws__measure *m); /* those that are there */
/* Of which size results of inputs like those of m->problem are. */
int ws__measure_sizes(struct ws__measure *m);

/* measure_trusted.c: the op's trusted kernel. Errors: WS_EREFERENCE. */
/* 0 if none of the kernels has its source. */
int ws__measure_independent(struct ws_ctx *ctx, const struct ws__op *op,
                            const struct ws__kernel *kernel, size_t n);
int ws__refkernel_open(struct ws__measure *m, struct ws__refkernel **out);
/* Its folder, made; NULL if the context has none. *out is ws__free'd, also
 * after a failure. */
int ws__refkernel_cache(struct ws_ctx *ctx, char **out);
void ws__refkernel_close(struct ws__refkernel *r); /* NULL is fine */
/* Computes p->result from p->input. */
int ws__refkernel_run(struct ws__refkernel *r, uint32_t workload,
                      struct ws__problem *p);

/* measure.c: opens the session's device, for ctx or a child of it. */
int ws__measure_open_device(struct ws__measure *m, struct ws_ctx *ctx,
                            struct ws__device *out);

/* An answer as the evaluator's, without taking turns. */
int ws__measure_answer(struct ws__measure *m, const struct ws__question *q,
                       struct ws__trial *out);

/* measure_shapes.c */
int ws__hidden_shapes(struct ws__measure *m, uint64_t seed,
                      struct ws__hidden *out);
/* At most one more, that this candidate takes as far as ranges and constraints
 * say: any, one off a multiple of its parameters, a large one. */
enum ws__hidden_kind {
    WS__HIDDEN_ANY,
    WS__HIDDEN_TILE, /* one off its tiles */
    WS__HIDDEN_LARGE,
    WS__HIDDEN_SIZE /* + i: any size; the ith axis from the large third of its
                       range */
};
#define WS__HIDDEN_SIZES 3 /* of them */
int ws__hidden_own(struct ws__measure *m, const struct ws__candidate *c,
                   uint64_t seed, enum ws__hidden_kind kind,
                   struct ws__hidden *out);
/* measure_filter.c: how many constraints of the kernel a workload breaks, and
 * whether it breaks none and lies in the kernel's ranges. Nothing else is
 * asked. */
size_t ws__measure_unmet(struct ws__measure *m, const struct ws__candidate *c,
                         const struct ws__workload *w);
bool ws__measure_takes(struct ws__measure *m, const struct ws__candidate *c,
                       const struct ws__workload *w);

/* measure_proof.c: an ok trial's candidate on other shapes and values. */
int ws__measure_prove(struct ws__measure *m, struct ws__subject *s);
/* A workload of the proof's session to try the candidate on, a hidden one if
 * there is one, and its inputs and results: drawn after the candidate was
 * compiled, for which it was right there. ws__problem_free; NULL: it fits on
 * none, or was not right. The workload lives as long as the session. */
int ws__proof_problem(struct ws__measure *m, const struct ws__candidate *c,
                      const struct ws__workload **work,
                      struct ws__problem **out);
/* measure_sanitize.c: candidates below compute-sanitizer. */
/* Questions that will come: those that want it are looked at together. */
int ws__sanitize_announce(struct ws__measure *m, const struct ws__question *q,
                          size_t n);
/* Begins, beside what comes next, if the candidate's finding is not known. */
int ws__sanitize_start(struct ws__measure *m, const struct ws__subject *s);
/* Waits for what runs: nothing may be timed beside it. */
int ws__sanitize_wait(struct ws__measure *m);
/* The gate of an ok trial's candidate: waits, and puts what was found there. */
int ws__measure_sanitize(struct ws__measure *m, struct ws__subject *s);
void ws__sanitize_close(struct ws__measure *m);
/* Of a log: findings (-1: it does not say), and the words of the first. */
void ws__sanitizer_read(const char *log, size_t n, long *found, char *words,
                        size_t size);
void ws__proof_close(struct ws_ctx *ctx,
                     struct ws__proof *p); /* The session of hidden shapes has
                                              the same kernels. */
void ws__proof_more(struct ws__measure *m);
/* NULL: no-op */

/* measure_filter.c */
/* As ws__measure_fits, and the plan. */
int ws__measure_plan(struct ws__measure *m, const struct ws__candidate *c,
                     uint32_t workload, struct ws__plan *plan,
                     char reason[256]);
/* Does op tensor t live in a buffer (else it is passed by value)? */
bool ws__measure_in_buffer(const struct ws__op *op, size_t t);
uint32_t ws__measure_guard_bytes(uint64_t bytes);

/* measure_sound.c */
/* 0, or WS_EFULL, WS_EACCES: nothing can be put into the cache folder. */
int ws__measure_check_cache(struct ws_ctx *ctx);
/* Did somebody else kill the worker whose end is the context's error? */
bool ws__measure_killed(const struct ws_ctx *ctx, int rc);
/* After a build that failed with rc: 0 if that is the candidate's doing, else
 * an error; the context keeps the build's words if it is. */
int ws__measure_sound(struct ws__measure *m, struct ws_ctx *ctx,
                      struct ws__device *d, int rc);

/* measure_build.c */
int ws__recipe_make(struct ws__measure *m, const struct ws__candidate *c,
                    const struct ws__instance *in, const struct ws__plan *plan,
                    struct ws__recipe *out);
void ws__recipe_clear(struct ws_ctx *ctx, struct ws__recipe *r);
int ws__measure_build(struct ws__measure *m, struct ws__subject *s);
void ws__measure_forget_modules(struct ws__measure *m); /* handles are gone */
int ws__measure_prefetch(struct ws__measure *m, const struct ws__question *q,
                         size_t n);
void ws__measure_stop_builders(struct ws__measure *m);
void ws__measure_free_jobs(struct ws__measure *m);

/* With the lock held: a while, or until a builder or the thread ahead is done
 * with something. Negative if the run is to stop. */
int ws__measure_wait(struct ws__measure *m);

/* measure_ahead.c */
void ws__ahead_open(struct ws__measure *m);
/* What is asked next, in this order, instead of what was said before. Takes
 * the array (NULL if n is 0). */
void ws__ahead_announce(struct ws__measure *m, struct ws__wish *wish, size_t n);
/* 1: m->problem has the inputs of this seed, and its reference results if
 * *computed; 0: nothing was prepared, m->problem is as it was. */
int ws__ahead_take(struct ws__measure *m, const struct ws__instance *in,
                   uint64_t seed, bool *computed);
void ws__ahead_close(struct ws__measure *m);

/* measure_buffers.c */
int ws__bufs_make(struct ws__measure *m, struct ws__subject *s, size_t n,
                  size_t nset, struct ws__bufs *b);
void ws__bufs_free(struct ws__measure *m, struct ws__bufs *b);
int ws__bufs_upload(struct ws__measure *m, struct ws__bufs *b,
                    const struct ws__problem *p);
/* After candidates ran: guards and inputs of set `set`. Sets verdicts of all
 * n subjects (scratch: of its owner). */
int ws__bufs_check(struct ws__measure *m, struct ws__bufs *b, size_t set,
                   struct ws__subject *s, size_t n);
void ws__prog_make(const struct ws__measure *m, const struct ws__bufs *b,
                   const struct ws__subject *s, size_t set,
                   const struct ws__problem *p, struct ws__prog *out);
/* Adds: the outputs of another set are made worthless before the launch. */
void ws__prog_wipe(const struct ws__measure *m, const struct ws__bufs *b,
                   size_t set, struct ws__prog *p);
/* others: of the outputs that wipe added. */
void ws__prog_poison(struct ws__prog *p, uint32_t pattern, uint32_t others);

/* measure_inputs.c */
/* Draws the spots; the inputs stay variant 0. */
void ws__inputs_vary(struct ws__measure *m, struct ws__bufs *b, uint64_t seed);
/* Changes a set once more, to what no launch has seen. It stays so. */
int ws__inputs_new(struct ws__measure *m, struct ws__bufs *b, size_t set);
int ws__inputs_set(struct ws__measure *m, struct ws__bufs *b, size_t set,
                   int variant);
int ws__inputs_reset(struct ws__measure *m, struct ws__bufs *b);
/* The problem becomes variant 1: inputs and reference results. */
int ws__inputs_reference(struct ws__measure *m, struct ws__bufs *b);
uint32_t ws__poison_draw(struct ws__bufs *b);

/* measure_verdict.c */
/* The seed of the inputs of n candidates: of the run's seed, the hashes of
 * what was compiled, and the workload. */
uint64_t ws__measure_seed(const struct ws__measure *m,
                          const struct ws__hash *binary,
                          const struct ws__hash *candidate, size_t n,
                          struct ws__hash work);
/* Inputs and reference results for the subjects, in m->problem. */
int ws__measure_problem(struct ws__measure *m, struct ws__subject *s, size_t n);
int ws__measure_verify(struct ws__measure *m, struct ws__bufs *b,
                       struct ws__subject *s);
/* One more launch of a right candidate, while the device looks on: what it
 * must not write to or read leaves no trace in results. Does nothing where
 * the device cannot, or with few gates. */
int ws__measure_watch(struct ws__measure *m, struct ws__bufs *b,
                      struct ws__subject *s);
/* Compares the outputs that lie in a set with the reference. 1 right, 0 wrong
 * (trial filled, `when` is put into its reason). */
int ws__measure_compare_set(struct ws__measure *m, struct ws__bufs *b,
                            size_t set, uint32_t poison, struct ws__subject *s,
                            const char *when);

/* measure_kind.c: what the wrong result `got` looks like, of the tensor and
 * with the figures of s->t->mismatch; words are appended to out, or none. */
void ws__measure_kind(const struct ws__measure *m, const struct ws__subject *s,
                      const char *got, struct ws__buf *out);

/* measure_dirt.c: fills the local memory of every unit with NaN, if the device
 * can. Negative: the device failed, or the run is to stop. */
int ws__measure_dirty(struct ws__measure *m, struct ws__hash candidate);

/* measure_state.c */
/* Does a candidate keep something between launches? CHEAT if so. After
 * timing; `round` was the last one. */
int ws__measure_state(struct ws__measure *m, struct ws__bufs *b,
                      struct ws__subject *s, size_t n, uint32_t round,
                      enum ws__effort effort);

/* measure_count.c: what m->count wishes, of a candidate that is right. */
int ws__measure_count_now(struct ws__measure *m, struct ws__bufs *b,
                          struct ws__subject *s);
int ws__measure_count_too(struct ws__measure *m, struct ws__bufs *b,
                          struct ws__subject *s);

/* measure_time.c */
/* What must be read to empty the device's cache. */
uint64_t ws__measure_flush_bytes(const struct ws__measure *m);
int ws__measure_time(struct ws__measure *m, struct ws__bufs *b,
                     struct ws__subject *s, size_t n, enum ws__effort effort);

#endif
