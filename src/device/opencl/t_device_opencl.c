/* t_device_opencl.c: the OpenCL member in this process: names of errors, logs
 * of any length, reasons why there is no platform, and that our own memory is
 * all given back, whatever allocation fails. What
 * every device must do is tested in tests/conformance/t_device.c, failures of
 * the driver in t_opencl_faults.c. */
#include "device/opencl/t_opencl.h"

static void errors_have_meanings(void **state)
{
    static const struct {
        int32_t error;
        int stage, code;
        const char *word;
    } c[] = {
        /* the call decides ... */
        {-5, WS_EBUILD, WS_EBUILD, "CL_OUT_OF_RESOURCES"},
        {-5, WS_EDEVMEM, WS_EDEVMEM, "CL_OUT_OF_RESOURCES"},
        {-5, WS_ELAUNCH, WS_ELAUNCH, "CL_OUT_OF_RESOURCES"},
        {-5, WS_EDEVICE, WS_EDEVICE, "CL_OUT_OF_RESOURCES"},
        {-11, WS_EBUILD, WS_EBUILD, "CL_BUILD_PROGRAM_FAILURE"},
        {-45, WS_ELAUNCH, WS_ELAUNCH, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-54, WS_ELAUNCH, WS_ELAUNCH, "CL_INVALID_WORK_GROUP_SIZE"},
        {-6, WS_EBUILD, WS_EBUILD, "CL_OUT_OF_HOST_MEMORY"},
        /* ... but not on what is clear by itself */
        {-4, WS_ELAUNCH, WS_EDEVMEM, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-6, WS_EDEVICE, WS_EDEVMEM, "CL_OUT_OF_HOST_MEMORY"},
        {-36, WS_ELAUNCH, WS_EDEVICE, "CL_INVALID_COMMAND_QUEUE"},
        {-3, WS_EBUILD, WS_ENODRIVER, "CL_COMPILER_NOT_AVAILABLE"},
        {-1001, WS_EDEVICE, WS_ENODRIVER, "CL_PLATFORM_NOT_FOUND_KHR"},
        {-12345, WS_EBUILD, WS_EDEVICE, "-12345"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        assert_int_equal(ws__ocl_fail(ctx, c[i].stage, c[i].error, "try"),
                         c[i].code);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, c[i].word));
    }
    ws_ctx_free(ctx);
}

static int whole_life(struct ws_ctx *ctx, void *user)
{
    const struct ws__device_ops *ops = ws__device_find("opencl");
    const char *step;
    void *dev;
    int rc;

    (void)user;
    WS_TRY(ops->open(ctx, 0, NULL, &dev));
    rc = t_ocl_use(dev, &step);
    ops->close(dev);
    return rc;
}

static void survives_without_memory(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    void *dev;
    int rc = ws__device_find("opencl")->open(ctx, 0, NULL, &dev);

    (void)state;
    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER) {
        ws_ctx_free(ctx);
        SKIP("no OpenCL device");
    }
    assert_int_equal(rc, 0);
    ws__device_find("opencl")->close(dev);
    ws_ctx_free(ctx);
    assert_true(t_torture(whole_life, NULL) > 5);
}

static const struct ws__arg_info *arg(const struct ws__entry_info *e, size_t i,
                                      const char *name, const char *type)
{
    assert_string_equal(e->arg[i].name, name);
    assert_string_equal(e->arg[i].type, type);
    return &e->arg[i];
}

/* The member's words through a worker, as drafts get them. */
static void describes_sources(void **state)
{
    static const char source[] =
        "__kernel __attribute__((reqd_work_group_size(8, 4, 1)))\n"
        "void a(__global const float *x, __global int *y, __local float *t,\n"
        "       __constant uint *c, float4 v, ulong n) {}\n"
        "__kernel void b(void) {}\n";
    static const char *const option = "-cl-mad-enable";
    struct ws__build b = {.source = source, .option = &option, .noption = 1};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__entry_info *list = NULL;
    const struct ws__entry_info *e;
    struct ws__device d;
    size_t n;
    int rc = ws__device_open(ctx, "opencl", &d);

    (void)state;
    if (rc < 0) {
        ws_ctx_free(ctx);
        SKIP("no OpenCL device, or the worker is not built");
    }
    assert_int_equal(d.ops->describe(d.self, &b, &list, &n), 0);
    assert_int_equal(n, 2);
    e = &list[strcmp(list[0].name, "a") != 0];
    assert_string_equal(e->name, "a");
    assert_int_equal(e->narg, 6);
    assert_int_equal(e->block[0] * 100 + e->block[1] * 10 + e->block[2], 841);
    assert_true(arg(e, 0, "x", "float*")->constant);
    assert_int_equal(e->arg[0].space, WS__SPACE_GLOBAL);
    assert_false(arg(e, 1, "y", "int*")->constant);
    assert_int_equal(arg(e, 2, "t", "float*")->space, WS__SPACE_LOCAL);
    assert_int_equal(arg(e, 3, "c", "uint*")->space, WS__SPACE_CONSTANT);
    assert_int_equal(arg(e, 4, "v", "float4")->space, WS__SPACE_VALUE);
    arg(e, 5, "n", "ulong");
    ws__free(ctx, list);
    b.source = "__kernel void a(int x) { y = COLS; }";
    assert_int_equal(d.ops->describe(d.self, &b, &list, &n), WS_EBUILD);
    assert_null(list);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "undeclared"));
    ws__device_close(&d);
    /* A member that cannot. */
    if (ws__device_open(ctx, "isolate:null", &d) == 0) {
        assert_int_equal(d.ops->describe(d.self, &b, &list, &n), WS_ENOTSUP);
        ws__device_close(&d);
    }
    ws_ctx_free(ctx);
}

