/*
 * plan_triton.h: private to plan: kernels in Triton in a forge.
 *
 * triton_helper.c asks the helper in Python (docs/triton-changes.md) what may
 * be changed in a source and how it reads then; triton_reply.c reads what it
 * answers; triton_ready.c compiles what a kernel needs when it is asked for.
 */
#ifndef WS_PLAN_TRITON_H
#define WS_PLAN_TRITON_H

#include "base/spawn.h"
#include "core/change.h"
#include "plan/plan_compile.h"

/* --- what may be changed -------------------------------------------------- */

/* A transformation, as it declares itself. */
struct ws__triton_rule {
    const char *name, *needs;
    const char *const *finding; /* keys of rules of the diagnosis, NULL ends */
    double gain;
    unsigned want; /* WS__WANT_* */
    bool rounding;
};
struct ws__triton_rules {
    struct ws__triton_rule *rule;
    size_t n;
};
const struct ws__triton_rule *
ws__triton_rule_named(const struct ws__triton_rules *r, const char *name);

/* A place of a source where it applies, or looks as if it did. */
struct ws__triton_place {
    const struct ws__triton_rule *rule;
    const char *words;
    const char *refused; /* why not; NULL: it may be done */
    const char *trust;   /* left to the verdict; NULL: nothing */
    const char *site;    /* JSON, for ws__triton_apply */
};
struct ws__triton_places {
    struct ws__triton_place *place; /* in the order of the transformations */
    size_t n;
};

struct ws__triton_edited {
    const char *text; /* the new source */
    struct ws__change *change;
    size_t nchange;
};

/* Replies, read as what a stranger sends. WS_EPARSE: the helper says what is
 * wrong with the request; WS_EPROTO: the reply is none. All is in the arena. */
int ws__triton_rules_read(struct ws_ctx *ctx, struct ws__arena *a,
                          const char *text, size_t len,
                          struct ws__triton_rules *out);
int ws__triton_places_read(struct ws_ctx *ctx, struct ws__arena *a,
                           const struct ws__triton_rules *rules,
                           const char *text, size_t len,
                           struct ws__triton_places *out);
int ws__triton_edited_read(struct ws_ctx *ctx, struct ws__arena *a,
                           const char *source, const char *text, size_t len,
                           struct ws__triton_edited *out);

/* --- the helper ----------------------------------------------------------- */

struct ws__triton_helper {
    struct ws_ctx *ctx;
    struct ws__arena *arena; /* of the answers */
    struct ws__proc proc;
    struct ws__buf in;
    int log;
    uint64_t limit_ns; /* of an answer */
    struct ws__triton_rules rules;
};

/* Starts it and asks what it knows. limit_ns 0: a minute an answer.
 * WS_EREFERENCE: there is no Python, or the helper ends, or does not answer. */
int ws__triton_helper_open(struct ws_ctx *ctx, struct ws__arena *arena,
                           uint64_t limit_ns, struct ws__triton_helper *out);
void ws__triton_helper_close(struct ws__triton_helper *h);
/* A helper that ends or does not answer is started again and asked once more;
 * then it is WS_EREFERENCE. facts: as ws__spec_facts gives them. */
int ws__triton_find(struct ws__triton_helper *h, const char *source,
                    const char *facts, struct ws__triton_places *out);
int ws__triton_apply(struct ws__triton_helper *h, const char *source,
                     const char *facts, const char *site,
                     struct ws__triton_edited *out);

/* --- compiled when asked for ---------------------------------------------- */

struct ws__triton_ready {
    struct ws_spec *spec; /* whose arena has the files, as its kernels need */
    char target[16];
    char *work; /* where the compiler may write */
    unsigned jobs;
    long of; /* the kernel that the compiler has; -1: none */
    struct ws__compiler compiler;
    char version[64]; /* of Triton */
};

/* Starts a compiler on a kernel, so that what is missing is known early.
 * WS_EACCES: not trusted; WS_EREFERENCE: no Python, no Triton. */
int ws__triton_ready_open(struct ws_spec *spec,
                          const struct ws__device_info *device, size_t kernel,
                          bool trusted, struct ws__triton_ready *out);
void ws__triton_ready_close(struct ws__triton_ready *r);
/* Compiles what the kernel's launches need with these values, and what will be
 * asked for next while processors are idle. What the compiler refuses is a file
 * that says so. */
int ws__triton_ready_make(struct ws__triton_ready *r, size_t kernel,
                          const union wsrt_value *vars);

#endif
