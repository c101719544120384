/*
 * search.h: strategies, and the ask/tell engine that drives them.
 *
 * A strategy is src/search/<name>/search_<name>.c with one const ops struct
 * ws__search_<name>. It is asked for questions and told trials; it touches
 * no device, no file, no clock. Its choices depend on the seed and on what it
 * was told, in that order, and on nothing else: that makes a run resumable by
 * telling it the recorded answers again.
 */
#ifndef WS_SEARCH_H
#define WS_SEARCH_H

#include "core/idea.h"
#include "space/space.h"

#define WS__STRATEGY_ABI 1u

enum { WS__FITS_MISSED = 2 };

/* What a strategy may know. spaces[k * nworkload + w]: kernel k's configs
 * that are valid for workload w on this device. */
struct ws__problem_space {
    struct ws_ctx *ctx;
    const struct ws__kernel *kernel;
    size_t nkernel;
    const struct ws__workload *workload;
    size_t nworkload;
    struct ws__space *const *spaces;
    uint64_t seed;
    uint64_t budget;                       /* of screening trials; 0: unknown */
    const struct ws__identity *device;     /* NULL: unknown */
    const struct ws__catalogue *catalogue; /* of ideas; NULL: none */
    /* The resource filter: 1 fits, 0 not, WS__FITS_MISSED: the evaluator has
     * no answer. Deterministic. */
    int (*fits)(void *user, const struct ws__candidate *c, uint32_t workload);
    void *fits_user;
};

enum { WS__ASK_WAIT = 1 }; /* ask: tell me outstanding answers first */

struct ws__strategy_ops {
    uint32_t abi;
    const char *name, *about;
    bool reads_catalogue;
    int (*start)(const struct ws__problem_space *p, void **state);
    /* Fills candidate and workload. 0: asked; WS__ASK_WAIT; WS_EDONE: the
     * strategy has nothing more to ask, ever. It may repeat a question: the
     * engine answers repeats from what it knows, at no cost. */
    int (*ask)(void *state, struct ws__candidate *c, uint32_t *workload);
    /* A trial that was asked for (also of repeats), or one that the engine
     * made on its own (the default of each workload, first; it may be one
     * that a constraint prunes from the space). */
    int (*tell)(void *state, const struct ws__trial *t);
    void (*end)(void *state); /* NULL: no-op */
    /* Which ideas were tried and what came of them, into a zeroed tree whose
     * arena is open; NULL: it has none. */
    int (*tree)(void *state, struct ws__tree *out);
    /* People decide: 1, or 0 if it knows no such node; before a question is
     * asked. NULL: nobody can. */
    int (*steer)(void *state, const struct ws__steer *s);
};
extern const struct ws__strategy_ops *const ws__strategy_table[];
const struct ws__strategy_ops *ws__strategy_find(const char *name);

/* The score of a trial: its median in ns, or infinity if not ok. */
double ws__trial_score(struct ws_ctx *ctx, const struct ws__trial *t);

struct ws__progress {
    /* Screening trials (planned 0: limited by time); in the stage "confirm"
     * its questions, mostly pairs. */
    uint64_t done, planned;
    uint64_t ok, failed, filtered, reused;
    uint32_t workload; /* of the trial just told */
    const struct ws__trial *trial;
    double default_ns, best_ns;   /* of that workload; 0: none yet */
    double geomean_speedup;       /* over workloads, best against default */
    uint64_t elapsed_ns, left_ns; /* left: of screening, 0 unknown */
    const char *stage;            /* "default", "search", "confirm" */
};

struct ws__engine_opts {
    const char *strategy;
    uint64_t seed;
    uint64_t budget_trials; /* screening trials, stored ones of this run
                               counted; 0: no limit */
    uint64_t budget_ns;     /* of screening, 0: no limit. Earlier processes
                               count with what their answers took */
    unsigned parallel;      /* questions asked ahead, >= 1. A run resumed with
                               another number may ask other questions */
    bool ahead; /* ask for as many again before the first are answered, so that
                   the evaluator works on them meanwhile: what is told comes
                   that much later. Likewise part of what is asked */
    unsigned finalists; /* candidates confirmed a workload; 0: 3 */
    bool prove;         /* what is chosen without a pair is proven alone */
    bool sanitize;      /* ask for the sanitizer's gate on what is chosen */
    void (*progress)(void *user, const struct ws__progress *p);
    /* Optional, for strategies with a tree: called after each batch while
     * screening, with the questions asked so far. May ask it for its tree. */
    int (*watch)(void *user, const struct ws__strategy_ops *ops, void *state,
                 uint64_t asked);
    /* Optional, for strategies that can be steered: asked before each question
     * of a strategy, until it says 0. 1: *out takes effect now, after `asked`
     * questions. live: what is asked next was asked by no earlier process, so
     * that something new may take effect. */
    int (*steer)(void *user, uint64_t asked, bool live, struct ws__steer *out);
    void *user;
};

/* What is known of one workload at the end. */
struct ws__choice {
    struct ws__trial dflt, best;  /* screening or confirming trials; best may
                                     be the default's own candidate */
    bool have_default, have_best; /* an ok trial exists */
    struct ws__trial failure; /* the first candidate that failed, the default
                                 also if filtered; verdict NONE: none */
    bool confirmed;           /* ratio comes from interleaved samples */
    struct ws__ratio speedup; /* best over default; 1 1 1 if it stayed */
    uint64_t verdicts[16];    /* counts by verdict, screening */
    uint64_t pair_trial_a, pair_trial_b; /* evidence; 0: none */
    uint32_t passed; /* bit g: best passed gate g when it was proven */
    bool speaks;     /* best is right on every workload of the same shape */
    bool barred;     /* nothing is: the shape gets no answer */
};

struct ws__outcome {
    struct ws__choice *choice; /* one a workload */
    size_t n;
    struct ws__tree tree; /* of strategies that have one */
    uint64_t asked, answered, reused, filtered;
    uint64_t missed; /* not recorded; not among the answered */
    int stopped; /* 0: budget or strategy exhausted; WS_ECANCEL, WS_ETIMEOUT,
                    WS_EFULL...: ended early, the rest is valid */
};

/*
 * Runs: defaults of all workloads, then screening until the budget is spent,
 * then for each workload the finalists interleaved with the default. A
 * candidate replaces the default only if the interval of its speed-up lies
 * above 1. Every answered question is in the journal before the next is
 * asked; a run found there is replayed first. The same (candidate, workload)
 * is never screened twice. Ends early on cancellation with what is known.
 */
int ws__engine_run(const struct ws__problem_space *p,
                   const struct ws__evaluator *ev, const struct ws__journal *j,
                   struct ws__run *run, const struct ws__engine_opts *opts,
                   struct ws__outcome *out);
void ws__outcome_clear(struct ws_ctx *ctx, struct ws__outcome *o);

#endif
