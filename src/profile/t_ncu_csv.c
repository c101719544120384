/*
 * t_ncu_csv.c: the raw page of Nsight Compute: names, units, launches, what
 * is missing; and what is refused, with the line and the words.
 */
#include "base/t_base.h"

#include <math.h>
#include <unistd.h>

#include "profile/ncu_csv.h"

#define LAUNCH_COLUMNS                                                         \
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\","      \
    "\"CC\""
#define TIME "\"gpu__time_duration.sum\""
#define READ "\"dram__bytes_read.sum\""

static const char GOOD[] =
    "measuring 3 shapes ...\n"
    "==PROF== Connected to process 77 (/opt/app)\n"
    "==PROF== Profiling \"Kernel Name\" - 0: 0%....100% - 1 "
    "pass\n" LAUNCH_COLUMNS "," READ ",\"device__attribute_x\"," TIME
    ",\"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio\","
    "\"sm__warps_active.avg.pct_of_peak_sustained_active\","
    "\"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum\"\r\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"Kbyte\",\"\",\"us\",\"byte/sector\","
    "\"%\",\"Mbyte\"\r\n"
    "\"0\",\"77\",\"void ns::scale<float, 4>(float *, int)\",\"(128, 1, 1)\","
    "\"(1024, 2, 3)\",\"9.0\",\"1,024.50\",\"a,b\",\"12.5\",\"32\",\"47.5\","
    "\"n/a\"\n"
    "==WARNING== Something happened\n"
    "\n"
    "\"1\",\"77\",\"copy \"\"all\"\"\",\"(1, 1, 1)\",\"(1,1,1)\",\"9.0\","
    "\"0\",\"\",\"1,234,567\",\"\",\"(!) n/a\",3e-1\n"
    "==PROF== Disconnected from process 77\n";

static void good(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    const struct ws__ncu_launch *l;
    struct ws__ncu *f;

    (void)state;
    assert_int_equal(ws__ncu_parse(ctx, "a.csv", GOOD, sizeof(GOOD) - 1, 90,
                                   &f),
                     0);
    assert_int_equal(f->n, 2);
    assert_int_equal(f->nmetric, 5);
    l = &f->launch[0];
    assert_string_equal(l->kernel, "void ns::scale<float, 4>(float *, int)");
    assert_true(l->block[0] == 128 && l->block[1] == 1 && l->block[2] == 1);
    assert_true(l->grid[0] == 1024 && l->grid[1] == 2 && l->grid[2] == 3);
    assert_int_equal(l->line, 6);
    assert_true(l->value[WS__M_DRAM_READ] == 1024500);
    assert_true(fabs(l->value[WS__M_TIME] - 12500) < 1e-6);
    assert_true(l->value[WS__M_GLOBAL_LD_USED] == 32);
    assert_true(l->value[WS__M_WARPS_PCT] == 47.5);
    assert_true(isnan(l->value[WS__M_TMA_LD_BYTES]));
    assert_true(isnan(l->value[WS__M_DRAM_WRITE]));
    l = &f->launch[1];
    assert_string_equal(l->kernel, "copy \"all\"");
    assert_true(l->value[WS__M_DRAM_READ] == 0);
    assert_true(fabs(l->value[WS__M_TIME] - 1234567e3) < 1);
    assert_true(isnan(l->value[WS__M_GLOBAL_LD_USED]));
    assert_true(isnan(l->value[WS__M_WARPS_PCT]));
    assert_true(l->value[WS__M_TMA_LD_BYTES] == 300000);
    ws__ncu_free(f);
    ws_ctx_free(ctx);
}

static void names(void **state)
{
    static const struct {
        const char *kernel, *name;
        bool is;
    } CASE[] = {
        {"scale", "scale", true},
        {"scale(float *, int)", "scale", true},
        {"void scale<(int)4>(float *)", "scale", true},
        {"void a::b::scale<float>(T1 *)", "scale", true},
        {"void a::b::scale<float>(T1 *)", "b::scale", true},
        {"rescale", "scale", false},
        {"scale2", "scale", false},
        {"void f<scale>(int)", "scale", false},
        {"", "scale", false},
        {"void scale<(int)4>(float *)", "scale<4>", true},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        struct ws__ncu_launch l = {.kernel = CASE[i].kernel};

        assert_int_equal(ws__ncu_is(&l, CASE[i].name), CASE[i].is);
    }
}

/* The one value of a file with one metric, or NaN and its error in ctx. */
static double value_of(struct ws_ctx *ctx, enum ws__metric m, const char *unit,
                       const char *value)
{
    char text[1024];
    struct ws__ncu *f;
    double v;

    snprintf(text, sizeof(text),
             "\"ID\",\"Kernel Name\",\"%s\"\n\"\",\"\",\"%s\"\n"
             "\"0\",\"f\",\"%s\"\n",
             ws__metric_name(m, 90), unit, value);
    if (ws__ncu_parse(ctx, "a.csv", text, strlen(text), 90, &f) < 0)
        return NAN;
    v = f->launch[0].value[m];
    ws__ncu_free(f);
    return v;
}

