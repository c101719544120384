/*
 * wsrt_check_plan.c: are the launch plans and the binaries of a pack sound?
 *
 * They came with version 1.1; an older pack has none, and there is nothing to
 * look at. The layout is as canonical as that of the other sections: whatever
 * a plan names follows what was named before it, counted by one running index
 * for each section (struct tally), so that no element is named twice or never.
 *
 * What is inside an image is for the driver to judge: here it only has its
 * place, its length and the zero bytes behind it.
 */
#include "wsrt_check.h"

/* The next element of each section that nobody has named yet. */
struct tally {
    uint32_t baked, scratch, launch, arg, program, code;
    uint32_t key, symbol, image;
};

static int check_tensors(const struct wsrt__checker *c)
{
    const struct wsrt_pack *p = c->p;

    for (uint32_t i = 0; i < p->count[WSRT_S_TENSORS]; i++) {
        const struct wsrt_f_tensor *t = &p->tensor[i];

        if (wsrt__bad_name(p, t->name) || t->role > WSRT_R_INOUT ||
            t->by_value > 1 || (t->by_value && t->role != WSRT_R_INPUT))
            return wsrt__damaged(c, WSRT_S_TENSORS, i, "out of bounds");
        if (t->type_axis == WSRT_NONE
                ? !wsrt__dtype_bytes(t->dtype)
                : t->dtype || t->type_axis >= p->naxis ||
                      p->axis[t->type_axis].kind != WSRT_AXIS_TYPE)
            return wsrt__damaged(c, WSRT_S_TENSORS, i, "no element type");
        if (!t->align || t->align > WSRT_MAX_ALIGN ||
            (t->align & (t->align - 1)))
            return wsrt__damaged(c, WSRT_S_TENSORS, i, "alignment");
    }
    return WSRT_OK;
}

/* The program that a plan names next, if it names one. */
static int check_program(const struct wsrt__checker *c, uint32_t index,
                         uint32_t nslot, int must, struct tally *t)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_guard *g;

    if (index == WSRT_NONE && !must)
        return WSRT_OK;
    if (index != t->program || index >= p->count[WSRT_S_PROGRAMS])
        return wsrt__damaged(c, WSRT_S_PROGRAMS, t->program,
                             "not named in its turn");
    g = &p->program[t->program++];
    if (g->at != t->code || g->bytes > p->count[WSRT_S_PROGRAMCODE] - t->code)
        return wsrt__damaged(c, WSRT_S_PROGRAMS, index, "out of bounds");
    if (wsrt_code_check(p->program_code + g->at, g->bytes, nslot, 0))
        return wsrt__damaged(c, WSRT_S_PROGRAMS, index, "not a program");
    t->code += g->bytes;
    return WSRT_OK;
}

static int check_scratch(const struct wsrt__checker *c,
                         const struct wsrt_f_plan *plan, uint32_t nslot,
                         struct tally *t)
{
    const struct wsrt_pack *p = c->p;

    for (uint32_t i = 0; i < plan->nscratch; i++, t->scratch++) {
        const struct wsrt_f_scratch *s = &p->scratch[t->scratch];

        if (wsrt__bad_name(p, s->name) || s->zero > 1)
            return wsrt__damaged(c, WSRT_S_SCRATCH, t->scratch,
                                 "out of bounds");
        WSRT__TRY(check_program(c, s->bytes, nslot, 1, t));
        WSRT__TRY(check_program(c, s->when, nslot, 0, t));
    }
    return WSRT_OK;
}

static int check_arg(const struct wsrt__checker *c,
                     const struct wsrt_f_plan *plan, uint32_t nslot,
                     struct tally *t)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_arg *a = &p->arg[t->arg];
    int ok = 0, number = a->kind == WSRT_ARG_INT || a->kind == WSRT_ARG_FLOAT;

    switch (a->kind) {
    case WSRT_ARG_TENSOR:
        ok = a->index < p->count[WSRT_S_TENSORS] && !a->dtype;
        break;
    case WSRT_ARG_SCRATCH:
        ok = a->index < plan->nscratch && !a->dtype;
        break;
    case WSRT_ARG_INT:
        ok = !a->index && wsrt__dtype_bytes(a->dtype);
        break;
    case WSRT_ARG_FLOAT:
        ok = !a->index && wsrt__dtype_is_float(a->dtype);
        break;
    case WSRT_ARG_SHARED:
        ok = !a->index && !a->dtype;
        number = 1;
        break;
    default:
        break;
    }
    if (!ok || (!number && a->program != WSRT_NONE))
        return wsrt__damaged(c, WSRT_S_ARGS, t->arg, "out of bounds");
    t->arg++;
    return check_program(c, a->program, nslot, number, t);
}

