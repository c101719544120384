/* t_device_opencl.c: the OpenCL member in this process: names of errors, and
 * that our own memory is all given back, whatever allocation fails. What
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(errors_have_meanings),
    cmocka_unit_test(survives_without_memory),
};

T_OCL_MAIN(tests)
