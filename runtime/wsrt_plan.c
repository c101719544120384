/*
 * wsrt_plan.c: from a choice and a shape to the numbers of its launches.
 *
 * The same programs that the tuner evaluated, by the same evaluator, with the
 * same limits: a grid has 1 to 2^31-1 blocks a dimension, scratch stays below
 * 2^40 bytes, a value fits its type. What does not is WSRT_EPLAN, before
 * anything is launched. Scratch buffers become slices of one block of memory,
 * each aligned to WSRT_SCRATCH_ALIGN, in the plan's order.
 *
 * Nothing here knows a driver, and nothing allocates: the plan is the
 * caller's, and only the part of it that is used is written.
 */
#include "wsrt_format.h"

#include <math.h>
#include <string.h>

#define MAX_GRID (((int64_t)1 << 31) - 1)
#define MAX_BLOCK ((int64_t)1 << 20) /* threads */
#define MAX_SHARED ((int64_t)1 << 31)
#define MAX_SCRATCH_BYTES ((int64_t)1 << 40)

struct planner {
    const struct wsrt_pack *p;
    struct wsrt_plan *out;
    union wsrt_value slot[WSRT_MAX_SLOTS];
    uint64_t at[WSRT_MAX_SCRATCH]; /* where each scratch buffer begins */
    uint32_t narg, used;           /* used: bit i, scratch buffer i is */
};

/* ---- element types ------------------------------------------------------ */

/* Of the float types what double does not have: the bits of a mantissa, the
 * bias, the largest finite code, and the code beyond it. */
struct narrow {
    int mant, bias;
    uint32_t largest, over;
};

static const struct dtype_info {
    uint32_t bytes;
    int is_float;
    int64_t lo, hi; /* of whole numbers */
    struct narrow narrow;
} dtype_info[] = {
    [1] = {8, 1, 0, 0, {0, 0, 0, 0}},
    [2] = {4, 1, 0, 0, {0, 0, 0, 0}},
    [3] = {2, 1, 0, 0, {10, 15, 0x7bff, 0x7c00}},
    [4] = {2, 1, 0, 0, {7, 127, 0x7f7f, 0x7f80}},
    [5] = {1, 1, 0, 0, {3, 7, 0x7e, 0x7e}},
    [6] = {1, 1, 0, 0, {2, 15, 0x7b, 0x7b}},
    [7] = {8, 0, INT64_MIN, INT64_MAX, {0, 0, 0, 0}},
    [8] = {4, 0, INT32_MIN, INT32_MAX, {0, 0, 0, 0}},
    [9] = {2, 0, INT16_MIN, INT16_MAX, {0, 0, 0, 0}},
    [10] = {1, 0, INT8_MIN, INT8_MAX, {0, 0, 0, 0}},
    [11] = {1, 0, 0, UINT8_MAX, {0, 0, 0, 0}},
    [12] = {1, 0, 0, 1, {0, 0, 0, 0}},
};

#define NDTYPE (sizeof(dtype_info) / sizeof(dtype_info[0]))

uint32_t wsrt__dtype_bytes(uint32_t dtype)
{
    return dtype < NDTYPE ? dtype_info[dtype].bytes : 0;
}

int wsrt__dtype_is_float(uint32_t dtype)
{
    return dtype < NDTYPE && dtype_info[dtype].is_float;
}

/* The nearest code, ties to even; |v| is finite. With the leading bit counted
 * in, a carry out of the mantissa moves on into the exponent by itself. */
static uint32_t narrow_code(double v, const struct narrow *f)
{
    double a = fabs(v);
    uint64_t code;
    int e;

    if (a == 0)
        return 0;
    frexp(a, &e);
    e = e - 1 < 1 - f->bias ? 1 - f->bias : e - 1;
    if (e > f->bias + 1)
        return f->over;
    code = ((uint64_t)(e + f->bias - 1) << f->mant) +
           (uint64_t)rint(ldexp(a, f->mant - e));
    return code > f->largest ? f->over : (uint32_t)code;
}

