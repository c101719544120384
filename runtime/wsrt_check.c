/*
 * wsrt_check.c: is this a pack? Everything is looked at once, so that no
 * later call has to doubt an index, an offset or a program.
 *
 * The order matters: first what a foreign or newer file would fail with its
 * own words, then the check sum (damage), then the structure (a writer's
 * fault, or malice). Nothing is read before its bounds are known. A text of a
 * failure names the section and the element.
 *
 * The layout is canonical (see wsrt_format.h), which turns every question
 * about a slice into "does it begin where the last one ended": linear time,
 * whatever the bytes say.
 */
#include "wsrt_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int wsrt__refuse(const struct wsrt__checker *c, int status, const char *fmt,
                 ...)
{
    va_list ap;

    if (c->reason && c->reason_bytes) {
        va_start(ap, fmt);
        vsnprintf(c->reason, c->reason_bytes, fmt, ap);
        va_end(ap);
    }
    return status;
}

static const char section_name[WSRT_NSECTIONS][16] = {
#define WSRT_X(name, type) #name,
    WSRT_SECTION_MAP(WSRT_X)
#undef WSRT_X
};

static const uint32_t element_bytes[WSRT_NSECTIONS] = {
#define WSRT_X(name, type) sizeof(type),
    WSRT_SECTION_MAP(WSRT_X)
#undef WSRT_X
};

/* The most elements that are accepted; 0: no limit of its own. */
static const uint32_t count_max[WSRT_NSECTIONS] = {
    [WSRT_S_AXES] = WSRT_MAX_AXES,       [WSRT_S_DEVICE] = WSRT_MAX_SLOTS,
    [WSRT_S_KERNELS] = WSRT_MAX_KERNELS, [WSRT_S_VARIANTS] = WSRT_MAX_VARIANTS,
    [WSRT_S_ENTRIES] = WSRT_MAX_ENTRIES, [WSRT_S_TENSORS] = WSRT_MAX_TENSORS,
    [WSRT_S_COUNTS] = WSRT_MAX_AXES,     [WSRT_S_MODELS] = WSRT_MAX_MODELS,
};

/* What major version 1 lays out otherwise. */
static uint32_t bytes_of(const struct wsrt_pack *p, uint32_t section)
{
    if (p->major == WSRT_MAJOR_1 && section == WSRT_S_ENTRIES)
        return sizeof(struct wsrt_f_entry);
    if (p->major == WSRT_MAJOR_1 && section == WSRT_S_SHAPES)
        return sizeof(int64_t);
    return element_bytes[section];
}

/* The sections that a reader of this version knows; the last minor version of
 * its major one. */
static uint32_t known_sections(const struct wsrt_f_header *h, uint32_t *minor)
{
    *minor = h->major == WSRT_MAJOR_1 ? WSRT_MINOR_1 : WSRT_MINOR;
    if (h->major == WSRT_MAJOR_1)
        return h->minor ? WSRT_NSECTIONS_1 : WSRT_NSECTIONS_0;
    return WSRT_NSECTIONS;
}

int wsrt__damaged(const struct wsrt__checker *c, enum wsrt_section s, size_t i,
                  const char *what)
{
    return wsrt__refuse(c, WSRT_EDAMAGED, "section %s, element %zu: %s",
                        section_name[s], i, what);
}

