/*
 * trial.h: questions, trials, verdicts; the two seams that plan fills.
 *
 * A strategy asks questions; an evaluator answers with trials; a journal
 * keeps them. Nothing here touches a device or a file.
 */
#ifndef WS_TRIAL_H
#define WS_TRIAL_H

#include "base/hash.h"
#include "core/kernel.h"
#include "core/stats.h"

/* code, name in JSON and output, text. Codes are stored: they are for ever. */
#define WS__VERDICT_MAP(X)                                                     \
    X(0, NONE, "none", "not judged")                                           \
    X(1, OK, "ok", "correct")                                                  \
    X(2, BUILD, "build", "does not compile, load, or end its first launch")    \
    X(3, LAUNCH, "launch", "refused to launch")                                \
    X(4, CRASH, "crash", "crashed")                                            \
    X(5, HANG, "hang", "did not end in time")                                  \
    X(6, WRONG, "wrong", "wrong result")                                       \
    X(7, CHEAT, "cheat", "cheated")                                            \
    X(8, MEMORY, "memory", "out of memory")                                    \
    X(9, TOO_FAST, "too_fast", "faster than physics allows")                   \
    X(10, FILTERED, "filtered", "over a limit of the device; not built")

enum ws__verdict {
#define WS_X(code, name, key, text) WS__V_##name = (code),
    WS__VERDICT_MAP(WS_X)
#undef WS_X
};
const char *ws__verdict_key(enum ws__verdict v);
const char *ws__verdict_text(enum ws__verdict v);

enum ws__effort { WS__SCREEN, WS__NORMAL, WS__CONFIRM };
const char *ws__effort_key(enum ws__effort e); /* "screen" */
/* PROOF: hidden shapes and what else takes too long for every candidate; with
 * TIME as FRESH. Without VERDICT the candidate was right on the workload
 * before, and the verdict is that of these gates. */
enum {
    WS__WANT_BUILD = 1,
    WS__WANT_VERDICT = 2,
    WS__WANT_TIME = 4,
    WS__WANT_PROOF = 8,
    WS__WANT_SANITIZER = 16, /* the same under the vendor's sanitizer */
    WS__WANT_FRESH = 32      /* in a process that ran nothing else */
};

/* Gates of the judge, in the order of their cost: code, name, key, what is true
 * of who passes, of who fails. Codes are stored: they are for ever. */
#define WS__GATE_MAP(X)                                                        \
    X(0, FILTER, "filter", "within the device's limits",                       \
      "over a limit of the device, or a constraint does not hold")             \
    X(1, BUILD, "build", "compiles",                                           \
      "does not compile, load, or end its first launch")                       \
    X(2, RESULT, "result", "right over two patterns of poison",                \
      "fails when it is checked")                                              \
    X(3, TIMED, "timed", "the same results at every timed launch",             \
      "fails, or has other results, when it is timed")                         \
    X(4, STATE, "state", "keeps nothing between launches",                     \
      "keeps something between launches")                                      \
    X(5, FLOOR, "floor", "no faster than the device can be",                   \
      "faster than the device can be")                                         \
    X(6, VALUES, "values", "right on other families of values",                \
      "fails on another family of values")                                     \
    X(7, SHAPES, "shapes", "right on shapes that nobody asked for",            \
      "fails on a shape that nobody asked for")                                \
    X(8, SANITIZER, "sanitizer", "no finding of a sanitizer",                  \
      "a sanitizer has a finding")                                             \
    X(9, AGAIN, "again", "timed in a process of its own, on fresh inputs",     \
      "fails in a fresh process on fresh inputs")

enum ws__gate {
#define WS_X(code, name, key, text, fails) WS__GATE_##name = (code),
    WS__GATE_MAP(WS_X)
#undef WS_X
        WS__NGATE
};
enum ws__gate_end {
    WS__GATE_CLOSED, /* the candidate did not come to it */
    WS__GATE_PASSED, /* it did */
    WS__GATE_FAILED, /* the verdict is of this gate */
    WS__GATE_ABSENT  /* not asked for, or there is no such gate here */
};
const char *ws__gate_key(enum ws__gate g);
/* What is true of a candidate at this end of the gate. */
const char *ws__gate_text(enum ws__gate g, enum ws__gate_end end);

struct ws__candidate {
    uint32_t kernel; /* index into the specification's kernels */
    struct ws__config config;
};
bool ws__candidate_eq(const struct ws__candidate *a,
                      const struct ws__candidate *b);
/* Is it a config of one of these kernels? What a store holds may be of others.
 */
bool ws__candidate_fits(const struct ws__candidate *c,
                        const struct ws__kernel *kernel, size_t nkernel);

