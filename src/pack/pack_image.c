/*
 * pack_image.c: lays out the bytes of a pack, as runtime/wsrt_format.h says.
 *
 * Every section grows in a buffer of its own; at the end they are put one
 * behind the other and the header and the check sum are filled in. Appending
 * in the order of the format makes the slices canonical without an effort:
 * the index of a slice is the count of what was appended before it.
 *
 * Buffers remember their first failure, so a run of appends is checked once,
 * when the sections are joined.
 */
#include "pack/pack_build.h"

#include "base/banned.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "packs are little-endian; this writer does not swap bytes");

/* A section may have this size; offsets of names are 32 bits wide. */
#define MAX_SECTION ((size_t)1 << 30)

void ws__pack_add(struct ws__pack_sections *m, enum wsrt_section s,
                  const void *p, size_t n)
{
    ws__buf_add(&m->buf[s], p, n);
}

uint32_t ws__pack_name(struct ws__pack_sections *m, const char *s)
{
    uint32_t at = (uint32_t)m->buf[WSRT_S_STRINGS].len;

    ws__pack_add(m, WSRT_S_STRINGS, s, strlen(s) + 1);
    return at;
}

uint32_t ws__pack_program(struct ws__pack_sections *m, enum wsrt_section list,
                          enum wsrt_section code, const struct ws__expr *e)
{
    struct wsrt_f_guard g = {.at = (uint32_t)m->buf[code].len,
                             .bytes = (uint32_t)e->code_bytes};
    size_t index = m->buf[list].len / sizeof(g);

    ws__pack_add(m, code, e->code, e->code_bytes);
    ws__pack_add(m, list, &g, sizeof(g));
    return (uint32_t)index;
}

static void add_axis(struct ws__pack_sections *m, const struct ws__axis *a)
{
    static const uint32_t kind[] = {[WS__AXIS_VAR] = WSRT_AXIS_VAR,
                                    [WS__AXIS_CONST] = WSRT_AXIS_CONST,
                                    [WS__AXIS_TYPE] = WSRT_AXIS_TYPE};
    struct wsrt_f_axis f = {
        .dflt = a->kind == WS__AXIS_VAR ? 0 : a->value,
        .lo = a->lo,
        .hi = a->hi,
        .name = ws__pack_name(m, a->name),
        .kind = kind[a->kind],
        .first_type =
            (uint32_t)(m->buf[WSRT_S_TYPES].len / sizeof(struct wsrt_f_type)),
        .ntype = a->kind == WS__AXIS_TYPE ? (uint32_t)a->ntypes : 0};

    for (size_t i = 0; i < f.ntype; i++) {
        struct wsrt_f_type t = {.code = (int64_t)a->types[i],
                                .name = ws__pack_name(m, ws__dtype_name(
                                                             a->types[i]))};

        ws__pack_add(m, WSRT_S_TYPES, &t, sizeof(t));
    }
    ws__pack_add(m, WSRT_S_AXES, &f, sizeof(f));
}

_Static_assert((int)WS__COUNTS_NONZERO == WSRT_COUNTS_NONZERO &&
                   (int)WS__COUNTS_MAX == WSRT_COUNTS_MAX &&
                   (int)WS__COUNTS_BLOCKS == WSRT_COUNTS_BLOCKS,
               "kinds of counts are stored by number");

static void add_counts(struct ws__pack_sections *m, const struct ws__op *op)
{
    for (size_t i = 0; i < op->naxis; i++) {
        struct wsrt_f_counts f = {.axis = (uint32_t)i,
                                  .kind = op->axis[i].counts,
                                  .block = op->axis[i].counts_block};

        if (op->axis[i].counts != WS__COUNTS_NO)
            ws__pack_add(m, WSRT_S_COUNTS, &f, sizeof(f));
    }
}

