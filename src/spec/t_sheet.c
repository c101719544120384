/* t_sheet.c: data sheets from files: what is read, what is refused and where.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "spec/sheet.h"

static char path[64];

static const char whole[] =
    "name: mine\nunits: 96\nmhz: 1700\ndram_gbs: 1200\ncache_bytes: 33554432\n"
    "matrix_tflops: 180\nvector_tflops: 2.5e1\nwatts: 300\nnm: 7\n"
    "vector_bytes: 16\ncpu: true\n";

static void put(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int read_whole(struct ws_ctx *ctx, void *user)
{
    struct ws__arena arena;
    struct ws__sheet s;
    int rc;
    (void)user;

    ws__arena_init(&arena, ctx);
    rc = ws__sheet_read(ctx, &arena, path, &s);
    if (!rc) {
        assert_string_equal(s.name, "mine");
        assert_true(s.units == 96 && s.mhz == 1700 && s.dram_gbs == 1200);
        assert_true(s.cache_bytes == 33554432 && s.matrix_tflops == 180);
        assert_true(s.vector_tflops == 25 && s.watts == 300 && s.nm == 7);
        assert_true(s.vector_bytes == 16 && s.is_cpu);
    }
    ws__arena_free(&arena);
    return rc;
}

static void test_whole(void **state)
{
    (void)state;
    put(whole);
    assert_true(t_torture(read_whole, NULL) > 1);
}

/* What may be left out is 0. */
static void test_least(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__arena arena;
    struct ws__sheet s;
    (void)state;

    put("{name: x, units: 1, mhz: 1, dram_gbs: 1, cache_bytes: 1024, "
        "vector_tflops: 1}");
    ws__arena_init(&arena, ctx);
    assert_int_equal(ws__sheet_read(ctx, &arena, path, &s), 0);
    assert_true(s.matrix_tflops == 0 && s.watts == 0 && s.nm == 0);
    assert_true(s.vector_bytes == 0 && !s.is_cpu);
    ws__arena_free(&arena);
    ws_ctx_free(ctx);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *message;
        uint32_t line;
    } bad[] = {
        {"- 1\n", "", 1},
        {"name: x\nunits: 0\nmhz: 1\n", "'units' of a device is not 0", 2},
        {"name: x\nunits: 1e9\n", "'units' of a device", 2},
        {"name: x\nunits: many\n", "", 2},
        {"name: x\nunits: 4\nghz: 2\n", "ghz", 3},
        {"units: 4\n", "has no 'name'", 1},
        {"name: x\nunits: 4\n", "has no 'mhz'", 1},
        {"name: x\nunits: nan\n", "", 2},
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        struct ws__arena arena;
        struct ws__sheet s;

        put(bad[i].text);
        ws__arena_init(&arena, ctx);
        assert_int_equal(ws__sheet_read(ctx, &arena, path, &s), WS_ESPEC);
        assert_non_null(strstr(ctx->err.message, bad[i].message));
        assert_int_equal(ctx->err.line, bad[i].line);
        assert_string_equal(ctx->err.file, path);
        ws__arena_free(&arena);
    }
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_refused),
    };
    int rc;

    snprintf(path, sizeof(path), "/tmp/t_sheet.%ld.yaml", (long)getpid());
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
