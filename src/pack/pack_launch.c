/*
 * pack_launch.c: the sections that a launch needs: tensors, launch plans,
 * binaries.
 *
 * A plan goes in as it was compiled: the runtime evaluates the same bytecode
 * that the tuner evaluated. A kernel whose plan no runtime could use (an
 * argument of a whole-number type that is computed as a float) has no launches
 * here; the tuner could not run it either.
 *
 * Programs are appended where the format counts them; see wsrt_f_plan.
 */
#include "pack/pack_build.h"

#include "base/banned.h"

_Static_assert(WS__MAX_LAUNCHES <= WSRT_MAX_LAUNCHES &&
                   WS__MAX_ARGS <= WSRT_MAX_ARGS &&
                   WS__MAX_SCRATCH <= WSRT_MAX_SCRATCH &&
                   WS__MAX_TENSORS <= WSRT_MAX_TENSORS &&
                   WS__MAX_SLOTS <= WSRT_MAX_SLOTS,
               "what a specification may have, a pack can hold");

static uint32_t number_of(const struct ws__pack_sections *m,
                          enum wsrt_section s, size_t element)
{
    return (uint32_t)(m->buf[s].len / element);
}

/* NULL: there is none. */
static uint32_t program(struct ws__pack_sections *m, const struct ws__expr *e)
{
    return e ? ws__pack_program(m, WSRT_S_PROGRAMS, WSRT_S_PROGRAMCODE, e)
             : WSRT_NONE;
}

/* What the op asks for, and an element's own size in any case: of the smallest
 * of its types, where the shape says which. */
static uint32_t align_of(const struct ws__op *op, const struct ws__tensor *t)
{
    size_t least = t->dtype ? ws__dtype_bytes(t->dtype) : SIZE_MAX;

    if (!t->dtype)
        for (size_t i = 0; i < op->axis[t->type_axis].ntypes; i++) {
            size_t n = ws__dtype_bytes(op->axis[t->type_axis].types[i]);

            least = n < least ? n : least;
        }
    return t->align > least ? (uint32_t)t->align : (uint32_t)least;
}

static void add_tensor(struct ws__pack_sections *m, const struct ws__op *op,
                       const struct ws__tensor *t)
{
    static const uint32_t role[] = {[WS__INPUT] = WSRT_R_INPUT,
                                    [WS__OUTPUT] = WSRT_R_OUTPUT,
                                    [WS__INOUT] = WSRT_R_INOUT};
    struct wsrt_f_tensor f = {.name = ws__pack_name(m, t->name),
                              .role = role[t->role],
                              .dtype = (uint32_t)t->dtype,
                              .type_axis =
                                  t->dtype ? WSRT_NONE : (uint32_t)t->type_axis,
                              .by_value = !t->ndim && t->role == WS__INPUT,
                              .align = align_of(op, t)};

    ws__pack_add(m, WSRT_S_TENSORS, &f, sizeof(f));
}

static bool launchable(const struct ws__kernel *k)
{
    /* Threads, shared memory and the image are the file's, one a launch. */
    if (k->dialect == WS__DIALECT_TRITON)
        return false;
    for (size_t i = 0; i < k->nlaunch; i++)
        for (size_t a = 0; a < k->launch[i].narg; a++) {
            const struct ws__arg *arg = &k->launch[i].arg[a];

            if (arg->kind == WS__ARG_VALUE && arg->expr->type == WS__FLOAT &&
                !ws__dtype_is_float(arg->dtype))
                return false;
        }
    return k->nlaunch > 0;
}

static void add_arg(struct ws__pack_sections *m, const struct ws__arg *a)
{
    struct wsrt_f_arg f = {.program = WSRT_NONE};

    switch (a->kind) {
    case WS__ARG_TENSOR:
        f.kind = WSRT_ARG_TENSOR;
        f.index = (uint32_t)a->index;
        break;
    case WS__ARG_SCRATCH:
        f.kind = WSRT_ARG_SCRATCH;
        f.index = (uint32_t)a->index;
        break;
    case WS__ARG_VALUE:
        f.kind = a->expr->type == WS__FLOAT ? WSRT_ARG_FLOAT : WSRT_ARG_INT;
        f.dtype = (uint32_t)a->dtype;
        f.program = program(m, a->expr);
        break;
    case WS__ARG_SHARED:
        f.kind = WSRT_ARG_SHARED;
        f.program = program(m, a->expr);
        break;
    }
    ws__pack_add(m, WSRT_S_ARGS, &f, sizeof(f));
}

static void add_launch(struct ws__pack_sections *m, const struct ws__launch *l)
{
    struct wsrt_f_launch f = {.entry = ws__pack_name(m, l->entry),
                              .when = program(m, l->when),
                              .first_arg = number_of(m, WSRT_S_ARGS,
                                                     sizeof(struct wsrt_f_arg)),
                              .narg = (uint32_t)l->narg};

    for (int i = 0; i < 3; i++)
        f.grid[i] = program(m, l->grid[i]);
    for (int i = 0; i < 3; i++)
        f.block[i] = program(m, l->block[i]);
    for (size_t i = 0; i < l->narg; i++)
        add_arg(m, &l->arg[i]);
    ws__pack_add(m, WSRT_S_LAUNCHES, &f, sizeof(f));
}

