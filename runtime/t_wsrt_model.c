/*
 * t_wsrt_model.c: what a model chooses: never what may not run, never away from
 * the default for less than its margin, the formula itself outside of the
 * ranges, tuned shapes where they serve their cell; that
 * the losses stated in a pack are those that other shapes show; counts.
 */
#include "base/t_base.h"

#include <math.h>

#include "pack/t_pack_gemm.h"

struct fixture {
    struct ws_ctx *ctx;
    struct gemm g;
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
};

static int finish(struct fixture *f)
{
    if (ws__pack_image(f->ctx, &f->g.s.content, &f->image, &f->bytes))
        return -1;
    return wsrt_open_memory(f->image, f->bytes, &f->p, NULL, 0);
}

/* Every other tuned shape has the config that the model thinks best. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->ctx = t_ctx(NULL);
    if (gemm_make(f->ctx, &f->g, 60, 24))
        return -1;
    f->g.model[0].nodes = 255;
    f->g.model[0].shapes = 6000;
    f->g.model[0].points = 4000;
    f->g.model[0].hi[GEMM_M] = 4096;
    f->g.model[0].lo[GEMM_M] = 1;
    return finish(f);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    wsrt_close(f->p);
    ws__free(f->ctx, f->image);
    gemm_free(&f->g);
    ws_ctx_free(f->ctx);
    free(f);
    return 0;
}

/* May the variant run, in plain C? */
static bool may_run(const struct fixture *f, uint32_t variant,
                    const int64_t *axes)
{
    const char *split = wsrt_param_text(f->p, variant, 3);
    int64_t bk = strtoll(wsrt_param_text(f->p, variant, 2), NULL, 10);

    if (axes[GEMM_M] > 16384 || axes[GEMM_N] > 65536 || axes[GEMM_K] > 65536 ||
        axes[GEMM_M] * axes[GEMM_N] >= INT64_C(1) << 31)
        return false;
    return !split || (axes[GEMM_N] % 8 == 0 &&
                      strtoll(split, NULL, 10) * bk <= axes[GEMM_K]);
}

static void some_shape(struct ws__rng *r, int64_t *axes)
{
    gemm_shape(r, axes);
    axes[GEMM_N] += (int64_t)ws__rng_below(r, 4) == 0;
    if (ws__rng_below(r, 4) == 0)
        axes[GEMM_K] = 1 + (int64_t)ws__rng_below(r, 100);
}

static void choices(void **state)
{
    struct fixture *f = *state;
    const struct wsrt_f_model *m = &f->p->model[0];
    long seen[6] = {0}, left = 0;
    int64_t loss = 0;
    struct ws__rng r;

    ws__rng_seed(&r, 99);
    for (int i = 0; i < 20000; i++) {
        int64_t axes[WS__MAX_AXES] = {0};
        struct wsrt_explanation e;
        int32_t gain;
        int rc;

        some_shape(&r, axes);
        rc = wsrt_explain(f->p, axes, &e);
        if (rc == WSRT_ENONE) {
            assert_true(axes[GEMM_M] * axes[GEMM_N] >= INT64_C(1) << 31);
            continue;
        }
        assert_int_equal(rc, WSRT_OK);
        seen[e.pick.how]++;
        assert_true(may_run(f, e.pick.variant, axes));
        if (e.pick.how == WSRT_EXACT || e.pick.how == WSRT_DEFAULT)
            continue;
        assert_int_equal(e.covered, axes[GEMM_M] <= 4096);
        assert_int_equal(e.pick.how == WSRT_FORMULA, !e.covered);
        assert_true(e.dflt != WSRT_NO_ENTRY);
        gain = e.dflt_log2_ns - e.log2_ns;
        if (e.pick.variant != e.dflt)
            assert_true(gain > e.margin);
        if (e.pick.how == WSRT_FORMULA && e.pick.variant != e.dflt)
            assert_true(e.log2_ns <= e.runner_up_log2_ns);
        left += e.pick.how == WSRT_MODEL && e.pick.variant != e.dflt;
        if (e.runner_up_log2_ns < e.log2_ns && e.pick.variant != e.dflt)
            loss += e.log2_ns - e.runner_up_log2_ns;
    }
    assert_true(seen[WSRT_MODEL] > 5000);
    assert_true(seen[WSRT_FORMULA] > 500);
    assert_true(left > 1000);
    /* The mean that is stated, on other shapes. */
    assert_true(loss / 20000 <= 2 * m->tree_mean + 2000);
}

