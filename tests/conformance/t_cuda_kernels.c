/*
 * t_cuda_kernels.c: the shipped kernels as CUDA C, without a GPU: NVRTC makes
 * cubins of them, and every entry that their plans launch is in there.
 *
 * All kernels, all element types of the awkward shapes: the default for every
 * architecture of the list, chosen configs (each reaches a part of the source
 * that others leave out) and random ones of each space for one of them, so
 * that it is done in about a minute on one core. Nothing may be said by
 * the compiler, either: a warning is a failure. Skipped, with a reason, where
 * there is no NVRTC or it does not know an architecture.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <unistd.h>

#include "device/cuda/cuda_compiler.h"
#include "reference/reference.h"
#include "space/space.h"
#include "spec/spec.h"

#define RANDOM 3 /* configs of each kernel and element type */
#define SEED 11
#define MAX_SHAPES 16

static const struct {
    const char *arch;
    int number;
} archs[] = {{"sm_80", 80}, {"sm_89", 89}, {"sm_90a", 90}, {"sm_100", 100}};
#define ONE_ARCH 2

static const struct {
    const char *kernel, *config;
} chosen[] = {
    {"gemm_tiled", "BM=64,BN=64,BK=16,ACC_VEC=false,STAGE_A=true,STAGE_W=true,"
                   "DOUBLE_BUF=true,PAD=true"},
    {"gemm_tiled", "BM=64,BN=64,BK=32,TM=8,TN=8,VEC=4,ACC_VEC=false,"
                   "STAGE_A=true,STAGE_W=true"},
    {"gemm_tiled", "BM=16,BN=64,TM=2,VEC=8,STAGE_A=false,STAGE_W=true,"
                   "SPLIT_K=4,M_FIRST=true,ACC_VEC=false"},
    {"gemm_tiled", "BM=16,BN=64,TM=2,TN=2,VEC=8,STAGE_A=false,STAGE_W=true,"
                   "DOUBLE_BUF=true"},
    {"gemm_tiled", "BM=1,BN=128,BK=64,TM=1,TN=1,VEC=8,UNROLL=4,SPLIT_K=8,"
                   "STAGE_A=false,STAGE_W=false,PAD=false"},
    {"gemm_tiled", "BM=4,BN=32,BK=64,TM=4,TN=1,VEC=2,UNROLL=2,ACC_VEC=true,"
                   "STAGE_A=false,STAGE_W=false,PAD=false,M_FIRST=true"},
    {"gemm_tiled", "BM=32,BN=32,BK=64,TM=1,TN=1,VEC=1,ACC_VEC=false,"
                   "STAGE_A=false,STAGE_W=false,PAD=false"},
    {"gemm_tiled", "BM=32,BN=64,BK=128,TM=4,TN=2,VEC=16,STAGE_A=true,"
                   "STAGE_W=true,ACC_VEC=false,PAD=false"},
    {"gemm_warps", "BM=128,BN=128,BK=64,WM=64,WN=64,STAGES=4"},
    {"gemm_warps", "BM=128,BN=256,WM=64,WN=64,STAGES=3,GROUP=1"},
    {"gemm_warps", "BM=16,BN=64,BK=128,WM=16,WN=16,STAGES=6,SPLIT_K=8"},
    {"gemm_warps", "SPLIT_K=4,ONCE=true,BM=32,WM=16"},
    {"rmsnorm_rows", "THREADS=1,ROWS=32,VEC=8,KEEP=16,FAN=2"},
    {"rmsnorm_rows", "THREADS=32,ROWS=8,TURNS=4,VEC=4,KEEP=1"},
    {"rmsnorm_rows", "THREADS=512,VEC=8,KEEP=2,FAN=32"},
    {"rmsnorm_rows", "THREADS=1024,VEC=1,UNROLL=4,FAN=2"},
    {"rmsnorm_rows", "THREADS=256,VEC=16,TURNS=2,UNROLL=2"},
    {"gqa_decode_split",
     "HEADS=8,SPLIT=16,THREADS=256,TILE=128,LANES=4,VEC=8,UNROLL_K=2"},
    {"gqa_decode_split",
     "HEADS=1,SPLIT=2,THREADS=32,TILE=32,LANES=1,VEC=4,UNROLL_V=4"},
    {"gqa_decode_split", "HEADS=2,THREADS=128,TILE=16,LANES=8,VEC=16"},
    {"gqa_decode_split", "SPLIT=8,ONCE=true,LEAST=64,KEEP_Q=true,LANES=8"},
    {"gqa_decode_split", "SPLIT=32,ONCE=true,THREADS=256"},
    {"gqa_decode_warps", "SPLIT=1,ONCE=false,LEAST=1,STAGES=1,TILE=8"},
    {"gqa_decode_warps", "HEADS=2,ONCE=false,STAGES=1,WARPS=1,TILE=32"},
    {"gqa_decode_warps", "STAGES=3,WARPS=8,SPLIT=16,LEAST=128"},
    {"gqa_decode_warps", "MMA=true,ONCE=false,TILE=32,STAGES=2"},
    {"gqa_decode_warps", "MMA=true,WARPS=2,TILE=16,STAGES=4,SPLIT=32"},
};

