/* t_device_null.c: the language of the null device, and that it cleans up
 * whatever allocation fails. What every device must do is tested in
 * tests/conformance/t_device.c. */
#include "base/t_base.h"

#include "device/device.h"

static const struct ws__device_ops *ops(void)
{
    return ws__device_find("null");
}

/* Builds, runs "k" on one buffer of 16 floats that starts as 1.0, returns its
 * status; the first float in *out, the time in *ns. */
static int run_source(struct ws_ctx *ctx, const char *source, float *out,
                      double *ns)
{
    const char *entry = "k";
    const struct ws__build b = {.source = source, .entry = &entry, .nentry = 1};
    struct ws__dev_arg arg = {.kind = WS__ARG_TENSOR};
    struct ws__dev_launch l = {.entry = "k",
                               .grid = {1, 1, 1},
                               .block = {1, 1, 1},
                               .arg = &arg,
                               .narg = 1};
    const struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    const struct ws__dev_batch batch = {
        .prog = &seq, .nprog = 1, .nset = 1, .rounds = 1, .inner = 2};
    struct ws__dev_sample s = {0};
    struct ws__built built;
    void *dev;
    size_t n;
    int rc;

    WS_TRY(ops()->open(ctx, 0, NULL, &dev));
    WS_TRY_DONE(ops()->build(dev, &b, &built));
    l.module = built.module;
    WS_TRY_DONE(ops()->alloc(dev, 64, 16, 0, &arg.buffer));
    WS_TRY_DONE(ops()->fill(dev, arg.buffer, 0x3f800000));
    WS_TRY_DONE(ops()->run(dev, &batch, &s, &n));
    WS_TRY_DONE(ops()->read(dev, arg.buffer, 0, out, sizeof(*out)));
    *ns = s.ns;
done:
    ops()->close(dev);
    return rc;
}

static void statements_do_what_they_say(void **state)
{
    static const struct {
        const char *source;
        int rc;
        float first;
        double ns; /* 0: any */
    } c[] = {
        {"kernel k", 0, 1, 0},
        {"kernel k\nadd 0 2.5\n", 0, 6, 0}, /* run twice */
        {"# a comment\n\nkernel k\r\n  fill 0 7\t\n", 0, 7, 0},
        {"#define V 3\nkernel k\nfill 0 V", 0, 3, 0},
        {"#define ON\nkernel k\nif ON 1 fill 0 5", 0, 5, 0},
        {"#define V 3\nkernel k\nif V 4 fill 0 9", 0, 1, 0},
        {"#define V 3\n#define W 3\nkernel k\nif V W if V 3 fill 0 9", 0, 9, 0},
        {"kernel k\nmul 0 0 3", 0, 9, 0},
        {"kernel k\ntime 1500\ntime 500", 0, 1, 2000},
        {"#define V 250\nkernel k\ntime V", 0, 1, 250},
        {"kernel k\nrefuse", WS_ELAUNCH, 0, 0},
        {"kernel k\nfill 1 2", WS_ELAUNCH, 0, 0},
        {"kernel k\nfill x 2", 0, 2, 0}, /* not a number is 0 */
        {"kernel j\nfill 0 2", WS_EBUILD, 0, 0},
        {"kernel k\nfill 0", WS_EBUILD, 0, 0},
        {"kernel k\nfill 0 1 2", WS_EBUILD, 0, 0},
        {"kernel k\nif 1 1", WS_EBUILD, 0, 0},
        {"fill 0 1\nkernel k", WS_EBUILD, 0, 0},
        {"", WS_EBUILD, 0, 0},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        float first = 0;
        double ns = 0;
        int rc = run_source(ctx, c[i].source, &first, &ns);

        if (rc != c[i].rc || (rc == 0 && first != c[i].first) ||
            (c[i].ns > 0 && ns != c[i].ns))
            fail_msg("case %zu: rc %d, first %g, ns %g", i, rc, (double)first,
                     ns);
    }
    ws_ctx_free(ctx);
}

static void errors_have_the_line(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    float first;
    double ns;

    (void)state;
    assert_int_equal(run_source(ctx, "kernel k\n\nbroken 1\n", &first, &ns),
                     WS_EBUILD);
    assert_int_equal(ws_ctx_error(ctx)->line, 3);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "broken"));
    ws_ctx_free(ctx);
}

static int run_it(struct ws_ctx *ctx, void *user)
{
    float first;
    double ns;

    (void)user;
    return run_source(ctx, "#define V 1\nkernel k\nadd 0 V\n", &first, &ns);
}

static void survives_without_memory(void **state)
{
    (void)state;
    assert_true(t_torture(run_it, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_do_what_they_say),
        cmocka_unit_test(errors_have_the_line),
        cmocka_unit_test(survives_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