static int check_launch(const struct wsrt__checker *c,
                        const struct wsrt_f_plan *plan, uint32_t nslot,
                        struct tally *t)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_launch *l = &p->launch[t->launch];

    if (wsrt__bad_name(p, l->entry) || l->first_arg != t->arg ||
        l->narg > WSRT_MAX_ARGS || l->narg > p->count[WSRT_S_ARGS] - t->arg)
        return wsrt__damaged(c, WSRT_S_LAUNCHES, t->launch, "out of bounds");
    t->launch++;
    WSRT__TRY(check_program(c, l->when, nslot, 0, t));
    for (int i = 0; i < 3; i++)
        WSRT__TRY(check_program(c, l->grid[i], nslot, 0, t));
    for (int i = 0; i < 3; i++)
        WSRT__TRY(check_program(c, l->block[i], nslot, 0, t));
    for (uint32_t i = 0; i < l->narg; i++)
        WSRT__TRY(check_arg(c, plan, nslot, t));
    return WSRT_OK;
}

static int check_baked(const struct wsrt__checker *c,
                       const struct wsrt_f_plan *plan, struct tally *t)
{
    const struct wsrt_pack *p = c->p;

    for (uint32_t i = 0; i < plan->nbaked; i++, t->baked++)
        if (p->baked[t->baked] >= p->naxis ||
            (i && p->baked[t->baked] <= p->baked[t->baked - 1]))
            return wsrt__damaged(c, WSRT_S_BAKED, t->baked, "out of bounds");
    return WSRT_OK;
}

static int check_plan(const struct wsrt__checker *c, uint32_t kernel,
                      struct tally *t)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_plan *plan = &p->plan[kernel];
    uint32_t nslot = p->naxis + p->count[WSRT_S_DEVICE] + /* few: checked */
                     p->kernel[kernel].nparam;

    if (plan->first_scratch != t->scratch ||
        plan->nscratch > WSRT_MAX_SCRATCH ||
        plan->nscratch > p->count[WSRT_S_SCRATCH] - t->scratch ||
        plan->first_launch != t->launch || plan->nlaunch > WSRT_MAX_LAUNCHES ||
        plan->nlaunch > p->count[WSRT_S_LAUNCHES] - t->launch ||
        plan->first_baked != t->baked ||
        plan->nbaked > p->count[WSRT_S_BAKED] - t->baked)
        return wsrt__damaged(c, WSRT_S_PLANS, kernel, "out of bounds");
    WSRT__TRY(check_baked(c, plan, t));
    WSRT__TRY(check_scratch(c, plan, nslot, t));
    for (uint32_t i = 0; i < plan->nlaunch; i++)
        WSRT__TRY(check_launch(c, plan, nslot, t));
    return WSRT_OK;
}

/* Is binary i right, and does it come after the one before it? */
static int check_binary_order(const struct wsrt__checker *c, uint32_t i,
                              uint32_t nkey)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_binary *a = &p->binary[i - 1], *b = &p->binary[i];
    const int64_t *x = p->key + a->first_key, *y = p->key + b->first_key;

    if (a->variant != b->variant)
        return a->variant < b->variant
                   ? WSRT_OK
                   : wsrt__damaged(c, WSRT_S_BINARIES, i, "not in order");
    for (uint32_t k = 0; k < nkey; k++)
        if (x[k] != y[k])
            return x[k] < y[k]
                       ? WSRT_OK
                       : wsrt__damaged(c, WSRT_S_BINARIES, i, "not in order");
    return wsrt__damaged(c, WSRT_S_BINARIES, i, "there twice");
}

