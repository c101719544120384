/*
 * t_xform.c: every transformation: its declaration, and the cases of
 * tests/data/xform.
 *
 * A case is a folder <transformation>-<what>: kernel.yaml with its source, and
 * either what comes of it (after.yaml, and after.cu or after.cl), or the file
 * `refused` with the reason that must be given, or `nothing`: no site. The
 * first site counts. WS_UPDATE=1 writes what comes of it.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/cuda/cuda_compiler.h"
#include "profile/profile.h"
#include "spec/spec.h"
#include "xform/xform.h"

#include "xform/clang_api.h"
#include "xform/t_xform.h"

static struct ws_ctx *ctx;
static struct ws__cuda_compiler *compiler; /* NULL: there is none */
static size_t compiled;

#define OK(call)                                                               \
    do {                                                                       \
        int rc_ = (call);                                                      \
                                                                               \
        if (rc_ < 0)                                                           \
            print_error("%s:%u: %s (%s)\n", ctx->err.file, ctx->err.line,      \
                        ctx->err.message, ctx->err.hint);                      \
        assert_true(rc_ >= 0);                                                 \
    } while (0)

static char *join(const char *dir, const char *name)
{
    char *p = ws__path_join(ctx, dir, name);

    assert_non_null(p);
    return p;
}

static char *read_text(const char *dir, const char *name)
{
    char *path = join(dir, name), *text = NULL;
    size_t len;

    if (ws__fs_read(ctx, path, 1 << 20, &text, &len) < 0)
        text = NULL;
    ws__error_clear(ctx);
    ws__free(ctx, path);
    return text;
}

