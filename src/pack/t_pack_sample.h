/*
 * t_pack_sample.h: an op, two kernels and any number of entries, built by
 * hand, for the tests and figures of packs.
 *
 * The op has every kind of axis; the kernels have every type of parameter, a
 * range, constraints on axes, on the device and on neither. sample_may_run
 * says in plain C what the constraints say, for comparisons. Both can be
 * launched: the plans have every kind of argument, launches and buffers that
 * come and go with the shape, and the second kernel is built for one N. The
 * binaries are words that say what they were built for.
 */
#ifndef WS_T_PACK_SAMPLE_H
#define WS_T_PACK_SAMPLE_H

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "pack/pack.h"

enum { AXIS_M, AXIS_T, AXIS_K, AXIS_N, SAMPLE_AXES };

struct sample {
    struct ws__arena arena;
    struct ws__strtab strings;
    struct ws__op op;
    struct ws__kernel kernel[2];
    struct ws__workload *workload;
    struct ws__pack_entry *entry;
    struct ws__pack_binary *binary;
    struct ws__pack_content content;
};

enum { TENSOR_A, TENSOR_SCALE, TENSOR_C, SAMPLE_TENSORS };

static const int64_t sample_tile[] = {16, 32, 64, 128, 256};

static inline int sample_param(struct ws_ctx *ctx, struct sample *s,
                               struct ws__kernel *k, const char *name,
                               const struct ws__value *value, size_t n,
                               size_t dflt)
{
    struct ws__param *p = &k->param[k->nparam++];

    p->name = name;
    p->type = value[0].type;
    p->nvalue = n;
    p->dflt = dflt;
    p->value = ws__arena_alloc(&s->arena, n, sizeof(*value));
    p->slot = ws__arena_alloc(&s->arena, n, sizeof(*p->slot));
    if (!p->value || !p->slot)
        return WS_ENOMEM;
    memcpy(p->value, value, n * sizeof(*value));
    for (size_t i = 0; i < n; i++)
        WS_TRY(ws__value_slot(&s->strings, &value[i], &p->slot[i]));
    return ws__scope_add(ctx, &k->scope, name, p->type, NULL);
}

static inline int sample_expr(struct ws_ctx *ctx, struct sample *s,
                              const struct ws__scope *scope, const char *text,
                              int want, struct ws__expr **out)
{
    static const struct ws__loc loc = {"sample.yaml", 1, 1};

    return ws__expr_compile(ctx, &s->arena, text, &loc, scope, want, out);
}

static inline int sample_compile(struct ws_ctx *ctx, struct sample *s,
                                 const struct ws__scope *scope,
                                 const char *text, struct ws__expr **out)
{
    return sample_expr(ctx, s, scope, text, WS__BOOL, out);
}

/* Ends the scope of a kernel and compiles its constraints. */
static inline int sample_constraints(struct ws_ctx *ctx, struct sample *s,
                                     struct ws__kernel *k,
                                     const char *const *text, size_t n)
{
    static const char *const device[] = {
#define WS_X(id, name) name,
        WS__DEVICE_VARS(WS_X)
#undef WS_X
    };

    for (size_t i = 0; i < WS__NDEVICE_VARS; i++)
        WS_TRY(ws__scope_add(ctx, &k->scope, device[i], WS__INT, NULL));
    k->constraint = ws__arena_alloc(&s->arena, n, sizeof(*k->constraint));
    if (!k->constraint)
        return WS_ENOMEM;
    k->nconstraint = n;
    for (size_t i = 0; i < n; i++) {
        struct ws__constraint *c = &k->constraint[i];

        WS_TRY(sample_compile(ctx, s, &k->scope, text[i], &c->expr));
        for (size_t a = 0; a < SAMPLE_AXES; a++)
            c->needs_axes |= ws__expr_uses(c->expr, a);
        for (size_t d = 0; d < WS__NDEVICE_VARS; d++)
            c->needs_device |= ws__expr_uses(
                c->expr, ws__kernel_device_slot(k, (enum ws__device_var)d));
    }
    return 0;
}

