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

struct ws__pack_plan {
    const struct ws__pack_content *c;
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

int ws__pack_plan_make(struct ws_ctx *ctx, const struct ws__pack_content *c,
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
/* pack_launch.c: tensors, launch plans, binaries. */
int ws__pack_add_launching(struct ws__pack_sections *m);
int ws__pack_layout(struct ws_ctx *ctx, const struct ws__pack_plan *plan,
                    void **image, size_t *bytes);

#endif