static struct ws_ctx *ctx;
static struct ws__cuda_compiler *compiler;
static char missing[1100]; /* why there is no compiler */

static void must(int rc, const char *what)
{
    const struct ws_error *e = ws_ctx_error(ctx);

    if (rc < 0)
        fail_msg("%s: %s:%u: %s", what, e->file, e->line, e->message);
}

static struct ws__spec *load_op(size_t i)
{
    static const struct ws__spec_opts opts = {.share_dir = "ops"};
    struct ws__spec *s = NULL;
    char path[200];

    snprintf(path, sizeof(path), "ops/%s", ws__native_table[i]->name);
    must(ws__spec_load(ctx, path, &opts, &s), path);
    for (size_t k = 0; k < s->nkernel; k++)
        ws__kernel_bind(&s->kernel[k], false);
    snprintf(path, sizeof(path), "ops/%s/t_shapes.yaml", s->op->name);
    must(ws__spec_workloads(s, path), path);
    return s;
}

/* A config of a kernel with a shape, and the variables of a large GPU. */
struct problem {
    const struct ws__kernel *kernel;
    struct ws__instance in;
    union wsrt_value vars[WS__MAX_SLOTS];
};

static void set_problem(struct problem *p, const struct ws__kernel *k,
                        const struct ws__workload *w)
{
    static const int64_t device[WS__NDEVICE_VARS] = {132, 1024, 232448, 16, 0};

    p->kernel = k;
    must(ws__instance_make(ctx, k->op, w, &p->in), k->name);
    memcpy(p->vars, p->in.vars, sizeof(p->vars));
    for (int v = 0; v < WS__NDEVICE_VARS; v++)
        p->vars[ws__kernel_device_slot(k, (enum ws__device_var)v)].i =
            device[v];
}

static void check_code(const struct problem *p, const struct ws__build *b,
                       const char *arch, const struct ws__config *c)
{
    struct ws__cuda_target target = {.ptx = false};
    struct ws__cuda_code code;
    struct ws__buf name;
    int rc;

    ws__buf_init(&name, ctx, 4096);
    ws__buf_printf(&name, "%s for %s on ", p->kernel->name, arch);
    ws__workload_print(&name, p->kernel->op, p->in.workload);
    ws__buf_puts(&name, ": ");
    ws__config_print(&name, p->kernel, c);
    snprintf(target.arch, sizeof(target.arch), "%s", arch);
    rc = ws__cuda_compile(compiler, b, &target, &code);
    must(rc, name.data);
    if (code.log)
        fail_msg("%s: %s", name.data, code.log);
    assert_int_equal(code.nsymbol, b->nentry);
    for (size_t i = 0; i < b->nentry; i++)
        if (ws__cuda_lacks_kernel(&code, code.symbol[i]))
            fail_msg("%s: no %s", name.data, b->entry[i]);
    ws__cuda_code_free(ctx, &code);
    ws__buf_free(&name);
}

static void check(struct problem *p, const char *arch,
                  const struct ws__config *c)
{
    static struct ws__plan plan;
    const char *entry[WS__MAX_LAUNCHES];
    struct ws__build b = {.dialect = p->kernel->dialect, .entry = entry};
    char *text;

    if (ws__dialect_is_ready(b.dialect) || b.dialect == WS__DIALECT_OPENCL)
        return;
    ws__config_vars(p->kernel, c, p->vars);
    must(ws__plan_make(ctx, p->kernel, p->vars, &plan), p->kernel->name);
    for (size_t i = 0; i < plan.nlaunch; i++)
        entry[b.nentry++] = ws__plan_entry(&plan.launch[i]);
    assert_true(b.nentry > 0);
    must(ws__kernel_source(ctx, p->kernel, c, &p->in, &text), p->kernel->name);
    b.source = text;
    b.option = p->kernel->option;
    b.noption = p->kernel->noption;
    check_code(p, &b, arch, c);
    ws__free(ctx, text);
}

static bool has_types_of(const struct ws__spec *s, size_t w, size_t other)
{
    for (size_t a = 0; a < s->op->naxis; a++)
        if (s->op->axis[a].kind == WS__AXIS_TYPE &&
            s->workload[other].axis[a] != s->workload[w].axis[a])
            return false;
    return true;
}