uint64_t wsrt__float_bits(double v, uint32_t dtype)
{
    const struct dtype_info *d = &dtype_info[dtype];
    uint64_t bits = 0;

    if (d->narrow.mant) {
        memcpy(&bits, &v, sizeof(bits));
        return narrow_code(v, &d->narrow) | (bits >> 63) << (8 * d->bytes - 1);
    }
    if (d->bytes == sizeof(float)) {
        float f = (float)v;

        memcpy(&bits, &f, sizeof(f));
    } else {
        memcpy(&bits, &v, sizeof(v));
    }
    return bits;
}

/* By its bits: compilers may be told that there are none. */
static int is_finite(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return (bits & ~((uint64_t)1 << 63)) < UINT64_C(0x7ff0000000000000);
}

/* ---- evaluating --------------------------------------------------------- */

static int run_program(const struct planner *s, uint32_t index,
                       union wsrt_value *out)
{
    const struct wsrt_f_guard *g = &s->p->program[index];

    if (wsrt_eval(s->p->program_code + g->at, g->bytes, s->slot, out, NULL))
        return WSRT_EPLAN;
    return WSRT_OK;
}

/* A whole number from lo to hi; 1 where there is no program. */
static int eval_number(const struct planner *s, uint32_t index, int64_t lo,
                       int64_t hi, int64_t *out)
{
    union wsrt_value v = {.i = 1};

    if (index != WSRT_NONE && run_program(s, index, &v))
        return WSRT_EPLAN;
    *out = v.i;
    return v.i < lo || v.i > hi ? WSRT_EPLAN : WSRT_OK;
}

static int eval_when(const struct planner *s, uint32_t index, int *holds)
{
    union wsrt_value v = {.i = 1};

    if (index != WSRT_NONE && run_program(s, index, &v))
        return WSRT_EPLAN;
    *holds = v.i != 0;
    return WSRT_OK;
}

static uint64_t scratch_up(uint64_t bytes)
{
    return (bytes + WSRT_SCRATCH_ALIGN - 1) / WSRT_SCRATCH_ALIGN *
           WSRT_SCRATCH_ALIGN;
}

static int plan_scratch(struct planner *s, const struct wsrt_f_plan *plan)
{
    struct wsrt_plan *out = s->out;

    for (uint32_t i = 0; i < plan->nscratch; i++) {
        const struct wsrt_f_scratch *b =
            &s->p->scratch[plan->first_scratch + i];
        int64_t bytes;
        int use;

        if (eval_when(s, b->when, &use))
            return WSRT_EPLAN;
        if (!use)
            continue;
        if (eval_number(s, b->bytes, 1, MAX_SCRATCH_BYTES, &bytes))
            return WSRT_EPLAN;
        s->used |= 1u << i;
        s->at[i] = out->scratch_bytes;
        if (b->zero)
            out->zero[out->nzero++] =
                (struct wsrt_plan_zero){out->scratch_bytes, (uint64_t)bytes};
        out->scratch_bytes += scratch_up((uint64_t)bytes);
    }
    return WSRT_OK;
}

static int plan_number(const struct planner *s, const struct wsrt_f_arg *a,
                       uint64_t *out)
{
    const struct dtype_info *d = &dtype_info[a->dtype];
    union wsrt_value v;

    if (run_program(s, a->program, &v))
        return WSRT_EPLAN;
    if (a->kind == WSRT_ARG_FLOAT) {
        if (!is_finite(v.f))
            return WSRT_EPLAN;
        *out = wsrt__float_bits(v.f, a->dtype);
    } else if (d->is_float) {
        *out = wsrt__float_bits((double)v.i, a->dtype);
    } else {
        if (v.i < d->lo || v.i > d->hi)
            return WSRT_EPLAN;
        *out = (uint64_t)v.i;
    }
    return WSRT_OK;
}