static void units(void **state)
{
    static const struct {
        enum ws__metric m;
        const char *unit, *value;
        double want;
    } CASE[] = {
        {WS__M_TIME, "nsecond", "5", 5},
        {WS__M_TIME, "ns", "5", 5},
        {WS__M_TIME, "usecond", "5", 5e3},
        {WS__M_TIME, "msecond", "5", 5e6},
        {WS__M_TIME, "ms", "0.5", 5e5},
        {WS__M_TIME, "second", "2", 2e9},
        {WS__M_TIME, "s", "2", 2e9},
        {WS__M_DRAM_READ, "byte", "12,345,678", 12345678},
        {WS__M_DRAM_READ, "Gbyte", "1.5", 1.5e9},
        {WS__M_DRAM_READ, "Tbyte", "1", 1e12},
        {WS__M_L2_SECTORS, "sector", "7", 7},
        {WS__M_L2_SECTORS, "Ksector", "7", 7e3},
        {WS__M_INST, "Minst", "7", 7e6},
        {WS__M_IPC, "inst/cycle", "0.25", 0.25},
        {WS__M_DRAM_PCT, "%", "80.1", 80.1},
        {WS__M_LATENCY, "", "9", 9},
        {WS__M_INST, "inst", "1e3", 1e3},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        double got = value_of(ctx, CASE[i].m, CASE[i].unit, CASE[i].value);

        if (!(fabs(got - CASE[i].want) <= 1e-9 * CASE[i].want))
            print_error("%s %s: %g\n", CASE[i].value, CASE[i].unit, got);
        assert_true(fabs(got - CASE[i].want) <= 1e-9 * CASE[i].want);
    }
    ws_ctx_free(ctx);
}

