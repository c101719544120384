/*
 * worldmodel.h: private to the folder: the state of the strategy.
 *
 * A node of the tree is a set of ideas, one an axis at most: those of its
 * parent and one more, which takes the place of its parent's on the same axis.
 * What an idea does not say stays free. Every workload is a place with a
 * standing of its own at every node, its own model of times and its own best.
 * Beliefs are shared, most within a regime.
 *
 * Gains are logarithms of how much faster a config is than the default.
 */
#ifndef WS_WORLDMODEL_H
#define WS_WORLDMODEL_H

#include "core/idea.h"
#include "search/belief.h"
#include "search/model.h"
#include "search/search.h"
#include "search/seen.h"

#define FLIGHT 2 /* attempts of a place whose answers are waited for */
#define FRONT 8  /* children that are remembered for those who look */
#define ADDED 64 /* ideas of people, at most; and likewise marks */
#define NOBODY (-1)

/* Ideas that every catalogue has, before its own. */
enum { TUNE, BORROW, NGENERAL };

enum standing { NEVER, OPEN, CLOSED, HOPELESS };

struct local { /* a node in one place */
    enum standing standing;
    struct ws__candidate best;
    bool have;
    double gain;            /* of best */
    double from;            /* gain to beat, when it was opened first */
    double mean, sd;        /* of the effect, as expected then */
    uint32_t tries, opened; /* opened: general ideas may be again */
    bool spent;             /* there is nothing left to tune */
};

struct node {
    int32_t parent; /* NOBODY: the root */
    uint32_t idea, depth, kernel;
    uint64_t key;     /* of the set of ideas, and of a general one */
    uint32_t *choice; /* one an axis: idea + 1, or 0 */
    struct local *at; /* one a place */
};

struct attempt {
    struct ws__candidate c;
    int32_t node; /* NOBODY: free */
};

/* A child that could be opened, as it looked when the place chose last. */
struct option {
    int32_t parent;
    uint32_t idea;
    uint64_t key;
    double mean, sd, worth;
};

struct mark { /* what people decided of a set of ideas */
    uint32_t *choice;
    bool pruned; /* else pinned */
};

struct lesson { /* see ws__lesson */
    int32_t node;
    uint32_t place, tries;
    double mean, sd, effect, noise, after, after_sd;
    bool failed;
};

struct place {               /* a workload */
    uint32_t regime;         /* of the catalogue; without any, of the place */
    struct ws__model *model; /* one a kernel */
    struct ws__space_iter *left; /* the same */
    struct ws__seen seen;
    struct ws__rng rng;
    double reference_ns; /* what gains are counted from; 0: not known */
    struct ws__candidate best;
    bool have, exhausted;
    double gain;    /* of best */
    int32_t node;   /* that is worked on; NOBODY: none */
    unsigned idle;  /* attempts since the last gain */
    bool out;       /* nothing more to try at this node */
    bool borrowed;  /* the node was opened to borrow */
    double from;    /* gain to beat */
    double found;   /* best since the node was opened; -infinity: nothing */
    uint32_t tries; /* since then */
    struct attempt flight[FLIGHT];
    struct option front[FRONT]; /* the most promising first */
    size_t nfront;
    size_t visits;       /* closed nodes */
    size_t turn, kernel; /* of configs of any kernel; whose turn it is */
};

struct world {
    const struct ws__problem_space *p;
    struct ws__arena arena;
    const struct ws__catalogue *catalogue;
    struct ws__idea *idea; /* NGENERAL, then the catalogue's */
    size_t nidea, naxis;
    uint32_t *visits;            /* of an idea in a place */
    struct ws__param_axes *axes; /* one a kernel */
    struct ws__modeller modeller;
    struct ws__belief belief;
    struct place *place; /* one a workload */
    size_t nplace, turn;
    struct node *node;
    size_t nnode, cap;
    uint32_t *index; /* of nodes by key, plus one; open, a power of two */
    size_t nindex;
    struct lesson *lesson;
    size_t nlesson, lessons_cap;
    size_t nshipped;       /* ideas; those behind them people added */
    uint64_t under[ADDED]; /* the key of the node that each was added to */
    struct mark mark[ADDED];
    size_t nmark;
};

/* --- worldmodel_ideas.c --- */
/* The general ones, then the catalogue's; without one, those that the
 * parameters themselves suggest. */
int ws__world_ideas(struct world *w);

/* --- worldmodel_tree.c --- */
int ws__world_root(struct world *w);
/* The most promising child of what is closed, made and opened: 1, or 0. */
int ws__world_choose(struct world *w, size_t place);
/* What came of the node that the place works on. */
int ws__world_close(struct world *w, size_t place);
/* What the belief is asked about an idea. */
struct ws__subject ws__world_subject(const struct world *w, uint32_t idea,
                                     size_t place);
/* The node of a key, or NULL. */
struct node *ws__world_find(const struct world *w, uint64_t key);
/* Does a config look as the ideas of a node say? */
bool ws__world_fits(const struct world *w, const struct node *n,
                    const struct ws__candidate *c);

/* What an idea adds to the key of a set. */
uint64_t ws__world_idea_key(uint32_t idea);
/* The key of the set of ideas that a child has. */
uint64_t ws__world_child_key(const struct world *w, const struct node *parent,
                             uint32_t idea);

/* --- worldmodel_steer.c --- */
int ws__world_steer(void *state, const struct ws__steer *s);
/* May people's wishes let this be tried: a child of a node, a config? */
bool ws__world_is_pruned(const struct world *w, const struct node *parent,
                         uint32_t idea);
bool ws__world_is_barred(const struct world *w, const struct ws__candidate *c);
/* The first wish that the child is, or is on the way to, and that was not
 * fulfilled in the place; NOBODY: none. An idea that was added is one. */
int ws__world_wish(const struct world *w, size_t place,
                   const struct node *parent, uint32_t idea);
/* Is the set of a key one that was pinned, or has one that was pruned? */
bool ws__world_is_marked(const struct world *w, uint64_t key, bool pruned);

/* --- worldmodel_tell.c --- */
/* What was tried: see search.h. */
int ws__world_tree(void *state, struct ws__tree *out);

/* --- worldmodel_attempts.c --- */
/* What the place's models expect of the best config that looks as an idea says
 * (of TUNE: of any): minus its gain, and the bound; both infinite if they know
 * nothing. `out` has one for every idea. */
struct outlook {
    double expected, bound;
};
int ws__world_look(struct world *w, struct place *pl, struct outlook *out);
/* New to the place, and valid there: 1, 0 or an error. */
int ws__world_is_open(const struct world *w, const struct place *pl,
                      const struct ws__candidate *c);
/* The next config of the place's node: 1, or 0 if there is none. *expected:
 * minus its gain, or NAN. */
int ws__world_propose(struct world *w, struct place *pl,
                      struct ws__candidate *out, double *expected);

#endif