static void add_device(struct ws__pack_sections *m)
{
    static const char *const text[] = {
#define WS_X(id, text) text,
        WS__DEVICE_VARS(WS_X)
#undef WS_X
    };

    for (size_t i = 0; i < WS__NDEVICE_VARS; i++) {
        struct wsrt_f_device d = {.value = m->plan->c->device[i].i,
                                  .name = ws__pack_name(m, text[i])};

        ws__pack_add(m, WSRT_S_DEVICE, &d, sizeof(d));
    }
}

static void add_kernel(struct ws__pack_sections *m, size_t index)
{
    const struct ws__pack_plan *plan = m->plan;
    const struct ws__kernel *k = &plan->c->kernel[index];
    size_t naxis = plan->c->op->naxis;
    struct wsrt_f_kernel f = {
        .name = ws__pack_name(m, k->name),
        .first_param =
            (uint32_t)(m->buf[WSRT_S_PARAMS].len / sizeof(struct wsrt_f_param)),
        .nparam = (uint32_t)k->nparam,
        .first_guard =
            (uint32_t)(m->buf[WSRT_S_GUARDS].len / sizeof(struct wsrt_f_guard)),
        .dflt = plan->dflt[index]};

    for (size_t i = 0; i < k->nparam; i++) {
        struct wsrt_f_param p = {.name = ws__pack_name(m, k->param[i].name)};

        ws__pack_add(m, WSRT_S_PARAMS, &p, sizeof(p));
    }
    for (size_t i = 0; i < k->nconstraint; i++) {
        if (!ws__pack_is_guard(&k->constraint[i]))
            continue;
        ws__pack_program(m, WSRT_S_GUARDS, WSRT_S_CODE, k->constraint[i].expr);
        f.nguard++;
    }
    ws__pack_add(m, WSRT_S_KERNELS, &f, sizeof(f));
    ws__pack_add(m, WSRT_S_RANGES, plan->range + index * naxis,
                 naxis * sizeof(*plan->range));
}

/* The value's text, once in the file however many variants have it: *at is
 * 0 until it is written (offset 0 is the empty string). */
static int value_text(struct ws__pack_sections *m, const struct ws__value *v,
                      uint32_t *at)
{
    struct ws__buf b;
    int rc = 0;

    if (*at)
        return 0;
    ws__buf_init(&b, m->ctx, MAX_SECTION);
    rc = ws__value_print(&b, v);
    if (rc >= 0)
        *at = ws__pack_name(m, b.data ? b.data : "");
    ws__buf_free(&b);
    return rc;
}

static int add_variant(struct ws__pack_sections *m,
                       const struct ws__candidate *v, uint32_t *text)
{
    const struct ws__kernel *k = &m->plan->c->kernel[v->kernel];
    struct wsrt_f_variant f = {.kernel = v->kernel,
                               .first_value =
                                   (uint32_t)(m->buf[WSRT_S_VALUES].len /
                                              sizeof(struct wsrt_f_value))};

    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__param *p = &k->param[i];
        size_t at = v->config.at[i];
        struct wsrt_f_value value = {.slot = p->slot[at].i};

        WS_TRY(value_text(m, &p->value[at], &text[at]));
        value.text = text[at];
        ws__pack_add(m, WSRT_S_VALUES, &value, sizeof(value));
        text += p->nvalue;
    }
    ws__pack_add(m, WSRT_S_VARIANTS, &f, sizeof(f));
    return 0;
}

