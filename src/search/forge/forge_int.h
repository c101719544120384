/* forge_int.h: private to the folder: the state of a run. */
#ifndef WS_FORGE_INT_H
#define WS_FORGE_INT_H

#include "search/forge/forge.h"

/* A kernel that moves are tried on. */
struct ws__forge_base {
    struct ws__candidate c;
    int32_t step; /* that made it; -1: the original */
    const struct ws__forge_move *move;
    size_t nmove;
    bool *done;
    bool diagnosed;
    struct ws__diagnosis diagnosis;
    double gap; /* over all workloads; 0: unknown */
    double ns;  /* of the first workload */
};

/* An answer of this run, of an earlier process or of this one. */
struct ws__forge_answer {
    struct ws__question q;
    size_t n;
    struct ws__trial t[2];
};

struct ws__forging {
    struct ws__forge *f;
    struct ws__forge_outcome *out;
    struct ws__forge_base base, side;
    struct ws__trial last;     /* ok, timed, of the best */
    struct ws__forge_row *row; /* of the last comparison */
    double speedup;
    size_t cap;
    bool *opened; /* a step that prepares: its moves are tried */
    size_t nopen, open_cap;
    uint64_t started_ns, before_ns;  /* before: spent by earlier processes */
    bool begun;                      /* the journal has the run */
    struct ws__forge_answer *answer; /* recorded, to be told again */
    size_t nanswer, answer_cap, told;
    size_t asked; /* anew, by this process */
    struct ws__forge_memory *memory;
    size_t nmemory, memory_cap;
    struct ws__hash *seen; /* of what was compiled: binary and launches */
    size_t nseen, seen_cap;
};

/* Two candidates on all workloads. */
struct ws__forge_race {
    enum ws__verdict verdict; /* of the second where it fails */
    char *why;                /* ws__free */
    struct ws__ratio all;     /* geometric */
    bool loses;               /* on a workload, beyond its noise */
    uint64_t trial[2];
};

/* --- forge_ask.c ---------------------------------------------------------- */
int ws__forge_open(struct ws__forging *s); /* the journal's answers */
void ws__forge_close(struct ws__forging *s, int *rc);
void ws__forge_forget(struct ws__forging *s);
/* Is there more on record that rounds asked? */
bool ws__forge_on_record(const struct ws__forging *s);
/* The original: verdict and time of every workload; `last` is the first's. */
int ws__forge_first(struct ws__forging *s);
/* Compiles and judges on the first workload: verdict, why, *ns. SAME: what
 * comes of it was tried before. */
int ws__forge_try(struct ws__forging *s, const struct ws__candidate *c,
                  struct ws__forge_step *x, double *ns);
/* A short look at the time on the first workload; 0: not right. Looks: these
 * come next. */
int ws__forge_looks(struct ws__forging *s, const struct ws__candidate *c,
                    size_t n);
int ws__forge_look(struct ws__forging *s, const struct ws__candidate *c,
                   double *ns);
int ws__forge_compare(struct ws__forging *s, const struct ws__candidate *a,
                      const struct ws__candidate *b, enum ws__effort effort,
                      struct ws__forge_race *out);
/* The median of an ok trial, or 0. */
double ws__forge_time(struct ws__forging *s, const struct ws__trial *t);
/* More gates, the WS__WANT_* bits of `want`; the step is KEPT, or FAILED and
 * why. */
int ws__forge_prove(struct ws__forging *s, const struct ws__candidate *c,
                    unsigned want, struct ws__forge_step *x);

/* --- forge_memory.c ------------------------------------------------------- */
/* What is remembered when the run begins; what it taught, when it ends. */
int ws__forge_recall(struct ws__forging *s);
int ws__forge_learn(struct ws__forging *s);

#endif
