/*
 * t_t1_counts.c: published search spaces have exactly the published number of
 * valid configs, whether counted, enumerated or looked up by rank.
 */
#include "base/t_base.h"

#include "space/space.h"
#include "spec/spec.h"

static const struct {
    const char *name;
    uint64_t valid;
} files[] = {
    {"convolution", 6768},        {"convolution_milo", 4362},
    {"dedispersion_milo", 11130}, {"gemm_milo", 116928},
    {"hotspot_milo", 82984},      {"pnpoly", 4092},
};

static void check_counts(struct ws__space *s, const struct ws__kernel *k,
                         uint64_t want)
{
    uint64_t valid, n = 0, removed[64], sum;
    struct ws__space_iter it;
    struct ws__config c, d;
    int rc;

    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_int_equal(valid, want);
    ws__space_begin(s, &it);
    while ((rc = ws__space_next(&it, &c)) > 0) {
        if (n % 97 == 0) {
            assert_int_equal(ws__space_unrank(s, n, &d), 0);
            assert_true(ws__config_eq(&c, &d));
        }
        n++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(n, want);
    assert_true(k->nconstraint <= WS_COUNT(removed));
    assert_int_equal(ws__space_removed(s, removed), 0);
    sum = valid;
    for (size_t i = 0; i < k->nconstraint; i++)
        sum += removed[i];
    assert_int_equal(sum, ws__space_size(s));
}

static void check_file(struct ws_ctx *ctx, const char *path, uint64_t want)
{
    struct ws__spec *spec;
    struct ws__space *s;

    if (ws__spec_load(ctx, path, NULL, &spec) < 0)
        fail_msg("%s: %s", path, ws_ctx_error(ctx)->message);
    assert_int_equal(ws__space_new(ctx, &spec->kernel[0], NULL, false, false,
                                   &s),
                     0);
    check_counts(s, &spec->kernel[0], want);
    ws__space_free(s);
    ws__spec_free(spec);
}

static void test_counts(void **state)
{
    const char *data = getenv("WS_DATA");
    char path[512];
    FILE *f;

    (void)state;
    if (!data)
        data = "../shared/data";
    for (size_t i = 0; i < WS_COUNT(files); i++) {
        struct ws_ctx *ctx;

        snprintf(path, sizeof(path), "%s/benchmark_hub/T1_%s.json", data,
                 files[i].name);
        f = fopen(path, "r");
        if (!f)
            SKIP("no file %s", path);
        fclose(f);
        ctx = t_ctx(NULL);
        check_file(ctx, path, files[i].valid);
        ws_ctx_free(ctx);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
