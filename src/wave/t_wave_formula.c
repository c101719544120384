/*
 * t_wave_formula.c: the formula in integers against the same formula in
 * doubles, written from docs/wave.md alone; forms in which it can be solved on
 * paper; and that no constant and no coordinate leads it astray.
 */
#include "base/t_base.h"

#include <math.h>

#include "wave/wave.h"

#define NEAR 1e-3 /* of a logarithm */

/* --- the formula in doubles ----------------------------------------------- */

static double value(int64_t q20)
{
    return exp2((double)q20 / WSRT_WAVE_ONE);
}

static double larger(double a, double b, int32_t p16)
{
    double p = p16 / 65536., top = fmax(a, b);

    return top > 0 ? top * pow(pow(a / top, p) + pow(b / top, p), 1 / p) : 0;
}

struct plain {
    const struct wsrt_wave_law *law;
    const struct wsrt_wave_form *form;
    double grid, units, held, steps, loop, longest;
    double step, latency, head, store, memory, line;
};

static void plain_step(struct plain *w, const int64_t *c)
{
    const struct wsrt_wave_form *f = w->form;
    double bytes = (double)c[WSRT_W_BYTES];
    double compute = (double)c[WSRT_W_FLOPS] * value(f->flop) +
                     (double)c[WSRT_W_VECTOR] * value(f->vector);
    double load =
        (double)c[WSRT_W_SHARED] * value(f->shared) + bytes * value(f->byte);
    double slower = value(f->step) * (c[WSRT_W_UNEVEN] ? value(f->uneven) : 1);
    double rare = fmin(1, (double)c[WSRT_W_UNIQUE] / (w->steps * bytes));

    w->step = slower * larger(compute, load, w->law->p);
    w->latency =
        value(f->latency) * (1 + value(w->law->distinct) * rare) +
        bytes * value(f->latency_byte) +
        value(w->law->hidden) * (w->law->balanced ? slower * compute : w->step);
    w->head = value(f->block) +
              value(f->fill) * bytes * fmin(value(f->fill_steps), w->loop);
    w->store = (double)c[WSRT_W_STORE] * value(f->store);
}

static void plain_launch(struct plain *w, const int64_t *c)
{
    double over = (double)(c[WSRT_W_HOLD] - w->law->cache), again = 0;
    double loop = fmin(9, fmax(2, log2(w->loop))) - 6;

    if (over > 0)
        again = (double)c[WSRT_W_AGAIN] * over / (double)c[WSRT_W_HOLD] *
                value(w->law->again);
    w->memory = ((double)c[WSRT_W_UNIQUE] + again) * value(w->form->dram);
    w->line = ((double)c[WSRT_W_HOT] +
               (double)c[WSRT_W_HOTCOLS] * value(w->law->line_columns)) *
              value(w->law->line) * value(w->form->line) /
              exp2(loop * w->law->line_loop / WSRT_WAVE_ONE);
}

static double plain_together(const struct plain *w, double n, double pad)
{
    double crowd = 1 + (double)w->law->crowd / WSRT_WAVE_ONE;

    return larger(w->latency + pad, pow(n, crowd) * (w->step + pad),
                  w->form->overlap);
}

static double plain_tile(const struct plain *w, double n, double pad)
{
    return w->head + n * w->store + w->loop * plain_together(w, n, pad);
}

static double plain_beside(const struct plain *w, double work, double share)
{
    work = larger(work, w->line * share, w->law->q);
    return larger(work, w->memory * share, w->law->q);
}

static double plain_waves(const struct plain *w, double most, double mean)
{
    double slots = w->held * w->units, full = floor(w->grid / slots);
    double rest = w->grid - full * slots, hard = 0, even, blur;

    if (rest > 0)
        hard = plain_beside(w, plain_tile(w, ceil(rest / w->units), most),
                            rest / w->grid);
    hard +=
        full * plain_beside(w, plain_tile(w, w->held, most), slots / w->grid);
    even = w->grid / slots *
           plain_beside(w, plain_tile(w, w->held, mean), slots / w->grid);
    blur = full * value(w->law->soft);
    return (hard + blur * even) / (1 + blur);
}

static double plain_balance(const struct plain *w, double pad)
{
    double n = fmin(w->held, ceil(w->grid / w->units));
    double alone = fmin(n, fmax(1, floor(w->grid / w->units)));
    double all = (w->steps * plain_together(w, n, pad) +
                  w->grid * (w->head + n * w->store)) /
                 (w->units * n);
    double one =
        w->head + w->store + w->longest * plain_together(w, alone, pad);

    return plain_beside(w, larger(one, all, 6 << 16), 1);
}

