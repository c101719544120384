/*
 * product.h: kernels that sum over k what two arrays say, one output a thread.
 *
 * A matrix product as it is written first: thread (row, col) has its bounds
 * checked and adds up terms of A[.. row, k ..] and B[.. k, col ..]. So do
 * pairwise distances, scores of attention, products of batches. What is found
 * here is what tiles of shared memory and of registers need to know: which
 * loads belong to rows and which to columns, what is summed, what happens with
 * the sum afterwards. Nothing is asked of the form of an index but on which of
 * row, column and k it depends; only a place itself must be block times size
 * plus thread.
 */
#ifndef WS_XFORM_PRODUCT_H
#define WS_XFORM_PRODUCT_H

#include "xform/xform.h"

#define WS__PRODUCT_LOADS 6
#define WS__PRODUCT_SUMS 4
#define WS__PRODUCT_ITEMS 32

struct ws__product_side { /* 0: rows; 1: columns, along which stores step */
    int dim;              /* of the launch */
    int32_t var;          /* the VAR that is the place in that direction */
    int32_t bound;        /* it is less than this expression; -1: not seen */
    const char *name, *type;
};

struct ws__product_load {
    int32_t node;     /* the INDEX */
    int32_t outer;    /* with the conversions around it */
    const char *name; /* of the array */
    int side;
    bool k_fast;             /* neighbours in memory differ in k */
    const char *type;        /* of an element */
    const char *value_type;  /* of outer */
    unsigned bytes;          /* of an element */
    const char *text;        /* what is read, by the names of row, col, k */
    int32_t same;            /* an earlier load of the same element, or -1 */
    const char *tile, *part; /* names: the tile, a thread's part of it */
};

struct ws__product_sum {
    int32_t var;  /* the VAR; or -1: */
    int32_t node; /* the INDEX of an element of global memory */
    const char *type, *init;
    int32_t first;     /* the expression init; of row and column, perhaps */
    const char *array; /* name of all sums of a thread */
};

struct ws__product {
    const char *why; /* it is none */
    int32_t at;      /* where to say so */
    struct ws__product_side side[2];
    struct ws__product_load load[WS__PRODUCT_LOADS];
    size_t nload;
    struct ws__product_sum sum[WS__PRODUCT_SUMS];
    size_t nsum;
    struct ws__ast_for loop; /* over k */
    const char *k, *k_type, *k_from;
    int32_t term;      /* what a turn does: a statement or a BLOCK */
    int32_t outermost; /* the guard around the loop, or the loop: it goes */
    int32_t block;     /* the BLOCK that the loop is in */
    /* What follows the loop, by its bytes; empty: nothing. */
    uint32_t rest, rest_end;
    /* Conditions that a whole block shares. */
    struct {
        int32_t cond, at; /* of the guard at */
        bool negated;
    } uniform[4];
    size_t nuniform;
    int32_t drop[WS__PRODUCT_ITEMS]; /* statements before outermost that go */
    size_t ndrop;
    int32_t move[WS__PRODUCT_ITEMS]; /* statements below it that stay */
    size_t nmove;
    int32_t derived[WS__PRODUCT_ITEMS]; /* DECLs that follow from row and col */
    size_t nderived;
};

/* Is the function a product? False: out->why says why not; NULL where nothing
 * looks like one. Strings lie in the arena; *rc is WS_ENOMEM where it was
 * full. */
bool ws__product_find(const struct ws__xform_in *in, struct ws__product *out,
                      int *rc);
/* On which of rows (1), columns (2) and others does what stands below node
 * depend? */
#define WS__PRODUCT_K 4u
#define WS__PRODUCT_THREAD 8u /* threads and blocks otherwise than by place */
#define WS__PRODUCT_TERM 16u  /* variables of a turn */
#define WS__PRODUCT_SUM 32u
#define WS__PRODUCT_ELSE 64u /* what changes in between */
unsigned ws__product_depends(const struct ws__xform_in *in,
                             const struct ws__product *p, int32_t node);

/* Does the kernel file know how many rows and columns there are? */
bool ws__product_planned(const struct ws__xform_in *in,
                         const struct ws__product *p);
/* Tiles of shared memory; with registers, TM x TN outputs a thread. */
int ws__product_emit(const struct ws__xform_in *in, struct ws__product *p,
                     bool registers, struct ws__rewrite *out);

#endif