/* --- what a compiler says ------------------------------------------------ */

#define NOISE "/tmp/x/tempfile.cl:1:2: warning: unused variable\n"

static struct {
    size_t noise; /* lines before the error */
    const char *error;
} says;

static ocl_program fake_create(ocl_context c, uint32_t n, const char **text,
                               const size_t *len, int32_t *e)
{
    (void)c, (void)n, (void)text, (void)len;
    *e = 0;
    return (ocl_program)&says;
}

static int32_t fake_build(ocl_program p, uint32_t n, const ocl_device *d,
                          const char *how, void (*fn)(ocl_program, void *),
                          void *user)
{
    (void)p, (void)n, (void)d, (void)how, (void)fn, (void)user;
    return *says.error ? -11 : 0;
}

static int32_t fake_release(ocl_program p)
{
    (void)p;
    return 0;
}

static int32_t fake_log(ocl_program p, ocl_device d, uint32_t what, size_t n,
                        void *out, size_t *got)
{
    const size_t line = strlen(NOISE), before = says.noise * line,
                 all = before + strlen(says.error) + before + 1;
    char *to = out;

    (void)p, (void)d, (void)what;
    if (got)
        *got = all;
    if (!to)
        return 0;
    assert_true(n >= all);
    for (size_t i = 0; i < says.noise; i++) {
        memcpy(to + i * line, NOISE, line);
        memcpy(to + before + strlen(says.error) + i * line, NOISE, line);
    }
    memcpy(to + before, says.error, strlen(says.error));
    to[all - 1] = '\0';
    return 0;
}

/* However much it says, the first error is what we pass on. */
static void long_logs_are_cut(void **state)
{
    static const size_t noise[] = {0, 1, 100, 300, 400, 10000, 300000};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__ocl d = {.ctx = ctx,
                        .api = {.CreateProgramWithSource = fake_create,
                                .BuildProgram = fake_build,
                                .GetProgramBuildInfo = fake_log,
                                .ReleaseProgram = fake_release}};
    ocl_program p;
    char *log;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(noise); i++) {
        says.noise = noise[i];
        says.error = "/tmp/x/tempfile.cl:7:9: error: expected ';'\n";
        assert_int_equal(ws__ocl_compile(&d, "", "", &p, &log), WS_EBUILD);
        says.error = "source:7:9: error: expected ';'";
        assert_memory_equal(ws_ctx_error(ctx)->message, says.error,
                            strlen(says.error));
        says.error = "";
        log = NULL;
        assert_int_equal(ws__ocl_compile(&d, "", "", &p, &log), 0);
        assert_int_equal(log != NULL, noise[i] > 0);
        if (log)
            assert_memory_equal(log, "source:1:2: warning", 19);
        assert_true(!log || strlen(log) < 20000);
        ws__free(ctx, log);
    }
    ws_ctx_free(ctx);
}

/* --- why there is no platform -------------------------------------------- */

static char vendors[] = "/tmp/wavesmith-t_opencl-XXXXXX";

static void put_vendor(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", vendors, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void expect_reason(const char *message, const char *hint)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    assert_int_equal(ws__ocl_no_platform(ctx, vendors), WS_ENODRIVER);
    if (!strstr(ws_ctx_error(ctx)->message, message) ||
        !strstr(ws_ctx_error(ctx)->hint, hint))
        fail_msg("'%s', '%s'", ws_ctx_error(ctx)->message,
                 ws_ctx_error(ctx)->hint);
    ws_ctx_free(ctx);
}

static int ask_reason(struct ws_ctx *ctx, void *user)
{
    int rc = ws__ocl_no_platform(ctx, user);

    return rc == WS_ENODRIVER ? 0 : rc;
}

static void says_why_no_platform(void **state)
{
    char library[64], path[128];

    (void)state;
    expect_reason("no driver is", "install 'pocl"); /* no folder */
    assert_non_null(mkdtemp(vendors));
    put_vendor("README", "libnonexistent.so.3\n");
    expect_reason("no driver is", "install 'pocl");
    put_vendor("a.icd", "libm.so.6\n");
    expect_reason("load, but offered none", "OCL_ICD_VENDORS");
    snprintf(library, sizeof(library), "%s/bad.so", vendors);
    put_vendor("bad.so", "nonsense");
    put_vendor("b.icd", library);
    expect_reason("too short", "ulimit -v");
    put_vendor("b.icd", "libnonexistent.so.3\n");
    expect_reason("libnonexistent.so.3: cannot open shared object", "again");
    assert_true(t_torture(ask_reason, vendors) > 1);
    for (const char *const *f =
             (const char *const[]){"README", "a.icd", "b.icd", "bad.so", NULL};
         *f; f++) {
        snprintf(path, sizeof(path), "%s/%s", vendors, *f);
        unlink(path);
    }
    rmdir(vendors);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(long_logs_are_cut),
    cmocka_unit_test(says_why_no_platform),
    cmocka_unit_test(errors_have_meanings),
    cmocka_unit_test(survives_without_memory),
    cmocka_unit_test(describes_sources),
};

T_OCL_MAIN(tests)