/* The default is left for more than the margin or not at all: by the shorter
 * way, without words, so that many shapes are tried. */
static void margins_hold(void **state)
{
    struct fixture *f = *state;
    const struct wsrt_f_model *m = &f->p->model[0];
    const struct wsrt_f_form *form = &f->p->form[m->first_form];
    long left = 0;
    struct ws__rng r;

    assert_int_equal(m->ndflt, 1);
    ws__rng_seed(&r, 98);
    for (int i = 0; i < 200000; i++) {
        int64_t axes[WS__MAX_AXES] = {0};
        struct wsrt_pick pick;
        struct wsrt__work w;
        uint32_t at = 0;

        some_shape(&r, axes);
        if (wsrt_pick(f->p, axes, &pick) || pick.how == WSRT_EXACT ||
            pick.how == WSRT_DEFAULT || pick.variant == form[0].variant)
            continue;
        while (form[at].variant != pick.variant)
            at++;
        wsrt__work_start(&w, f->p, m, axes);
        assert_true(!wsrt__may_run(f->p, form[0].variant, axes) ||
                    wsrt__work_guess(&w, &form[at]) + form[at].margin <
                        wsrt__work_guess(&w, &form[0]));
        left++;
    }
    assert_true(left > 50000);
}

/* A coordinate that is a product or a quotient has the value that its program
 * would have: those of the kernels' texts, in plain C. */
static void products(void **state)
{
    struct fixture *f = *state;
    const struct wsrt_f_model *m = &f->p->model[0];
    struct ws__rng r;
    long n = 0;

    ws__rng_seed(&r, 5);
    for (int i = 0; i < 300; i++) {
        int64_t axes[WS__MAX_AXES] = {0};

        some_shape(&r, axes);
        for (uint32_t k = 0; k < m->nform; k++) {
            const struct wsrt_f_form *form = &f->p->form[m->first_form + k];
            uint32_t grid = form->coord[WSRT_W_GRID];
            int64_t bm = strtoll(wsrt_param_text(f->p, form->variant, 0), NULL,
                                 10),
                    bn = strtoll(wsrt_param_text(f->p, form->variant, 1), NULL,
                                 10);
            const char *split = wsrt_param_text(f->p, form->variant, 3);
            int64_t want = ((axes[GEMM_M] + bm - 1) / bm) *
                           ((axes[GEMM_N] + bn - 1) / bn) *
                           (split ? strtoll(split, NULL, 10) : 1);

            assert_int_equal(f->p->coord[m->first_coord + grid].bytes, 0);
            assert_true(wsrt__model_feature(f->p, m,
                                            (uint16_t)(WSRT_MAX_AXES + grid),
                                            axes) == want);
            n++;
        }
    }
    assert_true(n > 1000);
}

/* The formula's choice is the same with and without its short cut, and what the
 * short cut goes by is never above a prediction. */