/* A table of the texts of every value of every parameter, kernel by kernel. */
static int add_variants(struct ws__pack_sections *m)
{
    const struct ws__pack_plan *plan = m->plan;
    const struct ws__pack_content *c = plan->c;
    size_t *first = ws__alloc(m->ctx, c->nkernel, sizeof(*first)), n = 0;
    uint32_t *text = NULL;
    int rc = WS_ENOMEM;

    if (!first)
        goto done;
    for (size_t k = 0; k < c->nkernel; k++) {
        first[k] = n;
        for (size_t i = 0; i < c->kernel[k].nparam; i++)
            n += c->kernel[k].param[i].nvalue;
    }
    text = ws__alloc(m->ctx, n + 1, sizeof(*text));
    if (!text)
        goto done;
    for (size_t i = 0; i < plan->nvariant; i++)
        WS_TRY_DONE(add_variant(m, &plan->variant[i],
                                text + first[plan->variant[i].kernel]));
    rc = 0;
done:
    ws__free(m->ctx, first);
    ws__free(m->ctx, text);
    return rc;
}

/* The values of the variable axes; their high bits only if any has some. */
static void add_shapes(struct ws__pack_sections *m)
{
    const struct ws__pack_content *c = m->plan->c;
    const struct ws__op *op = c->op;
    uint64_t wide = 0;

    for (int high = 0; high < 2; high++)
        for (size_t i = 0; i < c->nentry; i++)
            for (size_t a = 0; a < op->naxis; a++) {
                uint64_t v =
                    (uint64_t)m->plan->item[i].entry->workload->axis[a];
                uint32_t half = (uint32_t)(high ? v >> 32 : v);

                if (op->axis[a].kind != WS__AXIS_VAR)
                    continue;
                if (!high || wide >> 32)
                    ws__pack_add(m, high ? WSRT_S_SHAPEHIGH : WSRT_S_SHAPES,
                                 &half, sizeof(half));
                wide |= v;
            }
}

static void add_group(struct ws__pack_sections *m,
                      const struct wsrt_f_group *group)
{
    const struct ws__op *op = m->plan->c->op;
    const struct ws__workload *w = m->plan->item[group->first].entry->workload;

    for (size_t a = 0; a < op->naxis; a++)
        if (op->axis[a].kind == WS__AXIS_TYPE)
            ws__pack_add(m, WSRT_S_GROUPTYPES, &w->axis[a], sizeof(w->axis[a]));
    ws__pack_add(m, WSRT_S_GROUPS, group, sizeof(*group));
}

static void add_entries(struct ws__pack_sections *m)
{
    const struct ws__pack_content *c = m->plan->c;
    const struct ws__pack_item *item = m->plan->item;
    struct wsrt_f_group group = {0, 0};

    for (size_t i = 0; i < c->nentry; i++) {
        const struct ws__workload *w = item[i].entry->workload;
        struct wsrt_f_row row = {.time_ns = (float)item[i].entry->time_ns,
                                 .default_ns = (float)item[i].entry->default_ns,
                                 .variant = item[i].variant};

        ws__pack_add(m, WSRT_S_ENTRIES, &row, sizeof(row));
        if (i && ws__op_compare_types(c->op, item[i - 1].entry->workload->axis,
                                      w->axis)) {
            add_group(m, &group);
            group = (struct wsrt_f_group){(uint32_t)i, 0};
        }
        group.n++;
    }
    if (group.n)
        add_group(m, &group);
    add_shapes(m);
}

static int add_texts(struct ws__pack_sections *m)
{
    const char *const *list = m->plan->c->text;

    for (size_t i = 0; list && list[i]; i += 2) {
        struct wsrt_f_text t = {.name = ws__pack_name(m, list[i]),
                                .at = m->buf[WSRT_S_TEXT].len,
                                .bytes = strlen(list[i + 1])};

        for (size_t k = 0; k < i; k += 2)
            if (!strcmp(list[k], list[i]))
                return ws__fail(m->ctx, WS_EINVAL,
                                "text section '%s' is given twice", list[i]);
        ws__pack_add(m, WSRT_S_TEXT, list[i + 1], t.bytes + 1);
        ws__pack_add(m, WSRT_S_TEXTS, &t, sizeof(t));
    }
    for (size_t i = 0; i < m->plan->c->nblob; i++) {
        const struct ws__pack_blob *b = &m->plan->c->blob[i];
        struct wsrt_f_text t = {.name = ws__pack_name(m, b->name),
                                .at = m->buf[WSRT_S_TEXT].len,
                                .bytes = b->bytes};

        ws__pack_add(m, WSRT_S_TEXT, b->data, b->bytes);
        ws__pack_add(m, WSRT_S_TEXT, "", 1);
        ws__pack_add(m, WSRT_S_TEXTS, &t, sizeof(t));
    }
    return 0;
}

