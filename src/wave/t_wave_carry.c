/* t_wave_carry.c: what a model says of another device, and how sure it is: on a
 * table of tiled products whose times are the formula's own. */
#include "base/t_base.h"

#include <math.h>

#include "wave/wave_judge.h"

enum { SHAPES = 24, CONFIGS = 5, PAIRS = SHAPES * CONFIGS };

struct world {
    struct ws__wave_table table;
    int64_t axis[SHAPES * 3];
    struct ws__wave_config config[CONFIGS];
    struct ws__wave_pair pair[PAIRS];
    double log_ns[PAIRS], clock[PAIRS], truth[PAIRS];
    uint32_t group[SHAPES];
    enum ws__judge_part part[SHAPES];
    struct ws__judge_data data;
};

static void set_pair(struct world *w, size_t shape, size_t config)
{
    const int64_t *a = w->axis + 3 * shape;
    int64_t rows = (int64_t)w->config[config].rows;
    int64_t columns = (int64_t)w->config[config].columns;
    struct ws__wave_pair *p = &w->pair[shape * CONFIGS + config];
    int64_t *c = p->coord;

    p->feasible = true;
    c[WSRT_W_GRID] =
        (a[0] + rows - 1) / rows * ((a[1] + columns - 1) / columns);
    c[WSRT_W_STEPS] = c[WSRT_W_GRID] * (a[2] / 32);
    c[WSRT_W_LONGEST] = a[2] / 32;
    c[WSRT_W_FLOPS] = 64 * rows * columns;
    c[WSRT_W_BYTES] = 128 * (rows + columns);
    c[WSRT_W_STORE] = 4 * rows * columns;
    c[WSRT_W_UNIQUE] = 4 * (a[0] * a[2] + a[1] * a[2] + a[0] * a[1]);
}

/* The times of a device of this sheet, whose constants lie `off` deviations
 * from its prior's centres. */
static void make(struct world *w, struct ws_ctx *ctx, const char *sheet,
                 double off)
{
    static const double tile[CONFIGS][2] = {
        {128, 128}, {64, 64}, {128, 64}, {32, 128}, {64, 256}};
    struct ws__wave_belief p;
    double theta[WS__NTHETA];

    memset(w, 0, sizeof(*w));
    w->table = (struct ws__wave_table){.ctx = ctx,
                                       .sheet = *ws__wave_sheet_find(sheet),
                                       .nshape = SHAPES,
                                       .nconfig = CONFIGS,
                                       .naxis = 3,
                                       .nfeature = 2,
                                       .axis = w->axis,
                                       .config = w->config,
                                       .pair = w->pair};
    for (size_t j = 0; j < CONFIGS; j++)
        w->config[j] =
            (struct ws__wave_config){.rows = tile[j][0],
                                     .columns = tile[j][1],
                                     .depth = 32,
                                     .warps = 4,
                                     .stages = 3,
                                     .occupancy = 2,
                                     .macro = (uint32_t)j,
                                     .feature = {log2(tile[j][0]) / 1.4,
                                                 log2(tile[j][1]) / 1.4}};
    ws__wave_prior(&w->table.sheet, &p);
    for (int k = 0; k < WS__NTHETA; k++)
        theta[k] = p.centre[k] + off * p.sd[k];
    for (size_t i = 0; i < SHAPES; i++) {
        w->axis[3 * i] = 100 + 300 * (int64_t)(i % 6);
        w->axis[3 * i + 1] = 512 << i % 3;
        w->axis[3 * i + 2] = 512 << i % 4;
        w->group[i] = (uint32_t)i;
        for (size_t j = 0; j < CONFIGS; j++) {
            struct wsrt_wave_law law;
            struct wsrt_wave_form form;
            size_t at = i * CONFIGS + j;

            set_pair(w, i, j);
            ws__wave_law(&w->table, theta, &law);
            ws__wave_form(&w->config[j], theta, 1, &form);
            w->log_ns[at] = M_LN2 / WSRT_WAVE_ONE *
                            wsrt__wave_formula(&law, &form, w->pair[at].coord);
            w->truth[at] = exp(w->log_ns[at]);
            w->clock[at] = 1;
        }
    }
    w->data = (struct ws__judge_data){.table = &w->table,
                                      .log_ns = w->log_ns,
                                      .clock = w->clock,
                                      .first_ns = w->truth,
                                      .truth_ns = w->truth,
                                      .group = w->group,
                                      .part = w->part,
                                      .ngroup = SHAPES};
}

static int fit(const struct world *w, size_t n, struct ws__wave_model **m)
{
    struct ws__wave_sample s[PAIRS];

    for (size_t i = 0; i < n; i++) {
        size_t at = i * PAIRS / n;

        s[i] = (struct ws__wave_sample){(uint32_t)(at / CONFIGS),
                                        (uint32_t)(at % CONFIGS), w->log_ns[at],
                                        1};
    }
    return ws__wave_fit(&w->table, s, n, NULL, NULL, m);
}

/* Both devices are as far from their sheets: what was learnt of one helps with
 * the other, before and after some of its times. */
