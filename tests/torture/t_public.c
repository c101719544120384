/*
 * t_public.c: the public interface while memory runs out: every allocation of
 * opening a specification, reporting and walking its space, and of a tune on
 * recordings fails in turn; the code is WS_ENOMEM, nothing leaks, nothing
 * crashes. What runs devices is tortured beside its code.
 */
#include "base/t_base.h"

#include <ftw.h>
#include <unistd.h>

#include "base/fs.h"

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

/* Measured (on a device that runs none of the kernels), kept, shown. */
struct kept {
    char dir[32], file[1024];
};

static int roof(struct ws_ctx *ctx, void *user)
{
    struct ws_roof_opts o = {.size = sizeof(o), .device = "null", .quick = 1};
    struct kept *k = user;
    struct ws_roof r;

    ctx->data_dir = ws__strdup(ctx, k->dir);
    if (!ctx->data_dir)
        return WS_ENOMEM;
    WS_TRY(ws_roof(ctx, &o, &r));
    assert_true(r.n > 0 && !r.ceiling[0].known && r.ceiling[0].why[0]);
    assert_non_null(strstr(r.file, k->dir));
    memcpy(k->file, r.file, sizeof(k->file));
    o.show = 1;
    return ws_roof(ctx, &o, &r);
}

static void roofs(void **state)
{
    struct kept k = {.dir = "/tmp/t_public-XXXXXX"};

    (void)state;
    assert_non_null(mkdtemp(k.dir));
    assert_true(t_torture(roof, &k) > 10);
    assert_int_equal(unlink(k.file), 0);
    *strrchr(k.file, '/') = '\0';
    assert_int_equal(rmdir(k.file), 0);
    assert_int_equal(rmdir(k.dir), 0);
}

/* Measured, judged by a worker's reference, compared with ceilings that are
 * kept, of the best config that a store knows. */
struct profiled {
    char dir[32], op[48];
    const char *want; /* where its config is from */
};

static int profile(struct ws_ctx *ctx, void *user)
{
    struct ws_profile_opts o = {.size = sizeof(o),
                                .device = "isolate:null:0",
                                .workload = "small"};
    struct profiled *k = user;
    struct ws_spec *spec = NULL;
    struct ws_profile p;
    int rc;

    ctx->data_dir = ws__strdup(ctx, k->dir);
    if (!ctx->data_dir)
        return WS_ENOMEM;
    WS_TRY_DONE(ws_spec_open(ctx, k->op, NULL, &spec));
    WS_TRY_DONE(ws_profile(spec, &o, &p));
    assert_string_equal(p.verdict, "ok");
    assert_string_equal(p.config_from, k->want);
    assert_true(p.nfinding > 0 && p.nblind > 10);
    assert_true(p.roof_ns > 0 && p.nlaunch == 1);
done:
    ws_spec_free(spec);
    return rc;
}

