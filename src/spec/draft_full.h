/*
 * draft_full.h: a draft without blanks, from facts: an op, a kernel file, and
 * the kernel file of its reference. What is a guess has a comment.
 */
#ifndef WS_DRAFT_FULL_H
#define WS_DRAFT_FULL_H

#include "core/facts.h"
#include "base/mem.h"

struct ws__draft_macro { /* that the source gives a value if nobody does */
    const char *name, *value;
};

struct ws__draft_full {
    const char *name, *read_by;
    const char *source_file, *reference_source; /* as kernel files name them */
    const char *op_ref, *reference_ref;         /* paths with a slash */
    enum ws__dialect dialect;
    const struct ws__facts *facts;
    bool wide;           /* the reference computes in double */
    const char *why_not; /* why it does not; NULL: it does */
    const struct ws__draft_macro *macro;
    size_t nmacro;
    const char *const *note; /* what was not read */
    size_t nnote;
};

int ws__draft_full(const struct ws__draft_full *d, struct ws__buf *kernel,
                   struct ws__buf *op, struct ws__buf *reference);

#endif
