/* product_emit.h: between product_emit.c and product_plan.c alone. */
#ifndef WS_XFORM_PRODUCT_EMIT_H
#define WS_XFORM_PRODUCT_EMIT_H

#include "xform/product.h"

struct ws__product_emit {
    const struct ws__xform_in *in;
    const struct ws__ast *t;
    struct ws__product *p;
    struct ws__rewrite *out;
    struct ws__buf b;
    bool registers, cuda;
    const char *indent;  /* of the function's statements */
    const char *size[3]; /* BM, BN, BK */
    const char *part[2]; /* TM, TN */
    const char *from[2], *k0, *tid, *thread[2], *loop[2], *kk, *each, *at;
    const char *threads, *group;
    uint32_t dropped; /* behind what was dropped last, if nothing is above */
};

/* The text; none: there was no memory, which the rewrite then says. */
const char *ws__product_sure(struct ws__product_emit *e, const char *s);
/* Grid, block and parameters of what was written; parameters that are used no
 * more go. */
void ws__product_plan(struct ws__product_emit *e);

#endif
