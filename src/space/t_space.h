/*
 * t_space.h: small kernels made in the test: parameters and constraints
 * without a file.
 */
#ifndef WS_T_SPACE_H
#define WS_T_SPACE_H

#include "base/t_base.h"

#include "space/space.h"

struct t_kernel {
    struct ws__kernel k;
    struct ws__arena arena;
    struct ws__strtab strings;
};

static inline void t_kernel_init(struct t_kernel *t, struct ws_ctx *ctx)
{
    memset(t, 0, sizeof(*t));
    ws__arena_init(&t->arena, ctx);
    t->strings.arena = &t->arena;
    t->k.name = "toy";
    t->k.scope.strings = &t->strings;
}

static inline void t_kernel_free(struct t_kernel *t)
{
    ws__arena_free(&t->arena);
}

/* A parameter with the values first, first + step, ... */
static inline int t_param(struct t_kernel *t, const char *name, size_t n,
                          int64_t first, int64_t step)
{
    struct ws__param *p = &t->k.param[t->k.nparam];

    p->name = ws__arena_strdup(&t->arena, name);
    p->type = WS__INT;
    p->nvalue = n;
    p->value = ws__arena_alloc(&t->arena, n, sizeof(*p->value));
    p->slot = ws__arena_alloc(&t->arena, n, sizeof(*p->slot));
    if (!p->name || !p->value || !p->slot)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        p->value[i] = (struct ws__value){.type = WS__INT,
                                         .u = {.i = first + (int64_t)i * step}};
        p->slot[i].i = p->value[i].u.i;
    }
    t->k.nparam++;
    return ws__scope_add(t->arena.ctx, &t->k.scope, p->name, WS__INT, NULL);
}

#define T_MAX_CONSTRAINTS 16

static inline int t_constraint(struct t_kernel *t, const char *text)
{
    static const struct ws__loc loc = {"toy.yaml", 1, 1};
    struct ws__kernel *k = &t->k;

    if (!k->constraint)
        k->constraint = ws__arena_alloc(&t->arena, T_MAX_CONSTRAINTS,
                                        sizeof(*k->constraint));
    if (!k->constraint)
        return WS_ENOMEM;
    return ws__expr_compile(t->arena.ctx, &t->arena, text, &loc, &k->scope,
                            WS__BOOL, &k->constraint[k->nconstraint++].expr);
}

/* Counts through the whole product, last parameter fastest. */
static inline bool t_odometer(const struct ws__kernel *k, struct ws__config *c)
{
    for (size_t i = k->nparam; i-- > 0;) {
        if (++c->at[i] < k->param[i].nvalue)
            return true;
        c->at[i] = 0;
    }
    return false;
}

#endif