static int carry(struct ws_ctx *ctx, void *user)
{
    struct world a, b;
    struct ws__wave_model *m = NULL;
    struct ws__wave_belief p, own;
    struct ws__transfer_opts o = {.cells = 0, .seed = 1};
    struct ws__transfer_result with, without;
    int rc;
    (void)user;

    make(&a, ctx, "v100", .8);
    make(&b, ctx, "t4", .8);
    WS_TRY(fit(&a, 60, &m));
    ws__wave_carry(m, &b.table.sheet, &p);
    ws__wave_model_free(m);
    ws__wave_prior(&b.table.sheet, &own);
    for (int k = 0; k < WS__NTHETA; k++)
        assert_true(p.sd[k] > 0 && p.sd[k] <= own.sd[k]);
    assert_true(p.centre[WS__T_FMA] > own.centre[WS__T_FMA]);
    for (o.cells = 0; o.cells <= 16; o.cells += 16) {
        o.prior = &p;
        WS_TRY(ws__judge_transfer(&b.data, &o, &with));
        o.prior = NULL;
        WS_TRY(ws__judge_transfer(&b.data, &o, &without));
        assert_int_equal(with.cells, o.cells);
        assert_int_equal(with.pairs, PAIRS - o.cells);
        assert_true(with.error_median <= without.error_median);
        assert_true(with.mean_best_over_chosen <= 1 && with.choices > 0);
        if (o.cells)
            assert_true(with.error_median < .03 && fabs(log(with.bias)) < .03);
        else
            assert_true(with.error_median > .03);
    }
    o.cells = PAIRS;
    rc = ws__judge_transfer(&b.data, &o, &with);
    if (rc == WS_EINVAL)
        assert_non_null(strstr(ctx->err.message, "no pair is left"));
    return rc == WS_EINVAL ? 0 : rc;
}

static void test_carry(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    assert_int_equal(carry(ctx, NULL), 0);
    ws_ctx_free(ctx);
}

static int margins(struct ws_ctx *ctx, void *user)
{
    struct world w;
    struct ws__wave_model *m = NULL;
    int32_t wide[CONFIGS], narrow[CONFIGS], twice[CONFIGS];
    unsigned char none[SHAPES] = {0};
    size_t times = user ? *(size_t *)user : 60;
    int rc;

    make(&w, ctx, "h200", 0);
    WS_TRY(fit(&w, 0, &m));
    WS_TRY_DONE(ws__wave_margin(m, 1, 1, NULL, wide));
    WS_TRY_DONE(ws__wave_margin(m, 1, 2, NULL, twice));
    ws__wave_model_free(m);
    m = NULL;
    WS_TRY(fit(&w, times, &m));
    WS_TRY_DONE(ws__wave_margin(m, 1, 1, NULL, narrow));
    for (size_t j = 0; j < CONFIGS; j++) {
        if (j == 1) {
            assert_true(!wide[j] && !narrow[j] && !twice[j]);
            continue;
        }
        assert_true(narrow[j] > 0 && narrow[j] < wide[j]);
        assert_in_range(twice[j], 2 * wide[j] - 2, 2 * wide[j] + 2);
    }
    /* Where no shape may be looked at, nothing is known. */
    WS_TRY_DONE(ws__wave_margin(m, 1, 1, none, wide));
    assert_int_equal(wide[0], 0);
done:
    ws__wave_model_free(m);
    return rc;
}

static void test_margin(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    assert_int_equal(margins(ctx, NULL), 0);
    ws_ctx_free(ctx);
}

/* A device unlike its sheet, no cells: the guard keeps the default where the
 * model is not sure, and what it loses to it is less. */
static void test_guard(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__judge_opts o = {.share = -1, .held = .5, .seed = 1};
    struct ws__judge_result open, guarded;
    struct world w;
    (void)state;

    make(&w, ctx, "t4", 1);
    w.data.dflt = 1;
    assert_int_equal(ws__judge(&w.data, &o, NULL, &open), 0);
    o.margin = 1e3;
    assert_int_equal(ws__judge(&w.data, &o, NULL, &guarded), 0);
    assert_true(guarded.left_default == 0 && guarded.below_default == 0);
    assert_true(guarded.below_default_worst == 0 && guarded.below_margin == 0);
    assert_true(open.left_default > 0);
    o.margin = 1;
    assert_int_equal(ws__judge(&w.data, &o, NULL, &guarded), 0);
    assert_true(guarded.left_default <= open.left_default);
    assert_true(guarded.below_default_worst <= open.below_default_worst);
    assert_true(guarded.below_margin <= guarded.below_default);
    w.data.dflt = CONFIGS; /* not timed: nothing to guard */
    assert_int_equal(ws__judge(&w.data, &o, NULL, &guarded), 0);
    assert_true(guarded.left_default == 0);
    ws_ctx_free(ctx);
}

/* Few times, so that the fits of all rounds take no minutes. */
static int few(struct ws_ctx *ctx, void *user)
{
    struct ws__transfer_opts o = {.cells = 2, .seed = 1};
    struct ws__transfer_result r;
    struct world w;
    (void)user;

    make(&w, ctx, "t4", .8);
    return ws__judge_transfer(&w.data, &o, &r);
}

static void test_torture(void **state)
{
    size_t times = 4;
    (void)state;

    assert_true(t_torture(margins, &times) > 20);
    assert_true(t_torture(few, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_carry),
        cmocka_unit_test(test_margin),
        cmocka_unit_test(test_guard),
        cmocka_unit_test(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
