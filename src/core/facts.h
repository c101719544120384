/*
 * facts.h: what was read from the functions of a kernel's source: of each
 * parameter what it is to an operator, of each function how it is launched.
 *
 * Texts are expressions of specifications over the names given here. `guess`
 * and `check` are words for a comment: a guess that the source does not
 * contradict, and something that the source does not tell. Everything lives in
 * the arena of who made it.
 */
#ifndef WS_FACTS_H
#define WS_FACTS_H

#include "core/dtype.h"
#include "core/kernel.h"

#define WS__FACT_DIMS 6
#define WS__FACT_MAX 48
#define WS__FACT_NAMES 24

enum ws__fact_role {
    WS__FACT_INPUT,
    WS__FACT_OUTPUT,
    WS__FACT_INOUT,
    WS__FACT_SCRATCH,
    WS__FACT_AXIS,   /* a size, or a number that workloads choose */
    WS__FACT_SCALAR, /* a number of floating point, by value */
    WS__FACT_SHARED, /* memory of the block's, whose size a launch says */
    WS__FACT_OPEN    /* not understood */
};

/* A parameter, by its name in all functions; or an axis that is none. */
struct ws__fact {
    const char *name; /* in the files */
    const char *own;  /* in the source; NULL: it is no parameter */
    enum ws__fact_role role;
    enum ws__dtype dtype; /* of an element */
    const char *shape[WS__FACT_DIMS];
    size_t ndim;
    const char *count; /* elements of scratch and shared memory */
    const char *fill;  /* NULL: the default */
    const char *guess, *check;
    int64_t least;       /* AXIS: its lowest value */
    int64_t multiple;    /* AXIS: what values must be a multiple of */
    bool positive;       /* what is not positive has no result */
    bool small;          /* AXIS: a step or a divisor, no length */
    bool is_block_count; /* AXIS: of the launch alone */
    bool read_whole, written_whole; /* every element, in every run */
};

/* A name that the source uses and nobody defines. */
struct ws__fact_name {
    const char *name;
    const char *text; /* its value, or a list of values */
    bool parameter;   /* to try values of; else a constant of the op */
    bool is_float;
    const char *guess;
};

struct ws__fact_launch {
    const char *entry;
    const char *grid[3], *block[3];
    size_t ngrid, nblock;
    const char *grid_note, *block_note;
    size_t arg[WS__MAX_ARGS]; /* places in `fact`, in order */
    enum ws__dtype arg_type[WS__MAX_ARGS];
    size_t narg;
    const char *shared;      /* bytes of extern __shared__; NULL: none */
    const char *shared_wide; /* where floats are doubles */
    const char *shared_note;
};

struct ws__facts {
    struct ws__fact fact[WS__FACT_MAX];
    size_t nfact;
    struct ws__fact_name name[WS__FACT_NAMES];
    size_t nname;
    struct ws__fact_launch launch[WS__MAX_LAUNCHES];
    size_t nlaunch;
    const char *reduction; /* terms of the longest sum */
    int degree;            /* how many sizes the work is a product of */
    bool rough;            /* functions that devices approximate */
    bool atomic;           /* floats are added in any order */
    bool exact;            /* a result is of whole numbers */
    bool floats;           /* an array or a scalar is of float32 */
    const char *note[16];  /* what was not understood, with lines */
    size_t nnote;
};

#endif