static int plan_arg(struct planner *s, const struct wsrt_f_arg *a,
                    struct wsrt_plan_launch *l)
{
    struct wsrt_plan_arg *o = &s->out->arg[s->narg];
    int64_t bytes;

    o->kind = a->kind;
    o->index = a->index;
    switch (a->kind) {
    case WSRT_ARG_TENSOR:
        break;
    case WSRT_ARG_SCRATCH:
        /* A null pointer if the plan does not use it. */
        if (!(s->used >> a->index & 1)) {
            o->kind = WSRT_ARG_INT;
            o->value = 0;
            break;
        }
        o->value = s->at[a->index];
        break;
    case WSRT_ARG_SHARED:
        if (eval_number(s, a->program, 1, MAX_SHARED, &bytes) ||
            l->shared_bytes + (uint64_t)bytes > UINT32_MAX)
            return WSRT_EPLAN;
        l->shared_bytes += (uint32_t)bytes;
        return WSRT_OK;
    default:
        if (plan_number(s, a, &o->value))
            return WSRT_EPLAN;
    }
    s->narg++;
    l->narg++;
    return WSRT_OK;
}

static int plan_launch(struct planner *s, const struct wsrt_f_launch *f,
                       struct wsrt_plan_launch *l)
{
    int64_t threads = 1, v;

    for (int i = 0; i < 3; i++) {
        if (eval_number(s, f->grid[i], 1, MAX_GRID, &v))
            return WSRT_EPLAN;
        l->grid[i] = (uint32_t)v;
    }
    for (int i = 0; i < 3; i++) {
        if (eval_number(s, f->block[i], 1, MAX_BLOCK, &v))
            return WSRT_EPLAN;
        l->block[i] = (uint32_t)v;
        threads *= v;
        if (threads > MAX_BLOCK)
            return WSRT_EPLAN;
    }
    l->function = NULL;
    l->shared_bytes = 0;
    l->first_arg = s->narg;
    l->narg = 0;
    for (uint32_t i = 0; i < f->narg; i++)
        if (plan_arg(s, &s->p->arg[f->first_arg + i], l))
            return WSRT_EPLAN;
    return WSRT_OK;
}

int wsrt__plan(const struct wsrt_pack *p, uint32_t variant, uint32_t binary,
               const int64_t *axes, struct wsrt_plan *out,
               uint32_t symbol[WSRT_MAX_LAUNCHES])
{
    const struct wsrt_f_plan *plan;
    struct planner s = {.p = p, .out = out, .narg = 0, .used = 0};

    if (!p->count[WSRT_S_PLANS])
        return WSRT_ENOIMAGE;
    plan = &p->plan[p->variant[variant].kernel];
    out->pack = p;
    out->exec = NULL;
    out->scratch_bytes = 0;
    out->nlaunch = 0;
    out->nzero = 0;
    wsrt__fill_slots(p, variant, axes, s.slot);
    if (plan_scratch(&s, plan))
        return WSRT_EPLAN;
    for (uint32_t i = 0; i < plan->nlaunch; i++) {
        const struct wsrt_f_launch *f = &p->launch[plan->first_launch + i];
        uint32_t at = binary == WSRT_NONE
                          ? WSRT_NONE
                          : p->symbol[p->binary[binary].first_symbol + i];
        int use;

        if (eval_when(&s, f->when, &use))
            return WSRT_EPLAN;
        if (!use)
            continue;
        if (binary != WSRT_NONE && at == WSRT_NONE)
            return WSRT_ENOIMAGE;
        if (symbol)
            symbol[out->nlaunch] = p->binary[binary].first_symbol + i;
        if (plan_launch(&s, f, &out->launch[out->nlaunch]))
            return WSRT_EPLAN;
        out->nlaunch++;
    }
    return out->nlaunch ? WSRT_OK : WSRT_EPLAN;
}

/* ---- looking up --------------------------------------------------------- */

