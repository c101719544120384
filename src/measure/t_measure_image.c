/*
 * t_measure_image.c: candidates built to be kept: which entries are asked
 * for, what happens where a source lacks one, where the device fails or is
 * stopped or memory is short.
 */
#include "measure/t_measure_fixture.h"

#define BOTH "kernel k\nmul 1 0 2\nkernel more\nfill 1 0\n"
#define ONE "kernel k\nmul 1 0 2\n"

/* A second launch, that happens while `when` holds. */
static struct t_case *make_case(struct ws_ctx *ctx, const char *source,
                                const char *when)
{
    struct t_case *c = t_case_new(ctx, source);
    struct ws__launch *l;

    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "null";
    if (!c)
        return NULL;
    l = &c->kernel.launch[c->kernel.nlaunch++];
    *l = c->kernel.launch[0];
    l->entry = "more";
    l->when = t_expr(c, when);
    if (l->when)
        return c;
    t_case_free(c);
    return NULL;
}

/* Images of V = 1 and V = 5 for the first workload. */
static int make_images(struct t_case *c, struct ws__candidate v[2],
                       struct ws__image image[2], bool ordered)
{
    struct ws__measure *m;
    int rc = t_measure_open(c, NULL, &m);

    memset(v, 0, 2 * sizeof(*v));
    memset(image, 0, 2 * sizeof(*image));
    for (int i = 0; i < 2; i++) {
        v[i].config.n = 1;
        v[i].config.at[0] = (uint16_t)(1 + 4 * i);
        image[i].candidate = &v[i];
    }
    if (rc < 0)
        return rc;
    m->ordered = ordered;
    t_script.builds = 0;
    rc = ws__measure_images(m, image, 2);
    ws__measure_close(m);
    return rc;
}

static void clear(struct t_case *c, struct ws__image image[2])
{
    for (int i = 0; i < 2; i++)
        ws__image_clear(c->ctx, &image[i]);
    assert_int_equal(t_script.live, 0);
    t_case_free(c);
}

static void entries(void **state)
{
    /* Source, when; has V = 1 the second entry, has V = 5; builds. */
    static const struct {
        const char *source, *when;
        int has[2], builds;
    } test[] = {
        {BOTH, "N > 100", {1, 1}, 2}, /* another shape may take it */
        {ONE, "N > 100", {0, 0}, 4},  /* not there: once more without */
        {BOTH, "V > 3", {0, 1}, 2},   /* settled by the config */
        {BOTH, "V > 3 and N > 1", {1, 1}, 2},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(test); i++) {
        struct t_case *c = make_case(ctx, test[i].source, test[i].when);
        struct ws__candidate v[2];
        struct ws__image image[2];

        assert_non_null(c);
        assert_int_equal(make_images(c, v, image, false), 0);
        assert_int_equal(t_script.builds, test[i].builds);
        for (int k = 0; k < 2; k++) {
            assert_non_null(image[k].built.image);
            assert_string_equal(image[k].symbol[0], "k");
            assert_int_equal(image[k].symbol[1] != NULL, test[i].has[k]);
            if (test[i].has[k])
                assert_string_equal(image[k].symbol[1], "more");
        }
        assert_non_null(strstr(image[1].built.image, "#define V 5"));
        clear(c, image);
    }
    ws_ctx_free(ctx);
}

/* A compiled-in axis settles a condition, too. */
static void baked(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = make_case(ctx, ONE, "N > 100");
    struct ws__candidate v[2];
    struct ws__image image[2];

    (void)state;
    c->kernel.specialize = 1;
    assert_int_equal(ws__kernel_baked(&c->kernel), 1);
    assert_int_equal(make_images(c, v, image, false), 0);
    assert_int_equal(t_script.builds, 2);
    assert_null(image[0].symbol[1]);
    clear(c, image);
    ws_ctx_free(ctx);
}

/* One that fails takes no other with it, and is no error. */
static void failures(void **state)
{
    static const int code[] = {WS_EBUILD, WS_ECRASH, WS_ETIMEOUT, WS_EDEVICE};
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(code); i++) {
        struct t_case *c = make_case(ctx, ONE, "N > 100");
        struct ws__candidate v[2];
        struct ws__image image[2];

        c->kernel.nlaunch = 1;
        t_script.fail_at = 1;
        t_script.times = code[i] == WS_EBUILD ? 2 : 1; /* asked twice */
        t_script.code = code[i];
        assert_int_equal(make_images(c, v, image, false), 0);
        assert_null(image[0].built.image);
        assert_non_null(image[1].built.image);
        clear(c, image);
    }
    ws_ctx_free(ctx);
}

static void stopped(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = make_case(ctx, ONE, "N > 100");
    struct ws__candidate v[2];
    struct ws__image image[2];

    (void)state;
    t_script.fail_at = 1;
    t_script.code = WS_ECANCEL;
    assert_int_equal(make_images(c, v, image, false), WS_ECANCEL);
    assert_null(image[0].built.image);
    assert_null(image[1].built.image);
    clear(c, image);
    ws_ctx_free(ctx);
}

/* A recorded device does what it did, and nothing else. */
static void recorded(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = make_case(ctx, ONE, "N > 100");
    struct ws__candidate v[2];
    struct ws__image image[2];

    (void)state;
    assert_int_equal(make_images(c, v, image, true), 0);
    assert_int_equal(t_script.builds, 0);
    assert_null(image[0].built.image);
    clear(c, image);
    ws_ctx_free(ctx);
}

static int body(struct ws_ctx *ctx, void *user)
{
    struct t_case *c = make_case(ctx, BOTH, "N > 100");
    struct ws__candidate v[2];
    struct ws__image image[2];
    int rc;

    (void)user;
    if (!c)
        return WS_ENOMEM;
    rc = make_images(c, v, image, false);
    clear(c, image);
    return rc;
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries),  cmocka_unit_test(baked),
        cmocka_unit_test(failures), cmocka_unit_test(stopped),
        cmocka_unit_test(recorded), cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
