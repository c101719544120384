/*
 * t_wsrt_damage.c: no byte of a pack may change unseen, no length may be cut,
 * and a pack whose check sum was put right after the damage is either refused
 * or harmless.
 */
#include "base/t_base.h"

#include "pack/t_pack_gemm.h"
#include "wsrt_format.h"

struct fixture {
    struct ws_ctx *ctx;
    struct sample s;
    struct gemm g; /* a pack with a model */
    void *image;
    unsigned char *copy;
    size_t bytes;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->ctx = t_ctx(NULL);
    if (sample_make(f->ctx, &f->s, 6, 5) ||
        ws__pack_image(f->ctx, &f->s.content, &f->image, &f->bytes))
        return -1;
    f->copy = malloc(f->bytes);
    memcpy(f->copy, f->image, f->bytes);
    return 0;
}

static int setup_model(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->ctx = t_ctx(NULL);
    if (gemm_make(f->ctx, &f->g, 6, 12))
        return -1;
    gemm_small(&f->g);
    f->g.s.op.axis[GEMM_M].counts = WS__COUNTS_NONZERO;
    f->g.s.op.axis[GEMM_K].counts = WS__COUNTS_BLOCKS;
    f->g.s.op.axis[GEMM_K].counts_block = 16;
    if (ws__pack_image(f->ctx, &f->g.s.content, &f->image, &f->bytes))
        return -1;
    f->copy = malloc(f->bytes);
    memcpy(f->copy, f->image, f->bytes);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    free(f->copy);
    gemm_free(&f->g);
    ws__free(f->ctx, f->image);
    sample_free(&f->s);
    ws_ctx_free(f->ctx);
    free(f);
    return 0;
}

static int open_status(const void *image, size_t bytes, char *reason, size_t n)
{
    struct wsrt_pack *p;
    int rc = wsrt_open_memory(image, bytes, &p, reason, n);

    wsrt_close(p);
    return rc;
}

static void every_bit_counts(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->bytes; i++) {
        for (int bit = 0; bit < 8; bit++) {
            f->copy[i] ^= (unsigned char)(1 << bit);
            assert_int_not_equal(open_status(f->copy, f->bytes, NULL, 0),
                                 WSRT_OK);
            f->copy[i] ^= (unsigned char)(1 << bit);
        }
        f->copy[i] = (unsigned char)~f->copy[i];
        assert_int_not_equal(open_status(f->copy, f->bytes, NULL, 0), WSRT_OK);
        f->copy[i] = (unsigned char)~f->copy[i];
    }
    assert_int_equal(open_status(f->copy, f->bytes, NULL, 0), WSRT_OK);
}

static void every_length_counts(void **state)
{
    struct fixture *f = *state;

    for (size_t n = 0; n < f->bytes; n++) {
        /* Memory of exactly n bytes, so that a reader past it is caught. */
        unsigned char *cut = malloc(n ? n : 1);
        struct wsrt_f_header *h = (void *)cut;

        memcpy(cut, f->image, n);
        assert_int_not_equal(open_status(cut, n, NULL, 0), WSRT_OK);
        if (n >= sizeof(*h) && n % 8 == 0) {
            h->bytes = n;
            h->check_sum = wsrt__file_sum(cut, n);
            assert_int_equal(open_status(cut, n, NULL, 0), WSRT_EDAMAGED);
        }
        free(cut);
    }
}

/* Two words that trade places, a top bit that flips twice: what simple sums
 * do not see. */
static void check_sum_sees_order(void **state)
{
    struct fixture *f = *state;
    uint64_t *w = (void *)f->copy;
    uint64_t sum = wsrt__file_sum(f->image, f->bytes);

    for (size_t i = 5; i + 8 < f->bytes / 8; i++) {
        uint64_t keep = w[i];

        w[i] ^= (uint64_t)1 << 63;
        for (size_t k = i + 1; k <= i + 8; k++) {
            w[k] ^= (uint64_t)1 << 63;
            assert_true(wsrt__file_sum(f->copy, f->bytes) != sum);
            w[k] ^= (uint64_t)1 << 63;
        }
        w[i] = keep;
        for (size_t k = i + 1; k <= i + 8; k++) {
            if (w[i] == w[k])
                continue;
            w[i] = w[k];
            w[k] = keep;
            assert_true(wsrt__file_sum(f->copy, f->bytes) != sum);
            w[k] = w[i];
            w[i] = keep;
        }
    }
}