static int drop(const char *path, const struct stat *st, int kind,
                struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void copy(struct ws_ctx *ctx, const struct profiled *k, const char *name)
{
    char from[128], to[128], *text;
    size_t n;

    snprintf(from, sizeof(from), "tests/data/timed/%s", name);
    snprintf(to, sizeof(to), "%s/%s", k->op, name);
    assert_int_equal(ws__fs_read(ctx, from, 1 << 16, &text, &n), 0);
    assert_int_equal(ws__fs_write(ctx, to, text, n), 0);
    ws__free(ctx, text);
}

static void profiles(void **state)
{
    static const char *const files[] = {"op.yaml", "kernels/steps.yaml",
                                        "kernels/steps.null"};
    struct ws_roof_opts ro = {.size = sizeof(ro),
                              .device = "isolate:null:0",
                              .quick = 1};
    struct ws_tune_opts to = {.size = sizeof(to),
                              .device = "isolate:null:0",
                              .strategy = "grid",
                              .budget_trials = 2};
    struct profiled k = {.dir = "/tmp/t_public-XXXXXX", .want = "default"};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_tune_result *r = NULL;
    struct ws_spec *spec;
    struct ws_roof roof;
    char kernels[64];

    (void)state;
    assert_non_null(mkdtemp(k.dir));
    snprintf(k.op, sizeof(k.op), "%s/timed", k.dir);
    snprintf(kernels, sizeof(kernels), "%s/kernels", k.op);
    assert_int_equal(ws__fs_mkdirs(ctx, kernels), 0);
    for (size_t i = 0; i < WS_COUNT(files); i++)
        copy(ctx, &k, files[i]);
    ctx->data_dir = ws__strdup(ctx, k.dir);
    assert_int_equal(ws_roof(ctx, &ro, &roof), 0);
    assert_true(t_torture(profile, &k) > 100);
    assert_int_equal(ws_spec_open(ctx, k.op, NULL, &spec), 0);
    assert_int_equal(ws_tune(spec, &to, &r), 0);
    ws_tune_result_free(ctx, r);
    ws_spec_free(spec);
    ws_ctx_free(ctx);
    k.want = "best";
    assert_true(t_torture(profile, &k) > 100);
    assert_int_equal(nftw(k.dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* With a worker that computes the reference. */
static int audit(struct ws_ctx *ctx, void *user)
{
    struct ws_audit_opts o = {.size = sizeof(o),
                              .workload = "M=3,N=17,K=20,T=float32"};
    struct ws_audit_report r;
    struct ws_spec *spec = NULL;
    int rc;

    (void)user;
    ctx->share_dir = ws__strdup(ctx, ".");
    if (!ctx->share_dir)
        return WS_ENOMEM;
    WS_TRY_DONE(ws_spec_open(ctx, "ops/gemm", NULL, &spec));
    WS_TRY_DONE(ws_op_audit(spec, &o, &r));
    assert_int_equal(r.refused, 0);
    assert_true(r.nline > 30);
    assert_string_equal(r.rule, "automatic");
done:
    ws_spec_free(spec);
    return rc;
}

static void audits(void **state)
{
    (void)state;
    assert_true(t_torture(audit, NULL) > 100);
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
        assert_true((r->nblank > 2 || r->reference_path) && r->nfound > 0);
    ws_init_result_free(ctx, r);
    return rc;
}

/* Writes a source to draft from. */
static void put_source(char path[4096], const char *name, const char *text)
{
    const char *tmp = getenv("TMPDIR");
    FILE *f;

    snprintf(path, 4096, "%s/%s", tmp ? tmp : "/tmp", name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* By libclang, where it is there: with a reference, without a blank. */
static void whole_drafts(void **state)
{
    static const char source[] =
        "#define TILE 16\n"
        "__device__ float f(const float *x, int i) { return x[i] / EPS; }\n"
        "__global__ void k(const float *x, const int *p, float *y, int m, int "
        "n)\n{\n    int i = blockIdx.x * TILE + threadIdx.x;\n"
        "    float s = 0.5f;\n    if (i >= m)\n        return;\n"
        "    for (int j = 0; j < n; j++)\n"
        "        s += f(x, i * n + j) * x[p[i] % m * n + j / 2];\n"
        "    y[i] = i > 3 ? expf(s) : s;\n}\n";
    char path[4096];
    const char *user[2] = {path, NULL};

    (void)state;
    put_source(path, "wavesmith-t_whole.cu", source);
    assert_true(t_torture(draft, user) > 50);
    remove(path);
}

static void drafts(void **state)
{
    static const char source[] =
        "#ifndef STEP\n#define STEP 2\n#endif\ntemplate <int BM, class T>\n"
        "__global__ void mm(const float *A, const float *w, T *C, Foo z, int M)"
        "{ USE; }\n";
    char path[4096];
    const char *user[2] = {path, NULL};

    (void)state;
    put_source(path, "wavesmith-t_draft.cu", source);
    assert_true(t_torture(draft, user) > 20);
    user[1] = "gemm";
    assert_true(t_torture(draft, user) > 30);
    remove(path);
}

static char dir[40];

static const char *const names[] = {"s.db", "s.db-wal", "s.db-shm", "t1.json",
                                    "r.csv"};
static char paths[WS_COUNT(names)][80];

/* The same string for the same name, for ever. */
static const char *at(const char *name)
{
    size_t i = 0;

    while (strcmp(names[i], name) != 0)
        i++;
    snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, name);
    return paths[i];
}

static const char t1[] =
    "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"B\", "
    "\"Values\": [1, 2, 4]}]}}";
static const char csv[] = "B,time_us,status\n1,2,ok\n4,1,ok\n2,,compile\n";

static int tune(struct ws_ctx *ctx, void *user)
{
    struct ws_tune_opts o = {.size = sizeof(o),
                             .recordings = at("r.csv"),
                             .store = at("s.db"),
                             .strategy = "grid"};
    struct ws_tune_result *r = NULL;
    struct ws_spec *spec = NULL;
    int rc;

    (void)user;
    unlink(at("s.db"));
    unlink(at("s.db-wal"));
    unlink(at("s.db-shm"));
    WS_TRY_DONE(ws__fs_write(ctx, at("t1.json"), t1, strlen(t1)));
    WS_TRY_DONE(ws__fs_write(ctx, at("r.csv"), csv, strlen(csv)));
    WS_TRY_DONE(ws_spec_open(ctx, at("t1.json"), NULL, &spec));
    WS_TRY_DONE(ws_tune(spec, &o, &r));
    if (r->stopped) {
        rc = r->stopped;
    } else {
        assert_true(r->row->best_ns == 1000 && r->row->oracle_ns == 1000);
        assert_string_equal(r->row->config, "B=4");
        assert_int_equal(r->row->verdicts[2], 1);
    }
done:
    ws_tune_result_free(ctx, r);
    ws_spec_free(spec);
    return rc;
}

static void recordings(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "%s/t_public_XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(mkdtemp(dir));
    assert_true(t_torture(tune, NULL) > 60);
    for (size_t i = 0; i < WS_COUNT(names); i++)
        unlink(at(names[i]));
    assert_int_equal(rmdir(dir), 0);
}

/* An op with two kernel files that are not its own. */
static int open_with(struct ws_ctx *ctx, void *user)
{
    const char *files[2] = {"ops/gemm/kernels/gemm_tiled.yaml", SPEC};
    struct ws_spec_open_opts o = {.size = sizeof(o),
                                  .path = "ops/gemm",
                                  .kernels = files,
                                  .nkernels = 2};
    struct ws_spec *spec = NULL;
    int rc;

    (void)user;
    ctx->share_dir = ws__strdup(ctx, ".");
    if (!ctx->share_dir)
        return WS_ENOMEM;
    rc = ws_spec_open_with(ctx, &o, &spec);
    if (rc == 0) {
        assert_int_equal(ws_spec_kernel_count(spec), 2);
        assert_string_equal(ws_spec_kernel_name(spec, 1), "my_gemm");
        assert_true(ws_spec_workload_count(spec) > 5);
    }
    ws_spec_free(spec);
    return rc;
}

static void kernel_files(void **state)
{
    (void)state;
    assert_true(t_torture(open_with, NULL) > 100);
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

/* What is needed and not given is said. */
static void nothing_given(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_spec *spec = NULL;
    struct ws_trials_export_opts e = {.size = sizeof(e), .store = "x.db"};
    struct ws_trials_import_opts i = {.size = sizeof(i), .store = "x.db"};
    struct ws_tune_opts t = {.size = sizeof(t), .ndevice = 2};
    struct ws_spec_open_opts o = {.size = sizeof(o)};
    struct ws_tune_result *r = NULL;
    struct ws_trials_imported in;
    struct ws_init_result *made;

    (void)state;
    ctx->share_dir = ws__strdup(ctx, ".");
    assert_int_equal(ws_spec_open(ctx, NULL, NULL, &spec), WS_EINVAL);
    assert_int_equal(ws_spec_open_with(ctx, NULL, &spec), WS_EINVAL);
    assert_int_equal(ws_spec_open_with(ctx, &o, &spec), WS_EINVAL);
    assert_int_equal(ws_trials_export(ctx, NULL, NULL), WS_EINVAL);
    assert_int_equal(ws_trials_export(ctx, &e, NULL), WS_EINVAL);
    assert_int_equal(ws_trials_import(ctx, NULL, &in), WS_EINVAL);
    assert_int_equal(ws_trials_import(ctx, &i, &in), WS_EINVAL);
    assert_int_equal(ws_trials_each(ctx, NULL, NULL, NULL), WS_EINVAL);
    assert_int_equal(ws_trials_runs(ctx, NULL, NULL, NULL), WS_EINVAL);
    assert_int_equal(ws_init(ctx, NULL, &made), WS_EINVAL);
    assert_int_equal(ws_spec_open(ctx, SPEC, NULL, &spec), 0);
    assert_int_equal(ws_tune(spec, &t, &r), WS_EINVAL);
    assert_true(ws_ctx_error(ctx)->message[0] != '\0');
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces),        cmocka_unit_test(audits),
        cmocka_unit_test(kernel_files),  cmocka_unit_test(errors),
        cmocka_unit_test(nothing_given), cmocka_unit_test(drafts),
        cmocka_unit_test(whole_drafts),  cmocka_unit_test(recordings),
        cmocka_unit_test(roofs),         cmocka_unit_test(profiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