/* Units and numbers that are not understood are never guessed. */
static void not_understood(void **state)
{
    static const struct {
        enum ws__metric m;
        const char *unit, *value, *word;
    } CASE[] = {
        {WS__M_TIME, "", "5", "unit ''"},
        {WS__M_TIME, "cycle", "5", "unit 'cycle'"},
        {WS__M_TIME, "Ksecond", "5", "unit 'Ksecond'"},
        {WS__M_DRAM_READ, "KiB", "5", "unit 'KiB'"},
        {WS__M_DRAM_READ, "sector", "5", "unit 'sector'"},
        {WS__M_DRAM_PCT, "byte", "5", "unit 'byte'"},
        {WS__M_INST, "10 inst", "5", "unit '10 inst'"},
        {WS__M_DRAM_READ, "byte", "27.595.520", "is no number"},
        {WS__M_DRAM_READ, "byte", "12,34", "is no number"},
        {WS__M_DRAM_READ, "byte", "1,0001234", "is no number"},
        {WS__M_DRAM_READ, "byte", ",123", "is no number"},
        {WS__M_DRAM_READ, "byte", "1.5,123", "is no number"},
        {WS__M_DRAM_READ, "byte", "-1", "is no number"},
        {WS__M_DRAM_READ, "byte", "12 (6; 6)", "is no number"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        const struct ws_error *e = ws_ctx_error(ctx);

        assert_true(
            isnan(value_of(ctx, CASE[i].m, CASE[i].unit, CASE[i].value)));
        assert_int_equal(e->code, WS_EPARSE);
        if (!strstr(e->message, CASE[i].word))
            print_error("%s\n", e->message);
        assert_non_null(strstr(e->message, CASE[i].word));
        assert_non_null(strstr(e->hint, "run ncu with"));
    }
    ws_ctx_free(ctx);
}

#define UNITS "\"\",\"\",\"\",\"\",\"\",\"\",\"ns\"\n"
#define ROW(cc)                                                                \
    "\"0\",\"1\",\"f\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"" cc "\",\"5\"\n"

static void refusals(void **state)
{
    static const struct {
        const char *text;
        int code;
        unsigned line;
        const char *word, *hint;
    } CASE[] = {
        {"", WS_ESPEC, 0, "not the CSV", "--page raw"},
        {"a,b\n1,2\n", WS_ESPEC, 2, "not the CSV", "--page raw"},
        {"==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - no rights\n", WS_ESPEC, 2,
         "ncu said: ERR_NVGPUCTRPERM", "rights"},
        {"\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\","
         "\"Metric Value\"\n",
         WS_ESPEC, 1, "details page", "--page raw"},
        {LAUNCH_COLUMNS ",\"x\"\n", WS_ESPEC, 1, "no column is a counter",
         "gpu__time_duration.sum"},
        {LAUNCH_COLUMNS ",\"dram__bytes_op_read.sum\"\n", WS_ESPEC, 1,
         "counters of another chip", "profile on the device"},
        {LAUNCH_COLUMNS "," TIME "," TIME "\n", WS_EPARSE, 1, "two columns",
         "leave one"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS, WS_ESPEC, 2, "no launch",
         "--kernel-name"},
        {LAUNCH_COLUMNS "," TIME "\n", WS_ESPEC, 1, "no launch",
         "--kernel-name"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS
                        "==WARNING== No kernels were profiled.\n",
         WS_ESPEC, 3, "ncu said: No kernels", "--kernel-name"},
        {LAUNCH_COLUMNS "," TIME "\n" ROW("9.0"), WS_EPARSE, 2, "row of units",
         "--page raw"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS ROW("8.0"), WS_ESPEC, 3,
         "compute capability 8.0", "profile on the device"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS ROW("x"), WS_EPARSE, 3,
         "compute capability", "--page raw"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS ROW("9.0") "step 2 of 3\n",
         WS_EPARSE, 4, "1 cells below 7", "--log-file"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS "\"0\",\"1\n", WS_EPARSE, 3,
         "quotes", "--page raw"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS "\"0\"x,\"1\"\n", WS_EPARSE, 3,
         "quotes", "--page raw"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS "\"0\",\"1\"\"\n", WS_EPARSE, 3,
         "quotes", "--page raw"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS
                        "0,1,f,\"(0, 1, 1)\",\"(1, 1, 1)\",9.0,5\n",
         WS_EPARSE, 3, "of the form (x, y, z)", "--page raw"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS
                        "0,1,f,\"(1, 1, 1)\",\"(1, 4294967296, 1)\",9.0,5\n",
         WS_EPARSE, 3, "of the form (x, y, z)", "--page raw"},
        {LAUNCH_COLUMNS "," TIME "\n" UNITS "0,1,f,128,\"(1, 1, 1)\",9.0,5\n",
         WS_EPARSE, 3, "of the form (x, y, z)", "--page raw"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        const struct ws_error *e = ws_ctx_error(ctx);
        struct ws__ncu *f;
        int rc = ws__ncu_parse(ctx, "a.csv", CASE[i].text, strlen(CASE[i].text),
                               90, &f);

        if (rc != CASE[i].code || !strstr(e->message, CASE[i].word))
            print_error("%zu: %d, %s\n", i, rc, e->message);
        assert_int_equal(rc, CASE[i].code);
        assert_null(f);
        assert_string_equal(e->file, "a.csv");
        assert_int_equal(e->line, CASE[i].line);
        assert_non_null(strstr(e->message, CASE[i].word));
        assert_non_null(strstr(e->hint, CASE[i].hint));
    }
    ws_ctx_free(ctx);
}

static void limits(void **state)
{
    static const char HEAD[] = "ID,Kernel Name," TIME "\n,,ns\n";
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__ncu *f;
    struct ws__buf b;

    (void)state;
    assert_int_equal(ws__ncu_parse(ctx, "a.csv", "", 0, 0, &f), WS_EINVAL);
    assert_int_equal(ws__ncu_parse(ctx, "a.csv", "a\0b", 3, 90, &f), WS_EPARSE);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "--import"));
    assert_int_equal(ws__ncu_parse(ctx, "a.csv", "", WS__NCU_BYTES + 1, 90, &f),
                     WS_ELIMIT);
    ws__buf_init(&b, ctx, 1 << 24);
    ws__buf_puts(&b, HEAD);
    for (int i = 0; i < WS__NCU_LAUNCHES; i++)
        ws__buf_puts(&b, "0,f,5\n");
    assert_int_equal(ws__ncu_parse(ctx, "a.csv", b.data, b.len, 90, &f), 0);
    assert_int_equal(f->n, WS__NCU_LAUNCHES);
    ws__ncu_free(f);
    ws__buf_puts(&b, "0,f,5\n");
    assert_int_equal(ws__ncu_parse(ctx, "a.csv", b.data, b.len, 90, &f),
                     WS_ELIMIT);
    ws__buf_free(&b);
    /* a line with more columns than a page can have is no line of names */
    ws__buf_init(&b, ctx, 1 << 24);
    ws__buf_puts(&b, "Kernel Name");
    for (int i = 0; i < 10000; i++)
        ws__buf_puts(&b, ",x");
    assert_int_equal(ws__ncu_parse(ctx, "a.csv", b.data, b.len, 90, &f),
                     WS_ESPEC);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

static int read_body(struct ws_ctx *ctx, void *path)
{
    struct ws__ncu *f;
    int rc = ws__ncu_read(ctx, path, 90, &f);

    if (rc == 0)
        assert_int_equal(f->n, 2);
    else
        assert_null(f);
    ws__ncu_free(f);
    return rc;
}

static void files(void **state)
{
    char path[] = "/tmp/t_ncu_csv.XXXXXX";
    struct ws_ctx *ctx = t_ctx(NULL);
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, GOOD, sizeof(GOOD) - 1), sizeof(GOOD) - 1);
    close(fd);
    assert_true(t_torture(read_body, path) > 4);
    unlink(path);
    assert_int_equal(read_body(ctx, path), WS_ENOENT);
    ws_ctx_free(ctx);
}

