/*
 * pack_model.c: lays out models: laws, candidates, coordinates, trees.
 *
 * A coordinate is an expression over axes, parameters and device variables. In
 * a pack the parameters of a candidate and the device are known, so it is
 * compiled once more with these as constants: what is left reads axes alone,
 * is short, and is the same bytes for all candidates that share what it reads.
 * So equal bytes are kept once, and a look-up evaluates each once. Products
 * are taken apart, since their factors are shared by still more.
 */
#include "pack/pack_build.h"

#include "base/banned.h"

/* Sizes where nothing says how large an axis may get. */
#define FAR_AWAY (INT64_C(1) << 20)

static const char *const device_name[] = {
#define WS_X(id, text) text,
    WS__DEVICE_VARS(WS_X)
#undef WS_X
};

static bool is_default(const struct ws__pack_content *c,
                       const struct ws__candidate *v)
{
    struct ws__config dflt;

    ws__config_default(&c->kernel[v->kernel], &dflt);
    return ws__config_eq(&dflt, &v->config);
}

/* All candidates: defaults in the order of their kernels, then the others. */
static int start(struct ws_ctx *ctx, struct ws__arena *a,
                 const struct ws__pack_content *c,
                 const struct ws__pack_model *m, struct ws__pack_choice *out)
{
    out->keep = ws__arena_alloc(a, m->nform + 1, sizeof(*out->keep));
    out->place = ws__arena_alloc(a, m->nform + 1, sizeof(*out->place));
    out->span = ws__arena_alloc(a, c->op->naxis + 1, sizeof(*out->span));
    if (!out->keep || !out->place || !out->span)
        return WS_ENOMEM;
    for (uint32_t i = 0; i < m->nform; i++)
        if (m->form[i].candidate.kernel >= c->nkernel)
            return ws__fail(ctx, WS_EINVAL, "a config without a kernel");
    for (uint32_t k = 0; k < c->nkernel; k++)
        for (uint32_t i = 0; i < m->nform; i++)
            if (m->form[i].candidate.kernel == k &&
                is_default(c, &m->form[i].candidate))
                out->keep[out->nkeep++] = i;
    out->ndflt = out->nkeep;
    for (uint32_t i = 0; i < m->nform; i++)
        if (!is_default(c, &m->form[i].candidate))
            out->keep[out->nkeep++] = i;
    for (uint32_t i = 0; i < out->nkeep; i++)
        out->place[i] = i;
    return 0;
}

int ws__pack_choice_start(struct ws_ctx *ctx, struct ws__arena *a,
                          const struct ws__pack_content *c,
                          struct ws__pack_choice **out)
{
    if (c->nmodel > WSRT_MAX_MODELS)
        return ws__fail(ctx, WS_ELIMIT,
                        "%zu models are too many for a pack, which holds %d",
                        c->nmodel, WSRT_MAX_MODELS);
    *out = ws__arena_alloc(a, c->nmodel + 1, sizeof(**out));
    if (!*out)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->nmodel; i++) {
        for (size_t k = 0; k < i; k++)
            if (!ws__op_compare_types(c->op, c->model[i].type,
                                      c->model[k].type))
                return ws__fail(ctx, WS_EINVAL,
                                "two models are of the same types");
        WS_TRY(start(ctx, a, c, &c->model[i], &(*out)[i]));
    }
    return 0;
}

uint32_t ws__pack_model_index(const struct ws__pack_content *c, size_t model)
{
    uint32_t before = 0;

    for (size_t i = 0; i < c->nmodel; i++)
        before += ws__op_compare_types(c->op, c->model[i].type,
                                       c->model[model].type) < 0;
    return before;
}

/* What was asked for, else what the kernels of the candidates are made for. */
static void span_of(const struct ws__pack_plan *plan,
                    const struct ws__pack_model *m, size_t axis,
                    struct wsrt_f_range *out)
{
    size_t naxis = plan->c->op->naxis;

    *out = (struct wsrt_f_range){INT64_MAX, 1};
    for (size_t i = 0; i < m->nform && !m->hi[axis]; i++) {
        const struct wsrt_f_range *r =
            &plan->range[m->form[i].candidate.kernel * naxis + axis];

        out->lo = r->lo < out->lo ? r->lo : out->lo;
        out->hi = r->hi > out->hi ? r->hi : out->hi;
    }
    if (m->hi[axis])
        *out = (struct wsrt_f_range){m->lo[axis], m->hi[axis]};
    else if (out->hi == INT64_MAX)
        out->hi = FAR_AWAY;
    out->lo = out->lo < 1 ? 1 : out->lo;
    out->hi = out->hi > UINT32_MAX ? UINT32_MAX : out->hi;
    out->hi = out->hi < out->lo ? out->lo : out->hi;
}