static int add_sections(struct ws__pack_sections *m)
{
    const struct ws__pack_content *c = m->plan->c;

    ws__pack_name(m, "");
    for (size_t i = 0; i < c->op->naxis; i++)
        add_axis(m, &c->op->axis[i]);
    add_counts(m, c->op);
    add_device(m);
    for (size_t i = 0; i < c->op->nrequire; i++)
        ws__pack_program(m, WSRT_S_REQUIRES, WSRT_S_CODE, c->op->require[i]);
    for (size_t i = 0; i < c->nkernel; i++)
        add_kernel(m, i);
    WS_TRY(add_variants(m));
    add_entries(m);
    WS_TRY(add_texts(m));
    WS_TRY(ws__pack_add_launching(m));
    WS_TRY(ws__pack_add_models(m));
    for (size_t i = 0; i < WSRT_NSECTIONS; i++) {
        if (m->buf[i].failed == WS_ELIMIT)
            return ws__fail(m->ctx, WS_ELIMIT,
                            "a section of the pack would be over 1 GiB");
        WS_TRY(m->buf[i].failed);
    }
    return 0;
}

static size_t padded(size_t n)
{
    return (n + WSRT_ALIGN - 1) / WSRT_ALIGN * WSRT_ALIGN;
}

static int join(struct ws__pack_sections *m, void **image, size_t *bytes)
{
    static const uint32_t element_bytes[] = {
#define WSRT_X(name, type) sizeof(type),
        WSRT_SECTION_MAP(WSRT_X)
#undef WSRT_X
    };
    struct wsrt_f_header *h;
    size_t at = sizeof(*h) + WSRT_NSECTIONS * sizeof(h->section[0]);
    size_t total = at;

    for (size_t i = 0; i < WSRT_NSECTIONS; i++)
        total += padded(m->buf[i].len);
    h = ws__alloc(m->ctx, 1, total);
    if (!h)
        return WS_ENOMEM;
    memcpy(h->magic, WSRT_MAGIC, WSRT_MAGIC_BYTES);
    h->major = WSRT_MAJOR;
    h->minor = WSRT_MINOR;
    h->nsection = WSRT_NSECTIONS;
    h->byte_order = WSRT_BYTE_ORDER;
    h->bytes = total;
    for (size_t i = 0; i < WSRT_NSECTIONS; i++) {
        const struct ws__buf *b = &m->buf[i];

        h->section[i] = (struct wsrt_f_span){.at = at,
                                             .count = b->len / element_bytes[i],
                                             .element_bytes = element_bytes[i]};
        if (b->len)
            memcpy((char *)h + at, b->data, b->len);
        at += padded(b->len);
    }
    h->check_sum = wsrt__file_sum(h, total);
    *image = h;
    *bytes = total;
    return 0;
}

int ws__pack_layout(struct ws_ctx *ctx, const struct ws__pack_plan *plan,
                    void **image, size_t *bytes)
{
    struct ws__pack_sections m = {.ctx = ctx, .plan = plan};
    int rc;

    for (size_t i = 0; i < WSRT_NSECTIONS; i++)
        ws__buf_init(&m.buf[i], ctx, MAX_SECTION);
    rc = add_sections(&m);
    if (rc >= 0)
        rc = join(&m, image, bytes);
    for (size_t i = 0; i < WSRT_NSECTIONS; i++)
        ws__buf_free(&m.buf[i]);
    return rc;
}
