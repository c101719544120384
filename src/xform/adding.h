/*
 * adding.h: a kernel in which each thread adds to global memory once, made one
 * whose threads put off what they add, so that they can add up first.
 *
 * Shuffles and barriers need all threads. So a guard by which some leave
 * becomes a condition around the rest, and the atomic becomes an assignment;
 * behind the end of the function all are there.
 */
#ifndef WS_XFORM_ADDING_H
#define WS_XFORM_ADDING_H

#include "xform/xform.h"

struct ws__adding {
    int32_t call, target, value; /* atomicAdd(target, value); call is set by who
                                    looks for it */
    int32_t guard;               /* if (...) return; or -1 */
    const char *why;             /* why not; NULL: it may be */
};

/* Sets the reason, if there is none yet. Returns false. */
bool ws__adding_no(struct ws__adding *a, const char *why);
bool ws__adding_is_call(const struct ws__ast *t, int32_t i);
/* Sets target and value; false and why where nothing may be put off. */
bool ws__adding_check(const struct ws__xform_in *in, struct ws__adding *a);
/* How C calls the type of what is added, and its zero. */
const char *ws__adding_type(const struct ws__xform_in *in,
                            const struct ws__adding *a);
const char *ws__adding_zero(const struct ws__xform_in *in,
                            const struct ws__adding *a);
/* Writes the function's body with `instead` of the call. */
int ws__adding_body(const struct ws__xform_in *in, const struct ws__adding *a,
                    const char *instead, struct ws__buf *b);

#endif
