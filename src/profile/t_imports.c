/* t_imports.c: what ncu and disassemblers write, as recorded and damaged. */
#include "base/t_base.h"

#include <math.h>

#include "base/fs.h"
#include "profile/profile.h"

#define NCU "tests/data/profile/ncu.csv"
#define SASS "tests/data/profile/gemm.sass"

static struct ws_ctx *ctx;
static struct ws__arena arena;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    ws__arena_init(&arena, ctx);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ws__arena_free(&arena);
    ws_ctx_free(ctx);
    return 0;
}

static char *text_of(const char *path, size_t *n)
{
    char *text;

    assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &text, n), 0);
    return text;
}

static void ncu_table(void **state)
{
    struct ws__ncu t;
    const double *v;
    size_t n;
    char *text = text_of(NCU, &n);

    (void)state;
    assert_int_equal(ws__ncu_parse(ctx, &arena, NCU, text, n, &t), 0);
    ws__free(ctx, text);
    assert_int_equal(t.nlaunch, 2);
    assert_int_equal(t.known, 5);
    assert_string_equal(t.launch[0].kernel,
                        "copy(const float *, float *, int)");
    assert_string_equal(t.launch[1].kernel, "say \"hi\"");
    v = t.launch[0].value;
    assert_true(fabs(v[WS__M_DRAM_READ] - 16.78e6) < 1);
    assert_true(v[WS__M_DRAM_WRITE] == 16777216);
    assert_true(v[WS__M_TIME] == 12500);
    assert_true(v[WS__M_GLOBAL_LD_SECTORS] == 524288);
    assert_true(isnan(v[WS__M_TENSOR_PCT])); /* n/a */
    assert_true(isnan(v[WS__M_L2_SECTORS])); /* no such column */
    v = t.launch[1].value;
    assert_true(isnan(v[WS__M_DRAM_WRITE])); /* empty */
    assert_true(v[WS__M_TENSOR_PCT] == 0);   /* 0 is a number */
}

/* Text, what is said of it, and the line. */
static void ncu_damage(void **state)
{
#define HEAD "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\"\n"
#define UNITS "\"\",\"\",\"byte\"\n"
    static const struct {
        const char *text, *message;
        uint32_t line;
    } c[] = {
        {"", "no row of names", 0},
        {"==ERROR== ERR_NVGPUCTRPERM\n", "no row of names", 1},
        {HEAD, "no row of units", 1},
        {HEAD "\"\",\"\"\n", "row of units", 2},
        {HEAD UNITS, "no launch", 2},
        {HEAD UNITS "\"0\",\"f\"\n", "another length", 3},
        {HEAD UNITS "==PROF== x\n\"0\",\"f\",\"many\"\n", "'many' is no number",
         4},
        {HEAD UNITS "\"0\",\"f\",\"inf\"\n", "'inf' is no number", 3},
        {HEAD UNITS "\"0\",\"f\",\"1\n", "quote is not closed", 3},
        {HEAD UNITS "\"0\",\"f\"x,\"1\"\n", "follows a closed quote", 3},
        {"\"ID\",\"Kernel Name\",\"other\"\n" UNITS "\"0\",\"f\",\"1\"\n",
         "no column is a metric", 1},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        const struct ws_error *e = ws_ctx_error(ctx);
        struct ws__ncu t;

        assert_int_equal(ws__ncu_parse(ctx, &arena, "x.csv", c[i].text,
                                       strlen(c[i].text), &t),
                         WS_ESPEC);
        assert_non_null(strstr(e->message, c[i].message));
        assert_int_equal(e->line, c[i].line);
        assert_true(*e->hint != '\0');
        assert_null(t.launch);
    }
#undef HEAD
#undef UNITS
}

static void mix_of_functions(void **state)
{
    struct ws__mix m;
    size_t n;
    char *text = text_of(SASS, &n);

    (void)state;
    assert_int_equal(ws__mix_parse(ctx, text, n, NULL, &m), 0);
    assert_int_equal(m.functions, 2);
    assert_int_equal(m.total, 22);
    assert_int_equal(m.count[WS__MIX_WIDE_MMA], 1);
    assert_int_equal(ws__mix_parse(ctx, text, n, "plain", &m), 0);
    assert_int_equal(m.total, 19); /* without the NOP */
    assert_int_equal(m.count[WS__MIX_MMA], 1);
    assert_int_equal(m.count[WS__MIX_WIDE_MMA], 0);
    assert_int_equal(m.count[WS__MIX_FFMA], 1);
    assert_int_equal(m.count[WS__MIX_LDG_128], 1);
    assert_int_equal(m.count[WS__MIX_LDG_64], 1);
    assert_int_equal(m.count[WS__MIX_LDG_32], 1);
    assert_int_equal(m.count[WS__MIX_LDG_NARROW], 1);
    assert_int_equal(m.count[WS__MIX_STG], 1);
    assert_int_equal(m.count[WS__MIX_LDS], 2);
    assert_int_equal(m.count[WS__MIX_STS], 1);
    assert_int_equal(m.count[WS__MIX_LOCAL], 2);
    assert_int_equal(m.count[WS__MIX_ATOMIC], 1);
    assert_int_equal(m.count[WS__MIX_BARRIER], 1);
    assert_int_equal(m.count[WS__MIX_BRANCH], 2);
    assert_int_equal(m.count[WS__MIX_OTHER], 3);
    assert_int_equal(ws__mix_parse(ctx, text, n, "none", &m), WS_ESPEC);
    ws__free(ctx, text);
}

static void mix_of_nvdisasm(void **state)
{
    static const char text[] =
        ".section .text.f\n.text.f:\n"
        "        /*0000*/ { FADD R1, R2, R3 ;\n"
        "        /*0008*/ @P0 MUFU.RCP R1, R2 ; }\n"
        "        /* 0x0123 */\n.L_1:\n.text.g:\n        /*0000*/ EXIT ;\n";
    struct ws__mix m;

    (void)state;
    assert_int_equal(ws__mix_parse(ctx, text, sizeof(text) - 1, "f", &m), 0);
    assert_int_equal(m.total, 2);
    assert_int_equal(m.count[WS__MIX_FP32], 1);
    assert_int_equal(m.count[WS__MIX_SPECIAL], 1);
    assert_int_equal(ws__mix_parse(ctx, "no such file\n", 13, NULL, &m),
                     WS_ESPEC);
}

static int parse(struct ws_ctx *own, void *user)
{
    struct ws__arena a;
    struct ws__ncu t;
    int rc;

    ws__arena_init(&a, own);
    rc = ws__ncu_parse(own, &a, "x", user, strlen(user), &t);
    ws__arena_free(&a);
    return rc;
}

static void torture(void **state)
{
    size_t n;
    char *text = text_of(NCU, &n);

    (void)state;
    assert_true(t_torture(parse, text) >= 8);
    ws__free(ctx, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ncu_table),        cmocka_unit_test(ncu_damage),
        cmocka_unit_test(mix_of_functions), cmocka_unit_test(mix_of_nvdisasm),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
