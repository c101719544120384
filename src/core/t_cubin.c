/* t_cubin.c: what kernels use, from cubins of a real compiler, and damaged. */
#include "base/t_base.h"

#include "base/fs.h"
#include "core/cubin.h"

static char *image(struct ws_ctx *ctx, const char *arch, size_t *n)
{
    char path[128], *p;

    snprintf(path, sizeof(path), "tests/data/cubin/three-%s.cubin", arch);
    assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &p, n), 0);
    return p;
}

static void uses(void **state)
{
    static const char *const ARCH[] = {"80", "90"};
    static const struct {
        const char *entry;
        struct ws__cubin_use use;
    } CASE[] = {{"a", {10, 1200, 0}}, {"b", {32, 0, 256}}, {"c", {12, 0, 0}}};
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(ARCH); i++) {
        struct ws__cubin_use u;
        size_t n;
        char *p = image(ctx, ARCH[i], &n);

        for (size_t k = 0; k < WS_COUNT(CASE); k++) {
            assert_null(ws__cubin_lacks(p, n, CASE[k].entry));
            assert_true(ws__cubin_use(p, n, CASE[k].entry, &u));
            assert_memory_equal(&u, &CASE[k].use, sizeof(u));
        }
        assert_false(ws__cubin_use(p, n, "d", &u));
        assert_non_null(ws__cubin_lacks(p, n, "d"));
        ws__free(ctx, p);
    }
    ws_ctx_free(ctx);
}

/* Cut off anywhere, and with any byte turned: something or nothing, within
 * the file (a sanitizer sees to that). */
static void damaged(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__cubin_use u;
    size_t n, known = 0;
    char *p = image(ctx, "90", &n);

    (void)state;
    for (size_t cut = 0; cut < n; cut += 7) {
        char *less = malloc(cut + 1);

        assert_non_null(less);
        memcpy(less, p, cut);
        assert_false(ws__cubin_use(less, cut, "a", &u) &&
                     ws__cubin_lacks(less, cut, "a"));
        free(less);
    }
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(p[i] ^ 0x81);
        known += ws__cubin_use(p, n, "a", &u);
        p[i] = (char)(p[i] ^ 0x81);
    }
    assert_true(known > 0 && known < n);
    ws__free(ctx, p);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(uses),
                                       cmocka_unit_test(damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
