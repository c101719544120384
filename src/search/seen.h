/*
 * seen.h: a set of candidates that a strategy has asked for, by content hash.
 */
#ifndef WS_SEEN_H
#define WS_SEEN_H

#include "core/trial.h"

/* Zero-initialise. */
struct ws__seen {
    struct ws__hash *slot; /* open hash; all zero: free */
    size_t n, cap;
};

bool ws__seen_has(const struct ws__seen *s, const struct ws__candidate *c);
/* 1: added, 0: was there, or WS_ENOMEM. */
int ws__seen_add(struct ws_ctx *ctx, struct ws__seen *s,
                 const struct ws__candidate *c);
void ws__seen_clear(struct ws_ctx *ctx, struct ws__seen *s);

#endif
