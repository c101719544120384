/*
 * ctx.h: the context: allocator, error, log hook, cancellation.
 *
 * A context belongs to one thread at a time. A helper thread gets a child
 * (ws__ctx_child): its own error slot, the parent's allocator, log, paths,
 * cancellation flag and deadline. The child must be freed before the parent.
 */
#ifndef WS_CTX_H
#define WS_CTX_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "wavesmith/wavesmith.h"

struct ws__stop {
    atomic_int cancelled;
    _Atomic uint64_t deadline_ns; /* 0: none; clock of base/clock.h */
};

struct ws_ctx {
    struct ws_alloc alloc;
    ws_log_fn *log;
    void *log_user;
    char *worker_path, *share_dir, *cache_dir, *turn_dir; /* NULL: default */
    char *python;                                         /* the same */
    char *data_dir, *tools;                               /* NULL: none */
    /* What a device's worker is started below: words of a command line before
     * its own, ended by NULL; NULL: nothing. */
    const char *const *worker_prefix;
    struct ws__stop *stop; /* own_stop, or the parent's */
    struct ws__stop own_stop;
    uint64_t *held_ns, own_held_ns; /* turn.h: own, or the parent's */
    struct ws_error err;
    struct ws__counter *counters;
};

struct ws_ctx *ws__ctx_child(struct ws_ctx *parent);

/* A number by name, 0 at first, that lives as long as the context: for what
 * is opened and closed again and has to remember how far it was. A child has
 * numbers of its own. NULL: no memory. */
uint64_t *ws__ctx_counter(struct ws_ctx *ctx, const char *name);

/* Where a message points to. Any part may be missing (NULL, 0). */
struct ws__loc {
    const char *file;
    uint32_t line, column;
};

/* Signs that would steer a terminal become '?': what a foreign file or a
 * compiler says ends up on one. All below do it by themselves. */
void ws__plain(char *text);
/* Set the error (hint cleared, location unknown) and return `code`. */
int ws__fail(struct ws_ctx *ctx, int code, const char *fmt, ...)
    WS_PRINTF(3, 4);
int ws__fail_at(struct ws_ctx *ctx, int code, const struct ws__loc *loc,
                const char *fmt, ...) WS_PRINTF(4, 5);
/* Adds the hint to the error just set; returns its code. */
int ws__hint(struct ws_ctx *ctx, const char *fmt, ...) WS_PRINTF(2, 3);
/* Fills in file and line where the error has none yet; returns its code. */
int ws__error_locate(struct ws_ctx *ctx, const struct ws__loc *loc);
/* Puts `text` and ": " before the message; returns its code. */
int ws__error_prefix(struct ws_ctx *ctx, const char *fmt, ...) WS_PRINTF(2, 3);
/* Copies a child's error into its parent; returns its code. */
int ws__error_copy(struct ws_ctx *to, const struct ws_ctx *from);
void ws__error_clear(struct ws_ctx *ctx);

void ws__log(struct ws_ctx *ctx, enum ws_log_level level, const char *fmt, ...)
    WS_PRINTF(3, 4);

/* 0, or WS_ECANCEL / WS_ETIMEOUT with the error set. Cheap. */
int ws__check_stop(struct ws_ctx *ctx);

#define WS_TRY(expr)                                                           \
    do {                                                                       \
        int ws_try_rc_ = (expr);                                               \
        if (ws_try_rc_ < 0)                                                    \
            return ws_try_rc_;                                                 \
    } while (0)

/* As WS_TRY in a function with an `int rc` and a `done:` label. */
#define WS_TRY_DONE(expr)                                                      \
    do {                                                                       \
        rc = (expr);                                                           \
        if (rc < 0)                                                            \
            goto done;                                                         \
    } while (0)

#define WS_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