/* Binary i against a variant and a shape: < 0, 0, > 0. */
static int compare_binary(const struct wsrt_pack *p, uint32_t i,
                          uint32_t variant, const struct wsrt_f_plan *plan,
                          const int64_t *axes)
{
    const struct wsrt_f_binary *b = &p->binary[i];
    const int64_t *key = p->key + b->first_key;

    if (b->variant != variant)
        return b->variant < variant ? -1 : 1;
    for (uint32_t k = 0; k < plan->nbaked; k++) {
        int64_t v = axes[p->baked[plan->first_baked + k]];

        if (key[k] != v)
            return key[k] < v ? -1 : 1;
    }
    return 0;
}

uint32_t wsrt__find_binary(const struct wsrt_pack *p, uint32_t variant,
                           const int64_t *axes)
{
    uint32_t lo = 0, hi = p->count[WSRT_S_BINARIES];
    const struct wsrt_f_plan *plan;

    if (!hi)
        return WSRT_NONE;
    plan = &p->plan[p->variant[variant].kernel];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = compare_binary(p, mid, variant, plan, axes);

        if (!order)
            return mid;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return WSRT_NONE;
}

int wsrt__pick_check(const struct wsrt_pack *p, const struct wsrt_pick *pick,
                     const int64_t *axes)
{
    if (!p || !pick || !axes || pick->variant >= p->count[WSRT_S_VARIANTS])
        return WSRT_EARG;
    return wsrt__axes_check(p, axes);
}

uint32_t wsrt_tensor_count(const struct wsrt_pack *p)
{
    return p ? p->count[WSRT_S_TENSORS] : 0;
}

int wsrt_tensor(const struct wsrt_pack *p, uint32_t tensor,
                struct wsrt_tensor *out)
{
    const struct wsrt_f_tensor *t;

    if (!out || tensor >= wsrt_tensor_count(p))
        return WSRT_EARG;
    t = &p->tensor[tensor];
    *out = (struct wsrt_tensor){p->strings + t->name,
                                (enum wsrt_role)t->role,
                                t->dtype,
                                t->type_axis,
                                t->by_value,
                                t->align};
    return WSRT_OK;
}

int wsrt_tensor_find(const struct wsrt_pack *p, const char *name)
{
    for (uint32_t i = 0; name && i < wsrt_tensor_count(p); i++)
        if (!strcmp(p->strings + p->tensor[i].name, name))
            return (int)i;
    return WSRT_EARG;
}

uint32_t wsrt_image_count(const struct wsrt_pack *p)
{
    return p ? p->count[WSRT_S_IMAGES] : 0;
}

int wsrt_image(const struct wsrt_pack *p, uint32_t image,
               struct wsrt_image *out)
{
    const struct wsrt_f_image *m;

    if (!out || image >= wsrt_image_count(p))
        return WSRT_EARG;
    m = &p->image[image];
    *out = (struct wsrt_image){p->strings + m->family, p->strings + m->target,
                               p->image_bytes + m->at, (size_t)m->bytes};
    return WSRT_OK;
}

int wsrt_pick_image(const struct wsrt_pack *p, const struct wsrt_pick *pick,
                    const int64_t *axes, uint32_t *image)
{
    uint32_t binary;

    if (!image || wsrt__pick_check(p, pick, axes))
        return WSRT_EARG;
    binary = wsrt__find_binary(p, pick->variant, axes);
    if (binary == WSRT_NONE)
        return WSRT_ENOIMAGE;
    *image = p->binary[binary].image;
    return WSRT_OK;
}

int wsrt_scratch_bytes(const struct wsrt_pack *p, const struct wsrt_pick *pick,
                       const int64_t *axes, uint64_t *bytes)
{
    struct wsrt_plan plan;
    int rc;

    if (!bytes || wsrt__pick_check(p, pick, axes))
        return WSRT_EARG;
    rc = wsrt__plan(p, pick->variant, WSRT_NONE, axes, &plan, NULL);
    if (rc == WSRT_OK)
        *bytes = plan.scratch_bytes;
    return rc;
}
