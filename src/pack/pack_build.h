/*
 * pack_build.h: what the two halves of the writer share. pack_plan.c decides
 * (which variants, in which order, may each entry run) and speaks of what is
 * wrong in the words of the specification; pack_image.c and
 * pack_launch.c lay the bytes out and know the format. Private to the folder.
 */
#ifndef WS_PACK_BUILD_H
#define WS_PACK_BUILD_H

#include "pack/pack.h"
#include "wsrt_format.h"

struct ws__pack_item {
    const struct ws__pack_entry *entry;
    const struct ws__op *op; /* for the order */
    uint32_t variant;
};

/* A binary, and what orders it. */
struct ws__pack_code {
    const struct ws__pack_binary *binary;
    uint32_t variant;
    size_t nkey;
    int64_t key[WS__MAX_AXES];
};

/* What was decided about a model: the portfolio and the tree. */
struct ws__pack_choice {
    uint32_t *keep;  /* forms of the content; defaults first, in order of their
                        kernels */
    uint32_t *place; /* the same as candidates of the draft */
    size_t nkeep, ndflt;
    struct wsrt_f_range *span; /* of the variable axes */
    /* A node that compares the blocks of a candidate names it as WSRT_MAX_AXES
     * and its place in keep. */
    struct wsrt_f_node *node;
    size_t nnode;
    uint16_t *list;
    size_t nlist;
};

struct ws__pack_plan {
    const struct ws__pack_content *c;
    const struct ws__pack_choice *choice; /* one a model */
    uint32_t **form_variant;              /* by model, by place in keep */
    struct ws__candidate *variant;
    size_t nvariant, variant_cap;
    struct ws__pack_item *item; /* the entries in the order of the format */
    uint32_t *dflt;             /* variant of each kernel's default */
    struct wsrt_f_range *range; /* kernel * naxis + axis */
    struct ws__pack_code *code; /* the binaries in the order of the format */
    size_t ncode;
};

/* The sections of a pack that is being written. Each is a buffer that
 * remembers its first failure. */
struct ws__pack_sections {
    struct ws_ctx *ctx;
    const struct ws__pack_plan *plan;
    struct ws__buf buf[WSRT_NSECTIONS];
};

/* choice: one a model; it stays alive as long as the plan. */
int ws__pack_plan_make(struct ws_ctx *ctx, const struct ws__pack_content *c,
                       const struct ws__pack_choice *choice,
                       struct ws__pack_plan *out);
void ws__pack_plan_clear(struct ws_ctx *ctx, struct ws__pack_plan *plan);
/* Is this constraint a guard, to be evaluated for every shape? */
bool ws__pack_is_guard(const struct ws__constraint *c);
/* Does the pack tell binaries of kernel k apart by the value of this axis? A
 * constant of the op needs no telling. */
bool ws__pack_is_key(const struct ws__op *op, const struct ws__kernel *k,
                     size_t axis);
void ws__pack_add(struct ws__pack_sections *m, enum wsrt_section s,
                  const void *p, size_t n);
/* Appends a string and returns its offset. */
uint32_t ws__pack_name(struct ws__pack_sections *m, const char *s);
/* A program's bytecode into `code`, its place into `list`; its index there. */
uint32_t ws__pack_program(struct ws__pack_sections *m, enum wsrt_section list,
                          enum wsrt_section code, const struct ws__expr *e);
/* pack_model.c: models. */

/* The choices before any is made: all candidates, no tree. In the arena. */
int ws__pack_choice_start(struct ws_ctx *ctx, struct ws__arena *a,
                          const struct ws__pack_content *c,
                          struct ws__pack_choice **out);
/* Where the choice is to be compiled, from the ranges of a plan. */
void ws__pack_spans(const struct ws__pack_plan *plan,
                    struct ws__pack_choice *choice);
/* The place of a model of the content in the pack. */
uint32_t ws__pack_model_index(const struct ws__pack_content *c, size_t model);
int ws__pack_add_models(struct ws__pack_sections *m);

/* pack_factor.c: a number times axes divided by numbers, rounded up. */
struct ws__pack_product {
    int64_t value;
    size_t n;
    struct {
        int64_t divisor;
        uint16_t axis;
    } factor[WSRT_FACTORS];
};
/* False: the program of a coordinate is no such product. */
bool ws__pack_product(const struct ws__op *op, const uint8_t *code,
                      struct ws__pack_product *out);

/* pack_points.c: shapes and what is predicted for them by an open pack (the
 * draft) that has all candidates. */

struct ws__pack_draft {
    struct ws_ctx *ctx;
    const struct wsrt_pack *p;
    uint32_t model; /* of p */
};

/* Predictions for one shape, in the order of the draft's candidates. */
struct ws__pack_row {
    int64_t axes[WS__MAX_AXES];
    int32_t log2_ns[WSRT_MAX_FORMS]; /* WSRT__NEVER: it may not run */
};

/* Some shape of the model's types with lo <= each variable axis <= hi, mostly
 * one that the first candidate may run: three of four are like the entries, the
 * others have sizes of all magnitudes. Many are multiples of powers of two or
 * beside one. */
void ws__pack_draw(const struct ws__pack_draft *d, struct ws__rng *r,
                   const struct wsrt_f_range *span, int64_t *axes);
/* Predicts for the row's axes, for n candidates of the draft; false: it is no
 * shape of the op, or none may run. */
bool ws__pack_predict(const struct ws__pack_draft *d, struct ws__pack_row *row,
                      const uint32_t *place, size_t n);
/* The candidate (of the draft) that the rule takes of n of them, defaults
 * first; WSRT_NONE: none may run. */
uint32_t ws__pack_decide(const struct ws__pack_draft *d,
                         const struct ws__pack_row *row, const uint32_t *place,
                         size_t n);

/* pack_prune.c: drops what is not worth keeping from keep and place. */
int ws__pack_prune(const struct ws__pack_draft *d, size_t most,
                   struct ws__pack_choice *choice);
/* pack_tree.c: fills in the tree, in the arena. */
int ws__pack_tree(const struct ws__pack_draft *d, struct ws__arena *a,
                  size_t most_nodes, size_t shapes,
                  struct ws__pack_choice *choice);
/* pack_losses.c: looks for the losses of a finished pack and writes them into
 * its model. */
void ws__pack_losses(const struct ws__pack_draft *d,
                     const struct wsrt_pack *done, size_t points,
                     const struct ws__pack_choice *choice,
                     struct wsrt_f_model *out);

/* pack_launch.c: tensors, launch plans, binaries. */
int ws__pack_add_launching(struct ws__pack_sections *m);
int ws__pack_layout(struct ws_ctx *ctx, const struct ws__pack_plan *plan,
                    void **image, size_t *bytes);

#endif