static double plain_ns(const struct wsrt_wave_law *law,
                       const struct wsrt_wave_form *form, const int64_t *c)
{
    struct plain w = {.law = law, .form = form};
    double masked = (double)c[WSRT_W_MASKED] * value(law->masked);
    double pad = value(form->pad), mean, body, after = 0;

    w.grid = (double)c[WSRT_W_GRID];
    w.units = law->units;
    w.held = form->occupancy;
    w.steps = (double)c[WSRT_W_STEPS] + w.grid * masked;
    w.loop = w.steps / w.grid;
    w.longest = (double)c[WSRT_W_LONGEST] + masked;
    plain_step(&w, c);
    plain_launch(&w, c);
    mean = (double)c[WSRT_W_PADDED] / w.grid * pad;
    body = law->balanced
               ? plain_balance(&w, mean)
               : plain_waves(&w, (double)c[WSRT_W_PADMOST] * pad, mean);
    if (c[WSRT_W_AFTER])
        after = value(law->after) +
                (double)c[WSRT_W_AFTER] * value(law->after_byte);
    return value(law->start) + body + after;
}

/* --- random ones ---------------------------------------------------------- */

static int64_t spread(struct ws__rng *r, double low, double high)
{
    return (int64_t)exp2(low + (high - low) * ws__rng_unit(r));
}

static int64_t sometimes(struct ws__rng *r, double low, double high)
{
    return ws__rng_below(r, 3) ? spread(r, low, high) : 0;
}

static void draw_coords(struct ws__rng *r, int64_t *c)
{
    int64_t grid = spread(r, 0, 14), loop = spread(r, 0, 9);

    memset(c, 0, sizeof(*c) * WSRT_NWAVE);
    c[WSRT_W_GRID] = grid;
    c[WSRT_W_STEPS] = grid * loop - (int64_t)ws__rng_below(r, 2) * (grid / 3);
    c[WSRT_W_LONGEST] = loop;
    c[WSRT_W_FLOPS] = spread(r, 14, 24);
    c[WSRT_W_VECTOR] = sometimes(r, 8, 20);
    c[WSRT_W_SHARED] = sometimes(r, 10, 18);
    c[WSRT_W_BYTES] = spread(r, 10, 18);
    c[WSRT_W_STORE] = sometimes(r, 8, 18);
    c[WSRT_W_UNIQUE] = spread(r, 16, 34);
    c[WSRT_W_AGAIN] = sometimes(r, 16, 34);
    c[WSRT_W_HOLD] = sometimes(r, 16, 30);
    c[WSRT_W_HOT] = sometimes(r, 10, 30);
    c[WSRT_W_HOTCOLS] = sometimes(r, 10, 30);
    c[WSRT_W_PADDED] = sometimes(r, 0, 16);
    c[WSRT_W_PADMOST] = sometimes(r, 0, 8);
    c[WSRT_W_AFTER] = sometimes(r, 10, 28);
    c[WSRT_W_UNEVEN] = (int64_t)ws__rng_below(r, 2);
    c[WSRT_W_MASKED] = sometimes(r, 0, 3);
}

static void draw_model(struct ws__rng *r, struct wsrt_wave_law *law,
                       struct wsrt_wave_form *form)
{
    struct ws__wave_table t = {.sheet = ws__wave_sheets[0],
                               .balanced = ws__rng_below(r, 2)};
    struct ws__wave_config c = {.rows = (double)spread(r, 4, 9),
                                .columns = (double)spread(r, 4, 9),
                                .depth = (double)spread(r, 4, 8),
                                .warps = 1. + (double)ws__rng_below(r, 8),
                                .stages = 1. + (double)ws__rng_below(r, 5),
                                .accumulators = (double)spread(r, 8, 17),
                                .engine =
                                    (enum ws__wave_engine)ws__rng_below(r, 3),
                                .spread = ws__rng_below(r, 2),
                                .occupancy = 1 + (uint32_t)ws__rng_below(r, 8)};
    struct ws__wave_belief prior;
    double theta[WS__NTHETA];