/* Uses everything that an open pack offers. */
static void use(const struct wsrt_pack *p)
{
    int64_t axes[WSRT_MAX_AXES];
    struct wsrt_memo memo;
    struct wsrt_pick pick;

    memset(&memo, 0, sizeof(memo));
    for (uint32_t e = 0; e < wsrt_entry_count(p); e++) {
        memcpy(axes, wsrt_entry_axes(p, e), wsrt_axis_count(p) * 8);
        assert_int_equal(wsrt_pick(p, axes, &pick), WSRT_OK);
        assert_int_equal(pick.entry, e);
        for (uint32_t a = 0; a < wsrt_axis_count(p); a++) {
            struct wsrt_explanation why;
            char text[400];

            axes[a] += a == 1 ? 8 : 1;
            if (wsrt_explain(p, axes, &why) == WSRT_OK)
                assert_true(wsrt_explain_text(p, &why, text, sizeof(text)) > 0);
            if (wsrt_pick_memo(p, &memo, axes, &pick) == WSRT_OK)
                assert_true(pick.variant < wsrt_variant_count(p));
        }
    }
    for (uint32_t v = 0; v < wsrt_variant_count(p); v++) {
        uint32_t k = wsrt_variant_kernel(p, v);

        for (uint32_t i = 0; i < wsrt_param_count(p, k); i++)
            assert_true(strlen(wsrt_param_name(p, k, i)) +
                            strlen(wsrt_param_text(p, v, i)) <
                        100000);
    }
}

static void random_damage_is_harmless(void **state)
{
    struct fixture *f = *state;
    struct wsrt_f_header *h = (void *)f->copy;
    struct ws__rng r;
    long opened = 0;

    ws__rng_seed(&r, 11);
    for (int round = 0; round < 30000; round++) {
        size_t n = 1 + ws__rng_below(&r, 3);
        struct wsrt_pack *p;

        for (size_t i = 0; i < n; i++) {
            size_t at = ws__rng_below(&r, f->bytes);

            /* Small numbers and small changes get deeper than noise. */
            switch (ws__rng_below(&r, 3)) {
            case 0:
                f->copy[at] = (unsigned char)ws__rng_below(&r, 256);
                break;
            case 1:
                f->copy[at] = (unsigned char)ws__rng_below(&r, 4);
                break;
            default:
                f->copy[at] =
                    (unsigned char)(f->copy[at] + ws__rng_below(&r, 5) - 2);
            }
        }
        h->check_sum = wsrt__file_sum(h, f->bytes);
        if (wsrt_open_memory(f->copy, f->bytes, &p, NULL, 0) == WSRT_OK) {
            opened++;
            use(p);
            wsrt_close(p);
        }
        memcpy(f->copy, f->image, f->bytes);
    }
    /* Names, times and texts may change without being wrong. */
    assert_true(opened > 100);
    assert_true(opened < 29000);
}