void ws__pack_spans(const struct ws__pack_plan *plan,
                    struct ws__pack_choice *choice)
{
    const struct ws__op *op = plan->c->op;

    for (size_t i = 0; i < plan->c->nmodel; i++)
        for (size_t a = 0, k = 0; a < op->naxis; a++)
            if (op->axis[a].kind == WS__AXIS_VAR)
                span_of(plan, &plan->c->model[i], a, &choice[i].span[k++]);
}

/* The scope of a candidate: axes are slots, all else is known. */
struct known {
    struct ws__scope scope;
    struct ws__constant
        constant[WS__MAX_PARAMS + WS__NDEVICE_VARS + 1 + WS__MAX_CONSTANTS];
};

static struct ws__value value_of(enum ws__type type, union wsrt_value v)
{
    struct ws__value r = {.type = type, .u.i = v.i};

    if (type == WS__FLOAT)
        r.u.f = v.f;
    return r;
}

static int know(struct ws_ctx *ctx, const struct ws__pack_content *c,
                const struct ws__pack_form *form, struct known *out)
{
    const struct ws__candidate *v = &form->candidate;
    const struct ws__kernel *k = &c->kernel[v->kernel];
    size_t n = 0;

    memset(out, 0, sizeof(*out));
    out->scope.strings = k->scope.strings;
    out->scope.word = k->scope.word;
    out->scope.nword = k->scope.nword;
    for (size_t i = 0; i < c->op->naxis; i++)
        WS_TRY(ws__scope_add(ctx, &out->scope, k->scope.names[i].name,
                             k->scope.names[i].type, NULL));
    for (size_t i = 0; i < k->nparam; i++)
        out->constant[n++] = (struct ws__constant){
            .name = k->param[i].name,
            .value =
                value_of(k->param[i].type, k->param[i].slot[v->config.at[i]])};
    for (size_t i = 0; i < WS__NDEVICE_VARS; i++)
        out->constant[n++] =
            (struct ws__constant){.name = device_name[i],
                                  .value = value_of(WS__INT, c->device[i])};
    out->constant[n++] =
        (struct ws__constant){.name = "resident_blocks",
                              .value = {WS__INT, {form->resident_blocks}}};
    for (size_t i = 0; i < k->scope.nconstant && n < WS_COUNT(out->constant);
         i++)
        out->constant[n++] = k->scope.constant[i];
    out->scope.constant = out->constant;
    out->scope.nconstant = n;
    return 0;
}

static bool reads_axes(const struct ws__expr *e)
{
    for (size_t i = 0; i < WS_COUNT(e->uses); i++)
        if (e->uses[i])
            return true;
    return false;
}

static uint32_t number_of(const struct ws__pack_sections *m,
                          enum wsrt_section s, size_t element)
{
    return (uint32_t)(m->buf[s].len / element);
}

/* The coordinate's number in the model that begins at `first`; new or not.
 * `new` has all but its place in COORDCODE. */
static int add_coord(struct ws__pack_sections *m, uint32_t first,
                     struct wsrt_f_coord new, const void *code, uint32_t *index)
{
    uint32_t n = number_of(m, WSRT_S_COORDS, sizeof(new));
    const struct ws__buf *list = &m->buf[WSRT_S_COORDS];
    const struct ws__buf *text = &m->buf[WSRT_S_COORDCODE];
    uint32_t i = first;

    new.at = (uint32_t)text->len;
    for (; i < n; i++) {
        struct wsrt_f_coord old;

        memcpy(&old, list->data + i * sizeof(old), sizeof(old));
        if (old.value == new.value &&
            old.bytes == new.bytes &&old.axis == new.axis &&
            !memcmp(old.factor, new.factor, sizeof(new.factor)) &&
            (!new.bytes || !memcmp(text->data + old.at, code, new.bytes)))
            break;
    }
    *index = i - first;
    if (i < n)
        return 0;
    if (*index >= WSRT_MAX_COORDS)
        return ws__fail(m->ctx, WS_ELIMIT,
                        "the candidates of a model have more than %d "
                        "different coordinates",
                        WSRT_MAX_COORDS);
    ws__pack_add(m, WSRT_S_COORDS, &new, sizeof(new));
    ws__pack_add(m, WSRT_S_COORDCODE, code, new.bytes);
    WS_TRY(m->buf[WSRT_S_COORDS].failed);
    return m->buf[WSRT_S_COORDCODE].failed;
}