struct ws__question {
    uint64_t id;               /* 1, 2, ... in the order asked */
    struct ws__candidate a, b; /* b: the second of an interleaved pair */
    bool pair;
    uint32_t workload; /* index into the workloads */
    unsigned want;
    enum ws__effort effort;
};

/* The report on a wrong result: the worst tensor. */
struct ws__mismatch {
    uint32_t tensor;
    uint64_t bad, total, nan, unwritten;
    double max_abs, max_rel; /* over all elements */
    double rms_err, rms_ref;
    uint64_t worst, first; /* flat index (row-major over dims) */
    double worst_got, worst_want, first_got, first_want;
    double allowed; /* tolerance at the worst element, absolute */
};

/* What the driver says of a build; 0 if unknown. */
struct ws__resources {
    uint64_t binary_bytes, build_ns;
    uint32_t registers, spill_bytes, shared_bytes, private_bytes;
    uint32_t max_threads;
    uint32_t blocks_per_unit; /* of the first launch, that a unit holds at
                                 once; occupancy */
    struct ws__hash binary;   /* of the compiled candidate */
};

struct ws__trial {
    uint64_t question;
    struct ws__candidate candidate;
    uint32_t workload;
    enum ws__effort effort;
    unsigned did; /* WS__WANT_* bits that were done */
    enum ws__verdict verdict;
    char *reason; /* cause in words, build log's first lines...; or NULL */
    struct ws__mismatch mismatch; /* valid if judged */
    struct ws__resources res;
    uint64_t input_seed;
    double *sample_ns; /* in the order taken */
    size_t nsample;
    uint64_t block; /* pairs: both trials share it, samples in order; 0 */
    enum ws__cache_mode cache;
    uint32_t inner; /* launches a sample, the time is divided by it */
    /* The device's clock: samples of `sample_ns` had this median (0: unknown);
     * so many more were thrown away because something slowed the device while
     * they were taken (WS__SLOW_* of device.h); and what slowed it while kept
     * ones were, since it would not end. */
    uint32_t mhz, slowed, kept_slowed;
    uint64_t spent_ns, wall_ns; /* effort spent; when it began (UTC) */
    /* Two bits a gate (enum ws__gate_end), and what each cost. */
    uint32_t gates;
    uint64_t gate_ns[WS__NGATE];
    char *counters; /* what hardware counted (counters.h), or NULL */
    /* Why a gate is absent: texts that last, NULL where it was not asked for.
     * Told, not kept. */
    const char *absent[WS__NGATE];
    char *elsewhere; /* the workload of a hidden shape that it failed on, as on
                        a command line; NULL: none. Told, not kept */
    struct ws__hash candidate_hash, workload_hash;
    uint64_t id; /* store's number, 0 before */
};

/* Frees what a trial owns (through ctx) and zeroes it. */
void ws__trial_clear(struct ws_ctx *ctx, struct ws__trial *t);
int ws__trial_copy(struct ws_ctx *ctx, const struct ws__trial *from,
                   struct ws__trial *to);
enum ws__gate_end ws__gate_end(const struct ws__trial *t, enum ws__gate g);
uint32_t ws__gates_passed(const struct ws__trial *t); /* bit g: gate g */
/* What it cost is added to what it cost so far. */
void ws__gate_note(struct ws__trial *t, enum ws__gate g, enum ws__gate_end end,
                   uint64_t ns);
/* There is no such gate here; `why` lives as long as the program. */
void ws__gate_absent(struct ws__trial *t, enum ws__gate g, const char *why);
/* Why this cannot be the answer to `asked`, which is q's a or b; NULL: it can.
 * What comes from files is held against it: codes are known, the subject is
 * the question's, and an ok trial's times are times. */
const char *ws__trial_flaw(const struct ws__question *q,
                           const struct ws__candidate *asked,
                           const struct ws__trial *t);
int ws__trial_set_reason(struct ws_ctx *ctx, struct ws__trial *t,
                         const char *fmt, ...) WS_PRINTF(3, 4);

/* Who measured: trials of different identity never mix. */
struct ws__identity {
    char device[128], driver[128], compiler[128], tool[32];
    char family[32]; /* "opencl" */
    uint32_t units, max_threads;
    uint64_t memory_bytes, cache_bytes, shared_bytes;
    uint32_t vector_bytes;
    bool is_cpu;          /* shares the host's processors */
    char protocol[64];    /* version and settings of the measurement */
    struct ws__hash hash; /* of the above */
};
void ws__identity_seal(struct ws__identity *id); /* computes hash */
/* Fills the slots of the device variables of a kernel's expressions. */
void ws__identity_vars(const struct ws__identity *id,
                       const struct ws__kernel *k, union wsrt_value *vars);