static inline int sample_op(struct ws_ctx *ctx, struct sample *s)
{
    static const enum ws__dtype types[] = {WS__DT_F32, WS__DT_BF16};
    static const struct ws__axis axis[SAMPLE_AXES] = {
        [AXIS_M] = {.name = "M", .kind = WS__AXIS_VAR, .lo = 1, .hi = 1 << 20},
        [AXIS_T] = {.name = "T",
                    .kind = WS__AXIS_TYPE,
                    .value = WS__DT_F32,
                    .types = types,
                    .ntypes = 2},
        [AXIS_K] = {.name = "K", .kind = WS__AXIS_CONST, .value = 4096},
        [AXIS_N] = {.name = "N", .kind = WS__AXIS_VAR, .lo = 1, .hi = 1 << 20},
    };
    struct ws__op *op = &s->op;

    op->name = "sample";
    memcpy(op->axis, axis, sizeof(axis));
    op->naxis = SAMPLE_AXES;
    op->require = ws__arena_alloc(&s->arena, 1, sizeof(*op->require));
    if (!op->require)
        return WS_ENOMEM;
    for (int k = 0; k < 2; k++) {
        s->kernel[k].op = op;
        s->kernel[k].scope.strings = &s->strings;
        for (size_t i = 0; i < op->naxis; i++)
            WS_TRY(ws__scope_add(ctx, &s->kernel[k].scope, axis[i].name,
                                 WS__INT, NULL));
    }
    op->nrequire = 1;
    return sample_compile(ctx, s, &s->kernel[0].scope, "M * N <= 2**38",
                          op->require);
}

static inline int sample_kernels(struct ws_ctx *ctx, struct sample *s)
{
    static const char *const tiled_text[] = {"N % BM == 0", "BM <= 2 * M",
                                             "BM * 4 <= device_max_threads"};
    static const char *const plain_text[] = {"N % W == 0 or M == 1"};
    static const struct ws__value order[] = {{WS__STR, {.s = "rows"}},
                                             {WS__STR, {.s = "columns"}}};
    static const struct ws__value flag[] = {{WS__BOOL, {.i = 0}},
                                            {WS__BOOL, {.i = 1}}};
    static const struct ws__value factor[] = {{WS__FLOAT, {.f = 0.5}},
                                              {WS__FLOAT, {.f = 2}}};
    struct ws__kernel *tiled = &s->kernel[0], *plain = &s->kernel[1];
    struct ws__value tile[5], width[3];

    for (int i = 0; i < 5; i++)
        tile[i] = (struct ws__value){WS__INT, {.i = sample_tile[i]}};
    for (int i = 0; i < 3; i++)
        width[i] = (struct ws__value){WS__INT, {.i = 1 << i}};
    tiled->name = "tiled";
    WS_TRY(sample_param(ctx, s, tiled, "BM", tile, 5, 0));
    WS_TRY(sample_param(ctx, s, tiled, "ORDER", order, 2, 1));
    WS_TRY(sample_param(ctx, s, tiled, "FAST", flag, 2, 0));
    WS_TRY(sample_param(ctx, s, tiled, "SPLIT", factor, 2, 0));
    WS_TRY(sample_constraints(ctx, s, tiled, tiled_text, 3));
    plain->name = "plain";
    plain->range_lo[AXIS_M] = 1;
    plain->range_hi[AXIS_M] = 64;
    WS_TRY(sample_param(ctx, s, plain, "W", width, 3, 2));
    return sample_constraints(ctx, s, plain, plain_text, 1);
}

/* An argument: a tensor ("A"), a buffer ("+0"), a number with its type
 * ("int32 M"), shared memory ("shared BM"). */
static inline int sample_arg(struct ws_ctx *ctx, struct sample *s,
                             struct ws__kernel *k, struct ws__launch *l,
                             const char *text)
{
    struct ws__arg *a = &l->arg[l->narg++];
    const char *space = strchr(text, ' ');
    char word[32];
    int want = WS__INT;

    if (*text == '+') {
        a->kind = WS__ARG_SCRATCH;
        a->index = (size_t)(text[1] - '0');
        return 0;
    }
    if (!space) {
        a->kind = WS__ARG_TENSOR;
        while (strcmp(s->op.tensor[a->index].name, text))
            a->index++;
        return 0;
    }
    snprintf(word, sizeof(word), "%.*s", (int)(space - text), text);
    a->kind = strcmp(word, "shared") ? WS__ARG_VALUE : WS__ARG_SHARED;
    if (a->kind == WS__ARG_VALUE) {
        a->dtype = ws__dtype_parse(word);
        want = -1;
    }
    return sample_expr(ctx, s, &k->scope, space + 1, want, &a->expr);
}

/* size: grid and block, "" where nothing is said. */
static inline int sample_launch(struct ws_ctx *ctx, struct sample *s,
                                struct ws__kernel *k, const char *entry,
                                const char *when, const char *const *size,
                                const char *const *arg, size_t narg)
{
    struct ws__launch *l = &k->launch[k->nlaunch++];

    l->entry = entry;
    if (when)
        WS_TRY(sample_compile(ctx, s, &k->scope, when, &l->when));
    for (int i = 0; i < 6; i++)
        if (*size[i])
            WS_TRY(sample_expr(ctx, s, &k->scope, size[i], WS__INT,
                               i < 3 ? &l->grid[i] : &l->block[i - 3]));
    for (size_t i = 0; i < narg; i++)
        WS_TRY(sample_arg(ctx, s, k, l, arg[i]));
    return 0;
}

