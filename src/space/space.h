/*
 * space.h: the set of configs of a kernel that satisfy its constraints.
 *
 * Never materialised. Parameters are assigned in an order in which every
 * constraint is tested as soon as its last parameter is known; the number of
 * completions of a prefix depends only on the values that later constraints
 * still read, so counting, ranking and uniform sampling are exact and share a
 * memo of those values (bounded; past the bound it recomputes). Memory does
 * not grow with the number of configs.
 *
 * Constraints that read axes or device variables take part only if the space
 * is made with values for them. A config that some constraint removes is not
 * valid, even if another one cannot be evaluated for it: so "B != 0" guards
 * "A % B == 0" wherever the two stand. Enumeration order is the internal order
 * of assignment; it depends on the kernel alone, not on values of axes.
 */
#ifndef WS_SPACE_H
#define WS_SPACE_H

#include "core/kernel.h"

struct ws__space;

/* vars: slots of axes and device variables (WS__MAX_SLOTS entries, copied);
 * have_axes / have_device say which are valid. The kernel must outlive it. */
int ws__space_new(struct ws_ctx *ctx, const struct ws__kernel *k,
                  const union wsrt_value *vars, bool have_axes,
                  bool have_device, struct ws__space **out);
/* Only the configs whose structural parameters equal those of `c`. Before
 * the first count. */
int ws__space_fix_structural(struct ws__space *s, const struct ws__config *c);
void ws__space_free(struct ws__space *s);

/* Size of the product, saturating at UINT64_MAX. */
uint64_t ws__space_size(const struct ws__space *s);
/* Valid configs, exact; WS_EOVERFLOW past 2^63. A constraint that fails to
 * evaluate (division by zero, overflow) is WS_EEXPR with its place and the
 * config. */
int ws__space_count(struct ws__space *s, uint64_t *valid);
/* removed[i]: configs of the product that constraint i removes which the
 * constraints before it (in the file's order) do not. Saturating. */
int ws__space_removed(struct ws__space *s, uint64_t *removed);
/* 1 valid, 0 not (*which, may be NULL: index of the first constraint that
 * fails; nconstraint if c is not of the product), negative on error. */
int ws__space_valid(struct ws__space *s, const struct ws__config *c,
                    size_t *which);
/* The same without the constraints that prune: may it run at all? */
int ws__space_legal(struct ws__space *s, const struct ws__config *c,
                    size_t *which);

/* The config of rank r (0 <= r < valid) in enumeration order. */
int ws__space_unrank(struct ws__space *s, uint64_t r, struct ws__config *out);

/* Lazy iteration in enumeration order: 1 and a config, 0 at the end. */
struct ws__space_iter {
    struct ws__space *space;
    struct ws__config config;
    bool started;
    uint64_t uses; /* of the space, when it stopped here */
};
void ws__space_begin(struct ws__space *s, struct ws__space_iter *it);
int ws__space_next(struct ws__space_iter *it, struct ws__config *out);

/* n configs, uniform over the valid ones, without repeats (all of them in a
 * random order if n >= valid). *got says how many. */
int ws__space_sample(struct ws__space *s, struct ws__rng *rng, size_t n,
                     struct ws__config *out, size_t *got);
/* A valid config that differs from c (valid) in one parameter (preferred: one
 * step in value order; any value otherwise), drawn uniformly from all such; if
 * there is none, in two. WS_EDONE if there is none either. */
int ws__space_neighbor(struct ws__space *s, struct ws__rng *rng,
                       const struct ws__config *c, struct ws__config *out);

#endif
