/* t_dl.c: libraries at run time (the C library's own), shared memory. */
#include "base/t_base.h"

#include <unistd.h>

#include "base/dl.h"
#include "base/spawn.h"

static void opens_the_first_that_fits(void **state)
{
    static const char *const names[] = {"libnonexistent.so.9", "libm.so.6",
                                        NULL};
    struct ws_ctx *ctx = t_ctx(NULL);
    double (*cosine)(double) = NULL;
    void *none = &ctx, *lib = NULL;
    const struct ws__dl_symbol symbols[] = {
        {"cos", (void **)&cosine, false},
        {"no_such_function", &none, true},
        {NULL, NULL, false},
    };

    (void)state;
    assert_int_equal(ws__dl_open(ctx, names, "install it", symbols, &lib), 0);
    assert_non_null(lib);
    assert_true(cosine(0) == 1);
    assert_null(none);
    ws__dl_close(lib);
    ws__dl_close(NULL);
    ws_ctx_free(ctx);
}

static void says_what_is_missing(void **state)
{
    static const char *const names[] = {"libm.so.6", "libnonexistent.so", NULL};
    struct ws_ctx *ctx = t_ctx(NULL);
    void *a = NULL, *b = NULL, *lib = &ctx;
    const struct ws__dl_symbol symbols[] = {
        {"cos", &a, false},
        {"no_such_function", &b, false},
        {NULL, NULL, false},
    };

    (void)state;
    assert_int_equal(ws__dl_open(ctx, names, "a-package", symbols, &lib),
                     WS_ENODRIVER);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "No such file"));
    assert_null(lib);
    assert_null(a);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "libnonexistent.so"));
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "no_such_function"));
    /* one of them is installed: to install it does not help */
    assert_null(strstr(ws_ctx_error(ctx)->hint, "a-package"));
    assert_int_equal(ws__dl_open(ctx, names + 1, "a-package", symbols, &lib),
                     WS_ENODRIVER);
    assert_string_equal(ws_ctx_error(ctx)->hint, "a-package");
    ws_ctx_free(ctx);
}

/* A file that is there and does not load is not a missing one. */
static void says_why_it_does_not_load(void **state)
{
    char path[] = "/tmp/wavesmith-t_dl-XXXXXX";
    const char *const names[] = {path, NULL};
    const struct ws__dl_symbol none[] = {{NULL, NULL, false}};
    struct ws_ctx *ctx = t_ctx(NULL);
    int fd = mkstemp(path);
    void *lib;

    (void)state;
    assert_int_equal(write(fd, "nonsense", 8), 8);
    close(fd);
    assert_int_equal(ws__dl_open(ctx, names, "a-package", none, &lib),
                     WS_ENODRIVER);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, path));
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "too short"));
    assert_null(strstr(ws_ctx_error(ctx)->hint, "a-package"));
    assert_int_equal(ws__dl_try(ctx, path), WS_ENODRIVER);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "too short"));
    unlink(path);
    assert_int_equal(ws__dl_try(ctx, "libm.so.6"), 0);
    ws_ctx_free(ctx);
}

static void shared_memory_keeps_its_size(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__shm s, t;

    (void)state;
    assert_int_equal(ws__shm_new(ctx, 5000, &s), 0);
    assert_int_equal(s.bytes, 5000);
    memset(s.p, 1, 5000);
    assert_int_equal(ftruncate(s.fd, 10), -1);
    assert_int_equal(ws__shm_map(ctx, dup(s.fd), 5001, true, &t), WS_EPROTO);
    assert_int_equal(t.fd, -1);
    assert_int_equal(ws__shm_map(ctx, dup(s.fd), 5000, false, &t), 0);
    assert_int_equal(((char *)t.p)[4999], 1);
    ws__shm_free(&t);
    ws__shm_free(&t);
    ws__shm_free(&s);
    assert_int_equal(ws__shm_new(ctx, 0, &s), 0);
    ws__shm_free(&s);
    assert_int_equal(ws__shm_map(ctx, -1, 1, true, &t), WS_EIO);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_the_first_that_fits),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(says_why_it_does_not_load),
        cmocka_unit_test(shared_memory_keeps_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