    ws__wave_prior(&t.sheet, &prior);
    for (int i = 0; i < WS__NTHETA; i++)
        theta[i] = prior.centre[i] + prior.sd[i] * (4 * ws__rng_unit(r) - 2);
    ws__wave_law(&t, theta, law);
    ws__wave_form(&c, theta, .5 + ws__rng_unit(r) / 2, form);
}

static void agrees_with_doubles(void **state)
{
    struct ws__rng r;
    double worst = 0;

    (void)state;
    ws__rng_seed(&r, 7);
    for (int i = 0; i < 20000; i++) {
        struct wsrt_wave_law law;
        struct wsrt_wave_form form;
        int64_t c[WSRT_NWAVE];
        double got, want;

        draw_model(&r, &law, &form);
        draw_coords(&r, c);
        got = wsrt__wave_formula(&law, &form, c) * (M_LN2 / WSRT_WAVE_ONE);
        want = log(plain_ns(&law, &form, c));
        worst = fmax(worst, fabs(got - want));
        if (fabs(got - want) > NEAR)
            fail_msg("case %d: %f, not %f", i, got, want);
    }
    assert_true(worst > 0);
}

/* --- solved on paper ------------------------------------------------------ */

/* 10 units that hold 2 blocks; all that is not set costs nothing. */
static void bare(struct wsrt_wave_law *law, struct wsrt_wave_form *form,
                 int64_t *c)
{
    *law = (struct wsrt_wave_law){.units = 10,
                                  .p = 4 << 16,
                                  .p_inverse = 1 << 14,
                                  .q = 4 << 16,
                                  .q_inverse = 1 << 14,
                                  .cache = 1 << 20};
    *form = (struct wsrt_wave_form){.occupancy = 2,
                                    .overlap = 16 << 16,
                                    .overlap_inverse = 1 << 12};
    law->start = law->soft = law->again = law->line = law->after =
        law->after_byte = law->distinct = law->hidden = WSRT_WAVE_NOTHING;
    form->vector = form->shared = form->byte = form->latency =
        form->latency_byte = form->pad = form->block = form->fill =
            form->store = form->dram = form->line = WSRT_WAVE_NOTHING;
    memset(c, 0, sizeof(*c) * WSRT_NWAVE);
    c[WSRT_W_GRID] = 20;
    c[WSRT_W_STEPS] = 20 * 8;
    c[WSRT_W_LONGEST] = 8;
    c[WSRT_W_FLOPS] = 1000; /* 1 ns each: a step of 1000 ns */
}

static int32_t q20(double x)
{
    return (int32_t)lrint(log2(x) * WSRT_WAVE_ONE);
}

static double ns(const struct wsrt_wave_law *law,
                 const struct wsrt_wave_form *form, const int64_t *c)
{
    return wsrt__exp2(wsrt__wave_formula(law, form, c));
}

static void is_near(double got, double want)
{
    if (fabs(log(got / want)) > NEAR)
        fail_msg("%f, not %f", got, want);
}

static void set_grid(int64_t *c, int64_t grid)
{
    c[WSRT_W_GRID] = grid;
    c[WSRT_W_STEPS] = 8 * grid;
}

static void whole_waves(void **state)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;
    int64_t c[WSRT_NWAVE];

    (void)state;
    bare(&law, &form, c);
    /* Two blocks of a unit, 8 steps of 1000 ns each. */
    is_near(ns(&law, &form, c), 16000);
    set_grid(c, 40);
    is_near(ns(&law, &form, c), 32000);
    /* A wave of one block a unit takes half of it. */
    set_grid(c, 10);
    is_near(ns(&law, &form, c), 8000);
    law.start = q20(500);
    is_near(ns(&law, &form, c), 8500);
}

static void staircase(void **state)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;
    int64_t c[WSRT_NWAVE];

    (void)state;
    bare(&law, &form, c);
    for (int64_t grid = 1; grid <= 60; grid++) {
        double full = (double)(grid / 20), rest = (double)(grid % 20);

        set_grid(c, grid);
        is_near(ns(&law, &form, c), 16000 * full + 8000 * ceil(rest / 10));
    }
    /* Wholly blurred it is a line. */
    law.soft = q20(1e9);
    for (int64_t grid = 20; grid <= 60; grid++) {
        set_grid(c, grid);
        is_near(ns(&law, &form, c), 800 * (double)grid);
    }
    /* With as much blur as waves, it is half-way: here 32000 and 24800. */
    law.soft = q20(1);
    set_grid(c, 31);
    is_near(ns(&law, &form, c), (32000 + 24800) / 2.);
}

