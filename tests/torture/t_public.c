/*
 * t_public.c: the public interface while memory runs out: every allocation of
 * opening a specification, reporting and walking its space fails in turn; the
 * code is WS_ENOMEM, nothing leaks, nothing crashes. What runs devices is
 * tortured beside its code.
 */
#include "base/t_base.h"

#define SPEC "examples/own-kernel/my_gemm.yaml"

static int count(void *user, const char *config)
{
    int *n = user;

    assert_true(strlen(config) > 0);
    ++*n;
    return 0;
}

static int walk(struct ws_ctx *ctx, void *user)
{
    struct ws_space_report report;
    struct ws_spec *spec = NULL;
    int *n = user, rc;

    *n = 0;
    ctx->share_dir = ws__strdup(ctx, ".");
    if (!ctx->share_dir)
        return WS_ENOMEM;
    WS_TRY_DONE(ws_spec_open(ctx, SPEC, NULL, &spec));
    assert_string_equal(ws_spec_kernel_name(spec, 0), "my_gemm");
    WS_TRY_DONE(
        ws_space_report(spec, 0, "M=1,N=64,K=64,T=float32", NULL, &report));
    assert_true(report.valid > 0 && report.valid <= report.size);
    WS_TRY_DONE(ws_space_each(spec, 0, NULL, NULL, 5, 1, 3, count, n));
    WS_TRY_DONE(ws_space_each(spec, 0, NULL, NULL, 4, 0, 0, count, n));
done:
    ws_spec_free(spec);
    return rc;
}

static void spaces(void **state)
{
    int n = 0;

    (void)state;
    assert_true(t_torture(walk, &n) > 100);
    assert_int_equal(n, 9);
}

/* A draft of a source that no device is asked about. */
static int draft(struct ws_ctx *ctx, void *user)
{
    const char *const *path = user;
    struct ws_init_opts o = {.size = sizeof(o),
                             .source = path[0],
                             .op = path[1],
                             .force = 1};
    struct ws_init_result *r = NULL;
    int rc;

    ctx->share_dir = ws__strdup(ctx, ".");
    if (!ctx->share_dir)
        return WS_ENOMEM;
    rc = ws_init(ctx, &o, &r);
    if (rc == 0)
        assert_true(r->nblank > 2 && r->nfound > 1);
    ws_init_result_free(ctx, r);
    return rc;
}

static void drafts(void **state)
{
    static const char source[] =
        "#ifndef STEP\n#define STEP 2\n#endif\ntemplate <int BM, class T>\n"
        "__global__ void mm(const float *A, const float *w, T *C, Foo z, int M)"
        "{ USE; }\n";
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    const char *user[2] = {path, NULL};
    FILE *f;

    (void)state;
    snprintf(path, sizeof(path), "%s/wavesmith-t_draft.cu", tmp ? tmp : "/tmp");
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(source, f);
    fclose(f);
    assert_true(t_torture(draft, user) > 20);
    user[1] = "gemm";
    assert_true(t_torture(draft, user) > 30);
    remove(path);
}

/* Errors of the same calls leave nothing behind either. */
static void errors(void **state)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    struct ws_space_report report;
    struct ws_spec *spec = NULL;

    (void)state;
    ctx->share_dir = ws__strdup(ctx, ".");
    assert_int_equal(ws_spec_open(ctx, "none.yaml", NULL, &spec), WS_ENOENT);
    assert_null(spec);
    assert_int_equal(ws_spec_open(ctx, SPEC, "none.yaml", &spec), WS_ENOENT);
    assert_null(spec);
    assert_int_equal(ws_spec_open(ctx, SPEC, NULL, &spec), 0);
    assert_true(ws_space_report(spec, 7, NULL, NULL, &report) < 0);
    assert_true(ws_space_report(spec, 0, "M=0", NULL, &report) < 0);
    assert_true(ws_ctx_error(ctx)->message[0] != '\0');
    ws_spec_free(spec);
    ws_spec_free(NULL);
    ws_ctx_free(ctx);
    assert_int_equal(a.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces),
        cmocka_unit_test(errors),
        cmocka_unit_test(drafts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
