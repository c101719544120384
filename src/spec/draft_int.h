/*
 * draft_int.h: a draft in the making, private to the files of the writer:
 * draft.c (lines, names, all of it), draft_bind.c (what each argument is),
 * draft_op.c and draft_kernel.c (the two texts).
 */
#ifndef WS_DRAFT_INT_H
#define WS_DRAFT_INT_H

#include "spec/draft.h"

#define WS__BLANK "???"
#define WS__DRAFT_MAX_MADE 40

/* A tensor or an axis of a new op. */
struct ws__made {
    char name[64];
    const struct ws__sig_arg *arg; /* that it was made from */
    bool axis, output;
};

struct ws__bound {
    char text[96]; /* as in a list of args */
    const char *guess;
};

struct ws__drafting {
    struct ws_ctx *ctx;
    const struct ws__draft *d;
    struct ws__buf *kernel, *op;
    struct ws__bound bound[WS__MAX_LAUNCHES][WS__SIG_MAX_ARGS];
    struct ws__made made[WS__DRAFT_MAX_MADE];
    size_t nmade;
    const char *type_axis; /* of a new op, in the source; NULL: none */
    char type_name[64];    /* and in the op */
    bool types_known;      /* they are those of the dialect header */
    uint32_t taken;        /* tensors of the op that an argument has */
};

static inline const struct ws__sig_entry *
ws__draft_entry(const struct ws__drafting *s, size_t i)
{
    return &s->d->sig->entry[s->d->entry[i]];
}

/* draft.c. A line with a comment (NULL: none); the text of a source as part
 * of a comment. */
void ws__draft_line(struct ws__buf *b, const char *comment, const char *fmt,
                    ...) WS_PRINTF(3, 4);
void ws__draft_comment(struct ws__buf *b, const char *text);
/* Is it a parameter of a template? */
bool ws__draft_is_tparam(const struct ws__drafting *s, const char *name);

/* draft_bind.c. The tensor of an op that an argument is by its name, or -1. */
int ws__draft_tensor(const struct ws__op *op, const struct ws__sig_arg *a);
void ws__draft_bind(struct ws__drafting *s);

/* draft_op.c, draft_kernel.c */
void ws__draft_put_op(struct ws__drafting *s);
void ws__draft_put_kernel(struct ws__drafting *s);

#endif