static int check_head(const struct wsrt__checker *c)
{
    const struct wsrt_f_header *h = (const void *)c->p->base;
    size_t bytes = c->p->bytes;

    if (bytes < WSRT_MAGIC_BYTES ||
        memcmp(h->magic, WSRT_MAGIC, WSRT_MAGIC_STEM))
        return wsrt__refuse(c, WSRT_EFORMAT, "not a pack: it begins otherwise");
    if (memcmp(h->magic, WSRT_MAGIC, WSRT_MAGIC_BYTES))
        return wsrt__refuse(
            c, WSRT_EDAMAGED,
            "line ends were changed: the file was moved as text");
    if (bytes < sizeof(*h))
        return wsrt__refuse(c, WSRT_EDAMAGED, "cut off inside the header");
    if (h->byte_order != WSRT_BYTE_ORDER)
        return wsrt__refuse(c, WSRT_EFORMAT,
                            "byte order differs from this machine's");
    if (h->major < WSRT_MAJOR_1 || h->major > WSRT_MAJOR)
        return wsrt__refuse(c,
                            h->major > WSRT_MAJOR ? WSRT_EVERSION
                                                  : WSRT_EFORMAT,
                            "format version %u.%u, this runtime reads 1 to %u",
                            (unsigned)h->major, (unsigned)h->minor,
                            (unsigned)WSRT_MAJOR);
    c->p->major = h->major;
    if (h->bytes != bytes)
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "%zu bytes long, the header says %llu%s", bytes,
                            (unsigned long long)h->bytes,
                            h->bytes > bytes ? ": cut off" : "");
    if (bytes % WSRT_ALIGN)
        return wsrt__refuse(c, WSRT_EDAMAGED, "length is not a multiple of 8");
    if (h->check_sum != wsrt__file_sum(c->p->base, bytes))
        return wsrt__refuse(c, WSRT_EDAMAGED, "check sum is wrong");
    return WSRT_OK;
}

/* Section i of `known` lies at `at`: where is the end of its padding? */
static int check_span(const struct wsrt__checker *c, uint32_t i, uint32_t known,
                      uint64_t *at)
{
    const struct wsrt_f_header *h = (const void *)c->p->base;
    const struct wsrt_f_span *s = &h->section[i];
    const char *name = i < known ? section_name[i] : "(newer)";
    uint64_t left = h->bytes - *at, used;

    if (s->at != *at || s->zero)
        return wsrt__refuse(c, WSRT_EDAMAGED, "section %s is not in its place",
                            name);
    if (!s->element_bytes ||
        (i < known && s->element_bytes != bytes_of(c->p, i)))
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "section %s has elements of %u bytes", name,
                            (unsigned)s->element_bytes);
    if (s->count >= UINT32_MAX || s->count > left / s->element_bytes ||
        (i < known && count_max[i] && s->count > count_max[i]))
        return wsrt__refuse(c, WSRT_EDAMAGED, "section %s is too long", name);
    /* The file's length is a multiple of 8, so the padding is inside. */
    used = s->count * s->element_bytes;
    for (*at += used; *at % WSRT_ALIGN; ++*at)
        if (c->p->base[*at])
            return wsrt__refuse(c, WSRT_EDAMAGED, "padding after section %s",
                                name);
    if (i < known)
        c->p->count[i] = (uint32_t)s->count;
    return WSRT_OK;
}