static void memory_is_a_bound(void **state)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;
    int64_t c[WSRT_NWAVE];

    (void)state;
    bare(&law, &form, c);
    c[WSRT_W_UNIQUE] = 1000000;
    form.dram = 0; /* 1 ns a byte */
    is_near(ns(&law, &form, c), 1e6);
    /* What does not fit is read again: half of what is held. */
    c[WSRT_W_HOLD] = 2 << 20;
    c[WSRT_W_AGAIN] = 3000000;
    law.again = 0;
    is_near(ns(&law, &form, c), 2.5e6);
    c[WSRT_W_HOLD] = 1 << 20;
    is_near(ns(&law, &form, c), 1e6);
}

static void a_hot_line(void **state)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;
    int64_t c[WSRT_NWAVE];

    (void)state;
    bare(&law, &form, c);
    c[WSRT_W_HOT] = 2000000;
    law.line = form.line = 0;
    is_near(ns(&law, &form, c), 2e6);
    /* A loop of 8 steps is 3 doublings below 64. */
    law.line_loop = WSRT_WAVE_ONE / 3;
    is_near(ns(&law, &form, c), 4e6);
}

static void a_launch_behind(void **state)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;
    int64_t c[WSRT_NWAVE];

    (void)state;
    bare(&law, &form, c);
    law.after = q20(2000);
    law.after_byte = 0;
    is_near(ns(&law, &form, c), 16000);
    c[WSRT_W_AFTER] = 3000;
    is_near(ns(&law, &form, c), 21000);
}

static void balanced_blocks(void **state)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;
    int64_t c[WSRT_NWAVE];

    (void)state;
    bare(&law, &form, c);
    law.balanced = 1;
    form.block = q20(700);
    c[WSRT_W_GRID] = 1;
    c[WSRT_W_STEPS] = 8;
    is_near(ns(&law, &form, c), 8700);
    /* Many: all units are busy until the end. */
    set_grid(c, 20000);
    is_near(ns(&law, &form, c), 800. * 20000 + 700. * 20000 / 20);
}

static void nothing_to_do(void **state)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;
    int64_t c[WSRT_NWAVE];

    (void)state;
    bare(&law, &form, c);
    law.start = q20(1234);
    c[WSRT_W_GRID] = 0;
    is_near(ns(&law, &form, c), 1234);
}

/* --- terms, features, bounds ---------------------------------------------- */

/* The bound, made ready for shapes of this one's steps. */
static int32_t bound_of(const struct wsrt_wave_law *law,
                        const struct wsrt_wave_form *form,
                        const struct wsrt_wave_coords *c, const int32_t *axis,
                        uint32_t naxis)
{
    struct wsrt_wave_glance at = {.grid = c->n[WSRT_W_GRID],
                                  .padded = c->n[WSRT_W_PADDED],
                                  .log_grid = c->log[WSRT_W_GRID],
                                  .log_steps = c->log[WSRT_W_STEPS],
                                  .log_unique = c->log[WSRT_W_UNIQUE],
                                  .log_bytes = c->log[WSRT_W_BYTES],
                                  .log_after = c->log[WSRT_W_AFTER]};
    struct wsrt_wave_ready ready;

    wsrt__wave_ready(law, form, c, 1, &ready);
    assert_int_equal(wsrt__wave_predict(law, form, &ready, c, axis, naxis),
                     wsrt__wave_predict(law, form, NULL, c, axis, naxis));
    return wsrt__wave_bound(law, form, &ready, &at, axis, naxis);
}