/* May the config run there? NULL: the default. */
static bool is_legal(const struct problem *p, const struct ws__config *c)
{
    struct ws__config dflt;
    struct ws__space *space;
    int legal;

    ws__config_default(p->kernel, &dflt);
    must(ws__space_new(ctx, p->kernel, p->vars, true, true, &space),
         p->kernel->name);
    legal = ws__space_legal(space, c ? c : &dflt, NULL);
    must(legal, p->kernel->name);
    ws__space_free(space);
    return legal;
}

/* Calls fn with the first shape of every element type that the kernel takes;
 * how many types. */
static size_t each_type(const struct ws__spec *s, const struct ws__kernel *k,
                        void (*fn)(struct problem *))
{
    static struct problem p;
    size_t seen[MAX_SHAPES], n = 0;

    for (size_t w = 0; w < s->nworkload && n < MAX_SHAPES; w++) {
        bool same = false;

        for (size_t i = 0; i < n; i++)
            same |= has_types_of(s, w, seen[i]);
        set_problem(&p, k, &s->workload[w]);
        if (same || !is_legal(&p, NULL))
            continue;
        fn(&p);
        seen[n++] = w;
    }
    if (!n)
        fail_msg("%s takes no shape", k->name);
    return n;
}

static size_t each(void (*fn)(struct problem *))
{
    size_t n = 0;

    for (size_t i = 0; ws__native_table[i]; i++) {
        struct ws__spec *s = load_op(i);

        for (size_t k = 0; k < s->nkernel; k++)
            n += each_type(s, &s->kernel[k], fn);
        ws__spec_free(s);
    }
    return n;
}

static bool knows(int number)
{
    for (size_t i = 0; i < compiler->narch; i++)
        if (compiler->arch[i] == number)
            return true;
    return false;
}

static const char *arch_now;

static void check_default(struct problem *p)
{
    struct ws__config c;

    ws__config_default(p->kernel, &c);
    check(p, arch_now, &c);
}

static void defaults_for(size_t i)
{
    if (!compiler)
        SKIP("%s", missing);
    if (!knows(archs[i].number))
        SKIP("%s does not know %s", ws__cuda_compiler_version(compiler),
             archs[i].arch);
    arch_now = archs[i].arch;
    assert_true(each(check_default) >= 9);
}

static void defaults_80(void **state)
{
    (void)state;
    defaults_for(0);
}

static void defaults_89(void **state)
{
    (void)state;
    defaults_for(1);
}

static void defaults_90a(void **state)
{
    (void)state;
    defaults_for(2);
}

static void defaults_100(void **state)
{
    (void)state;
    defaults_for(3);
}

static bool checked[WS_COUNT(chosen)];

/* With the element type of the problem, if the kernel takes it so. */
static void check_chosen(struct problem *p)
{
    struct ws__config c;

    for (size_t i = 0; i < WS_COUNT(chosen); i++)
        if (!strcmp(chosen[i].kernel, p->kernel->name)) {
            must(ws__config_parse(ctx, p->kernel, chosen[i].config, &c),
                 chosen[i].config);
            if (!is_legal(p, &c))
                continue;
            check(p, archs[ONE_ARCH].arch, &c);
            checked[i] = true;
        }
}

static void chosen_configs(void **state)
{
    (void)state;
    if (!compiler)
        SKIP("%s", missing);
    if (!knows(archs[ONE_ARCH].number))
        SKIP("%s does not know %s", ws__cuda_compiler_version(compiler),
             archs[ONE_ARCH].arch);
    memset(checked, 0, sizeof(checked));
    each(check_chosen);
    for (size_t i = 0; i < WS_COUNT(chosen); i++)
        if (!checked[i])
            fail_msg("%s: %s: for no element type", chosen[i].kernel,
                     chosen[i].config);
}

static void check_random(struct problem *p)
{
    struct ws__config c[RANDOM];
    struct ws__space *space;
    struct ws__rng rng;
    size_t got;

    ws__rng_seed(&rng, SEED);
    must(ws__space_new(ctx, p->kernel, p->vars, true, true, &space),
         p->kernel->name);
    must(ws__space_sample(space, &rng, RANDOM, c, &got), p->kernel->name);
    for (size_t i = 0; i < got; i++)
        check(p, archs[ONE_ARCH].arch, &c[i]);
    ws__space_free(space);
}

static void random_configs(void **state)
{
    (void)state;
    if (!compiler)
        SKIP("%s", missing);
    if (!knows(archs[ONE_ARCH].number))
        SKIP("%s does not know %s", ws__cuda_compiler_version(compiler),
             archs[ONE_ARCH].arch);
    each(check_random);
}

/* The practice kernels of the diagnosis (tests/gpu/faults): all of them, and
 * the trusted ones, on the shapes that they are measured on. */