static int check_table(const struct wsrt__checker *c)
{
    const struct wsrt_f_header *h = (const void *)c->p->base;
    struct wsrt_pack *p = c->p;
    uint64_t at = sizeof(*h) + (uint64_t)h->nsection * sizeof(h->section[0]);
    uint32_t minor, known = known_sections(h, &minor);
    const void *start[WSRT_NSECTIONS] = {0};

    if (h->nsection < known || h->nsection > WSRT_MAX_SECTIONS ||
        (h->minor <= minor && h->nsection != known) || at > h->bytes)
        return wsrt__refuse(c, WSRT_EDAMAGED, "%u sections",
                            (unsigned)h->nsection);
    for (uint32_t i = 0; i < h->nsection; i++) {
        if (i < known)
            start[i] = p->base + at;
        WSRT__TRY(check_span(c, i, known, &at));
    }
    if (at != h->bytes)
        return wsrt__refuse(c, WSRT_EDAMAGED, "bytes after the last section");
    p->strings = start[WSRT_S_STRINGS];
    p->axis = start[WSRT_S_AXES];
    p->type = start[WSRT_S_TYPES];
    p->device = start[WSRT_S_DEVICE];
    p->kernel = start[WSRT_S_KERNELS];
    p->range = start[WSRT_S_RANGES];
    p->param = start[WSRT_S_PARAMS];
    p->require = start[WSRT_S_REQUIRES];
    p->guard = start[WSRT_S_GUARDS];
    p->code = start[WSRT_S_CODE];
    p->variant = start[WSRT_S_VARIANTS];
    p->value = start[WSRT_S_VALUES];
    p->entry = start[WSRT_S_ENTRIES];
    p->row = start[WSRT_S_ENTRIES];
    p->shape = start[WSRT_S_SHAPES];
    p->row_shape = start[WSRT_S_SHAPES];
    p->log = start[WSRT_S_LOGS];
    p->group = start[WSRT_S_GROUPS];
    p->index = start[WSRT_S_INDEX];
    p->text = start[WSRT_S_TEXTS];
    p->chars = start[WSRT_S_TEXT];
    p->tensor = start[WSRT_S_TENSORS];
    p->plan = start[WSRT_S_PLANS];
    p->baked = start[WSRT_S_BAKED];
    p->scratch = start[WSRT_S_SCRATCH];
    p->launch = start[WSRT_S_LAUNCHES];
    p->arg = start[WSRT_S_ARGS];
    p->program = start[WSRT_S_PROGRAMS];
    p->program_code = start[WSRT_S_PROGRAMCODE];
    p->binary = start[WSRT_S_BINARIES];
    p->key = start[WSRT_S_KEYS];
    p->symbol = start[WSRT_S_SYMBOLS];
    p->image = start[WSRT_S_IMAGES];
    p->image_bytes = start[WSRT_S_IMAGE];
    p->row_high = start[WSRT_S_SHAPEHIGH];
    p->group_type = start[WSRT_S_GROUPTYPES];
    p->counts = start[WSRT_S_COUNTS];
    p->model = start[WSRT_S_MODELS];
    p->model_type = start[WSRT_S_MODELTYPES];
    p->span = start[WSRT_S_SPANS];
    p->law = start[WSRT_S_LAWS];
    p->form = start[WSRT_S_FORMS];
    p->coord = start[WSRT_S_COORDS];
    p->coord_code = start[WSRT_S_COORDCODE];
    p->node = start[WSRT_S_NODES];
    p->list = start[WSRT_S_LISTS];
    p->tag = (uint32_t)(h->check_sum ^ h->check_sum >> 32) | 1u;
    return WSRT_OK;
}

/* A name is an offset into STRINGS, whose last byte ends the last string. */
int wsrt__bad_name(const struct wsrt_pack *p, uint32_t name)
{
    return name >= p->count[WSRT_S_STRINGS];
}

static int check_axis(const struct wsrt__checker *c, uint32_t i,
                      uint32_t *first_type)
{
    struct wsrt_pack *p = c->p;
    const struct wsrt_f_axis *a = &p->axis[i];
    uint32_t left = p->count[WSRT_S_TYPES] - *first_type;

    if (wsrt__bad_name(p, a->name) || a->first_type != *first_type ||
        a->ntype > left || a->lo > a->hi)
        return wsrt__damaged(c, WSRT_S_AXES, i, "out of bounds");
    *first_type += a->ntype;
    switch (a->kind) {
    case WSRT_AXIS_VAR:
        if (a->dflt || a->ntype)
            break;
        p->var_axis[p->nvar++] = i;
        return WSRT_OK;
    case WSRT_AXIS_CONST:
        if (a->ntype)
            break;
        return WSRT_OK;
    case WSRT_AXIS_TYPE:
        p->type_axis[p->ntype++] = i;
        for (uint32_t k = 0; k < a->ntype; k++)
            if (p->type[a->first_type + k].code == a->dflt)
                return WSRT_OK;
        break;
    default:
        return wsrt__damaged(c, WSRT_S_AXES, i, "unknown kind");
    }
    return wsrt__damaged(c, WSRT_S_AXES, i, "default does not fit the kind");
}

