/*
 * infer.h: reads from a kernel's tree what its specification has to say.
 *
 * Index expressions become sums of products of atoms (infer_poly.c): names of
 * sizes, which a specification can name, and variables of a thread. What is
 * known of variables where something is accessed (guards, loops, remainders)
 * bounds the sums from above (infer_known.c), and from all accesses to an array
 * come its dimensions, by the strides that they have (infer_shape.c). Nothing
 * here is a proof: what comes out is a draft that a judge runs.
 */
#ifndef WS_XFORM_INFER_H
#define WS_XFORM_INFER_H

#include "core/facts.h"
#include "xform/ast.h"

struct ws__infer_in {
    const struct ws__ast *ast;
    const int32_t *func; /* FUNCTION nodes, in the order of their launches */
    size_t nfunc;
    const char *const *missing; /* names that nobody defines */
    size_t nmissing;
    const int64_t (*block)[3]; /* of each function, as declared; 0: not */
    const int64_t *bounds;     /* of __launch_bounds__; 0: none */
    /* May a part of the op have the name? */
    bool (*may_name)(void *user, const char *name);
    void *user;
};
/* WS_ENOMEM, or WS_ELIMIT: too many parameters. */
int ws__infer(struct ws_ctx *ctx, struct ws__arena *a,
              const struct ws__infer_in *in, struct ws__facts *out);

/* widen.c. The text with double instead of float; NULL: that is not possible
 * (*why). WS_ENOMEM by *rc. */
const char *ws__widen(struct ws__arena *a, enum ws__dialect dialect,
                      const char *text, const struct ws__facts *f,
                      const char **why, int *rc);

#endif
