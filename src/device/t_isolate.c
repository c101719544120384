/* t_isolate.c: opening a device in a worker when the system has no more file
 * descriptors. Crashes, time-outs and the operations themselves are tested in
 * tests/conformance/t_device.c. */
#include "base/t_base.h"

#include "base/spawn.h"
#include "base/t_fds.h"
#include "device/device.h"

static int open_and_close(struct ws_ctx *ctx)
{
    struct ws__device d;
    int rc = ws__device_open(ctx, "isolate:null", &d);

    ws__device_close(&d);
    return rc;
}

static void survives_without_descriptors(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char *path = NULL;
    int rc = ws__worker_path(ctx, &path);

    (void)state;
    ws__free(ctx, path);
    ws_ctx_free(ctx);
    if (rc < 0)
        SKIP("the worker is not built");
    assert_true(t_without_fds(open_and_close) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_without_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
