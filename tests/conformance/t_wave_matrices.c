/*
 * t_wave_matrices.c: the wave model on the matrices of an H200 that lie in the
 * tree: at 2% of the timings it chooses as well as it did when it was
 * accepted, less a margin, and clearly better than every other method.
 *
 * Arithmetic on files: the figures are the same on every machine, so a change
 * here is a change of the model, and no noise.
 */
#include "base/t_base.h"

#include "wavesmith/wavesmith.h"

static struct ws_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

struct kernel {
    const char *spec, *data;
    double choice, top3; /* mean best/chosen, at least */
};

static const struct kernel gemm = {"tests/perf/h200/gemm.yaml",
                                   "tests/data/h200/gemm.csv.gz", .955, .98};
static const struct kernel attn = {"tests/perf/h200/attn.yaml",
                                   "tests/data/h200/attn.csv.gz", .97, .985};
static const struct kernel moe = {"tests/perf/h200/moe.yaml",
                                  "tests/data/h200/moe.csv.gz", .975, .99};

static struct ws_model_figures figures(const struct kernel *k,
                                       const char *method, const char *budget)
{
    struct ws_model_eval_opts o = {.size = sizeof(o),
                                   .data = k->data,
                                   .budget = budget,
                                   .method = method,
                                   .seeds = 2};
    struct ws_spec *s = NULL;
    struct ws_model_eval e;
    struct ws_model_figures f;

    if (ws_spec_open(ctx, k->spec, NULL, &s) || ws_model_eval(s, &o, &e))
        fail_msg("%s", ws_ctx_error(ctx)->message);
    f = e.mean;
    ws_spec_free(s);
    return f;
}

static void chooses_well(const struct kernel *k)
{
    static const char *const others[] = {"bilinear", "nearest", "single",
                                         "random"};
    struct ws_model_figures wave = figures(k, "wave", "2%");

    if (wave.mean_oracle_over_chosen < k->choice ||
        wave.top3_mean_oracle_over_chosen < k->top3)
        fail_msg("%s: %f, top 3 %f", k->spec, wave.mean_oracle_over_chosen,
                 wave.top3_mean_oracle_over_chosen);
    assert_true(wave.cells <= .02 * wave.fit_pairs + 1);
    assert_true(wave.error_median < .12);
    for (size_t i = 0; i < WS_COUNT(others); i++) {
        struct ws_model_figures f = figures(k, others[i], "2%");

        if (f.mean_oracle_over_chosen > wave.mean_oracle_over_chosen - .02)
            fail_msg("%s: %s has %f", k->spec, others[i],
                     f.mean_oracle_over_chosen);
    }
}

static void gemm_chooses_well(void **state)
{
    (void)state;
    chooses_well(&gemm);
}

static void attn_chooses_well(void **state)
{
    (void)state;
    chooses_well(&attn);
}

static void moe_chooses_well(void **state)
{
    (void)state;
    chooses_well(&moe);
}

/* Without any timing: the data sheet alone. */
static void nothing_timed(void **state)
{
    (void)state;
    assert_true(figures(&gemm, "wave", "0").mean_oracle_over_chosen > .85);
    assert_true(figures(&attn, "wave", "0").mean_oracle_over_chosen > .9);
    assert_true(figures(&moe, "wave", "0").mean_oracle_over_chosen > .9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_chooses_well),
        cmocka_unit_test(attn_chooses_well),
        cmocka_unit_test(moe_chooses_well),
        cmocka_unit_test(nothing_timed),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