/* Without a program, an axis, factors. */
static struct wsrt_f_coord plain(int64_t value)
{
    struct wsrt_f_coord c = {.value = value, .axis = WSRT_NO_FACTOR};

    memset(c.factor, 0xff, sizeof(c.factor));
    return c;
}

static int add_number(struct ws__pack_sections *m, uint32_t first,
                      int64_t value, uint32_t *index)
{
    return add_coord(m, first, plain(value), NULL, index);
}

static int add_product(struct ws__pack_sections *m, uint32_t first,
                       const struct ws__pack_product *product, uint32_t *index)
{
    struct wsrt_f_coord c = plain(product->value);

    for (size_t i = 0; i < product->n; i++) {
        struct wsrt_f_coord f = plain(product->factor[i].divisor);
        uint32_t at;

        f.axis = product->factor[i].axis;
        WS_TRY(add_coord(m, first, f, NULL, &at));
        c.factor[i] = (uint16_t)at;
        *index = at;
    }
    /* One factor alone is what it is. */
    return product->n == 1 && product->value == 1
               ? 0
               : add_coord(m, first, c, NULL, index);
}

static int add_program(struct ws__pack_sections *m, uint32_t first,
                       const struct ws__expr *e, uint32_t *index)
{
    struct ws__pack_product product;
    struct wsrt_f_coord c = plain(0);

    if (ws__pack_product(m->plan->c->op, e->code, &product))
        return add_product(m, first, &product, index);
    c.bytes = (uint16_t)e->code_bytes;
    if (c.bytes != e->code_bytes)
        return ws__fail_at(m->ctx, WS_ELIMIT, &e->loc,
                           "coordinate '%s' is too long", e->text);
    return add_coord(m, first, c, e->code, index);
}

static int coordinate(struct ws__pack_sections *m, struct ws__arena *a,
                      const struct known *known, const struct ws__expr *e,
                      uint32_t first, uint32_t *index)
{
    union wsrt_value none[WS__MAX_SLOTS] = {{0}};
    struct ws__expr *own;

    WS_TRY(ws__expr_compile(m->ctx, a, e->text, &e->loc, &known->scope, WS__INT,
                            &own));
    if (!own->integer_only) {
        ws__fail_at(m->ctx, WS_ESPEC, &e->loc,
                    "coordinate '%s' uses floats: no pack can hold it",
                    e->text);
        return ws__hint(m->ctx, "write it with whole numbers: // instead of /");
    }
    if (reads_axes(own))
        return add_program(m, first, own, index);
    return add_number(m, first,
                      wsrt__coord_value(own->code, own->code_bytes, none),
                      index);
}

static int add_form(struct ws__pack_sections *m, size_t model, size_t place,
                    uint32_t law, uint32_t first_coord)
{
    const struct ws__pack_model *from = &m->plan->c->model[model];
    const struct ws__pack_form *form =
        &from->form[m->plan->choice[model].keep[place]];
    struct wsrt_f_form f = {.variant = m->plan->form_variant[model][place],
                            .law = law,
                            .margin = form->margin,
                            .form = form->form};
    struct known known;
    struct ws__arena a;
    int rc;

    ws__arena_init(&a, m->ctx);
    WS_TRY_DONE(know(m->ctx, m->plan->c, form, &known));
    for (size_t i = 0; i < WSRT_NWAVE; i++) {
        const struct ws__expr *e = from->coord[form->candidate.kernel][i];
        uint32_t at = 0;

        if (e)
            WS_TRY_DONE(coordinate(m, &a, &known, e, first_coord, &at));
        else
            WS_TRY_DONE(add_number(m, first_coord, 0, &at));
        f.coord[i] = (uint16_t)at;
    }
    ws__pack_add(m, WSRT_S_FORMS, &f, sizeof(f));
    rc = 0;
done:
    ws__arena_free(&a);
    return rc;
}

/* A law for each kernel that has a candidate, in the order of kernels. */
static void add_laws(struct ws__pack_sections *m, size_t model, uint32_t *law)
{
    const struct ws__pack_model *from = &m->plan->c->model[model];
    const struct ws__pack_choice *choice = &m->plan->choice[model];
    uint32_t n = 0;

    for (uint32_t k = 0; k < m->plan->c->nkernel; k++) {
        struct wsrt_f_law f = {.law = from->law[k]};

        for (size_t i = 0; i < choice->nkeep; i++) {
            if (from->form[choice->keep[i]].candidate.kernel != k)
                continue;
            ws__pack_add(m, WSRT_S_LAWS, &f, sizeof(f));
            law[k] = n++;
            break;
        }
    }
}

