/*
 * t_plan_model.c: the yardstick and explanations at the public interface on a
 * matrix of a few cells: every allocation fails in turn.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "wavesmith/wavesmith.h"

static char dir[] = "/tmp/ws_plan_model_XXXXXX", kernel[64], data[64];

static const char *const files[][2] = {
    {"op.yaml", "op: o\naxes: {M: var}\n"
                "outputs: {C: {shape: [M], dtype: float32}}\n"
                "workloads:\n- {M: 1}\n"},
    {"kernel.yaml", "kernel: k\nop: ./op.yaml\nsource: k.c\n"
                    "parameters: {B: {values: [16, 64], default: 16}}\n"
                    "launches: [{entry: f, grid: \"ceil_div(M, B)\", block: 1, "
                    "args: [C]}]\n"
                    "wave: {tile: [B], flops: 1000 * B, bytes: 4 * B}\n"},
    {"k.c", "int f(void) { return B; }\n"},
    {"m.csv", "M,B,pass,time_ns\n"
              "1000,16,1,9000\n1000,64,1,8000\n1000,16,3,9100\n"
              "1000,64,3,8100\n8000,16,1,30000\n8000,64,1,20000\n"
              "8000,16,3,31000\n8000,64,3,20100\n64,16,1,5000\n"
              "64,64,1,6000\n64,16,3,5100\n64,64,3,6100\n"
              "64,32,1,100\n"},
    {"no_default.csv", "M,B,pass,time_ns\n"
                       "1000,64,1,8000\n1000,64,3,8100\n8000,64,1,20000\n"
                       "8000,64,3,20100\n64,64,1,6000\n64,64,3,6100\n"}};

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    for (size_t i = 0; i < WS_COUNT(files); i++) {
        char path[100];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
        f = fopen(path, "w");
        if (!f)
            return -1;
        fputs(files[i][1], f);
        fclose(f);
    }
    snprintf(kernel, sizeof(kernel), "%s/kernel.yaml", dir);
    snprintf(data, sizeof(data), "%s/m.csv", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(files); i++) {
        char path[100];

        snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
        unlink(path);
    }
    return rmdir(dir);
}

static const int64_t pass_1 = 1;
static char wave[] = "wave", bilinear[] = "bilinear";

static int eval(struct ws_ctx *ctx, void *user)
{
    struct ws_model_eval_opts o = {.size = sizeof(o),
                                   .data = data,
                                   .method = user,
                                   .budget = "3",
                                   .fit_pass = &pass_1,
                                   .nfit_pass = 1,
                                   .beyond = 1,
                                   .seeds = 1};
    struct ws_model_eval e;
    struct ws_spec *s;
    int rc = ws_spec_open(ctx, kernel, NULL, &s);

    if (rc)
        return rc;
    rc = ws_model_eval(s, &o, &e);
    if (!rc) {
        assert_int_equal(e.nseed, 1);
        assert_true(e.mean.cells <= 3);
        assert_int_equal(e.foreign, 1); /* B=32 is not in the space */
    }
    ws_spec_free(s);
    return rc;
}

static int explain(struct ws_ctx *ctx, void *user)
{
    struct ws_model_explain_opts o = {.size = sizeof(o),
                                      .data = data,
                                      .method = user,
                                      .budget = "4",
                                      .fit_pass = &pass_1,
                                      .nfit_pass = 1,
                                      .shape = "M=512"};
    struct ws_model_explain e;
    struct ws_spec *s;
    int rc = ws_spec_open(ctx, kernel, NULL, &s);

    if (rc)
        return rc;
    rc = ws_model_explain(s, &o, &e);
    if (!rc) {
        assert_true(e.predicted_ns > 0 && e.nterm > 2);
        assert_string_equal(e.shape, "M=512");
        assert_string_equal(e.config, e.chosen);
        assert_true(e.nconstant || e.nbucket);
    }
    ws_spec_free(s);
    return rc;
}

static void eval_fails_in_turn(void **state)
{
    (void)state;
    assert_true(t_torture(eval, wave) > 20);
    assert_true(t_torture(eval, bilinear) > 20);
}

static void explain_fails_in_turn(void **state)
{
    (void)state;
    assert_true(t_torture(explain, wave) > 20);
    assert_true(t_torture(explain, bilinear) > 20);
}

static void no_timed_default_is_needed(void **state)
{
    char with_default[sizeof(data)];
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    memcpy(with_default, data, sizeof(data));
    snprintf(data, sizeof(data), "%s/no_default.csv", dir);
    assert_int_equal(explain(ctx, wave), 0);
    assert_int_not_equal(eval(ctx, wave), 0); /* which compares with it */
    memcpy(data, with_default, sizeof(data));
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eval_fails_in_turn),
        cmocka_unit_test(explain_fails_in_turn),
        cmocka_unit_test(no_timed_default_is_needed),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
