/*
 * loop.h: what one turn of a loop leaves to the next.
 *
 * A loop's turns may be dealt out among threads, or taken in another order, if
 * each has its own elements and all that is carried from turn to turn are sums,
 * largest and smallest values: those can be had in parts and put together. This
 * file recognises them as people write them:
 *     s += e;  s = s + e;  s -= e;  n++;  s = fmaf(a, b, s);
 *     m = fmaxf(m, e);  m = e > m ? e : m;  if (e > m) m = e;
 *     if (e > m) { m = e; at = j; }
 * in a variable, or in an element of memory that is the same in all turns.
 * Whatever else is carried, written or called is named as the reason.
 */
#ifndef WS_XFORM_LOOP_H
#define WS_XFORM_LOOP_H

#include "xform/xform.h"

#define WS__LOOP_REDUCTIONS 8
#define WS__LOOP_STATEMENTS 8

enum ws__reduce { WS__RED_SUM, WS__RED_MAX, WS__RED_MIN };

struct ws__reduction {
    enum ws__reduce kind;
    int32_t at;   /* what carries it: a REF or an INDEX, at one of its places */
    int32_t decl; /* its VAR; -1: it is in memory */
    int32_t where; /* VAR that keeps the first turn with the extreme, or -1 */
    int32_t by;    /* the function's CALL by which it is written, or -1 */
    int32_t stmt[WS__LOOP_STATEMENTS];
    size_t n;
    bool keeps_nan; /* m > e ? m : e: a NaN's place decides what comes out */
};
struct ws__loop {
    struct ws__ast_for f;
    struct ws__reduction red[WS__LOOP_REDUCTIONS];
    size_t nred;
    const char *why; /* NULL: turns have nothing else in common */
};

/* Reads a for. WS_ENOMEM alone fails; see why. */
int ws__loop_read(const struct ws__xform_in *in, int32_t loop,
                  struct ws__loop *out);

/* What one statement does to what carries a value. */
struct ws__loop_match {
    enum ws__reduce kind;
    int32_t at, where, by; /* as of a reduction */
    int slots;             /* how often the statement must name it */
    bool keeps_nan;
};
/* The statement in which node `change` (an ASSIGN or a step) joins a value to
 * what is there, in a loop over `turn`; -1: it does something else. */
int32_t ws__loop_match(const struct ws__ast *t, int32_t change, int32_t turn,
                       struct ws__loop_match *out);

/* An access through a pointer that leads to a parameter: the parameter itself,
 * or `const float *row = x + i * n`. */
struct ws__reach {
    int32_t node;    /* the INDEX */
    int32_t pointer; /* what is indexed: PARAM or VAR */
    int32_t root;    /* PARAM; the first of those that get the same tensor */
    bool write;
    bool affine;
    struct ws__affine at; /* without what the pointer adds */
};
/* All below root. At most max; the number there are. */
size_t ws__loop_reaches(const struct ws__xform_in *in, int32_t root,
                        struct ws__reach *out, size_t max);
/* Is a variable a pointer (or a parameter that is written as an array)? */
bool ws__loop_is_pointer(const struct ws__ast_node *decl);
/* The parameter behind a pointer, or -1. */
int32_t ws__loop_root(const struct ws__xform_in *in, int32_t pointer);
/* A use of a pointer below root that could write in ways not seen here: its
 * node; -1: there is none. */
int32_t ws__loop_stray(const struct ws__xform_in *in, int32_t root);
/* A call below root to what may have effects, take an address or ask for a
 * place among threads: its node; -1: there is none. */
int32_t ws__loop_call(const struct ws__ast *t, int32_t root);
/* May the value depend on which thread it is? Follows variables; what a
 * function makes of more than its arguments is taken to. */
bool ws__loop_by_thread(const struct ws__xform_in *in, int32_t expr);
/* What a loop that does nothing but one reduction of this kind joins in a turn;
 * -1: it does more. */
int32_t ws__loop_only(const struct ws__ast *t, const struct ws__loop *l,
                      enum ws__reduce kind);
/* Does the loop for an extreme of elements e begin at 1, its variable having
 * begun with element 0? Then a turn 0 more changes nothing. */
bool ws__loop_misses_first(const struct ws__xform_in *in,
                           const struct ws__loop *l, int32_t e);
/* Does a line of the preprocessor or an attribute belong to the loop? Nothing
 * may come between. */
bool ws__loop_has_pragma(const struct ws__ast *t, int32_t loop);
/* How often what `at` names (a REF or an INDEX) is below root. */
int ws__loop_count(const struct ws__ast *t, int32_t root, int32_t at);
/* A number's type as the language calls it. */
const char *ws__loop_type(const struct ws__ast *t,
                          const struct ws__ast_type *y);
/* The function that joins parts of an extreme: as the source has it (`by`, a
 * CALL, or -1), else the language's own. */
const char *ws__loop_extreme(const struct ws__ast *t, int32_t at,
                             enum ws__reduce kind, int32_t by);
/* Two sums that are equal whatever their symbols are. */
bool ws__affine_same(const struct ws__affine *a, const struct ws__affine *b);

#endif