static void bounds(void **state)
{
    struct fixture *f = *state;
    const struct wsrt_f_model *m = &f->p->model[0];
    struct ws__rng r;

    ws__rng_seed(&r, 3);
    for (int i = 0; i < 5000; i++) {
        int64_t axes[WS__MAX_AXES] = {0};
        struct wsrt__guess g;
        struct wsrt__work w;
        struct wsrt_pick pick;
        uint32_t at;

        some_shape(&r, axes);
        wsrt__work_start(&w, f->p, m, axes);
        wsrt__model_guess(&w, &g);
        for (uint32_t k = 0; k < g.n; k++) {
            const struct wsrt_wave_law *law =
                &f->p->law[m->first_law + g.form[k]->law].law;
            struct wsrt_wave_glance look = {0};
            struct wsrt_wave_ready ready;
            struct wsrt_wave_coords c;

            for (int a = 0; a < WSRT_NWAVE; a++)
                c.n[a] = wsrt__model_feature(f->p, m,
                                             (uint16_t)(WSRT_MAX_AXES +
                                                        g.form[k]->coord[a]),
                                             axes);
            wsrt__wave_logs(&c);
            wsrt__wave_ready(law, &g.form[k]->form, &c, 1, &ready);
            look.grid = c.n[WSRT_W_GRID];
            look.padded = c.n[WSRT_W_PADDED];
            look.log_grid = c.log[WSRT_W_GRID];
            look.log_steps = c.log[WSRT_W_STEPS];
            look.log_unique = c.log[WSRT_W_UNIQUE];
            look.log_bytes = c.log[WSRT_W_BYTES];
            look.log_after = c.log[WSRT_W_AFTER];
            assert_true(wsrt__wave_bound(law, &g.form[k]->form, &ready, &look,
                                         w.log_axis,
                                         f->p->nvar) <= g.log2_ns[k]);
            assert_int_equal(wsrt__wave_log2_ns(law, &g.form[k]->form, c.n,
                                                w.log_axis, f->p->nvar),
                             g.log2_ns[k]);
        }
        at = wsrt__model_choose(&g);
        if (wsrt__pick_formula(f->p, m, axes, &pick) != WSRT_OK)
            assert_int_equal(at, WSRT_NONE);
        else
            assert_int_equal(g.form[at]->variant, pick.variant);
    }
}

static void stated(void **state)
{
    struct fixture *f = *state;
    const struct wsrt_f_model *m = &f->p->model[0];

    assert_true(m->nform <= 24 && m->considered == 24);
    assert_true(m->points > 2000);
    assert_true(m->nnode > 20 && m->nnode <= 255);
    assert_true(m->tree_worst >= m->tree_mean && m->tree_mean >= 0);
    assert_true(m->prune_worst >= m->prune_mean && m->prune_mean >= 0);
    /* Far less than doing without a model. */
    assert_true(m->tree_mean < 40000);
}

static void other_types_have_none(void **state)
{
    struct fixture *f = *state;
    int64_t axes[WS__MAX_AXES] = {64, 64, 512, WS__DT_BF16};
    struct wsrt_explanation e;

    assert_int_equal(wsrt_explain(f->p, axes, &e), WSRT_OK);
    assert_int_equal(e.pick.how, WSRT_DEFAULT);
    assert_int_equal(e.model, WSRT_NO_ENTRY);
    assert_int_equal(e.log2_ns, WSRT_NO_LOG2);
}

/* A tuned shape whose config the model thinks best serves its cell. */
static void tuned_shapes_serve(void **state)
{
    struct fixture *f = *state;
    struct ws__rng r;
    long near = 0;

    for (size_t i = 0; i < 60; i++) {
        struct ws__workload *w = &f->g.s.workload[i];
        int64_t shape[WS__MAX_AXES];
        struct wsrt_explanation e;
        uint32_t best;

        memcpy(shape, w->axis, sizeof(shape));
        shape[GEMM_K]++;
        if (wsrt_explain(f->p, shape, &e) || e.runner_up == WSRT_NO_ENTRY)
            continue;
        best = e.log2_ns <= e.runner_up_log2_ns ? e.pick.variant : e.runner_up;
        for (size_t k = 0; k < f->g.model[0].nform; k++) {
            const struct wsrt_f_model *m = &f->p->model[0];

            for (uint32_t v = 0; v < m->nform; v++)
                if (f->p->form[m->first_form + v].variant == best &&
                    !memcmp(&f->p->form[m->first_form + v].form,
                            &f->g.form[k].form, sizeof(f->g.form[k].form)))
                    f->g.s.entry[i].candidate = f->g.form[k].candidate;
        }
    }
    wsrt_close(f->p);
    ws__free(f->ctx, f->image);
    assert_int_equal(finish(f), 0);
    ws__rng_seed(&r, 7);
    for (int i = 0; i < 20000; i++) {
        int64_t axes[WS__MAX_AXES] = {0};
        struct wsrt_explanation e;

        gemm_shape(&r, axes);
        if (wsrt_explain(f->p, axes, &e) || e.pick.how != WSRT_NEAREST)
            continue;
        near++;
        assert_true(e.pick.entry < 60);
        assert_int_equal(f->p->entry[e.pick.entry].variant, e.pick.variant);
        assert_true(e.pick.distance > 0);
        assert_true(e.pick.time_ns == f->p->entry[e.pick.entry].time_ns);
        assert_true(e.asked <= 2);
    }
    assert_true(near > 50);
}