static inline int sample_scratch(struct ws_ctx *ctx, struct sample *s,
                                 struct ws__kernel *k, const char *bytes,
                                 const char *when, bool zero)
{
    struct ws__scratch *b = &k->scratch[k->nscratch++];

    b->name = zero ? "zeroed" : "plain";
    b->zero = zero;
    WS_TRY(sample_expr(ctx, s, &k->scope, bytes, WS__INT, &b->bytes));
    return when ? sample_compile(ctx, s, &k->scope, when, &b->when) : 0;
}

static inline int sample_plans(struct ws_ctx *ctx, struct sample *s)
{
    static const struct ws__tensor tensor[SAMPLE_TENSORS] = {
        [TENSOR_A] = {.name = "A", .ndim = 2, .type_axis = AXIS_T, .align = 16},
        [TENSOR_SCALE] = {.name = "scale",
                          .dtype = WS__DT_F32,
                          .type_axis = -1,
                          .align = 1},
        [TENSOR_C] = {.name = "C",
                      .role = WS__OUTPUT,
                      .ndim = 2,
                      .dtype = WS__DT_F32,
                      .type_axis = -1,
                      .align = 1}}; /* then an element's */
    static const char *const size[3][6] = {{"ceil_div(N, BM)", "M", "", "BM",
                                            "2", ""},
                                           {"M", "", "", "64", "", ""},
                                           {"N // 16", "M", "2", "32", "", ""}};
    static const char *const main_arg[] = {"A",           "scale",
                                           "C",           "+0",
                                           "+1",          "int32 M",
                                           "int64 -N",    "float32 SPLIT",
                                           "bool FAST",   "bfloat16 M / N",
                                           "float64 M",   "shared BM * 4",
                                           "shared 1024", "uint8 7"};
    static const char *const add_arg[] = {"+0", "C", "int32 M"};
    static const char *const plain_arg[] = {"A", "C", "float16 0.1", "scale"};
    struct ws__kernel *tiled = &s->kernel[0], *plain = &s->kernel[1];

    memcpy(s->op.tensor, tensor, sizeof(tensor));
    s->op.ntensor = SAMPLE_TENSORS;
    WS_TRY(sample_scratch(ctx, s, tiled, "4 * M * N", "M > 8", true));
    WS_TRY(sample_scratch(ctx, s, tiled, "N + 1", NULL, false));
    WS_TRY(sample_launch(ctx, s, tiled, "main", NULL, size[0], main_arg,
                         WS_COUNT(main_arg)));
    WS_TRY(sample_launch(ctx, s, tiled, "add", "M > 8", size[1], add_arg,
                         WS_COUNT(add_arg)));
    plain->specialize = 1u << AXIS_N;
    return sample_launch(ctx, s, plain, "only", NULL, size[2], plain_arg,
                         WS_COUNT(plain_arg));
}

static inline bool sample_may_run(const struct sample *s, uint32_t kernel,
                                  const struct ws__config *c,
                                  const int64_t *axis)
{
    int64_t m = axis[AXIS_M], n = axis[AXIS_N];

    (void)s;
    if (m > 1 << 20 || n > 1 << 20 || m * n > (int64_t)1 << 38)
        return false;
    if (kernel == 1)
        return m <= 64 && (m == 1 || n % (1 << c->at[0]) == 0);
    return n % sample_tile[c->at[0]] == 0 && sample_tile[c->at[0]] <= 2 * m;
}

/* A size between 1 and 2^bits, small ones as likely as large ones. */
static inline int64_t sample_size(struct ws__rng *r, unsigned bits)
{
    unsigned b = (unsigned)ws__rng_below(r, bits);

    return (int64_t)(((uint64_t)1 << b) + ws__rng_below(r, (uint64_t)1 << b));
}

static inline void sample_shape(struct ws__rng *r, int64_t *axis)
{
    axis[AXIS_M] = sample_size(r, 14);
    axis[AXIS_T] = ws__rng_below(r, 2) ? WS__DT_F32 : WS__DT_BF16;
    axis[AXIS_K] = 4096;
    axis[AXIS_N] = 16 * sample_size(r, 11);
}

static inline bool sample_seen(const struct sample *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!memcmp(s->workload[i].axis, s->workload[n].axis,
                    sizeof(s->workload[n].axis)))
            return true;
    return false;
}

static inline void sample_candidate(struct ws__rng *r, const struct sample *s,
                                    const int64_t *axis,
                                    struct ws__candidate *out)
{
    do {
        memset(out, 0, sizeof(*out));
        out->kernel = ws__rng_below(r, 4) == 0;
        ws__config_default(&s->kernel[out->kernel], &out->config);
        for (size_t i = 0; i < s->kernel[out->kernel].nparam; i++)
            out->config.at[i] =
                (uint16_t)ws__rng_below(r,
                                        s->kernel[out->kernel].param[i].nvalue);
    } while (!sample_may_run(s, out->kernel, &out->config, axis));
}