static void add_plan(struct ws__pack_sections *m, const struct ws__kernel *k)
{
    const struct ws__op *op = m->plan->c->op;
    struct wsrt_f_plan f = {
        .first_scratch =
            number_of(m, WSRT_S_SCRATCH, sizeof(struct wsrt_f_scratch)),
        .first_launch =
            number_of(m, WSRT_S_LAUNCHES, sizeof(struct wsrt_f_launch)),
        .first_baked = number_of(m, WSRT_S_BAKED, sizeof(uint32_t))};

    for (uint32_t a = 0; a < op->naxis; a++)
        if (ws__pack_is_key(op, k, a)) {
            ws__pack_add(m, WSRT_S_BAKED, &a, sizeof(a));
            f.nbaked++;
        }
    if (launchable(k)) {
        f.nscratch = (uint32_t)k->nscratch;
        f.nlaunch = (uint32_t)k->nlaunch;
    }
    for (size_t i = 0; i < f.nscratch; i++) {
        struct wsrt_f_scratch s = {.name = ws__pack_name(m, k->scratch[i].name),
                                   .bytes = program(m, k->scratch[i].bytes),
                                   .when = program(m, k->scratch[i].when),
                                   .zero = k->scratch[i].zero};

        ws__pack_add(m, WSRT_S_SCRATCH, &s, sizeof(s));
    }
    for (size_t i = 0; i < f.nlaunch; i++)
        add_launch(m, &k->launch[i]);
    ws__pack_add(m, WSRT_S_PLANS, &f, sizeof(f));
}

/* Of n images the one with these bytes, or n. */
static uint32_t find_image(const struct ws__pack_code *code,
                           const struct ws__pack_binary *const *first,
                           uint32_t n)
{
    const struct ws__pack_binary *b = code->binary;

    for (uint32_t i = 0; i < n; i++)
        if (first[i]->bytes == b->bytes &&
            !strcmp(first[i]->family, b->family) &&
            !strcmp(first[i]->target, b->target) &&
            !memcmp(first[i]->image, b->image, b->bytes))
            return i;
    return n;
}

static void add_image(struct ws__pack_sections *m,
                      const struct ws__pack_binary *b)
{
    static const char zero[WSRT_ALIGN];
    struct wsrt_f_image f = {.at = m->buf[WSRT_S_IMAGE].len,
                             .bytes = b->bytes,
                             .family = ws__pack_name(m, b->family),
                             .target = ws__pack_name(m, b->target)};

    ws__pack_add(m, WSRT_S_IMAGES, &f, sizeof(f));
    ws__pack_add(m, WSRT_S_IMAGE, b->image, b->bytes);
    ws__pack_add(m, WSRT_S_IMAGE, zero, WSRT_ALIGN - b->bytes % WSRT_ALIGN);
}

static void add_binary(struct ws__pack_sections *m,
                       const struct ws__pack_code *code, uint32_t image)
{
    const struct ws__kernel *k =
        &m->plan->c->kernel[code->binary->candidate.kernel];
    struct wsrt_f_binary f = {.variant = code->variant,
                              .image = image,
                              .first_key =
                                  number_of(m, WSRT_S_KEYS, sizeof(int64_t)),
                              .first_symbol = number_of(m, WSRT_S_SYMBOLS,
                                                        sizeof(uint32_t))};

    ws__pack_add(m, WSRT_S_KEYS, code->key, code->nkey * sizeof(code->key[0]));
    for (size_t i = 0; launchable(k) && i < k->nlaunch; i++) {
        const char *s = code->binary->symbol[i];
        uint32_t at = s ? ws__pack_name(m, s) : WSRT_NONE;

        ws__pack_add(m, WSRT_S_SYMBOLS, &at, sizeof(at));
    }
    ws__pack_add(m, WSRT_S_BINARIES, &f, sizeof(f));
}

int ws__pack_add_launching(struct ws__pack_sections *m)
{
    const struct ws__pack_plan *plan = m->plan;
    const struct ws__pack_content *c = plan->c;
    const struct ws__pack_binary **first =
        ws__alloc(m->ctx, plan->ncode + 1, sizeof(void *));
    uint32_t nimage = 0;

    if (!first)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->op->ntensor; i++)
        add_tensor(m, c->op, &c->op->tensor[i]);
    for (size_t i = 0; i < c->nkernel; i++)
        add_plan(m, &c->kernel[i]);
    for (size_t i = 0; i < plan->ncode; i++) {
        uint32_t image = find_image(&plan->code[i], first, nimage);

        if (image == nimage) {
            add_image(m, plan->code[i].binary);
            first[nimage++] = plan->code[i].binary;
        }
        add_binary(m, &plan->code[i], image);
    }
    ws__free(m->ctx, first);
    return 0;
}
