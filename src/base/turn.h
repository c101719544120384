/*
 * turn.h: turns between processes: who holds one works, the others wait.
 *
 * A turn is a lock on a small file in a folder that all users share. The
 * system gives it back when its process dies, whatever way, so nothing has to
 * be cleaned up. Threads of one process that open it each for themselves wait
 * for each other as processes do.
 *
 * Who waits comes next: a second file says who that is, and a process that
 * wants another turn must be next first. So one that takes turn after turn
 * cannot keep the others waiting for ever.
 *
 * It is a courtesy that keeps measurements apart, no protection: where the
 * file cannot be had, the work goes on without and a warning is logged.
 */
#ifndef WS_TURN_H
#define WS_TURN_H

#include "base/ctx.h"

struct ws__turn {
    int fd, next_fd; /* -1: none, taking succeeds at once */
    bool next, taken, told;
    uint64_t waited_ns; /* in all */
    uint64_t since_ns;  /* it is held */
    uint64_t *held_ns;  /* of the context and its children, together */
    char what[96];      /* for messages */
};

#define WS__TURN_NONE ((struct ws__turn){.fd = -1, .next_fd = -1})

/* `what` names the thing, the same in every process: "cpu". `dir` NULL:
 * "/tmp". Never fails: without a file the turn is none. */
void ws__turn_open(struct ws_ctx *ctx, const char *dir, const char *what,
                   struct ws__turn *out);
/* Waits, until ws__check_stop says stop: its code. Taking twice is once. */
int ws__turn_take(struct ws_ctx *ctx, struct ws__turn *t);
void ws__turn_give(struct ws__turn *t);
void ws__turn_close(struct ws__turn *t);
/* How long turns of the context and its children were held, those given back.
 * Of several at once each counts. */
uint64_t ws__turn_held_ns(const struct ws_ctx *ctx);

#endif