/* Where the time of an evaluator goes: steps of an answer, and what lies
 * between two answers. */
#define WS__STEP_MAP(X)                                                        \
    X(TURN, "turn")         /* waiting for other runs on the device */         \
    X(BUILDERS, "builders") /* waiting for one */                              \
    X(BUILD, "build")                                                          \
    X(INPUTS, "inputs") /* and the reference: made, or waited for */           \
    X(UPLOAD, "upload") /* buffers and what is in them */                      \
    X(VERIFY, "verify")                                                        \
    X(TIME, "time")       /* with all looks after it */                        \
    X(OTHER, "other")     /* of an answer */                                   \
    X(BETWEEN, "between") /* answers: strategy, store */

enum ws__step {
#define WS_X(name, text) WS__STEP_##name,
    WS__STEP_MAP(WS_X)
#undef WS_X
        WS__NSTEP
};
const char *ws__step_name(enum ws__step s);

/* Since the evaluator was opened. Of several devices all but the time that
 * passed is summed up. */
struct ws__throughput {
    size_t devices;
    uint64_t wall_ns; /* that passed */
    uint64_t step_ns[WS__NSTEP];
    uint64_t run_ns; /* inside batches of launches, as the caller sees it: with
                        restoring, poison, flushes and hashes between them */
    uint64_t trials, ahead; /* ahead: questions whose inputs were ready */
    uint64_t slowed;        /* samples thrown away, as in a trial */
    uint64_t lost_some, kept_some; /* trials with such, with slowed ones */
};

/* Seam: answers questions. */
struct ws__evaluator_ops {
    uint32_t abi; /* 1 */
    const char *name;
    /* Hint that these will be asked next, so that building may overlap.
     * Optional. Failures show when the question is answered. */
    int (*prefetch)(void *self, const struct ws__question *q, size_t n);
    /* out[0], and out[1] for a pair (both zeroed by the caller, cleared by
     * the caller). A failing candidate is a trial, not an error; errors are
     * WS_ECANCEL, WS_ETIMEOUT, WS_ENOMEM, WS_EMISS or loss of the device. */
    int (*answer)(void *self, const struct ws__question *q,
                  struct ws__trial *out);
    const struct ws__identity *(*identity)(void *self);
    /* Answers by running. Then WS_EMISS (a recorded device was asked for what
     * it did not do) is an error; else it says that this one question has no
     * answer here. */
    bool live;
    /* How long it has waited so far for others who used the device: no time
     * of the run's. Optional. */
    uint64_t (*waited_ns)(void *self);
    /* Optional. */
    void (*throughput)(void *self, struct ws__throughput *out);
};
struct ws__evaluator {
    const struct ws__evaluator_ops *ops;
    void *self;
};

/* A run: what resuming is keyed by. */
struct ws__run {
    char name[200];               /* for messages: specification path */
    struct ws__hash spec, device; /* op+kernels+workloads; identity */
    char strategy[32];
    uint64_t seed;
    uint64_t id; /* the journal's number, filled by begin */
};

/* Seam: keeps what was learnt. Every append is durable when it returns. */
struct ws__journal_ops {
    uint32_t abi; /* 1 */
    const char *name;
    /* Finds or makes the run and locks it against a second process
     * (WS_EBUSY, naming it). */
    int (*begin)(void *self, struct ws__run *run);
    /* One answered question: n trials (1 or 2), atomically. Sets their id. */
    int (*append)(void *self, const struct ws__run *run,
                  const struct ws__question *q, struct ws__trial *t, size_t n);
    /* Calls fn for every answered question of the run, in answer order. A
     * non-zero return of fn ends the walk and is returned. */
    int (*replay)(void *self, const struct ws__run *run,
                  int (*fn)(void *user, const struct ws__question *q,
                            const struct ws__trial *t, size_t n),
                  void *user);
    /* Any trial of any run with this candidate, workload, device identity,
     * at least this effort and these `did` bits, not of a pair: found 1,
     * else 0. Verdicts CRASH, HANG and MEMORY are not reused across runs. */
    int (*find)(void *self, struct ws__hash candidate, struct ws__hash work,
                struct ws__hash device, enum ws__effort effort, unsigned did,
                struct ws__trial *out);
    /* Small values by name, kept with the run (strategy state, summaries).
     * get: 1 found (string owned by caller: ws__free), 0 not. */
    int (*get)(void *self, const struct ws__run *run, const char *key,
               char **value);
    int (*put)(void *self, const struct ws__run *run, const char *key,
               const char *value);
    int (*end)(void *self, struct ws__run *run); /* unlocks */
};
struct ws__journal {
    const struct ws__journal_ops *ops;
    void *self;
};

#endif
