/* plan_trials.h: private to plan: stores by path, and names for numbers. */
#ifndef WS_PLAN_TRIALS_H
#define WS_PLAN_TRIALS_H

#include "plan/plan.h"
#include "store/store.h"

/* A store's file: the path itself, or the one that a folder stands for. */
int ws__trials_path(struct ws_ctx *ctx, const char *store, char **out);
int ws__trials_open(struct ws_ctx *ctx, const char *store, bool read_only,
                    struct ws__store **out);
/* By a part of the name or the beginning of the hash; want NULL: any. */
bool ws__trials_is_device(const char *name, struct ws__hash h,
                          const char *want);

/* Descriptions, from the store or of a specification at hand. */
struct ws__names {
    struct ws__store *s;
    struct ws__parts parts; /* of the store, the last that was looked up */
    bool known;             /* ... which may be none */
    struct ws__parts given; /* of the specification */
    bool used;
};

/* spec may be NULL. Free the names whatever the result. */
int ws__names_init(struct ws__names *n, struct ws__store *s,
                   struct ws_spec *spec);
/* Valid until the next call; without names if nobody knows. */
int ws__names_of(struct ws__names *n, struct ws__hash spec,
                 const struct ws__parts **out);
void ws__names_free(struct ws__names *n);

#endif