struct lie {
    enum wsrt_section section;
    size_t offset, bytes;
    uint64_t value;
    const char *word; /* of the refusal; NULL: it is none of the check's */
};
#define LIE_AT(i, s, type, field, v, word)                                     \
    {                                                                          \
        WSRT_S_##s,                                                            \
            (i) * sizeof(struct wsrt_f_##type) +                               \
                offsetof(struct wsrt_f_##type, field),                         \
            sizeof(((struct wsrt_f_##type *)0)->field), v, word                \
    }
#define LIE(...) LIE_AT(0, __VA_ARGS__)

static void tell(struct fixture *f, const struct lie *lie, size_t n)
{
    struct wsrt_f_header *h = (void *)f->copy;

    for (size_t i = 0; i < n; i++) {
        char reason[200] = "";
        struct wsrt_pack *p;
        int rc;

        memcpy(f->copy + h->section[lie[i].section].at + lie[i].offset,
               &lie[i].value, lie[i].bytes);
        h->check_sum = wsrt__file_sum(h, f->bytes);
        rc = wsrt_open_memory(f->copy, f->bytes, &p, reason, sizeof(reason));
        if (rc != (lie[i].word ? WSRT_EDAMAGED : WSRT_OK) ||
            (lie[i].word && !strstr(reason, lie[i].word)))
            fail_msg("lie %zu: %d, '%s' is not in: %s", i, rc,
                     lie[i].word ? lie[i].word : "", reason);
        if (rc == WSRT_OK)
            use(p);
        wsrt_close(p);
        memcpy(f->copy, f->image, f->bytes);
    }
}

/* One lie for each kind of thing, each refused in its own words. */
static void lies(void **state)
{
    static const struct lie lie[] = {
        LIE(AXES, axis, name, 1 << 30, "AXES"),
        LIE(AXES, axis, kind, 3, "unknown kind"),
        LIE(AXES, axis, dflt, 3, "default"),
        LIE(AXES, axis, ntype, 1, "default"),
        LIE(AXES, axis, first_type, 1, "AXES"),
        LIE(AXES, axis, lo, 1 << 24, "AXES"),
        LIE(TYPES, type, code, 0, "default"),
        LIE(TYPES, type, zero, 1, "TYPES"),
        LIE(DEVICE, device, name, UINT32_MAX, "DEVICE"),
        LIE(KERNELS, kernel, nparam, 3, "VARIANTS"),
        LIE(KERNELS, kernel, nguard, 1, "KERNELS, element 1"),
        LIE(KERNELS, kernel, dflt, 1, "default is of another"),
        LIE(RANGES, range, hi, 0, "may not run its shape"),
        LIE(PARAMS, param, zero, 1, "PARAMS"),
        LIE(REQUIRES, guard, bytes, 0, "not a program"),
        LIE(GUARDS, guard, at, 0, "GUARDS"),
        LIE(GUARDS, guard, bytes, 1, "not a program"),
        LIE(VARIANTS, variant, kernel, 2, "VARIANTS"),
        LIE(VARIANTS, variant, first_value, 1, "VARIANTS"),
        LIE(VALUES, value, text, 1 << 30, "VALUES"),
        LIE(ENTRIES, row, variant, 1 << 20, "ENTRIES"),
        LIE(ENTRIES, row, time_ns, 0x7f800000, "time"),
        LIE(ENTRIES, row, default_ns, 1u << 31, "time"),
        LIE(GROUPS, group, first, 1, "GROUPS"),
        LIE(GROUPS, group, n, 1000, "not in order"),
        LIE(TEXTS, text, at, 1, "TEXTS"),
        LIE(TEXTS, text, bytes, 0, "TEXTS"),
        LIE(TENSORS, tensor, name, 1 << 30, "TENSORS"),
        LIE(TENSORS, tensor, role, 3, "TENSORS"),
        LIE(TENSORS, tensor, dtype, 2, "element type"),
        LIE(TENSORS, tensor, type_axis, 0, "element type"),
        LIE(TENSORS, tensor, type_axis, WSRT_NONE, "element type"),
        LIE(TENSORS, tensor, by_value, 2, "TENSORS"),
        LIE(TENSORS, tensor, align, 3, "alignment"),
        LIE(TENSORS, tensor, align, 8192, "alignment"),
        LIE(PLANS, plan, first_scratch, 1, "PLANS"),
        LIE(PLANS, plan, nscratch, 17, "PLANS"),
        LIE(PLANS, plan, nlaunch, 17, "PLANS"),
        LIE(PLANS, plan, nlaunch, 1, "PLANS, element 1"),
        LIE(PLANS, plan, nbaked, 2, "BAKED"),
        {WSRT_S_BAKED, 0, 4, SAMPLE_AXES, "BAKED"},
        {WSRT_S_BAKED, 0, 4, AXIS_N, NULL},
        LIE(SCRATCH, scratch, name, 1 << 30, "SCRATCH"),
        LIE(SCRATCH, scratch, zero, 2, "SCRATCH"),
        LIE(SCRATCH, scratch, bytes, 1, "in its turn"),
        LIE(SCRATCH, scratch, when, WSRT_NONE, "in its turn"),
        LIE(LAUNCHES, launch, entry, 1 << 30, "LAUNCHES"),
        LIE(LAUNCHES, launch, when, 0, "in its turn"),
        LIE(LAUNCHES, launch, narg, 49, "LAUNCHES"),
        LIE(LAUNCHES, launch, first_arg, 1, "LAUNCHES"),
        LIE(ARGS, arg, kind, WSRT_NARGKINDS, "ARGS"),
        LIE(ARGS, arg, kind, WSRT_ARG_INT, "ARGS"),
        LIE(ARGS, arg, index, SAMPLE_TENSORS, "ARGS"),
        LIE(ARGS, arg, dtype, 1, "ARGS"),
        LIE(ARGS, arg, program, 0, "ARGS"),
        LIE(PROGRAMS, guard, at, 1, "PROGRAMS"),
        LIE(PROGRAMS, guard, bytes, 1, "not a program"),
        {WSRT_S_PROGRAMCODE, 0, 1, 255, "not a program"},
        LIE(BINARIES, binary, variant, 1 << 20, "BINARIES"),
        LIE(BINARIES, binary, variant, 1, "BINARIES"),
        LIE(BINARIES, binary, image, 1, "BINARIES"),
        LIE(BINARIES, binary, first_key, 1, "BINARIES"),
        LIE(BINARIES, binary, first_symbol, 1, "BINARIES"),
        {WSRT_S_KEYS, 0, 8, 3, "no value"},
        {WSRT_S_SYMBOLS, 0, 4, 1 << 30, "SYMBOLS"},
        {WSRT_S_SYMBOLS, 0, 4, WSRT_NONE, NULL},
        LIE(IMAGES, image, at, 1, "IMAGES"),
        LIE(IMAGES, image, bytes, 0, "IMAGES"),
        LIE(IMAGES, image, bytes, 1, "has no end"),
        LIE(IMAGES, image, family, 1 << 30, "IMAGES"),
        {WSRT_S_STRINGS, 0, 1, 0, NULL},
        {WSRT_S_SHAPES, 0, 4, 0, "no shape"},
        {WSRT_S_GROUPTYPES, 0, 8, 3, "no shape"},
        {WSRT_S_CODE, 0, 1, 255, "not a program"},
    };

    tell(*state, lie, WS_COUNT(lie));
}

/* The first leaf names an entry that is not there. */
static void lie_about_leaf(struct fixture *f)
{
    const struct wsrt_f_header *h = f->image;
    const struct wsrt_f_node *node =
        (void *)((char *)f->image + h->section[WSRT_S_NODES].at);
    size_t i = 0;

    while (node[i].axis != WSRT_LEAF)
        i++;
    tell(f, &(struct lie)LIE_AT(i, NODES, node, limit, 1 << 20, "NODES"), 1);
}

static void lies_about_models(void **state)
{
    static const struct lie lie[] = {
        LIE(COUNTS, counts, kind, 0, "COUNTS, element 0"),
        LIE(COUNTS, counts, kind, WSRT_NCOUNTS, "COUNTS, element 0"),
        LIE(COUNTS, counts, block, 16, "COUNTS, element 0"),
        LIE_AT(1, COUNTS, counts, axis, GEMM_T, "COUNTS, element 1"),
        LIE_AT(1, COUNTS, counts, axis, GEMM_M, "COUNTS, element 1"),
        LIE_AT(1, COUNTS, counts, axis, 99, "COUNTS, element 1"),
        LIE_AT(1, COUNTS, counts, block, 0, "COUNTS, element 1"),
        LIE_AT(1, COUNTS, counts, block, UINT64_MAX, "COUNTS, element 1"),
        LIE(MODELS, model, first_law, 1, "MODELS"),
        LIE(MODELS, model, nform, 500, "MODELS"),
        LIE(MODELS, model, ndflt, 400, "MODELS"),
        LIE(MODELS, model, ncoord, 1 << 20, "MODELS"),
        LIE(MODELS, model, ncoord, 3, "FORMS"),
        LIE(MODELS, model, first_node, 1, "MODELS"),
        LIE(MODELS, model, nnode, 0, "no model has"),
        LIE(MODELS, model, nlist, 1, "NODES"),
        LIE(MODELS, model, considered, 0, "MODELS"),
        LIE(MODELS, model, at_once, 1001, "MODELS"),
        LIE(MODELS, model, tree_worst, 7, NULL),
        {WSRT_S_MODELTYPES, 0, 8, 9, "MODELTYPES"},
        LIE(SPANS, range, lo, 0, "SPANS"),
        LIE(SPANS, range, hi, 0, "SPANS"),
        LIE(FORMS, form, variant, 1 << 20, "FORMS"),
        LIE(FORMS, form, variant, 3, "is no kernel's default"),
        LIE(FORMS, form, law, 9, "FORMS"),
        LIE(FORMS, form, margin, 1u << 31, "FORMS"),
        LIE(FORMS, form, coord[3], 2000, "FORMS"),
        LIE(FORMS, form, form.occupancy, 0, "FORMS"),
        LIE(FORMS, form, form.overlap, 0, "FORMS"),
        LIE(FORMS, form, form.flop, 1u << 31, "FORMS"),
        LIE(FORMS, form, form.rows, 1u << 31, NULL),
        LIE(LAWS, law, law.units, 0, "LAWS"),
        LIE(LAWS, law, law.p, 0, "LAWS"),
        LIE(LAWS, law, law.cache, UINT64_C(1) << 63, "LAWS"),
        LIE(LAWS, law, law.start, 0x7fffffff, "LAWS"),
        LIE(COORDS, coord, at, 1, "COORDS"),
        LIE(COORDS, coord, bytes, 60000, "COORDS"),
        LIE(COORDS, coord, value, 0, "COORDS"),
        LIE(COORDS, coord, value, -5, "COORDS"),
        LIE(COORDS, coord, axis, GEMM_T, "COORDS"),
        LIE(COORDS, coord, axis, GEMM_AXES, "COORDS"),
        LIE(COORDS, coord, factor, 0, "COORDS"),
        {WSRT_S_COORDCODE, 0, 1, 255, "not a program"},
        LIE(NODES, node, axis, GEMM_AXES, "NODES"),
        LIE(NODES, node, axis, WSRT_MAX_AXES + 2000, "NODES"),
        LIE(NODES, node, axis, WSRT_LEAF, "NODES"),
        LIE(NODES, node, skip, 1, "NODES"),
        LIE(NODES, node, skip, 60000, "NODES"),
        {WSRT_S_LISTS, 0, 2, 17, "NODES"},
        {WSRT_S_LISTS, 2, 2, 500, "NODES"},
    };

    tell(*state, lie, WS_COUNT(lie));
    lie_about_leaf(*state);
}

/* A guard with floats, planted where a good one was. */
static void no_floats_in_guards(void **state)
{
    struct fixture *f = *state;
    struct wsrt_f_header *h = (void *)f->copy;
    unsigned char *code = f->copy + h->section[WSRT_S_CODE].at;
    struct wsrt_f_guard *g = (void *)(f->copy + h->section[WSRT_S_REQUIRES].at);

    assert_true(g[0].bytes >= 6);
    assert_int_equal(wsrt_code_check(code, g[0].bytes, SAMPLE_AXES, 1), 0);
    for (int op = 0; op < 256; op++) {
        int rc;

        code[0] = (unsigned char)op;
        h->check_sum = wsrt__file_sum(h, f->bytes);
        rc = open_status(f->copy, f->bytes, NULL, 0);
        if (wsrt_code_check(code, g[0].bytes, SAMPLE_AXES, 1))
            assert_int_equal(rc, WSRT_EDAMAGED);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_MODEL(f) cmocka_unit_test_setup_teardown(f, setup_model, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_bit_counts),
        TEST(every_length_counts),
        TEST(check_sum_sees_order),
        TEST(random_damage_is_harmless),
        TEST(lies),
        TEST(no_floats_in_guards),
        TEST_MODEL(every_bit_counts),
        TEST_MODEL(every_length_counts),
        TEST_MODEL(random_damage_is_harmless),
        TEST_MODEL(lies_about_models),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
