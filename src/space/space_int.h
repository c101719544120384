/*
 * space_int.h: private to the folder: the layout of a space.
 *
 * Parameters with one value (or a fixed one) are pinned: constants that take
 * no part in anything below. The others fall into groups that no constraint
 * connects; groups multiply. All groups lie one after the other in `step`,
 * which is the enumeration order (the last step runs fastest). A step assigns
 * one parameter and then tests the constraints that have all theirs.
 *
 * Constraints are a three-valued conjunction: false wins over "cannot be
 * evaluated", so a guard such as "B != 0" protects "A % B == 0" wherever each
 * stands in the file and in whatever order they are tested. A config that
 * nothing removes and that some constraint cannot judge is an error.
 */
#ifndef WS_SPACE_INT_H
#define WS_SPACE_INT_H

#include "space/space.h"

/* Counts by the values that later tests still read. */
struct ws__memo {
    struct ws__memo_entry {
        uint64_t key; /* plus one; 0: free */
        uint64_t count;
    } * entry;
    size_t cap, n;
};

/* Tests of a step that read the same parameters, and what the step's rows are
 * once they are tested: see space_rows.c. */
struct ws__stage {
    uint64_t reads; /* but for the step's own */
    size_t end;     /* of its tests, in layout.test */
    size_t nrow;    /* rows kept; 0: none */
    bool numbered;  /* row numbers fit their word */
    uint64_t *row;  /* each: left, poison, one more than its number */
};

/* The values of a step that its tests leave, as bits. */
struct ws__row {
    const uint64_t *left, *poison;
};

struct ws__step {
    uint8_t param;
    uint32_t nvalue;
    int order;           /* its values rise: 1, fall: -1, neither: 0 */
    size_t first, ntest; /* into layout.test */
    size_t stage, nstage;
    size_t words;      /* of nvalue bits */
    uint64_t *scratch; /* a row that is not kept */
    uint64_t live;     /* parameters assigned before that are still read */
    bool dies;         /* its value matters to no later test */
    bool remember;
    struct ws__memo memo;
};

struct ws__group {
    size_t first, end; /* steps */
    uint64_t count;
    bool counted;
};

struct ws__layout {
    struct ws__step step[WS__MAX_PARAMS];
    size_t nstep;
    struct ws__group group[WS__MAX_PARAMS];
    size_t ngroup;
    struct ws__stage *stage;
    size_t nstage;
    uint64_t *scratch; /* of all steps */
    size_t *test;      /* constraint indices; those without parameters first */
    enum ws__trend *trend; /* of test[i] along its step's values */
    size_t nconst;         /* how many of those */
    /* Counting what one constraint removes: it must be false, and what
     * cannot be evaluated does not remove. SIZE_MAX: the plain space. */
    size_t negated;
};

struct ws__space {
    struct ws_ctx *ctx;
    const struct ws__kernel *kernel;
    bool have_axes, have_device, ready;
    uint64_t varied;        /* parameters that are not pinned */
    struct ws__config base; /* holds the pinned ones */
    struct ws__config at;   /* the assignment at hand, and its slots */
    uint64_t uses;          /* how often it was loaded */
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__layout layout;
    uint32_t ticks;
};

/* Takes constraints [0, upto) that are active. */
int ws__layout_make(struct ws__space *s, size_t upto, size_t negated,
                    struct ws__layout *out);
void ws__layout_clear(struct ws_ctx *ctx, struct ws__layout *l);
bool ws__space_active(const struct ws__space *s, size_t constraint);
uint64_t ws__space_reads(const struct ws__space *s, size_t constraint);

/* Builds the layout at first use. */
int ws__space_prepare(struct ws__space *s);
void ws__space_set(struct ws__space *s, size_t param, size_t value);
void ws__space_load(struct ws__space *s, const struct ws__config *c);

/* The row of a step at the assignment at hand, until the step's next one is
 * asked for. Leaves the step's own parameter at some value. */
int ws__space_row(struct ws__space *s, struct ws__layout *l,
                  const struct ws__step *st, struct ws__row *out);
void ws__space_all_values(const struct ws__step *st, uint64_t *row);
/* The first value from v on that is in `bits`, or nvalue. */
size_t ws__row_next(const struct ws__step *st, const uint64_t *bits, size_t v);

/* Counts every group; 1, or 0 if the space is empty. */
int ws__layout_count(struct ws__space *s, struct ws__layout *l);
/* Completions of the assignment at hand from step `pos` to its group's end. */
int ws__layout_rest(struct ws__space *s, struct ws__layout *l, size_t pos,
                    size_t end, bool poison, uint64_t *out);

uint64_t ws__sat_mul(uint64_t a, uint64_t b);
/* Cancellation, looked at now and then. */
int ws__space_tick(struct ws__space *s);

#endif