static inline int sample_entries(struct sample *s, size_t n, uint64_t seed)
{
    struct ws__rng r;

    ws__rng_seed(&r, seed);
    s->workload = ws__arena_alloc(&s->arena, n + 1, sizeof(*s->workload));
    s->entry = ws__arena_alloc(&s->arena, n + 1, sizeof(*s->entry));
    if (!s->workload || !s->entry)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct ws__workload *w = &s->workload[i];

        /* The smallest tile needs M >= 8, the plain kernel M <= 64. */
        do
            sample_shape(&r, w->axis);
        while (sample_seen(s, i));
        w->name = ws__arena_printf(&s->arena, "w%zu", i);
        if (!w->name)
            return WS_ENOMEM;
        s->entry[i].workload = w;
        sample_candidate(&r, s, w->axis, &s->entry[i].candidate);
        s->entry[i].time_ns = (double)(i + 1) * 1000.5;
        s->entry[i].default_ns = i % 3 ? (double)(i + 1) * 2000 : 0;
    }
    return 0;
}

static inline int sample_binary(struct ws_ctx *ctx, struct sample *s,
                                const struct ws__candidate *c,
                                const struct ws__workload *w)
{
    static const char *const symbol[2][2] = {{"main_1", "add_1"}, {"only_1"}};
    struct ws__pack_binary *b = &s->binary[s->content.nbinary++];
    struct ws__buf text;
    int rc;

    ws__buf_init(&text, ctx, 4096);
    ws__buf_puts(&text, s->kernel[c->kernel].name);
    ws__buf_puts(&text, " ");
    rc = ws__config_print(&text, &s->kernel[c->kernel], &c->config);
    if (rc >= 0)
        rc = ws__buf_printf(&text, " T=%d", (int)w->axis[AXIS_T]);
    if (rc >= 0 && c->kernel)
        rc = ws__buf_printf(&text, " N=%d", (int)w->axis[AXIS_N]);
    *b = (struct ws__pack_binary){.candidate = *c,
                                  .workload = w,
                                  .image = rc < 0 ? NULL
                                                  : ws__arena_strdup(&s->arena,
                                                                     text.data),
                                  .bytes = text.len,
                                  .symbol = symbol[c->kernel],
                                  .family = "cuda",
                                  .target = "sm_90"};
    ws__buf_free(&text);
    return b->image ? 0 : WS_ENOMEM;
}

/* Of every entry, and of the defaults for the entries' shapes. */
static inline int sample_binaries(struct ws_ctx *ctx, struct sample *s)
{
    size_t n = s->content.nentry;

    s->binary = ws__arena_alloc(&s->arena, 3 * n + 1, sizeof(*s->binary));
    if (!s->binary)
        return WS_ENOMEM;
    s->content.binary = s->binary;
    for (size_t i = 0; i < n; i++)
        WS_TRY(sample_binary(ctx, s, &s->entry[i].candidate, &s->workload[i]));
    for (size_t i = 0; i < 2 * n; i++) {
        struct ws__candidate c;

        memset(&c, 0, sizeof(c));
        c.kernel = i % 2;
        ws__config_default(&s->kernel[c.kernel], &c.config);
        WS_TRY(sample_binary(ctx, s, &c, &s->workload[i / 2]));
    }
    return 0;
}

/* Freed by sample_free, also after a failure. */
static inline int sample_make(struct ws_ctx *ctx, struct sample *s, size_t n,
                              uint64_t seed)
{
    static const char *const text[] = {"op",       "name: sample\n",
                                       "evidence", "[]",
                                       "tool",     "",
                                       "source:0", "kernel void f() {}\n",
                                       NULL};

    memset(s, 0, sizeof(*s));
    ws__arena_init(&s->arena, ctx);
    s->strings.arena = &s->arena;
    WS_TRY(sample_op(ctx, s));
    WS_TRY(sample_kernels(ctx, s));
    WS_TRY(sample_plans(ctx, s));
    WS_TRY(sample_entries(s, n, seed));
    s->content = (struct ws__pack_content){.op = &s->op,
                                           .kernel = s->kernel,
                                           .nkernel = 2,
                                           .entry = s->entry,
                                           .nentry = n,
                                           .text = text};
    s->content.device[WS__DV_UNITS].i = 8;
    s->content.device[WS__DV_THREADS].i = 1024;
    s->content.device[WS__DV_SHARED].i = 49152;
    s->content.device[WS__DV_VECTOR].i = 16;
    return sample_binaries(ctx, s);
}

static inline void sample_free(struct sample *s)
{
    ws__arena_free(&s->arena);
}

#endif
