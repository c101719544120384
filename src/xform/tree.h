/*
 * tree.h: the joining of a block's elements in shared memory, a level at a
 * time.
 *
 * The classic tree halves the threads that add, with a barrier a level:
 *     for (s = blockDim.x / 2; s > 0; s >>= 1) {
 *         if (tid < s)
 *             buf[tid] += buf[tid + s];
 *         __syncthreads();
 *     }
 * This file recognises it and its relatives (s is doubled; sums, largest and
 * smallest values; a last warp without barriers), and says what it is made of.
 */
#ifndef WS_XFORM_TREE_H
#define WS_XFORM_TREE_H

#include "xform/loop.h"

struct ws__tree {
    const struct ws__xform_in *in;
    int32_t loop, body;
    int32_t begin;      /* first statement that goes: of a while, where its
                           variable gets its value; else the loop */
    int32_t last;       /* the statement of the last warp, or -1 */
    int32_t s;          /* VAR: the distance */
    int32_t size;       /* expression: threads of the tree */
    bool up;            /* s is doubled */
    int32_t until;      /* s > until; 0 or 32 */
    int32_t bound;      /* the comparison that says so */
    int32_t buf;        /* VAR, shared */
    int32_t tid;        /* expression: threadIdx.x */
    int32_t index;      /* VAR of a level: 2 * s * tid; -1: none */
    bool inline_index;  /* the elements' indices have 2 * s * tid */
    bool barrier_first; /* the barrier stands before the joining */
    struct ws__loop_match join;
    const char *why; /* for those who judge it */
};

/* Reads a for or a while. False: it is no tree. `last` is not looked for. */
bool ws__tree_read(const struct ws__xform_in *in, int32_t loop,
                   struct ws__tree *out);
/* Of a for, the head alone: for (s = 1; s < size; s *= 2) or its relatives. */
bool ws__tree_read_head(const struct ws__xform_in *in, int32_t loop,
                        struct ws__tree *out);
/* Reads what the last warp does behind a tree that ends at 32. */
bool ws__tree_read_last(struct ws__tree *r);
/* Is the tree's size the block's, as the source or the launch has it? */
bool ws__tree_is_whole(const struct ws__tree *r);
/* Is it a loop that halves or doubles, with a barrier: a tree of a kind? */
bool ws__tree_looks_alike(const struct ws__xform_in *in, int32_t loop);

/* Is the value threadIdx.x? */
bool ws__tree_is_thread(const struct ws__ast *t, int32_t expr);
/* Of a condition tid == 0 or !tid: the expression tid; else -1. */
int32_t ws__tree_first(const struct ws__ast *t, int32_t cond);
/* Is the value the number of threads of a block in x, as the source or the
 * launch has it? */
bool ws__tree_is_block(const struct ws__xform_in *in, int32_t expr);
/* Has a block one dimension, of a number of threads that is a power of two and
 * at least `least`? Of a size that is no number that is not known: true. */
bool ws__tree_is_row(const struct ws__xform_in *in, int64_t least);

#endif
