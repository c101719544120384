/*
 * engine.h: private to the folder: the state of a run of the engine.
 *
 * Everything that was ever answered, in this process or in an earlier one of
 * the same run, is one `struct ws__answer` in one table. Replaying is nothing
 * but filling that table from the journal before the strategy is asked the
 * same questions again: what the table knows is not evaluated.
 */
#ifndef WS_ENGINE_H
#define WS_ENGINE_H

#include "search/search.h"

struct ws__answer {
    struct ws__hash key;
    struct ws__question q;
    bool told;     /* to the strategy, in this process */
    bool recorded; /* came with the journal */
    bool reused;   /* made by another run */
    bool untold;   /* not of the space: no matter of the strategy's */
    bool missed;   /* not among recordings: told as filtered, kept nowhere */
    bool again;    /* recorded, and asked for in this process, too */
    size_t n;
    struct ws__trial t[2]; /* [1]: of a pair */
};

/* A question on its way: resolved when asked, answered in order. */
struct ws__pending {
    struct ws__question q;
    struct ws__hash key;
    struct ws__answer *ready; /* known, filtered, or found elsewhere */
    bool fresh;               /* not in the table when asked */
    bool evaluate;
    bool missed; /* takes no number: it is not in the journal */
};

struct ws__workload_state {
    const struct ws__answer *dflt, *best; /* best: ok, lowest score */
    double default_ns, best_ns;           /* 0: none */
    bool again; /* a recorded crash or hang of the default was left out */
    struct ws__hash hash;
    struct ws__instance *instance; /* NULL: unknown */
};

struct ws__engine {
    struct ws_ctx *ctx;
    const struct ws__problem_space *p;
    const struct ws__evaluator *ev;
    const struct ws__journal *j; /* NULL: none */
    struct ws__run *run;
    const struct ws__engine_opts *opts;
    const struct ws__strategy_ops *ops;
    void *state;
    struct ws__answer **answer; /* in the order answered */
    size_t n, cap;
    size_t *index, nindex; /* open hash: number in `answer` plus one */
    struct ws__pending *pending;
    struct ws__workload_state *work;
    uint64_t next_id;
    uint64_t started_ns, before_ns; /* before: spent by earlier processes */
    uint64_t asked, done, ok, failed, filtered, missed, reused;
    uint64_t left; /* recorded while screening, not asked for again yet */
    bool live;     /* something was evaluated while screening */
    uint64_t pairs, pairs_planned; /* of the stage "confirm" */
    const char *stage;
};

/* --- engine_table.c --- */
struct ws__hash ws__question_key(const struct ws__question *q);
struct ws__answer *ws__engine_find(struct ws__engine *e, struct ws__hash key);
struct ws__answer *ws__answer_new(struct ws_ctx *ctx,
                                  const struct ws__question *q,
                                  struct ws__hash key);
void ws__answer_free(struct ws_ctx *ctx, struct ws__answer *a);
/* Takes `a` (frees it on failure) and counts it. */
int ws__engine_insert_take(struct ws__engine *e, struct ws__answer *a);
int ws__engine_load(struct ws__engine *e); /* the journal's answers */
void ws__engine_clear(struct ws__engine *e);

/* --- engine_answer.c --- */
/* Hashes and shapes of the workloads, for the journal's other runs. */
int ws__engine_identify(struct ws__engine *e);
/* What is known of q without evaluating; q's id is set if it is new. */
int ws__pending_make(struct ws__engine *e, const struct ws__question *q,
                     struct ws__pending *batch, size_t n);
/* A question whose candidate the space does not have: filtered, and why. */
int ws__pending_invalid(struct ws__engine *e, const struct ws__question *q,
                        const char *why, struct ws__pending *batch, size_t n);
/* Answers a batch in order; each is in table and journal before the next.
 * `more` questions behind it are only announced. On failure *answered says how
 * many were. */
int ws__engine_batch(struct ws__engine *e, struct ws__pending *batch, size_t n,
                     size_t more, size_t *answered);
void ws__pending_clear(struct ws__engine *e, struct ws__pending *batch,
                       size_t n);

/* --- engine_confirm.c --- */
/* Fills the choices, interleaving finalists unless `stopped`. Returns 0 or
 * the code that ended it; the choices are filled then, too, except after
 * WS_ENOMEM. */
int ws__engine_confirm(struct ws__engine *e, int stopped,
                       struct ws__choice *choice);

/* What is known of the finalists of a workload, until all are confirmed. */
struct judged { /* a pair with the default */
    const struct ws__answer *answer;
    struct ws__ratio ratio;
};
struct finals {
    struct ws__engine *e;
    const struct ws__answer **list; /* best first; those that did not fail */
    struct ws__pending *batch;      /* shared by all workloads */
    struct judged *judged;          /* room for max, as in the list */
    size_t max, n, njudged;
    uint32_t workload;
    int stopped;
    struct ws__choice *choice;
};
bool ws__has_failed(const struct ws__trial *t);
/* Replaces a trial of the choice by a copy; the second keeps the first failure
 * only. */
int ws__finals_keep(struct finals *f, const struct ws__trial *from,
                    struct ws__trial *to);
int ws__finals_failure(struct finals *f, const struct ws__trial *t);
/* Answers the batch; one that a recording does not hold is skipped. Leaves
 * .ready NULL where there is no answer. */
int ws__finals_answer(struct finals *f, size_t n);
/* The one of the highest lower end; NULL: n is 0. */
struct judged *ws__finals_leader(struct judged *all, size_t n);
/* The pair decides: the candidate or its default is the choice. */
int ws__finals_take(struct finals *f, const struct judged *j);
/* The best of the list, where there is no default. */
int ws__finals_alone(struct finals *f);

/* --- engine_gates.c --- */
#define WS__GATE_QUESTIONS 2 /* at most, a workload and round */
/* The gates of what n workloads chose, and of their defaults; f is an array.
 * Changes the choices that do not pass. *stopped as that of the finals. */
int ws__finals_prove(struct finals *f, size_t n, int *stopped);

/* --- engine_agree.c --- */
/* Says of the filled choices which answer for their shape. Returns as
 * ws__engine_confirm. */
int ws__engine_agree(struct ws__engine *e, int stopped,
                     struct ws__choice *choice);

/* --- engine_progress.c --- */
void ws__engine_progress(struct ws__engine *e, const struct ws__answer *a);
uint64_t ws__engine_elapsed_ns(const struct ws__engine *e);

/* Codes that end a run early with what is known. */
bool ws__engine_is_stop(int code);
/* As that, and a reference that fails when something is known already. */
bool ws__engine_may_stop(const struct ws__engine *e, int code);

#endif