/* The default of a kernel with candidates is one of them if it may run. */
static int check_defaults(const struct ws__pack_sections *m, size_t model)
{
    const struct ws__pack_plan *plan = m->plan;
    const struct ws__pack_choice *choice = &plan->choice[model];

    for (size_t i = 0; i < choice->nkeep; i++) {
        uint32_t k =
            plan->c->model[model].form[choice->keep[i]].candidate.kernel;
        size_t at = 0;

        while (at < choice->ndflt &&
               plan->form_variant[model][at] != plan->dflt[k])
            at++;
        if (at == choice->ndflt && plan->dflt[k] != WSRT_NONE)
            return ws__fail(m->ctx, WS_EINVAL,
                            "a model lacks the default of kernel '%s'",
                            plan->c->kernel[k].name);
    }
    return 0;
}

static void add_nodes(struct ws__pack_sections *m,
                      const struct ws__pack_choice *choice, uint32_t first_form)
{
    for (size_t i = 0; i < choice->nnode; i++) {
        struct wsrt_f_node n = choice->node[i];
        struct wsrt_f_form f;

        if (n.axis >= WSRT_MAX_AXES && n.axis != WSRT_LEAF &&
            !m->buf[WSRT_S_FORMS].failed) {
            memcpy(&f,
                   m->buf[WSRT_S_FORMS].data +
                       (first_form + n.axis - WSRT_MAX_AXES) * sizeof(f),
                   sizeof(f));
            n.axis = (uint16_t)(WSRT_MAX_AXES + f.coord[WSRT_W_GRID]);
        }
        ws__pack_add(m, WSRT_S_NODES, &n, sizeof(n));
    }
}

static int add_model(struct ws__pack_sections *m, size_t model, uint32_t *law)
{
    const struct ws__pack_model *from = &m->plan->c->model[model];
    const struct ws__pack_choice *choice = &m->plan->choice[model];
    const struct ws__op *op = m->plan->c->op;
    struct wsrt_f_model f = {
        .first_law = number_of(m, WSRT_S_LAWS, sizeof(struct wsrt_f_law)),
        .first_form = number_of(m, WSRT_S_FORMS, sizeof(struct wsrt_f_form)),
        .nform = (uint32_t)choice->nkeep,
        .ndflt = (uint32_t)choice->ndflt,
        .first_coord = number_of(m, WSRT_S_COORDS, sizeof(struct wsrt_f_coord)),
        .first_node = number_of(m, WSRT_S_NODES, sizeof(struct wsrt_f_node)),
        .nnode = (uint32_t)choice->nnode,
        .first_list = number_of(m, WSRT_S_LISTS, sizeof(uint16_t)),
        .nlist = (uint32_t)choice->nlist,
        .considered = (uint32_t)from->nform};
    size_t nvar = 0;

    WS_TRY(check_defaults(m, model));
    for (size_t a = 0; a < op->naxis; a++) {
        nvar += op->axis[a].kind == WS__AXIS_VAR;
        if (op->axis[a].kind == WS__AXIS_TYPE)
            ws__pack_add(m, WSRT_S_MODELTYPES, &from->type[a],
                         sizeof(from->type[a]));
    }
    ws__pack_add(m, WSRT_S_SPANS, choice->span, nvar * sizeof(*choice->span));
    add_laws(m, model, law);
    for (size_t i = 0; i < choice->nkeep; i++) {
        uint32_t k = from->form[choice->keep[i]].candidate.kernel;

        WS_TRY(add_form(m, model, i, law[k], f.first_coord));
    }
    add_nodes(m, choice, f.first_form);
    ws__pack_add(m, WSRT_S_LISTS, choice->list,
                 choice->nlist * sizeof(*choice->list));
    f.nlaw = number_of(m, WSRT_S_LAWS, sizeof(struct wsrt_f_law)) - f.first_law;
    f.ncoord = number_of(m, WSRT_S_COORDS, sizeof(struct wsrt_f_coord)) -
               f.first_coord;
    ws__pack_add(m, WSRT_S_MODELS, &f, sizeof(f));
    return 0;
}

int ws__pack_add_models(struct ws__pack_sections *m)
{
    const struct ws__pack_content *c = m->plan->c;
    uint32_t *law = ws__alloc(m->ctx, c->nkernel, sizeof(*law));
    int rc = law ? 0 : WS_ENOMEM;

    for (uint32_t at = 0; at < c->nmodel && rc >= 0; at++)
        for (size_t i = 0; i < c->nmodel && rc >= 0; i++)
            if (ws__pack_model_index(c, i) == at)
                rc = add_model(m, i, law);
    ws__free(m->ctx, law);
    return rc;
}
