/* product_int.h: between the files of product.h alone. */
#ifndef WS_XFORM_PRODUCT_INT_H
#define WS_XFORM_PRODUCT_INT_H

#include "xform/product.h"

struct ws__product_look {
    const struct ws__xform_in *in;
    const struct ws__ast *t;
    struct ws__product *p;
    int rc;
    int64_t block[3];    /* threads; -1: no number */
    int32_t inner;       /* the loop over a tile, where there are tiles */
    int32_t k_var, k_to; /* its counter; what bounds k */
    int32_t guard;       /* whose condition is looked at */
};

/* False, and why: the first reason stays. */
bool ws__product_no(struct ws__product_look *l, int32_t at, const char *why);
bool ws__product_overlap(const struct ws__ast_node *a,
                         const struct ws__ast_node *b);
int32_t ws__product_last(const struct ws__ast *t, int32_t i); /* child, or -1 */
/* Threads a block in that direction; -1: not known. */
int64_t ws__product_block(const struct ws__xform_in *in, int dim);
/* The words before the name or the star of a declaration, without qualifiers:
 * macros stay macros. NULL: something else is there. */
const char *ws__product_type(struct ws__product_look *l, int32_t decl);
/* What is indexed: a pointer parameter, or a variable that points into one. */
int32_t ws__product_base(const struct ws__product_look *l, int32_t index);
/* Is i a plain conversion of its child `of`? */
bool ws__product_converts(const struct ws__product_look *l, int32_t i,
                          int32_t of);
/* An assignment; of records it is a call. */
bool ws__product_assigns(const struct ws__ast *t, int32_t i);
/* Is anything stored in the array? */
bool ws__product_written(const struct ws__product_look *l, int32_t base);
/* The two places; which of them is the second. */
bool ws__product_places(struct ws__product_look *l);
void ws__product_order(struct ws__product_look *l);
/* What is summed, what is loaded, that a term of zeros adds nothing, that the
 * text can be replaced. */
bool ws__product_sums(struct ws__product_look *l);
bool ws__product_loads(struct ws__product_look *l);
bool ws__product_terms(struct ws__product_look *l);
bool ws__product_text(struct ws__product_look *l);
/* Bounds of places, and conditions that all threads of a block share. */
bool ws__product_condition(struct ws__product_look *l, int32_t cond,
                           bool negated);
/* A product by tiles of shared memory, a thread an output: is the loop one over
 * tiles? Then the terms are those of the loop in it. */
bool ws__product_inner(struct ws__product_look *l);
/* Its loads, as if there were no tiles. */
bool ws__product_tiled(struct ws__product_look *l);

#endif