/* What ncu wrote on an H200. */
static void recorded(void **state)
{
    static const struct {
        const char *file, *kernel;
        size_t n;
    } CASE[] = {
        {"two-level", "add", 2},
        {"uncoalesced", "transpose", 1},
        {"wgmma", "product", 1},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        char path[256];
        struct ws__ncu *f;

        snprintf(path, sizeof(path), "tests/data/ncu/%s.csv", CASE[i].file);
        assert_int_equal(ws__ncu_read(ctx, path, 90, &f), 0);
        assert_int_equal(f->n, CASE[i].n);
        assert_true(f->nmetric > 80);
        assert_true(ws__ncu_is(&f->launch[0], CASE[i].kernel));
        assert_int_equal(f->launch[0].block[0] % 32, 0);
        assert_true(f->launch[0].value[WS__M_TIME] > 1000);
        ws__ncu_free(f);
        assert_int_equal(ws__ncu_read(ctx, path, 80, &f), WS_ESPEC);
    }
    ws_ctx_free(ctx);
}

#define LAUNCH(name, x) "0," name ",\"(" x ", 1, 1)\",\"(32, 1, 1)\",5\n"

/* Which launches of a file are the last run of a plan. */
static void last_run(void **state)
{
    static const struct {
        const char *rows;
        bool found;
        size_t at[3];
        uint32_t other; /* the line of a launch of another size; 0: none */
    } CASE[] = {
        {LAUNCH("a", "4") LAUNCH("b", "2") LAUNCH("b", "2"),
         true,
         {0, 1, 2},
         0},
        {LAUNCH("x", "1") LAUNCH("a", "4") LAUNCH("x", "1") LAUNCH("b", "2")
             LAUNCH("b", "2") LAUNCH("x", "1"),
         true,
         {1, 3, 4},
         0},
        /* the verdict's, then the last one, whose end is cut off */
        {LAUNCH("a", "4") LAUNCH("b", "2") LAUNCH("b", "2") LAUNCH("a", "4")
             LAUNCH("b", "2") LAUNCH("b", "2") LAUNCH("a", "4"),
         true,
         {3, 4, 5},
         0},
        {LAUNCH("b", "2") LAUNCH("b", "2"), false, {0}, 0},
        {LAUNCH("a", "4") LAUNCH("b", "2"), false, {0}, 0},
        {LAUNCH("a", "4") LAUNCH("b", "3") LAUNCH("b", "2"), false, {0}, 4},
        {LAUNCH("a", "4") LAUNCH("a", "4") LAUNCH("b", "2"), false, {0}, 0},
        {LAUNCH("x", "4"), false, {0}, 0},
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__plan *plan = calloc(1, sizeof(*plan));

    (void)state;
    assert_non_null(plan);
    plan->nlaunch = 3;
    for (size_t i = 0; i < 3; i++)
        plan->launch[i] = (struct ws__plan_launch){.entry = i ? "b" : "a",
                                                   {i ? 2 : 4, 1, 1},
                                                   {32, 1, 1}};
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        const struct ws__ncu_launch *other;
        size_t at[WS__MAX_LAUNCHES];
        char text[1024];
        struct ws__ncu *f;

        snprintf(text, sizeof(text),
                 "ID,Kernel Name,Grid Size,Block Size," TIME "\n,,,,ns\n%s",
                 CASE[i].rows);
        assert_int_equal(ws__ncu_parse(ctx, "a.csv", text, strlen(text), 90,
                                       &f),
                         0);
        assert_int_equal(ws__ncu_last_run(f, plan, at, &other), CASE[i].found);
        for (size_t k = 0; CASE[i].found && k < 3; k++)
            assert_int_equal(at[k], CASE[i].at[k]);
        assert_int_equal(!CASE[i].found && other ? other->line : 0,
                         CASE[i].other);
        ws__ncu_free(f);
    }
    free(plan);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),     cmocka_unit_test(names),
        cmocka_unit_test(units),    cmocka_unit_test(not_understood),
        cmocka_unit_test(refusals), cmocka_unit_test(limits),
        cmocka_unit_test(files),    cmocka_unit_test(recorded),
        cmocka_unit_test(last_run)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
