/*
 * forge.h: profile, move, verify, keep or roll back: a kernel made faster.
 *
 * The loop knows no source and no device. A workshop (plan fills the seam)
 * lists the moves that a kernel allows, makes kernels from them, and says what
 * holds one back; an evaluator judges; a journal keeps every answer. What the
 * loop does next depends on the seed, on what it was told of earlier projects
 * when the run began, and on the answers: a run that was cut short is told the
 * recorded answers again and goes on from there.
 */
#ifndef WS_FORGE_H
#define WS_FORGE_H

#include "core/trial.h"
#include "profile/profile.h"

/* What may be done to a kernel at one place. */
struct ws__forge_move {
    const char *name;           /* of the transformation */
    const char *words;          /* what, where */
    const char *needs;          /* what must hold for it; NULL: nothing */
    const char *refused;        /* why not; NULL: it may be done */
    const char *trust;          /* left to the verdict; NULL: nothing */
    const char *const *finding; /* keys of rules that suggest it, NULL ends */
    double gain;                /* factor to be expected, knowing nothing */
    unsigned want;              /* WS__WANT_* that the judge must add */
    bool rounding;
    bool asks;   /* somebody is asked: one failure says nothing of the next */
    size_t site; /* the workshop's */
};

/* A workload, in a comparison of two kernels. */
struct ws__forge_row {
    double original_ns, best_ns;
    struct ws__ratio speedup; /* 1 1 1: the original stays */
    bool same;                /* both launch the same: nothing is compared */
};

struct ws__forge_step;
struct ws__forge_shop {
    /* All moves of a kernel, refused ones too, in an order that depends on the
     * kernel alone; they live as long as the workshop. */
    int (*moves)(void *self, uint32_t kernel, const struct ws__forge_move **out,
                 size_t *n);
    /* 1: kernel *out is that one with the move done, its parameters those of
     * the old one first; 0: it cannot be, and why. */
    int (*make)(void *self, uint32_t kernel, const struct ws__forge_move *m,
                uint32_t *out, char why[512]);
    /* 1: kernel *out is `with` on shapes like the workloads on which it wins
     * (one row each), and `without` elsewhere, both with the config of `with`;
     * words: which shapes, as long as the workshop. 0: it cannot be, and why.
     * NULL: nobody makes such. */
    int (*guard)(void *self, const struct ws__candidate *with,
                 const struct ws__candidate *without,
                 const struct ws__forge_row *row, uint32_t *out,
                 const char **words, char why[512]);
    /* Do two kernels with these configs launch the same on a workload, since a
     * guard keeps what is new away from it? NULL: there are no guards. */
    bool (*same)(void *self, const struct ws__candidate *a,
                 const struct ws__candidate *b, uint32_t workload);
    /* 1: what holds the candidate of an ok trial back; 0: nobody knows. Its
     * times are best_ns of the rows. *gap: time over the floor, geometric mean
     * over the workloads; 0 if unknown. */
    int (*diagnose)(void *self, const struct ws__trial *t,
                    const struct ws__forge_row *row, struct ws__diagnosis *out,
                    double *gap);
    /* How a move ended. NULL: nobody listens. */
    void (*hear)(void *self, const struct ws__forge_step *x);
    /* What is remembered of earlier projects, a text that only this folder
     * reads (ws__free; NULL: nothing), and more of it, to be kept behind it.
     * NULL: nothing is remembered. */
    int (*recall)(void *self, char **text);
    int (*learn)(void *self, const char *text);
    void *self;
};

/* What earlier projects learnt of a transformation where a kernel was bound by
 * the same. */
struct ws__forge_memory {
    char move[32], bound[16];
    uint32_t tries, wins;
    double log_gain; /* summed over the wins */
};

enum ws__forge_kind {
    WS__FORGE_START, /* the original is timed */
    WS__FORGE_DIAGNOSIS,
    WS__FORGE_TRY,    /* a move begins */
    WS__FORGE_FAILED, /* it cannot be made, or is not right */
    WS__FORGE_SAME,   /* compiles to what was tried before */
    WS__FORGE_KEPT,
    WS__FORGE_PREPARES, /* no gain by itself; others may build on it */
    WS__FORGE_BACK,     /* slower */
    WS__FORGE_END
};
const char *ws__forge_kind_name(enum ws__forge_kind k);

struct ws__forge_event {
    enum ws__forge_kind kind;
    uint32_t round;
    const struct ws__forge_move *move;
    uint32_t kernel;
    const struct ws__config *config;
    double expected;        /* factor, as ranked */
    struct ws__ratio ratio; /* over all workloads, against the best */
    enum ws__verdict verdict;
    const char *why;
    const struct ws__diagnosis *diagnosis;
    int32_t on;     /* WS__FORGE_TRY: the step that made what the move is tried
                       on; -1: the original */
    double gap;     /* of the best, over all workloads; 0: unknown */
    double speedup; /* of the best over the original so far */
    uint64_t trials, elapsed_ns;
};

struct ws__forge_opts {
    uint64_t budget_trials, budget_ns; /* 0: no limit */
    uint64_t seed;
    double enough; /* gap at which nothing is left to win; 0: 1.05 */
    /* For comparisons: without diagnosis, without memory, no pairs of moves. */
    bool blind, forgetful, single;
    void (*event)(void *user, const struct ws__forge_event *e);
    void *user;
};

struct ws__forge {
    struct ws_ctx *ctx;
    const struct ws__kernel *kernel; /* array; more may come */
    const struct ws__workload *workload;
    size_t nworkload;
    struct ws__candidate original;
    struct ws__evaluator ev;
    struct ws__journal journal; /* ops NULL: none */
    struct ws__run *run;
    struct ws__forge_shop shop;
    struct ws__forge_opts opts;
};

/* One move that was tried. */
struct ws__forge_step {
    enum ws__forge_kind end;
    struct ws__forge_move move;
    enum ws__bound bound; /* of what it was tried on */
    uint32_t parent, kernel;
    int32_t before; /* the step that made the parent; -1: the original */
    struct ws__config config;
    double expected;
    struct ws__ratio ratio;
    enum ws__verdict verdict;
    char *why;
    bool uneven;       /* faster on the whole, slower on a workload */
    uint64_t trial[2]; /* the last pair; 0: none */
};

struct ws__forge_outcome {
    struct ws__candidate best; /* the original's if nothing was kept */
    int32_t best_step;         /* -1: the original */
    struct ws__forge_step *step;
    size_t nstep;
    struct ws__forge_row *row; /* one a workload */
    struct ws__ratio speedup;  /* geometric over the workloads; lo, hi 0: of a
                                  run that was stopped, not confirmed */
    double gap_before, gap_after;
    enum ws__verdict verdict; /* of the original, on `workload` if not ok */
    uint32_t workload;
    char *why;
    char *end; /* why it ended, in words */
    uint64_t trials;
    uint32_t passed; /* bit g: the best passed gate g when it was proven */
    int stopped;     /* 0, or WS_ECANCEL, WS_ETIMEOUT...: run again to go on */
};

/* 0, or an error before anything is known. Free with ws__forge_clear. */
int ws__forge_run(struct ws__forge *f, struct ws__forge_outcome *out);
void ws__forge_clear(struct ws_ctx *ctx, struct ws__forge_outcome *o);

#endif