static void terms_and_features(void **state)
{
    struct ws__rng r;

    (void)state;
    ws__rng_seed(&r, 3);
    for (int i = 0; i < 2000; i++) {
        int32_t axis[3] = {9 << 20, 12 << 20, 7 << 20}, f[WSRT_WAVE_WEIGHTS];
        struct wsrt_wave_law law;
        struct wsrt_wave_form form;
        struct wsrt_wave_terms t;
        struct wsrt_wave_coords all;
        int64_t c[WSRT_NWAVE], sum = 0;
        int32_t log2_ns;

        draw_model(&r, &law, &form);
        draw_coords(&r, c);
        for (int k = 0; k < WSRT_WAVE_WEIGHTS; k++)
            form.weight[k] = (int32_t)(ws__rng_unit(&r) * 1e5) - 50000;
        wsrt__wave_terms(&law, &form, c, axis, 3, &t);
        wsrt__wave_features(&law, &form, c, axis, 3, f);
        for (int k = 0; k < WSRT_WAVE_WEIGHTS; k++)
            sum += (int64_t)form.weight[k] * f[k] >> WSRT_WAVE_Q;
        assert_int_equal(t.correction, sum);
        assert_int_equal(t.total, wsrt__wave_formula(&law, &form, c));
        log2_ns = wsrt__wave_log2_ns(&law, &form, c, axis, 3);
        assert_int_equal(log2_ns, t.total + t.correction);
        memcpy(all.n, c, sizeof(c));
        wsrt__wave_logs(&all);
        assert_int_equal(log2_ns,
                         wsrt__wave_predict(&law, &form, NULL, &all, axis, 3));
        assert_true(bound_of(&law, &form, &all, axis, 3) <= log2_ns);
        assert_int_equal(f[0], WSRT_WAVE_ONE);
        assert_int_equal(f[1], 1 << 20);
        assert_int_equal(f[3], -(1 << 20));
        assert_int_equal(f[4], 0);
    }
}

/* --- totality ------------------------------------------------------------- */

static const int64_t extreme[] = {
    0, 1, 2, 131, 132, 133, INT32_MAX, INT64_C(1) << 40, INT64_C(1) << 62};
#define WILD_MAX WSRT_WAVE_MOST
static const int32_t wild[] = {0,        1,         -1,      WSRT_WAVE_ONE,
                               WILD_MAX, -WILD_MAX, 1 << 28, -(1 << 28)};

static int64_t any_of(struct ws__rng *r)
{
    return extreme[ws__rng_below(r, WS_COUNT(extreme))];
}

static int32_t any_wild(struct ws__rng *r)
{
    return ws__rng_below(r, 2) ? (int32_t)(ws__rng_u64(r) >> 34) - WILD_MAX
                               : wild[ws__rng_below(r, WS_COUNT(wild))];
}

static void fill_wild(struct ws__rng *r, void *to, size_t bytes)
{
    int32_t *v = to;

    for (size_t i = 0; i < bytes / sizeof(*v); i++)
        v[i] = any_wild(r);
}

static int32_t above_zero(int32_t x)
{
    return x > 0 ? x : 1;
}

/* Only what the header asks for: units, occupancy and exponents above 0. */
static void draw_wild(struct ws__rng *r, struct wsrt_wave_law *law,
                      struct wsrt_wave_form *form)
{
    fill_wild(r, law, sizeof(*law));
    fill_wild(r, form, sizeof(*form));
    law->units = above_zero(law->units);
    law->balanced = (int32_t)ws__rng_below(r, 2);
    law->cache = any_of(r);
    law->p = above_zero(law->p);
    law->p_inverse = above_zero(law->p_inverse);
    law->q = above_zero(law->q);
    law->q_inverse = above_zero(law->q_inverse);
    form->occupancy = above_zero(form->occupancy);
    form->overlap = above_zero(form->overlap);
    form->overlap_inverse = above_zero(form->overlap_inverse);
}

static void any_numbers_do(void **state)
{
    struct ws__rng r;

    (void)state;
    ws__rng_seed(&r, 11);
    for (int i = 0; i < 100000; i++) {
        int32_t axis[8] = {0, 1 << 20, 63 << 20, 0, 1, 2, 3, 4};
        struct wsrt_wave_coords all;
        struct wsrt_wave_law law;
        struct wsrt_wave_form form;
        struct wsrt_wave_terms t;

        draw_wild(&r, &law, &form);
        for (int k = 0; k < WSRT_NWAVE; k++)
            all.n[k] = any_of(&r);
        wsrt__wave_logs(&all);
        wsrt__wave_terms(&law, &form, all.n, axis, 8, &t);
        assert_int_equal(wsrt__wave_log2_ns(&law, &form, all.n, axis, 8),
                         wsrt__wave_predict(&law, &form, NULL, &all, axis, 8));
        bound_of(&law, &form, &all, axis, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_doubles),
        cmocka_unit_test(whole_waves),
        cmocka_unit_test(staircase),
        cmocka_unit_test(memory_is_a_bound),
        cmocka_unit_test(a_hot_line),
        cmocka_unit_test(a_launch_behind),
        cmocka_unit_test(balanced_blocks),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(terms_and_features),
        cmocka_unit_test(any_numbers_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