static int check_axes(const struct wsrt__checker *c)
{
    struct wsrt_pack *p = c->p;
    uint32_t types = 0;

    if (!p->count[WSRT_S_STRINGS] || p->strings[p->count[WSRT_S_STRINGS] - 1])
        return wsrt__refuse(c, WSRT_EDAMAGED, "section STRINGS has no end");
    p->naxis = p->count[WSRT_S_AXES];
    for (uint32_t i = 0; i < p->naxis; i++)
        WSRT__TRY(check_axis(c, i, &types));
    if (types != p->count[WSRT_S_TYPES])
        return wsrt__refuse(c, WSRT_EDAMAGED, "types that no axis has");
    for (uint32_t i = 0; i < types; i++)
        if (wsrt__bad_name(p, p->type[i].name) || p->type[i].code < 1 ||
            p->type[i].zero)
            return wsrt__damaged(c, WSRT_S_TYPES, i, "out of bounds");
    for (uint32_t i = 0; i < p->count[WSRT_S_DEVICE]; i++)
        if (wsrt__bad_name(p, p->device[i].name) || p->device[i].zero)
            return wsrt__damaged(c, WSRT_S_DEVICE, i, "out of bounds");
    return WSRT_OK;
}

/* n programs that begin at *code; nslot values are visible to them. */
static int check_programs(const struct wsrt__checker *c, enum wsrt_section s,
                          const struct wsrt_f_guard *g, uint32_t first,
                          uint32_t n, uint32_t nslot, uint32_t *code)
{
    struct wsrt_pack *p = c->p;
    uint32_t start = *code;

    for (uint32_t i = first; i < first + n; i++) {
        if (g[i].at != *code || g[i].bytes > p->count[WSRT_S_CODE] - *code)
            return wsrt__damaged(c, s, i, "out of bounds");
        if (wsrt_code_check(p->code + *code, g[i].bytes, nslot, 1))
            return wsrt__damaged(c, s, i, "not a program over whole numbers");
        *code += g[i].bytes;
        /* Entries are tried with them below: keep that linear. */
        if (*code - start > WSRT_MAX_CODE_BYTES)
            return wsrt__damaged(c, s, i, "too long");
    }
    return WSRT_OK;
}

static int check_kernel(const struct wsrt__checker *c, uint32_t i,
                        uint32_t *param, uint32_t *guard, uint32_t *code)
{
    struct wsrt_pack *p = c->p;
    const struct wsrt_f_kernel *k = &p->kernel[i];
    uint32_t fixed = p->naxis + p->count[WSRT_S_DEVICE];

    if (wsrt__bad_name(p, k->name) || k->first_param != *param ||
        k->nparam > p->count[WSRT_S_PARAMS] - *param ||
        fixed > WSRT_MAX_SLOTS || k->nparam > WSRT_MAX_SLOTS - fixed ||
        k->first_guard != *guard ||
        k->nguard > p->count[WSRT_S_GUARDS] - *guard)
        return wsrt__damaged(c, WSRT_S_KERNELS, i, "out of bounds");
    if (k->dflt != WSRT_NONE && (k->dflt >= p->count[WSRT_S_VARIANTS] ||
                                 p->variant[k->dflt].kernel != i))
        return wsrt__damaged(c, WSRT_S_KERNELS, i,
                             "default is of another kernel");
    WSRT__TRY(check_programs(c, WSRT_S_GUARDS, p->guard, *guard, k->nguard,
                             fixed + k->nparam, code));
    *param += k->nparam;
    *guard += k->nguard;
    return WSRT_OK;
}

static int check_kernels(const struct wsrt__checker *c)
{
    struct wsrt_pack *p = c->p;
    uint32_t param = 0, guard = 0, code = 0;

    WSRT__TRY(check_programs(c, WSRT_S_REQUIRES, p->require, 0,
                             p->count[WSRT_S_REQUIRES], p->naxis, &code));
    for (uint32_t i = 0; i < p->count[WSRT_S_KERNELS]; i++)
        WSRT__TRY(check_kernel(c, i, &param, &guard, &code));
    if (param != p->count[WSRT_S_PARAMS] || guard != p->count[WSRT_S_GUARDS] ||
        code != p->count[WSRT_S_CODE])
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "parameters, guards or code that no kernel has");
    for (uint32_t i = 0; i < param; i++)
        if (wsrt__bad_name(p, p->param[i].name) || p->param[i].zero)
            return wsrt__damaged(c, WSRT_S_PARAMS, i, "out of bounds");
    if (p->count[WSRT_S_RANGES] != p->count[WSRT_S_KERNELS] * p->naxis)
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "section RANGES has a wrong length");
    return WSRT_OK;
}

