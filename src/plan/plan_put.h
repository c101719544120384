/*
 * plan_put.h: files that a command writes: over nothing that it reads, through
 * no link, and all of them or none.
 */
#ifndef WS_PLAN_PUT_H
#define WS_PLAN_PUT_H

#include "plan/plan.h"

#define WS__PUT_FROM 3

struct ws__puts {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    const char *from[WS__PUT_FROM]; /* paths of what is read; NULL: none */
    bool force;                     /* files that exist may be written over */
    struct ws__put *last;           /* what was written */
};

/* 0, or WS_EINVAL: it exists (without force), is what is read, or a link. Below
 * `base`, the part of the path that the user named, no folder may be a link
 * either; NULL: path is the user's as a whole. */
int ws__put_check(const struct ws__puts *p, const char *path, const char *base);
/* Makes its folders, too. `path` lives as long as the arena. */
int ws__put_write(struct ws__puts *p, const char *path, const char *data,
                  size_t n);
/* One text into a folder of results, over an older one; links are refused. */
int ws__put_text(struct ws_ctx *ctx, const char *dir, const char *name,
                 const char *text);
/* It stays. */
void ws__put_keep(struct ws__puts *p);
/* Takes back what was written: what was there before is there again. The
 * error that is set stays. */
void ws__put_undo(struct ws__puts *p);

#endif
