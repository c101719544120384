/*
 * passes.h: two loops over the same elements, of which the second needs what
 * the first came to, made one.
 *
 * The first loop joins elements e(j) into a largest value or a sum; behind it
 * something is made of that, be it by one thread or by a block; the second loop
 * sums f(e(j) - M). Where f has a law by which sums for one M can be turned
 * into those for another (exp: a factor; squares: a summand), the first loop
 * can do both for an M of its own, and what the second one did is had from
 * that. So it does not matter how M came about, and how many threads took part.
 */
#ifndef WS_XFORM_PASSES_H
#define WS_XFORM_PASSES_H

#include "xform/loop.h"

struct ws__passes {
    struct ws__loop first, second;
    int32_t sum;   /* what the second sums in: a REF or an INDEX */
    int32_t joint; /* what the first joins in */
    int32_t e;     /* the element, as the second loop has it */
    int32_t m;     /* M: an expression that the second loop does not change */
    int32_t call;  /* the function's CALL of f, or -1 */
    const char *why;
};

/* Reads what a turn of the second loop adds: sets e, m, call; false: it is
 * something else. `loop` is the FOR, for ws__passes_value. */
typedef bool ws__passes_term(const struct ws__ast *t, int32_t loop,
                             int32_t term, struct ws__passes *out);
/* An expression; of a variable that the loop's body declares and keeps, its
 * value. Bare. */
int32_t ws__passes_value(const struct ws__ast *t, int32_t loop, int32_t expr);

/* Is the loop the second of two? False: no. Else the first is there, and `why`
 * says why they must not be joined, or NULL. rc: WS_ENOMEM. */
bool ws__passes_read(const struct ws__xform_in *in, int32_t loop,
                     enum ws__reduce kind, ws__passes_term *term,
                     struct ws__passes *out, int *rc);
/* Is a variable changed between the loops? */
bool ws__passes_changes(const struct ws__ast *t, const struct ws__passes *p,
                        int32_t decl);
/* The head of the second loop: "for (int j = 0; j < n; j++)". NULL: no memory.
 */
const char *ws__passes_head(const struct ws__xform_in *in,
                            const struct ws__passes *p);
/* Bytes from a loop's beginning to its end or semicolon. */
uint32_t ws__passes_length(const struct ws__ast *t, int32_t loop);

#endif