static void in_words(void **state)
{
    static const char *const words[] = {
        "choice: ",
        "predicted ",
        "the model's choice for its cell",
        "; cell ",
        "default: ",
        "next best: ",
        "margin over the default: ",
        "of 24 candidates",
        "cells against the formula: lose at most "};
    struct fixture *f = *state;
    int64_t axes[WS__MAX_AXES] = {100, 1000, 2000, WS__DT_F16};
    struct wsrt_explanation e;
    char text[2000], cut[20];
    size_t n;

    assert_int_equal(wsrt_explain(f->p, axes, &e), WSRT_OK);
    assert_int_equal(e.pick.how, WSRT_MODEL);
    n = wsrt_explain_text(f->p, &e, text, sizeof(text));
    assert_int_equal(n, strlen(text));
    for (size_t i = 0; i < WS_COUNT(words); i++)
        if (!strstr(text, words[i]))
            fail_msg("'%s' is not in: %s", words[i], text);
    assert_int_equal(wsrt_explain_text(f->p, &e, cut, sizeof(cut)), n);
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
    assert_int_equal(wsrt_explain_text(f->p, &e, NULL, 0), n);
    assert_int_equal(wsrt_explain(f->p, NULL, &e), WSRT_EARG);
    assert_int_equal(wsrt_explain(f->p, axes, NULL), WSRT_EARG);
    axes[GEMM_M] = 0;
    assert_int_equal(wsrt_explain(f->p, axes, &e), WSRT_EARG);
}

static void power_of_two(void **state)
{
    (void)state;
    for (int32_t x = -(60 << WSRT_WAVE_Q); x < 60 << WSRT_WAVE_Q; x += 9973) {
        double want = exp2(x / 1048576.0);

        assert_true(fabs(wsrt__exp2(x) - want) <= 1e-6 * want);
    }
    assert_true(wsrt__exp2(WSRT_WAVE_NOTHING) == 0);
}

/* Axes that the caller's counts say. */
static void counts(void **state)
{
    static const int32_t list[] = {0, 17, 1, 0, 64, 16};
    static const int32_t negative[] = {3, -1}, none[] = {0, 0};
    struct fixture *f = *state;
    int64_t axes[WS__MAX_AXES] = {-7, -7, -7, -7};
    struct ws__axis *axis = f->g.s.op.axis;

    assert_int_equal(wsrt_axis_is_counted(f->p, GEMM_M), 0);
    axis[GEMM_M].counts = WS__COUNTS_NONZERO;
    axis[GEMM_N].counts = WS__COUNTS_BLOCKS;
    axis[GEMM_N].counts_block = 16;
    axis[GEMM_K].counts = WS__COUNTS_MAX;
    wsrt_close(f->p);
    ws__free(f->ctx, f->image);
    f->g.s.content.nmodel = 0;
    f->g.s.content.nentry = 0;
    assert_int_equal(finish(f), 0);
    assert_int_equal(wsrt_counts(f->p, negative, 2, axes), WSRT_EARG);
    assert_int_equal(wsrt_counts(f->p, none, 2, axes), WSRT_EARG);
    assert_int_equal(wsrt_counts(f->p, NULL, 0, axes), WSRT_EARG);
    assert_int_equal(axes[GEMM_M], -7);
    assert_int_equal(wsrt_counts(f->p, list, 6, axes), WSRT_OK);
    assert_int_equal(axes[GEMM_M], 4);
    assert_int_equal(axes[GEMM_N], 2 + 1 + 4 + 1);
    assert_int_equal(axes[GEMM_K], 64);
    assert_int_equal(axes[GEMM_T], -7);
    assert_int_equal(wsrt_axis_is_counted(f->p, GEMM_M), 1);
    assert_int_equal(wsrt_axis_is_counted(f->p, GEMM_T), 0);
    assert_int_equal(wsrt_axis_is_counted(NULL, 0), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(choices),
        TEST(margins_hold),
        TEST(products),
        TEST(bounds),
        TEST(stated),
        TEST(other_types_have_none),
        TEST(tuned_shapes_serve),
        TEST(in_words),
        cmocka_unit_test(power_of_two),
        TEST(counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
