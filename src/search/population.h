/*
 * population.h: what evolutionary strategies share: programs, how they are
 * varied, and how their fitness is asked for.
 *
 * A program is a candidate that is timed on every workload. Its fitness is the
 * mean over the workloads of the default's time over its own, as the systems
 * that these strategies are after have it; 0 if it fails on one. Where it may
 * not run (constraints, limits of the device) the default stands: a ratio of 1.
 * Programs are asked on one workload after the other; what fails is asked on no
 * further one.
 *
 * A program is never made twice. All randomness is one generator, seeded by the
 * problem's seed.
 */
#ifndef WS_POPULATION_H
#define WS_POPULATION_H

#include "search/search.h"
#include "search/seen.h"

#define WS__FLIGHT 4 /* programs whose answers are waited for */

struct ws__program {
    struct ws__candidate c;
    double fitness;
    int32_t parent; /* -1: none */
    uint32_t island, children;
    uint8_t how; /* the strategy's */
    bool known;  /* fitness is */
};

/* The best programs so far, the best first. */
#define WS__ARCHIVE 100
struct ws__archive {
    int32_t program[WS__ARCHIVE];
    size_t n, room; /* room: at most WS__ARCHIVE */
};

struct ws__flight {
    int32_t program;         /* -1: free */
    size_t next;             /* workload to ask about */
    size_t asked, told, all; /* workloads */
    double sum;
    bool failed;
};

struct ws__population {
    const struct ws__problem_space *p;
    struct ws__rng rng;
    struct ws__seen seen;
    struct ws__program *program;
    size_t n, cap;
    double *dflt_ns; /* of each workload; 0: none */
    struct ws__flight flight[WS__FLIGHT];
    size_t kernel;               /* whose turn a random program is */
    struct ws__space_iter *left; /* one a space, for what draws miss */
};

/* 0 or an error; ends with _close in either case. */
int ws__population_open(struct ws__population *o,
                        const struct ws__problem_space *p);
void ws__population_close(struct ws__population *o);

/* The next question of what is in flight: 0; WS__ASK_WAIT: there is none, and
 * no room for another program; WS_EDONE: there is none, and room. */
int ws__population_ask(struct ws__population *o, struct ws__candidate *c,
                       uint32_t *workload);
/* A program into flight, where there is room. */
int ws__population_add(struct ws__population *o, const struct ws__candidate *c,
                       int32_t parent, uint32_t island, uint8_t how);
/* *known: the program whose fitness is known by this trial, or -1. */
int ws__population_tell(struct ws__population *o, const struct ws__trial *t,
                        int32_t *known);
void ws__population_archive(const struct ws__population *o,
                            struct ws__archive *a, int32_t program);
bool ws__population_waits(const struct ws__population *o);

/* New programs, valid somewhere: 1, or 0 if none was found. */
/* What a search of a kernel begins with: its default, then what differs from
 * it in a few parameters. */
int ws__population_begin(struct ws__population *o, size_t kernel,
                         struct ws__candidate *out);
/* Of a kernel in turn; of all that there are if draws find none. */
int ws__population_random(struct ws__population *o, struct ws__candidate *out);
/* So many parameters of another, or fewer, get other values. */
int ws__population_mutate(struct ws__population *o,
                          const struct ws__candidate *from, size_t changes,
                          struct ws__candidate *out);
/* Each parameter from one of two programs of one kernel. */
int ws__population_cross(struct ws__population *o,
                         const struct ws__candidate *a,
                         const struct ws__candidate *b,
                         struct ws__candidate *out);

#endif
