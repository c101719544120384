/*
 * idea.h: ideas of how kernels of an operator can be made, as data.
 *
 * An idea is one choice on an axis of design ("splitting of the sequence": "by
 * 8 or more"). It says which values parameters may have where the choice is
 * made, what it is expected to bring and where. A catalogue holds the ideas of
 * an operator, and the regimes: classes of workloads for which different
 * choices may be best. Plain data in the arena of whoever read it.
 */
#ifndef WS_IDEA_H
#define WS_IDEA_H

#include "base/mem.h"
#include "core/trial.h"

#define WS__MAX_IDEAS 512
#define WS__MAX_REGIMES 16

/* Values that a parameter of a kernel keeps. */
struct ws__idea_set {
    uint32_t kernel, param; /* indices */
    bool *allowed;          /* one a value */
};

struct ws__idea {
    const char *axis, *choice, *about;
    uint32_t axis_id; /* numbered in the order of the file */
    struct ws__loc loc;
    struct ws__idea_set *set;
    size_t nset;
    int32_t kernel; /* this idea is another kernel; -1: it is not */
    const uint32_t *needs, *conflicts; /* ideas that must, must not hold */
    size_t nneeds, nconflicts;
    uint32_t regimes;    /* bit r: makes sense there; 0: everywhere */
    double factor;       /* expected speed-up over what it is applied to */
    double spread;       /* standard deviation of its natural logarithm */
    unsigned difficulty; /* 1 to 5 */
    unsigned bandwidth, registers, compute; /* 0 to 10: gain, or relief */
};

struct ws__regime {
    const char *name, *about;
    struct ws__expr *when; /* bool, of the op's axes; the first that holds */
};

struct ws__catalogue {
    struct ws__idea *idea;
    size_t nidea, naxis;
    struct ws__regime regime[WS__MAX_REGIMES];
    size_t nregime;
    struct ws__hash hash; /* of the text */
};

/* The regime of a workload: the first whose condition holds (one that cannot be
 * evaluated does not); nregime: none. */
size_t ws__catalogue_regime(const struct ws__catalogue *c,
                            const struct ws__workload *w);

enum ws__idea_state {
    WS__IDEA_OPEN,    /* could be tried next */
    WS__IDEA_WORKED,  /* is being tried */
    WS__IDEA_CLOSED,  /* was tried; its children may be */
    WS__IDEA_HOPELESS /* was tried: nothing was right */
};
const char *ws__idea_state_key(enum ws__idea_state s);

/* An idea in the tree of a search, in one place. Effects, gains and beliefs are
 * natural logarithms of factors. */
struct ws__tried {
    const char *axis, *choice, *place; /* a workload */
    uint64_t key;                      /* of all ideas that hold there; 0: the
                                          root */
    uint64_t parent_key;
    int32_t parent; /* index of what it was added to; -1: the default */
    uint32_t depth, tries;
    uint32_t workload;
    enum ws__idea_state state;
    double expected, sd; /* of the effect, as believed before */
    double effect;       /* best over the parent's best; NAN: nothing right */
    double gain;         /* best over the default; NAN: likewise */
    double now, now_sd;  /* of the effect of this idea there, as believed */
    double prior, prior_sd; /* likewise, before anything was tried at all */
    double worth;           /* of an open one: what it was chosen by */
    bool have;
    struct ws__candidate best;  /* if have */
    bool pinned, pruned, added; /* by people */
};

/* What an attempt taught. */
struct ws__lesson {
    const char *axis, *choice, *place;
    uint64_t key; /* of the node */
    uint32_t tries;
    double expected, sd;    /* of the effect, as believed just before */
    double effect, noise;   /* what was learnt, and how sure it is */
    double after, after_sd; /* what is believed with it */
    bool failed;            /* nothing was right: the effect is a bad mark */
};

/* What people decide of the tree of a search. Nodes go by the upper half of
 * their keys; 0: the root. */
enum ws__steer_kind {
    WS__STEER_ADD,  /* an idea of theirs, to the node */
    WS__STEER_PIN,  /* the node is tried first */
    WS__STEER_PRUNE /* what has all its ideas is never tried (again) */
};
struct ws__steer {
    enum ws__steer_kind kind;
    uint32_t node;
    const struct ws__idea *idea; /* ADD: lives as long as the search */
};

/* Parents before children; owns what it names. Zeroed: nothing was tried. */
struct ws__tree {
    struct ws__arena arena;
    struct ws__tried *tried;
    size_t n;
    struct ws__tried *open; /* by place, the most promising first; parent is
                               -1, parent_key says it */
    size_t nopen;
    struct ws__lesson *lesson; /* in their order */
    size_t nlesson;
};

/* Does a candidate look as the idea says? What has no values for the
 * candidate's kernel, and is no other kernel, never does. */
bool ws__idea_holds(const struct ws__idea *idea, const struct ws__candidate *c);

#endif