static int check_variants(const struct wsrt__checker *c)
{
    struct wsrt_pack *p = c->p;
    uint32_t values = 0;

    for (uint32_t i = 0; i < p->count[WSRT_S_VARIANTS]; i++) {
        const struct wsrt_f_variant *v = &p->variant[i];

        if (v->kernel >= p->count[WSRT_S_KERNELS] || v->first_value != values ||
            p->kernel[v->kernel].nparam > p->count[WSRT_S_VALUES] - values)
            return wsrt__damaged(c, WSRT_S_VARIANTS, i, "out of bounds");
        values += p->kernel[v->kernel].nparam;
    }
    if (values != p->count[WSRT_S_VALUES])
        return wsrt__refuse(c, WSRT_EDAMAGED, "values that no variant has");
    for (uint32_t i = 0; i < values; i++)
        if (wsrt__bad_name(p, p->value[i].text) || p->value[i].zero)
            return wsrt__damaged(c, WSRT_S_VALUES, i, "out of bounds");
    return WSRT_OK;
}

/* Looks at bits: compilers may be told that there are no infinities. */
static int bad_time(const double *time_ns)
{
    uint64_t bits;

    memcpy(&bits, time_ns, sizeof(bits));
    return bits >= UINT64_C(0x7ff0000000000000);
}

/* The order of entries: by the type axes, then by the variable ones. */
static int compare_types(const struct wsrt_pack *p, const int64_t *a,
                         const int64_t *b)
{
    for (uint32_t i = 0; i < p->ntype; i++)
        if (a[p->type_axis[i]] != b[p->type_axis[i]])
            return a[p->type_axis[i]] < b[p->type_axis[i]] ? -1 : 1;
    return 0;
}

static int compare_vars(const struct wsrt_pack *p, const int64_t *a,
                        const int64_t *b)
{
    for (uint32_t i = 0; i < p->nvar; i++)
        if (a[p->var_axis[i]] != b[p->var_axis[i]])
            return a[p->var_axis[i]] < b[p->var_axis[i]] ? -1 : 1;
    return 0;
}

/* The shape of entry i against the one before; *group is the group that the
 * one before belongs to, *left how many of its entries are still to come. */
static int check_order(const struct wsrt__checker *c, uint32_t i,
                       uint32_t *group, uint32_t *left)
{
    struct wsrt_pack *p = c->p;
    const int64_t *a = p->shape + (size_t)i * p->naxis;
    int order = i ? compare_types(p, a - p->naxis, a) : -1;

    if (order == 0)
        order = compare_vars(p, a - p->naxis, a) < 0 ? 0 : 1;
    else if (*left)
        return wsrt__damaged(c, WSRT_S_GROUPS, *group - 1, "mixes types");
    if (order > 0)
        return wsrt__damaged(c, WSRT_S_ENTRIES, i, "not in order");
    if (order < 0) {
        if (*group == p->count[WSRT_S_GROUPS] || p->group[*group].first != i ||
            !p->group[*group].n)
            return wsrt__damaged(c, WSRT_S_GROUPS, *group, "out of bounds");
        *left = p->group[(*group)++].n;
    }
    if (!*left)
        return wsrt__damaged(c, WSRT_S_GROUPS, *group - 1, "is too short");
    --*left;
    return WSRT_OK;
}

static int check_entry(const struct wsrt__checker *c, uint32_t i)
{
    struct wsrt_pack *p = c->p;
    const struct wsrt_f_entry *e = &p->entry[i];
    const int64_t *axes = p->shape + (size_t)i * p->naxis;
    uint32_t n = p->count[WSRT_S_ENTRIES];

    if (e->variant >= p->count[WSRT_S_VARIANTS] || e->zero)
        return wsrt__damaged(c, WSRT_S_ENTRIES, i, "out of bounds");
    if (bad_time(&e->time_ns) || bad_time(&e->default_ns))
        return wsrt__damaged(c, WSRT_S_ENTRIES, i, "a time is not a time");
    if (wsrt__axes_check(p, axes))
        return wsrt__damaged(c, WSRT_S_SHAPES, i, "no shape of this op");
    for (uint32_t k = 0; k < p->nvar; k++)
        if (p->log[(size_t)k * n + i] != wsrt__log2(axes[p->var_axis[k]]))
            return wsrt__damaged(c, WSRT_S_LOGS, i, "wrong logarithm");
    if (!wsrt__requires_hold(p, axes) || !wsrt__may_run(p, e->variant, axes))
        return wsrt__damaged(c, WSRT_S_ENTRIES, i,
                             "variant may not run its shape");
    return WSRT_OK;
}

