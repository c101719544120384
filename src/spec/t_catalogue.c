/*
 * t_catalogue.c: strategies.yaml: what is read, what is left out, what is
 * refused and where; and that those of the shipped ops are read.
 */
#include "base/t_base.h"

#include "spec/spec.h"

static struct ws_ctx *ctx;
static struct ws__spec *spec;

static int setup(void **state)
{
    static const struct ws__spec_opts opts = {.share_dir = "."};

    (void)state;
    ctx = t_ctx(NULL);
    return ctx && !ws__spec_load(ctx, "ops/gqa_paged_decode", &opts, &spec)
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws__spec_free(spec);
    ws_ctx_free(ctx);
    return 0;
}

#define HEAD "strategies: gqa_paged_decode\n"
#define SPLIT                                                                  \
    "axes:\n- axis: slices\n  choices:\n"                                      \
    "  - {choice: one, set: {gqa_decode_split: {SPLIT: 1}}}\n"                 \
    "  - {choice: many, set: {gqa_decode_split: {SPLIT: [8, 16]}},\n"          \
    "     factor: 2, spread: .5, difficulty: 2, bandwidth: 8, regimes: few}\n"
#define FEW "regimes: [{name: few, when: batch_size < 4}, {name: rest}]\n"

static void test_whole(void **state)
{
    static const char text[] = HEAD FEW SPLIT
        "- axis: heads\n  choices:\n"
        "  - {choice: four, set: {gqa_decode_split: {HEADS: 4}},\n"
        "     needs: {slices: many}, conflicts: {slices: [one, absent]}}\n"
        "- axis: other\n  choices:\n"
        "  - {choice: kernel, kernel: gqa_decode_split}\n"
        "  - {choice: none such, kernel: nobody}\n";
    static const char absent[] =
        "  - {choice: absent, set: {nobody: {SPLIT: 1}}}\n";
    char all[sizeof(text) + sizeof(absent)];
    const char *rest = strstr(text, "- axis: heads");
    const struct ws__catalogue *c;
    const struct ws__param *p;
    struct ws__candidate config = {0};
    int n = (int)(rest - text);

    (void)state;
    snprintf(all, sizeof(all), "%.*s%s%s", n, text, absent, rest);
    assert_int_equal(ws__spec_catalogue(spec, all, &c), 0);
    assert_int_equal(c->nregime, 2);
    assert_null(c->regime[1].when);
    assert_int_equal(c->nidea, 4); /* without what needs nobody */
    assert_int_equal(c->naxis, 3);
    assert_string_equal(c->idea[1].choice, "many");
    assert_true(c->idea[1].factor == 2 && c->idea[1].spread == .5);
    assert_int_equal(c->idea[1].difficulty, 2);
    assert_int_equal(c->idea[1].bandwidth, 8);
    assert_int_equal(c->idea[1].regimes, 1);
    assert_int_equal(c->idea[2].nneeds, 1);
    assert_int_equal(c->idea[2].needs[0], 1);
    assert_int_equal(c->idea[2].nconflicts, 1);
    assert_int_equal(c->idea[2].conflicts[0], 0);
    assert_int_equal(c->idea[3].kernel, 0);
    assert_true(ws__idea_holds(&c->idea[3], &config));
    /* The default has one slice. */
    ws__config_default(&spec->kernel[0], &config.config);
    assert_true(ws__idea_holds(&c->idea[0], &config));
    assert_false(ws__idea_holds(&c->idea[1], &config));
    p = &spec->kernel[0].param[c->idea[1].set[0].param];
    for (size_t i = 0; i < p->nvalue; i++)
        assert_int_equal(c->idea[1].set[0].allowed[i],
                         p->value[i].u.i == 8 || p->value[i].u.i == 16);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *message;
        uint32_t line;
    } bad[] = {
        {"axes: []\n", "has no 'strategies'", 1},
        {"strategies: gemm\naxes: []\n", "strategies of op 'gemm'", 1},
        {HEAD "axes: 1\n", "", 2},
        {HEAD "axes: [{axis: a}]\n", "has no 'choices'", 2},
        {HEAD "axes: [{axis: a, choices: [{choice: b}]}]\n",
         "neither 'kernel' nor 'set'", 2},
        {HEAD "axes: [{axis: a, choices: [{choice: b, kernel: k, set: {}}]}]\n",
         "both 'kernel' and 'set'", 2},
        {HEAD "axes:\n- axis: a\n  choices:\n"
              "  - {choice: b, set: {gqa_decode_split: {SPILT: 1}}}\n",
         "no parameter 'SPILT'", 5},
        {HEAD "axes:\n- axis: a\n  choices:\n"
              "  - {choice: b, set: {gqa_decode_split: {SPLIT: [1, 3]}}}\n",
         "no value '3'", 5},
        {HEAD FEW SPLIT "- axis: slices\n  choices: []\n",
         "axis 'slices' is there twice", 9},
        {HEAD FEW SPLIT
         "  - {choice: one, set: {gqa_decode_split: {SPLIT: 1}}}\n",
         "choice 'one' is there twice", 9},
        {HEAD FEW SPLIT "  - {choice: c, set: {gqa_decode_split: {SPLIT: 2}},"
                        " needs: {slices: none}}\n",
         "no choice 'none'", 9},
        {HEAD SPLIT, "no regime 'few'", 7},
        {HEAD "regimes: [{name: a}, {name: a}]\naxes: []\n",
         "regime 'a' is there twice", 2},
        {HEAD FEW "axes:\n- axis: a\n  choices:\n  - {choice: b, factor: 0,"
                  " set: {gqa_decode_split: {SPLIT: 1}}}\n",
         "'factor' is 0", 6},
        {HEAD FEW "axes:\n- axis: a\n  choices:\n  - {choice: b, faktor: 1}\n",
         "faktor", 6},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        const struct ws__catalogue *c;

        assert_int_equal(ws__spec_catalogue(spec, bad[i].text, &c), WS_ESPEC);
        assert_non_null(strstr(ctx->err.message, bad[i].message));
        assert_int_equal(ctx->err.line, bad[i].line);
        assert_null(c);
    }
    {
        const struct ws__catalogue *c;

        assert_int_equal(
            ws__spec_catalogue(
                spec, HEAD "regimes: [{name: a, when: batch < 4}]\naxes: []\n",
                &c),
            WS_EEXPR);
        assert_int_equal(ctx->err.line, 2);
    }
}