static const struct {
    const char *op;
    size_t nkernel;
} faults[] = {{"gemm", 2},    {"horner", 4}, {"relax", 2},
              {"reverse", 2}, {"sum", 2},    {"transpose", 3}};

static void check_on(struct ws__kernel *k, const struct ws__workload *w)
{
    static struct problem p;

    ws__kernel_bind(k, false);
    set_problem(&p, k, w);
    arch_now = archs[ONE_ARCH].arch;
    check_default(&p);
}

/* In the last type of a type axis: the widest one. */
static void check_trusted(const struct ws__op *op, struct ws__workload w)
{
    for (size_t a = 0; a < op->naxis; a++)
        if (op->axis[a].kind == WS__AXIS_TYPE)
            w.axis[a] = op->axis[a].types[op->axis[a].ntypes - 1];
    check_on((struct ws__kernel *)op->trusted.kernel, &w);
}

static void check_folder(const char *op, size_t nkernel)
{
    static const struct ws__spec_opts opts = {.share_dir = "ops"};
    struct ws__spec *s = NULL;
    char path[200];

    snprintf(path, sizeof(path), "tests/gpu/faults/%s", op);
    must(ws__spec_load(ctx, path, &opts, &s), path);
    assert_int_equal(s->nkernel, nkernel);
    for (size_t k = 0; k < nkernel; k++)
        check_on(&s->kernel[k], &s->workload[0]);
    assert_non_null(s->op->trusted.kernel);
    check_trusted(s->op, s->workload[0]);
    ws__spec_free(s);
}

static void faulty_kernels(void **state)
{
    (void)state;
    if (!compiler)
        SKIP("%s", missing);
    if (!knows(archs[ONE_ARCH].number))
        SKIP("%s does not know %s", ws__cuda_compiler_version(compiler),
             archs[ONE_ARCH].arch);
    for (size_t i = 0; i < WS_COUNT(faults); i++)
        check_folder(faults[i].op, faults[i].nkernel);
}

/* practice/: the default of every kernel and the trusted one compile, and
 * every workload for a GPU has a launch plan there. */
static void check_workload(const struct ws__kernel *k,
                           const struct ws__workload *w)
{
    static struct problem p;
    static struct ws__plan plan;
    struct ws__config c;

    set_problem(&p, k, w);
    ws__config_default(k, &c);
    ws__config_vars(k, &c, p.vars);
    must(ws__plan_make(ctx, k, p.vars, &plan), k->name);
}

static size_t check_practice(const char *name)
{
    static const struct ws__spec_opts opts = {.share_dir = "ops"};
    struct ws__spec *s = NULL;
    char path[300];
    size_t n = 0;

    snprintf(path, sizeof(path), "practice/%s", name);
    must(ws__spec_load(ctx, path, &opts, &s), path);
    snprintf(path, sizeof(path), "practice/%s/workloads-gpu.yaml", name);
    must(ws__spec_workloads(s, path), path);
    assert_true(s->nworkload >= 3);
    for (size_t k = 0; k < s->nkernel; k++) {
        if (s->kernel[k].dialect != WS__DIALECT_CUDA)
            continue;
        check_on(&s->kernel[k], &s->workload[0]);
        for (size_t w = 0; w < s->nworkload; w++)
            check_workload(&s->kernel[k], &s->workload[w]);
        n++;
    }
    if (!n || !s->op->trusted.kernel)
        fail_msg("practice/%s: no kernel in CUDA C, or no trusted one", name);
    check_trusted(s->op, s->workload[0]);
    ws__spec_free(s);
    return n;
}

/* README.md is no folder of an operator, and neither is what begins so. */
static bool has_op(const char *name)
{
    char path[300];

    snprintf(path, sizeof(path), "practice/%s/op.yaml", name);
    return name[0] != '.' && access(path, F_OK) == 0;
}

static void practice_kernels(void **state)
{
    DIR *dir = opendir("practice");
    size_t n = 0;

    (void)state;
    assert_non_null(dir);
    if (!compiler || !knows(archs[ONE_ARCH].number)) {
        closedir(dir);
        SKIP("%s", compiler ? "NVRTC does not know sm_90a" : missing);
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (has_op(e->d_name))
            n += check_practice(e->d_name);
    closedir(dir);
    assert_true(n > 0);
}

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    if (!ctx)
        return -1;
    if (ws__cuda_compiler_open(ctx, NULL, &compiler) < 0)
        snprintf(missing, sizeof(missing), "%s", ctx->err.message);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ws__cuda_compiler_close(compiler);
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_80),    cmocka_unit_test(defaults_89),
        cmocka_unit_test(defaults_90a),   cmocka_unit_test(defaults_100),
        cmocka_unit_test(chosen_configs), cmocka_unit_test(random_configs),
        cmocka_unit_test(faulty_kernels), cmocka_unit_test(practice_kernels),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