static int check_index(const struct wsrt__checker *c)
{
    struct wsrt_pack *p = c->p;
    uint32_t n = p->count[WSRT_S_INDEX], used = 0;
    uint32_t nentry = p->count[WSRT_S_ENTRIES];

    if (!n || (n & (n - 1)))
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "section INDEX has a wrong length");
    for (uint32_t i = 0; i < n; i++) {
        if (p->index[i] > nentry)
            return wsrt__damaged(c, WSRT_S_INDEX, i, "out of bounds");
        used += p->index[i] != 0;
    }
    for (uint32_t i = 0; i < nentry; i++) {
        const int64_t *axes = p->shape + (size_t)i * p->naxis;

        if (wsrt__find_entry(p, axes, wsrt__shape_hash(axes, p->naxis)) != i)
            return wsrt__damaged(c, WSRT_S_ENTRIES, i, "missing in the index");
    }
    if (used != nentry)
        return wsrt__refuse(c, WSRT_EDAMAGED, "the index names entries twice");
    return WSRT_OK;
}

static int check_entries(const struct wsrt__checker *c)
{
    struct wsrt_pack *p = c->p;
    uint32_t n = p->count[WSRT_S_ENTRIES], group = 0, left = 0;

    if (p->major == WSRT_MAJOR_1 &&
        (p->count[WSRT_S_SHAPES] != (uint64_t)n * p->naxis ||
         p->count[WSRT_S_LOGS] != (uint64_t)n * p->nvar))
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "shapes do not match the entries");
    for (uint32_t i = 0; i < n; i++) {
        WSRT__TRY(check_entry(c, i));
        WSRT__TRY(check_order(c, i, &group, &left));
    }
    if (left || group != p->count[WSRT_S_GROUPS])
        return wsrt__refuse(c, WSRT_EDAMAGED,
                            "groups do not match the entries");
    return check_index(c);
}

static int check_texts(const struct wsrt__checker *c)
{
    struct wsrt_pack *p = c->p;
    uint64_t at = 0, end = p->count[WSRT_S_TEXT];

    for (uint32_t i = 0; i < p->count[WSRT_S_TEXTS]; i++) {
        const struct wsrt_f_text *t = &p->text[i];

        if (wsrt__bad_name(p, t->name) || t->zero || t->at != at ||
            t->bytes >= end - at)
            return wsrt__damaged(c, WSRT_S_TEXTS, i, "out of bounds");
        at += t->bytes;
        if (p->chars[at++])
            return wsrt__damaged(c, WSRT_S_TEXTS, i, "has no end");
    }
    if (at != end)
        return wsrt__refuse(c, WSRT_EDAMAGED, "text that no section has");
    return WSRT_OK;
}

int wsrt__check_file(struct wsrt_pack *p, char *reason, size_t reason_bytes)
{
    const struct wsrt__checker c = {p, reason, reason_bytes};

    WSRT__TRY(check_head(&c));
    WSRT__TRY(check_table(&c));
    return check_axes(&c);
}

int wsrt__check(struct wsrt_pack *p, char *reason, size_t reason_bytes)
{
    const struct wsrt__checker c = {p, reason, reason_bytes};

    WSRT__TRY(check_variants(&c));
    WSRT__TRY(check_kernels(&c));
    WSRT__TRY(check_entries(&c));
    WSRT__TRY(check_texts(&c));
    WSRT__TRY(wsrt__check_plans(&c));
    return wsrt__check_models(&c);
}