static void write_text(const char *dir, const char *name, const char *text)
{
    char *path = join(dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    ws__free(ctx, path);
}

static int parse(struct ws__arena *a, const struct ws__kernel *k,
                 const char *text, struct ws__ast *out)
{
    char *p = t_prologue(ctx, k);
    struct ws__ast_source s = {.path = k->source_file,
                               .text = text,
                               .dialect = k->dialect,
                               .prologue = p,
                               .headers = "ops/dialect/parse"};
    int rc = ws__ast_build(ctx, a, &s, out);

    ws__free(ctx, p);
    return rc;
}

struct a_case {
    char *dir;
    char name[64]; /* of the transformation */
    struct ws__spec *s;
    struct ws__arena a;
    struct ws__ast t;
    struct ws__sites sites;
    char *source;
};

static void begin_case(struct a_case *c, const char *dir, const char *folder)
{
    char *kernel;
    const char *dash = strrchr(folder, '-');
    size_t len;

    memset(c, 0, sizeof(*c));
    assert_non_null(dash);
    snprintf(c->name, sizeof(c->name), "%.*s", (int)(dash - folder), folder);
    c->dir = join(dir, folder);
    kernel = join(c->dir, "kernel.yaml");
    ws__arena_init(&c->a, ctx);
    OK(ws__spec_load(ctx, kernel, NULL, &c->s));
    OK(ws__spec_reserve(c->s, 1));
    OK(ws__fs_read(ctx, c->s->kernel[0].source_file, 1 << 20, &c->source,
                   &len));
    OK(parse(&c->a, &c->s->kernel[0], c->source, &c->t));
    ws__free(ctx, kernel);
}

static void end_case(struct a_case *c)
{
    ws__free(ctx, c->source);
    ws__free(ctx, c->dir);
    ws__arena_free(&c->a);
    ws__spec_free(c->s);
}

static void compare(struct a_case *c, const char *file, const char *got)
{
    char *want = read_text(c->dir, file);

    if (getenv("WS_UPDATE")) {
        write_text(c->dir, file, got);
    } else {
        if (!want || strcmp(want, got))
            print_error("%s/%s: not what is wanted, but:\n%s\n", c->dir, file,
                        got);
        assert_non_null(want);
        assert_string_equal(want, got);
    }
    ws__free(ctx, want);
}

/* What came out compiles for sm_90 without a word, in the default config and in
 * the one of all last values if it is allowed, for a shape in float32. */
static void compile(const struct ws__kernel *k, struct ws__workload w,
                    const struct ws__config *c)
{
    static const int64_t device[WS__NDEVICE_VARS] = {132, 1024, 232448, 16, 0};
    static struct ws__instance in;
    static struct ws__plan plan;
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__cuda_target target = {.arch = "sm_90"};
    struct ws__cuda_code code;
    const char *entry[WS__MAX_LAUNCHES];
    struct ws__build b = {.dialect = k->dialect, .entry = entry};
    char *text;

    for (size_t a = 0; a < k->op->naxis; a++)
        if (k->op->axis[a].kind == WS__AXIS_TYPE)
            w.axis[a] = WS__DT_F32;
    OK(ws__instance_make(ctx, k->op, &w, &in));
    memcpy(vars, in.vars, sizeof(vars));
    for (int v = 0; v < WS__NDEVICE_VARS; v++)
        vars[ws__kernel_device_slot(k, (enum ws__device_var)v)].i = device[v];
    ws__config_vars(k, c, vars);
    for (size_t i = 0; i < k->nconstraint; i++)
        if (ws__expr_test(k->constraint[i].expr, vars) != 1)
            return;
    OK(ws__plan_make(ctx, k, vars, &plan));
    for (size_t i = 0; i < plan.nlaunch; i++)
        entry[b.nentry++] = ws__plan_entry(&plan.launch[i]);
    OK(ws__kernel_source(ctx, k, c, &in, &text));
    b.source = text;
    b.option = k->option;
    b.noption = k->noption;
    OK(ws__cuda_compile(compiler, &b, &target, &code));
    if (code.log && !strstr(code.log, "warning #177-D"))
        print_error("%s\n", code.log);
    /* A variable of the old source may be used no longer. */
    assert_true(!code.log || strstr(code.log, "warning #177-D"));
    ws__cuda_code_free(ctx, &code);
    ws__free(ctx, text);
    compiled++;
}

static void compile_cuda(const struct a_case *c, size_t kernel)
{
    const struct ws__kernel *k = &c->s->kernel[kernel];
    struct ws__config cfg;

    if (!compiler || k->dialect != WS__DIALECT_CUDA)
        return;
    assert_true(c->s->nworkload > 0);
    ws__config_default(k, &cfg);
    compile(k, c->s->workload[0], &cfg);
    for (size_t i = 0; i < k->nparam; i++)
        cfg.at[i] = (uint16_t)(k->param[i].nvalue - 1);
    compile(k, c->s->workload[0], &cfg);
}

static void apply_first(struct a_case *c, const struct ws__xform_ops *x)
{
    struct ws__rewrite *w = calloc(1, sizeof(*w));
    const struct ws__site *s = &c->sites.site[0];
    bool cuda = c->s->kernel[0].dialect == WS__DIALECT_CUDA;
    struct ws__ast after;
    char *text, *yaml;
    size_t k;

    assert_non_null(w);
    if (!c->sites.n || s->refused)
        print_error("%s: %s\n", c->dir, c->sites.n ? s->refused : "no site");
    assert_true(c->sites.n > 0);
    assert_null(s->refused);
    assert_non_null(s->words);
    OK(ws__xform_apply(ctx, &c->a, &c->t, &c->s->kernel[0], x, s, &text, w));
    OK(ws__spec_vary(c->s, 0, "after", w->change, w->nchange, text, &k));
    OK(parse(&c->a, &c->s->kernel[k], text, &after));
    OK(ws__spec_kernel_file(c->s, k, NULL, NULL, &yaml));
    compare(c, cuda ? "after.cu" : "after.cl", text);
    compare(c, "after.yaml", yaml);
    compile_cuda(c, k);
    ws__free(ctx, yaml);
    free(w);
}

static void run_case(const char *dir, const char *folder)
{
    struct a_case c;
    const struct ws__xform_ops *x;
    char *refused, *nothing;

    begin_case(&c, dir, folder);
    x = ws__xform_lookup(c.name);
    if (!x)
        print_error("no transformation '%s'\n", c.name);
    assert_non_null(x);
    OK(ws__xform_find(ctx, &c.a, &c.t, &c.s->kernel[0], x, &c.sites));
    refused = read_text(c.dir, "refused");
    nothing = read_text(c.dir, "nothing");
    if (nothing) {
        for (size_t i = 0; i < c.sites.n; i++)
            print_error("%s: %s\n", c.dir, c.sites.site[i].words);
        assert_int_equal(c.sites.n, 0);
    } else if (refused) {
        refused[strcspn(refused, "\n")] = '\0';
        for (size_t i = 0; i < c.sites.n; i++)
            if (!c.sites.site[i].refused)
                print_error("%s: %s\n", c.dir, c.sites.site[i].words);
        assert_true(c.sites.n > 0);
        for (size_t i = 0; i < c.sites.n; i++)
            assert_non_null(c.sites.site[i].refused);
        if (!strstr(c.sites.site[0].refused, refused))
            print_error("%s: %s\n", c.dir, c.sites.site[0].refused);
        assert_non_null(strstr(c.sites.site[0].refused, refused));
    } else {
        apply_first(&c, x);
    }
    ws__free(ctx, refused);
    ws__free(ctx, nothing);
    end_case(&c);
}

static int no_dots(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static bool have_clang(void)
{
    struct cl_api api = {0};
    int rc = ws__clang_open(ctx, NULL, &api);

    ws__clang_close(&api);
    ws__error_clear(ctx);
    return rc >= 0;
}

static void cases(void **state)
{
    struct dirent **d;
    int n;

    (void)state;
    if (!have_clang())
        SKIP("no libclang 19: nothing was transformed");
    n = scandir("tests/data/xform", &d, no_dots, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        run_case("tests/data/xform", d[i]->d_name);
        free(d[i]);
    }
    free(d);
}

static void cuda_compiles(void **state)
{
    (void)state;
    if (!compiler)
        SKIP("no NVRTC: what came out in CUDA C was not compiled");
    if (!have_clang())
        SKIP("no libclang 19: nothing was transformed");
    assert_true(compiled > 0);
}

/* --- memory --------------------------------------------------------------- */

/* Finds and applies once in an arena whose first block is filled but for
 * little; then the nth allocation fails. */
static int one_try(struct a_case *c, const struct ws__xform_ops *x,
                   struct t_alloc *mem, size_t fill, long nth, const char *want)
{
    struct ws__rewrite *w = calloc(1, sizeof(*w));
    struct ws__arena a;
    char *text = NULL;
    int rc;

    assert_non_null(w);
    ws__arena_init(&a, ctx);
    assert_non_null(ws__arena_alloc(&a, fill, 1));
    mem->fail_at = mem->calls + nth;
    rc = ws__xform_find(ctx, &a, &c->t, &c->s->kernel[0], x, &c->sites);
    if (rc >= 0 && c->sites.n && !c->sites.site[0].refused)
        rc = ws__xform_apply(ctx, &a, &c->t, &c->s->kernel[0], x,
                             &c->sites.site[0], &text, w);
    mem->fail_at = 0;
    if (rc < 0)
        assert_int_equal(rc, WS_ENOMEM);
    else if (text && want)
        assert_string_equal(text, want);
    ws__error_clear(ctx);
    ws__arena_free(&a);
    free(w);
    return rc;
}

static int memory_of(const char *folder, struct t_alloc *mem)
{
    struct a_case c;
    const struct ws__xform_ops *x;
    char *want;
    int failed = 0;

    begin_case(&c, "tests/data/xform", folder);
    x = ws__xform_lookup(c.name);
    want = read_text(c.dir, c.s->kernel[0].dialect == WS__DIALECT_CUDA
                                ? "after.cu"
                                : "after.cl");
    for (size_t free_bytes = 0; free_bytes < 4096; free_bytes += 208)
        for (long nth = 1; nth <= 4; nth++)
            failed +=
                one_try(&c, x, mem, 16384 - 16 - free_bytes, nth, want) < 0;
    ws__free(ctx, want);
    end_case(&c);
    return failed;
}

/* An allocation that fails anywhere on the way is said, and never a text with
 * a hole. */
static void memory(void **state)
{
    struct t_alloc mem = {0};
    struct ws_ctx *all = ctx;
    struct dirent **d;
    int n, failed = 0;

    (void)state;
    if (!have_clang())
        SKIP("no libclang 19: nothing was transformed");
    n = scandir("tests/data/xform", &d, no_dots, alphasort);
    assert_true(n > 0);
    ctx = t_ctx(&mem);
    assert_non_null(ctx);
    for (int i = 0; i < n; i++) {
        failed += memory_of(d[i]->d_name, &mem);
        free(d[i]);
    }
    free(d);
    ws_ctx_free(ctx);
    ctx = all;
    assert_int_equal(mem.live, 0);
    assert_true(failed > n); /* some did */
}

/* --- declarations --------------------------------------------------------- */

static bool is_rule(const char *id)
{
    for (size_t i = 0; i < ws__nrule; i++)
        if (!strcmp(ws__rules[i].key, id))
            return true;
    return false;
}

static bool is_fact(const char *key)
{
    for (size_t i = 0; i < WS__NFACT; i++)
        if (!strcmp(ws__fact_key((enum ws__fact)i), key))
            return true;
    return false;
}

static int count(const char *name, bool refusals)
{
    struct dirent **d;
    int n = scandir("tests/data/xform", &d, no_dots, alphasort), hits = 0;

    for (int i = 0; i < n; i++) {
        const char *dash = strrchr(d[i]->d_name, '-');
        char path[600];
        bool no;

        snprintf(path, sizeof(path), "tests/data/xform/%s/refused",
                 d[i]->d_name);
        no = access(path, R_OK) == 0;
        snprintf(path, sizeof(path), "tests/data/xform/%s/nothing",
                 d[i]->d_name);
        no = no || access(path, R_OK) == 0;
        hits += dash && (size_t)(dash - d[i]->d_name) == strlen(name) &&
                !strncmp(d[i]->d_name, name, strlen(name)) && no == refusals;
        free(d[i]);
    }
    if (n >= 0)
        free(d);
    return hits;
}

static void declarations(void **state)
{
    (void)state;
    for (size_t i = 0; ws__xform_table[i]; i++) {
        const struct ws__xform_ops *x = ws__xform_table[i];

        print_message("%s\n", x->name);
        assert_int_equal(x->abi, WS__XFORM_ABI);
        assert_true(x->about && x->needs && x->find && x->apply);
        assert_true(x->cuda || x->opencl);
        assert_true(x->gain > 1 && x->gain < 100);
        assert_non_null(x->finding[0]);
        for (size_t f = 0; x->finding[f]; f++) {
            if (!is_rule(x->finding[f]))
                print_error("no rule '%s'\n", x->finding[f]);
            assert_true(is_rule(x->finding[f]));
        }
        for (size_t d = 0; x->delta[d].fact; d++) {
            if (!is_fact(x->delta[d].fact))
                print_error("no fact '%s'\n", x->delta[d].fact);
            assert_true(is_fact(x->delta[d].fact));
            assert_true(x->delta[d].low <= x->delta[d].high);
        }
        assert_ptr_equal(ws__xform_lookup(x->name), x);
        /* Proven on two kernels, refusing two that look alike. */
        if (count(x->name, false) < 2 || count(x->name, true) < 2)
            print_error("'%s' has %d cases that apply and %d that are refused "
                        "in tests/data/xform/%s-*; two of each are wanted\n",
                        x->name, count(x->name, false), count(x->name, true),
                        x->name);
        assert_true(count(x->name, false) >= 2);
        assert_true(count(x->name, true) >= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations),
                                       cmocka_unit_test(cases),
                                       cmocka_unit_test(cuda_compiles),
                                       cmocka_unit_test(memory)};
    int rc;

    ctx = t_ctx(NULL);
    if (ws__cuda_compiler_open(ctx, NULL, &compiler) < 0)
        compiler = NULL;
    ws__error_clear(ctx);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (compiler)
        ws__cuda_compiler_close(compiler);
    return rc;
}