/* Every shipped op that has one, with all its kernels. */
static void test_shipped(void **state)
{
    static const char *const op[] = {"ops/gemm", "ops/gqa_paged_decode",
                                     "tests/perf/h200/gemm.yaml"};
    static const struct ws__spec_opts opts = {.share_dir = "."};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(op); i++) {
        const struct ws__catalogue *c;
        struct ws__spec *s;

        assert_int_equal(ws__spec_load(ctx, op[i], &opts, &s), 0);
        assert_int_equal(ws__spec_catalogue(s, NULL, &c), 0);
        assert_non_null(c);
        assert_true(c->nidea >= 10 && c->nregime >= 2);
        ws__spec_free(s);
    }
}

static void test_none(void **state)
{
    static const struct ws__spec_opts opts = {.share_dir = "."};
    const struct ws__catalogue *c;
    struct ws__spec *s;

    (void)state;
    assert_int_equal(ws__spec_load(ctx, "ops/rmsnorm", &opts, &s), 0);
    assert_int_equal(ws__spec_catalogue(s, NULL, &c), 0);
    assert_null(c);
    ws__spec_free(s);
}

static int body(struct ws_ctx *c, void *user)
{
    static const struct ws__spec_opts opts = {.share_dir = "."};
    const struct ws__catalogue *out;
    struct ws__spec *s;
    int rc = ws__spec_load(c, "ops/gqa_paged_decode", &opts, &s);

    (void)user;
    if (!rc)
        rc = ws__spec_catalogue(s, NULL, &out);
    ws__spec_free(s);
    return rc;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_shipped),   cmocka_unit_test(test_none),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
