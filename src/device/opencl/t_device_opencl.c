/* t_device_opencl.c: the OpenCL member in this process: names of errors, and
 * that our own memory is all given back, whatever allocation fails. What
 * every device must do is tested in tests/conformance/t_device.c. */
#include "base/t_base.h"

#include <unistd.h>

#include "device/opencl/opencl.h"

static const char source[] =
    "__kernel void k(__global int *out, __local int *tmp, int v)\n"
    "{\n"
    "    tmp[get_local_id(0)] = v;\n"
    "    out[get_global_id(0)] = tmp[get_local_id(0)];\n"
    "}\n";

static void errors_have_meanings(void **state)
{
    static const struct {
        int32_t error;
        int code;
        const char *word;
    } c[] = {
        {-4, WS_EDEVMEM, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, WS_ELAUNCH, "CL_OUT_OF_RESOURCES"},
        {-6, WS_EDEVMEM, "CL_OUT_OF_HOST_MEMORY"},
        {-11, WS_EBUILD, "CL_BUILD_PROGRAM_FAILURE"},
        {-54, WS_ELAUNCH, "CL_INVALID_WORK_GROUP_SIZE"},
        {-36, WS_EDEVICE, "CL_INVALID_COMMAND_QUEUE"},
        {-1001, WS_ENODRIVER, "CL_PLATFORM_NOT_FOUND_KHR"},
        {-12345, WS_EDEVICE, "-12345"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        assert_int_equal(ws__ocl_fail(ctx, c[i].error, "try"), c[i].code);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, c[i].word));
    }
    ws_ctx_free(ctx);
}

static int build_and_run(void *dev, uint32_t buffer)
{
    const struct ws__device_ops *ops = ws__device_find("opencl");
    static const uint64_t bytes[1] = {256};
    static const char *const option = "-DUNUSED=1";
    const char *entry = "k";
    const struct ws__plan_launch hint = {
        .entry = "k",
        .grid = {1, 1, 1},
        .block = {64, 1, 1},
        .arg = {{.kind = WS__ARG_TENSOR},
                {.kind = WS__ARG_SHARED, .bytes = 256},
                {.kind = WS__ARG_VALUE, .bytes = 4}},
        .narg = 3,
    };
    const struct ws__build b = {.source = source,
                                .option = &option,
                                .noption = 1,
                                .entry = &entry,
                                .nentry = 1,
                                .hint = &hint,
                                .nhint = 1,
                                .tensor_bytes = bytes,
                                .ntensor = 1};
    const struct ws__dev_arg arg[3] = {
        {.kind = WS__ARG_TENSOR, .buffer = buffer},
        {.kind = WS__ARG_SHARED, .bytes = 256},
        {.kind = WS__ARG_VALUE, .bytes = 4, .value = {42}}};
    struct ws__dev_launch l = {.entry = "k",
                               .grid = {1, 1, 1},
                               .block = {64, 1, 1},
                               .arg = arg,
                               .narg = 3};
    const struct ws__dev_seq seq = {.launch = &l,
                                    .nlaunch = 1,
                                    .hash = &buffer,
                                    .nhash = 1};
    const struct ws__dev_batch batch = {
        .prog = &seq, .nprog = 1, .nset = 1, .rounds = 1, .inner = 2};
    struct ws__dev_sample s;
    struct ws__built built;
    int32_t got = 0;
    size_t n;

    WS_TRY(ops->build(dev, &b, &built));
    ws__free(((struct ws__ocl *)dev)->ctx, built.log);
    l.module = built.module;
    WS_TRY(ops->run(dev, &batch, &s, &n));
    WS_TRY(ops->read(dev, buffer, 252, &got, 4));
    return got == 42 ? 0 : WS_EBUG;
}

static int whole_life(struct ws_ctx *ctx, void *user)
{
    const struct ws__device_ops *ops = ws__device_find("opencl");
    uint32_t buffer;
    int64_t at;
    void *dev;
    int rc;

    (void)user;
    WS_TRY(ops->open(ctx, 0, NULL, &dev));
    rc = ops->alloc(dev, 256, 64, 0, &buffer);
    if (rc == 0)
        rc = build_and_run(dev, buffer);
    if (rc == 0)
        rc = ops->guard(dev, buffer, &at);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_meanings),
        cmocka_unit_test(survives_without_memory),
    };
    const char *tmp = getenv("TMPDIR");
    char cache[512];
    int failed;

    /* The runner's scratch folder; never the user's cache. */
    snprintf(cache, sizeof(cache), "%s/wavesmith-t_device_opencl",
             tmp ? tmp : "/tmp");
    setenv("POCL_CACHE_DIR", cache, 1);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    /* Not through the exit handlers of the driver, which was in this process
     * and keeps memory that a leak checker would count as ours. */
    fflush(NULL);
    _exit(failed ? 1 : 0);
}
