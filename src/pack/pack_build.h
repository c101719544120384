/*
 * pack_build.h: what the two halves of the writer share. pack_plan.c decides
 * (which variants, in which order, may each entry run) and speaks of what is
 * wrong in the words of the specification; pack_image.c lays the bytes out
 * and knows the format. Private to the folder.
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

struct ws__pack_plan {
    const struct ws__pack_content *c;
    struct ws__candidate *variant;
    size_t nvariant, variant_cap;
    struct ws__pack_item *item; /* the entries in the order of the format */
    uint32_t *dflt;             /* variant of each kernel's default */
    struct wsrt_f_range *range; /* kernel * naxis + axis */
};

int ws__pack_plan_make(struct ws_ctx *ctx, const struct ws__pack_content *c,
                       struct ws__pack_plan *out);
void ws__pack_plan_clear(struct ws_ctx *ctx, struct ws__pack_plan *plan);
/* Is this constraint a guard, to be evaluated for every shape? */
bool ws__pack_is_guard(const struct ws__constraint *c);
int ws__pack_layout(struct ws_ctx *ctx, const struct ws__pack_plan *plan,
                    void **image, size_t *bytes);

#endif