static int check_binary(const struct wsrt__checker *c, uint32_t i,
                        struct tally *t)
{
    const struct wsrt_pack *p = c->p;
    const struct wsrt_f_binary *b = &p->binary[i];
    const struct wsrt_f_plan *plan;

    if (b->variant >= p->count[WSRT_S_VARIANTS] || !p->count[WSRT_S_PLANS])
        return wsrt__damaged(c, WSRT_S_BINARIES, i, "no such variant");
    plan = &p->plan[p->variant[b->variant].kernel];
    if (b->image > t->image || b->image >= p->count[WSRT_S_IMAGES] ||
        b->first_key != t->key ||
        plan->nbaked > p->count[WSRT_S_KEYS] - t->key ||
        b->first_symbol != t->symbol ||
        plan->nlaunch > p->count[WSRT_S_SYMBOLS] - t->symbol)
        return wsrt__damaged(c, WSRT_S_BINARIES, i, "out of bounds");
    t->image += b->image == t->image;
    for (uint32_t k = 0; k < plan->nbaked; k++, t->key++)
        if (!wsrt__is_value(p, p->baked[plan->first_baked + k], p->key[t->key]))
            return wsrt__damaged(c, WSRT_S_KEYS, t->key, "no value");
    for (uint32_t k = 0; k < plan->nlaunch; k++, t->symbol++)
        if (p->symbol[t->symbol] != WSRT_NONE &&
            wsrt__bad_name(p, p->symbol[t->symbol]))
            return wsrt__damaged(c, WSRT_S_SYMBOLS, t->symbol, "no name");
    return i ? check_binary_order(c, i, plan->nbaked) : WSRT_OK;
}

static int check_images(const struct wsrt__checker *c)
{
    const struct wsrt_pack *p = c->p;
    uint64_t at = 0, end = p->count[WSRT_S_IMAGE];

    for (uint32_t i = 0; i < p->count[WSRT_S_IMAGES]; i++) {
        const struct wsrt_f_image *m = &p->image[i];

        if (wsrt__bad_name(p, m->family) || wsrt__bad_name(p, m->target) ||
            m->at != at || !m->bytes || m->bytes >= end - at)
            return wsrt__damaged(c, WSRT_S_IMAGES, i, "out of bounds");
        at += m->bytes;
        do {
            if (at == end || p->image_bytes[at++])
                return wsrt__damaged(c, WSRT_S_IMAGES, i, "has no end");
        } while (at % WSRT_ALIGN);
    }
    if (at != end)
        return wsrt__refuse(c, WSRT_EDAMAGED, "bytes that no image has");
    return WSRT_OK;
}

static int check_all_named(const struct wsrt__checker *c, const struct tally *t)
{
    const uint32_t *n = c->p->count;

    if (t->baked != n[WSRT_S_BAKED] || t->scratch != n[WSRT_S_SCRATCH] ||
        t->launch != n[WSRT_S_LAUNCHES] || t->arg != n[WSRT_S_ARGS] ||
        t->program != n[WSRT_S_PROGRAMS] || t->code != n[WSRT_S_PROGRAMCODE])
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "launches, programs or buffers that no plan has");
    if (t->key != n[WSRT_S_KEYS] || t->symbol != n[WSRT_S_SYMBOLS] ||
        t->image != n[WSRT_S_IMAGES])
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "keys, symbols or images that no binary has");
    return WSRT_OK;
}

int wsrt__check_plans(const struct wsrt__checker *c)
{
    const uint32_t *n = c->p->count;
    struct tally t = {0};

    WSRT__TRY(check_tensors(c));
    if (n[WSRT_S_PLANS] && n[WSRT_S_PLANS] != n[WSRT_S_KERNELS])
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "section PLANS has a wrong length");
    for (uint32_t i = 0; i < n[WSRT_S_PLANS]; i++)
        WSRT__TRY(check_plan(c, i, &t));
    for (uint32_t i = 0; i < n[WSRT_S_BINARIES]; i++)
        WSRT__TRY(check_binary(c, i, &t));
    WSRT__TRY(check_images(c));
    return check_all_named(c, &t);
}
