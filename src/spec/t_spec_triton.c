/*
 * t_spec_triton.c: kernels in Triton: what a specification says, the folder of
 * compiled files, what each launch runs. tests/data/triton has a kernel that
 * was compiled; tests work on a copy of it.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/change.h"
#include "spec/spec.h"

#define FROM "tests/data/triton"
#define SUB "twice.triton/sm_90"

static struct ws_ctx *ctx;
static struct ws__spec *spec;
static char dir[4096];

static void copy_folder(const char *sub)
{
    char from[4400], to[9000];
    struct dirent *e;
    DIR *d;

    snprintf(from, sizeof(from), "%s/%s", FROM, sub);
    snprintf(to, sizeof(to), "%s/%s", dir, sub);
    assert_int_equal(ws__fs_mkdirs(ctx, to), 0);
    d = opendir(from);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        char *text, *path = ws__path_join(ctx, from, e->d_name);
        char *copy = ws__path_join(ctx, to, e->d_name);
        size_t n;

        if (!ws__fs_is_dir(path)) {
            assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &text, &n), 0);
            assert_int_equal(ws__fs_write(ctx, copy, text, n), 0);
            ws__free(ctx, text);
        }
        ws__free(ctx, path);
        ws__free(ctx, copy);
    }
    closedir(d);
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    ctx = t_ctx(NULL);
    snprintf(dir, sizeof(dir), "%s/ws-triton-XXXXXX", tmp ? tmp : "/tmp");
    if (!ctx || !mkdtemp(dir))
        return -1;
    copy_folder("");
    copy_folder(SUB);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ws__spec_free(spec);
    spec = NULL;
    ws_ctx_free(ctx);
    return 0;
}

static int load(bool uncompiled)
{
    struct ws__spec_opts o = {.share_dir = "tests/data/share",
                              .uncompiled = uncompiled};
    char path[4200];

    ws__spec_free(spec);
    spec = NULL;
    snprintf(path, sizeof(path), "%s/twice.yaml", dir);
    return ws__spec_load(ctx, path, &o, &spec);
}

static void told(int rc, const char *words)
{
    assert_true(rc < 0);
    if (!strstr(ctx->err.message, words) && !strstr(ctx->err.hint, words))
        fail_msg("not '%s': %s; %s", words, ctx->err.message, ctx->err.hint);
}

/* Replaces a word of a file; the text before is kept in *old. */
static void edit(const char *name, const char *what, const char *by)
{
    char *path = ws__path_join(ctx, dir, name), *text, *at;
    struct ws__buf b;
    size_t n;

    ws__buf_init(&b, ctx, 1 << 20);
    assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &text, &n), 0);
    at = strstr(text, what);
    assert_non_null(at);
    ws__buf_add(&b, text, (size_t)(at - text));
    ws__buf_puts(&b, by);
    ws__buf_puts(&b, at + strlen(what));
    assert_int_equal(ws__fs_write(ctx, path, b.data, b.len), 0);
    ws__buf_free(&b);
    ws__free(ctx, text);
    ws__free(ctx, path);
}

/* The whole of a file by another text. */
static void put(const char *name, const char *text)
{
    char *path = ws__path_join(ctx, dir, name);

    assert_int_equal(ws__fs_write(ctx, path, text, strlen(text)), 0);
    ws__free(ctx, path);
}

static int plan_of(const char *config, int64_t n, struct ws__plan *plan)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    struct ws__config c;

    assert_int_equal(ws__config_parse(ctx, spec->kernel, config, &c), 0);
    vars[0].i = n;
    ws__config_vars(spec->kernel, &c, vars);
    return ws__plan_make(ctx, spec->kernel, vars, plan);
}

static void plans(void **state)
{
    static struct ws__plan p;
    const struct ws__plan_launch *l = &p.launch[0];

    (void)state;
    assert_int_equal(load(false), 0);
    assert_string_equal(spec->kernel->triton, "3.6.0 sm_90");
    assert_int_equal(spec->kernel->nready, 20);
    assert_int_equal(plan_of("BLOCK=128,WARPS=2", 1000, &p), 0);
    assert_int_equal(p.nlaunch, 1);
    assert_string_equal(ws__plan_entry(l), "twice");
    assert_int_equal(l->block[0], 64);
    assert_non_null(strstr(l->file->key, "EVEN=False, num_warps=2"));
    /* X, Y, N, two null pointers, shared memory. */
    assert_int_equal(l->narg, 6);
    assert_int_equal(l->arg[3].kind, WS__ARG_VALUE);
    assert_int_equal(l->arg[3].bytes, 8);
    assert_int_equal(l->arg[5].kind, WS__ARG_SHARED);
    assert_int_equal(l->arg[5].bytes, l->shared_bytes);
    assert_int_equal(plan_of("BLOCK=128", 1024, &p), 0);
    assert_non_null(strstr(l->file->key, "EVEN=True"));
    /* Two files, the second one by whether N is a multiple of 16. */
    assert_int_equal(plan_of("STEPS=2", 1000, &p), 0);
    assert_int_equal(p.nlaunch, 2);
    assert_non_null(strstr(p.launch[1].file->key, "'i32', BLOCK=64"));
    assert_int_equal(plan_of("STEPS=2", 1024, &p), 0);
    assert_non_null(strstr(p.launch[1].file->key, "'i32:16', BLOCK=64"));
    assert_ptr_not_equal(p.launch[0].file, p.launch[1].file);
    /* The compiler refused it; nobody compiled it. */
    assert_int_equal(plan_of("BLOCK=96", 1000, &p), 0);
    assert_non_null(strstr(l->file->failed, "power of 2"));
    told(plan_of("BLOCK=64,WARPS=2", 1000, &p), "wavesmith compile");
}

static void promises(void **state)
{
    static struct ws__plan p;

    (void)state;
    edit("twice.yaml", "args: [X, Y, {int32: N}]",
         "args: [X, Y, {int32: N, divisible: 16}]");
    assert_int_equal(load(false), 0);
    told(plan_of("", 1000, &p), "no multiple of 16");
    told(plan_of("", 1024, &p), "not compiled");
    edit("twice.yaml", "divisible: 16}", "divisible: N}");
    assert_int_equal(load(false), 0);
    told(plan_of("", 1000, &p), "'N' is 1000");
}

static void identity(void **state)
{
    struct ws__config c;
    struct ws__hash h;
    char *text;

    (void)state;
    assert_int_equal(load(false), 0);
    h = spec->kernel->hash;
    assert_int_equal(ws__config_parse(ctx, spec->kernel, "STEPS=2", &c), 0);
    struct ws__instance in = {.vars = {{.i = 1000}}};
    assert_int_equal(ws__kernel_source(ctx, spec->kernel, &c, &in, &text), 0);
    assert_ptr_equal(strstr(text, "triton 3.6.0 sm_90\ntwice("), text);
    assert_non_null(strstr(text, "\nmove('*fp32:16', '*fp32', 'i32', BLOCK"));
    ws__free(ctx, text);
    edit(SUB "/index.json", "\"3.6.0\"", "\"3.7.1\"");
    assert_int_equal(load(false), 0);
    assert_false(ws__hash_eq(h, spec->kernel->hash));
}

static void folder(void **state)
{
    char *index, *path = ws__path_join(ctx, dir, SUB "/index.json");
    char other[4300];
    size_t n;

    (void)state;
    assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &index, &n), 0);
    edit("kernels.py", "* 2)", "* 3)");
    told(load(false), "is not what was compiled");
    told(load(false), "wavesmith compile");
    assert_int_equal(load(true), 0);
    assert_null(spec->kernel->triton);
    assert_non_null(strstr(spec->kernel->triton_source, "* 3)"));
    edit("kernels.py", "* 3)", "* 2)");
    assert_int_equal(load(false), 0);

    put(SUB "/move_4aae2bebe729a8d7.cubin", "\x7f"
                                            "ELF");
    told(load(false), "not the one that was compiled");
    copy_folder(SUB);
    snprintf(other, sizeof(other), "%s/" SUB "/move_4aae2bebe729a8d7.cubin",
             dir);
    unlink(other);
    assert_int_equal(load(false), 0);
    assert_int_equal(spec->kernel->nready, 19);

    snprintf(other, sizeof(other), "%s/twice.triton/sm_80", dir);
    assert_int_equal(ws__fs_mkdirs(ctx, other), 0);
    told(load(false), "target: sm_90");
    edit("twice.yaml", "dialect: triton", "dialect: triton\ntarget: sm_90");
    assert_int_equal(load(false), 0);
    edit("twice.yaml", "target: sm_90", "target: sm_80");
    told(load(false), "is not compiled");
    told(load(false), "--target sm_80 --trust-python");
    ws__free(ctx, index);
    ws__free(ctx, path);
}

static void refused(const char *what, const char *by, const char *words)
{
    edit("twice.yaml", what, by);
    told(load(false), words);
    assert_true(ctx->err.line > 0);
    edit("twice.yaml", by, what);
}

static void errors(void **state)
{
    static const char args[] = "args: [X, {float32: half}, {int32: N}]";

    (void)state;
    refused("    warps: WARPS\n", "    block: 32\n    warps: WARPS\n",
            "'block' of a launch in Triton");
    refused("    warps: WARPS\n", "    shared: 32\n    warps: WARPS\n",
            "the compiled kernel knows");
    refused("    warps: WARPS\n", "    wraps: WARPS\n", "did you mean");
    refused("    warps: WARPS\n", "    # none\n", "warps");
    refused("    warps: WARPS\n", "    warps: WARPS + device_units\n",
            "reads the device");
    refused("EVEN: N % BLOCK == 0", "EVEN: device_is_cpu", "reads the device");
    refused("EVEN: N % BLOCK == 0", "2EVEN: 1", "");
    refused("constexprs: [BLOCK]", "constexprs: [BLOCK, BLOCK]",
            "is there twice");
    refused("constexprs: [BLOCK]", "constexprs: [BLOKC]", "BLOCK");
    refused("constexprs: [BLOCK]", "constexprs: 3", "a list of names");
    refused(args, "args: [X, half, {int32: N}]", "write {float32: half}");
    refused(args, "args: [X, {float32: half}, {int32: N}, {shared: 4}]",
            "knows");
    refused(args, "args: [X, {float32: half, divisible: 16}, {int32: N}]",
            "'divisible' of an argument");
    refused(args, "args: [X, {float32: half}, {int32: N, by: 16}]",
            "'by' of an argument");
    refused("entry: move", "entry: move<3>", "");
    refused("source: kernels.py", "source: kernel.py", "is not found");
    refused("source: kernels.py", "source: kernels.py\noptions: [-fmad=true]",
            "compiled before");
    refused("source: kernels.py", "source: kernels.py\ninclude: [x]",
            "includes nothing");
    refused("  STEPS: [1, 2]", "  STEPS: [1, 2]\n  MORE: [1, 2]",
            "neither in the source nor");
    refused("dialect: triton", "dialect: cubin\ntarget: sm_90",
            "not in Triton");
}

/* A list of compiled files that is not what it should be. */
static void index_errors(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"[]", "a list of compiled files"},
        {"{\"format\": \"x\"}", "wavesmith-triton-1"},
        {"{\"format\": \"wavesmith-triton-1\", \"triton\": \"3\"}", "target"},
        {"{\"key\": \"k\", \"file\": \"../x\"}", "no file of the folder"},
        {"{\"key\": \"k\", \"file\": \".x\"}", "no file of the folder"},
        {"{\"key\": \"k\", \"file\": \"x\"}", "entry"},
        {"{\"key\": \"k\", \"file\": \"x\", \"entry\": \"\"}", "no entry"},
        {"{\"key\": \"k\", \"file\": \"x\", \"entry\": \"e\", \"threads\": "
         "2000}",
         "threads"},
        {"{\"key\": \"k\", \"file\": \"x\", \"entry\": \"e\", \"threads\": 32, "
         "\"shared\": 0, \"nulls\": 9}",
         "nulls"},
        {"{\"key\": \"k\", \"file\": \"x\", \"entry\": \"e\", \"threads\": 32, "
         "\"shared\": 0, \"nulls\": 2, \"bytes\": 3, \"hash\": \"q\"}",
         "no hash"},
        {"{\"key\": \"k\", \"failed\": \"f\"}, {\"key\": \"k\", \"failed\": "
         "\"g\"}",
         "is there twice"},
        {"{\"kye\": \"k\"}", "did you mean"},
    };
    char text[1000];

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        struct ws__triton_index x;
        struct ws__arena a;

        ws__arena_init(&a, ctx);
        snprintf(text, sizeof(text),
                 i < 3 ? "%s"
                       : "{\"format\": \"wavesmith-triton-1\", \"triton\": "
                         "\"3.6.0\", \"target\": \"sm_90\", \"files\": [%s]}",
                 bad[i].text);
        told(ws__triton_index_read(ctx, &a, text, strlen(text), "index.json",
                                   &x),
             bad[i].words);
        ws__arena_free(&a);
    }
}

/* --- as a pack carries them ---------------------------------------------- */

static const void *find(void *user, size_t kernel, const char *name,
                        size_t *bytes)
{
    static const char index[] =
        "{\"format\": \"wavesmith-triton-1\", \"triton\": \"3.6.0\", "
        "\"target\": \"sm_90\", \"files\": [{\"key\": \"f('*fp32', "
        "num_warps=1, num_stages=1)\", \"failed\": \"no\"}, {\"key\": \"b\", "
        "\"file\": \"b.cubin\", \"entry\": \"f\", \"threads\": 32, \"shared\": "
        "0, \"nulls\": 2, \"bytes\": 9}]}";

    (void)user;
    (void)kernel;
    if (strcmp(name, "index.json") != 0)
        return NULL;
    *bytes = sizeof(index) - 1;
    return index;
}

static int body(struct ws_ctx *c, void *user)
{
    static const char op[] =
        "{op: o, axes: {N: var}, outputs: {Y: {shape: [N], dtype: float32}}}";
    const char *kernel =
        "{kernel: k, dialect: triton, source: k.py, launches: [{entry: f, "
        "grid: N, warps: 1, stages: 1, args: [Y]}]}";
    struct ws__spec_files files = {find, NULL};
    union wsrt_value vars[WS__MAX_SLOTS] = {{.i = 3}};
    static struct ws__plan plan;
    struct ws__spec *s = NULL;
    int rc = ws__spec_from_parts(c, op, &kernel, NULL, 1, &files, &s);

    (void)user;
    if (rc == 0)
        rc = ws__plan_make(c, s->kernel, vars, &plan);
    if (rc == 0 && (s->kernel->nready != 1 || !plan.launch[0].file->failed))
        rc = WS_EBUG;
    ws__spec_free(s);
    return rc;
}

static void parts(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 10);
}

/* A kernel made from one has a text of its own and nothing compiled; until
 * something is, the text is what it is. */
static void varied(void **state)
{
    const struct ws__change change = {"launches[1].warps", "2"};
    const struct ws__kernel *k;
    size_t a, b, c;

    (void)state;
    assert_int_equal(load(false), 0);
    assert_int_equal(ws__spec_reserve(spec, 3), 0);
    assert_int_equal(ws__spec_vary(spec, 0, "a", &change, 1, "one", &a), 0);
    assert_int_equal(ws__spec_vary(spec, 0, "b", &change, 1, "one", &b), 0);
    assert_int_equal(ws__spec_vary(spec, 0, "c", &change, 1, "two", &c), 0);
    k = spec->kernel;
    assert_string_equal(k[a].triton_source, "one");
    assert_int_equal(k[a].nready, 0);
    assert_null(k[a].triton);
    assert_string_equal(k[a].launch[1].warps->text, "2");
    assert_true(ws__hash_eq(k[a].hash, k[b].hash));
    assert_false(ws__hash_eq(k[a].hash, k[c].hash));
    assert_true(k[0].nready > 0);
}

static void facts(void **state)
{
    static const char *const parts_of[] = {
        "\"launches\": [{\"entry\": \"twice\", \"when\": \"STEPS == 1\", "
        "\"constexprs\": {\"BLOCK\": \"BLOCK\", \"EVEN\": \"N % BLOCK == "
        "0\"}, \"warps\": \"WARPS\", \"stages\": 1,",
        "\"args\": [{\"float32\": \"half\"}, \"Y\", {\"int32\": \"N\", "
        "\"divisible\": \"16 if N % 16 == 0 else 1\"}]",
        "\"parameters\": {\"BLOCK\": [64, 96, 128], \"WARPS\": "
        "{\"values\": [1, 2]}",
        "\"scratch\": {\"half\": {\"bytes\": \"4 * N\"",
        "\"axes\": {\"N\": {\"range\": [1, 1048576]}}",
        "\"outputs\": {\"Y\": {\"shape\": [\"N\"], \"dtype\": "
        "\"float32\"}}",
    };
    char *text;

    (void)state;
    edit("op.yaml", "align: 16", "align: 0x10");
    assert_int_equal(load(true), 0);
    assert_int_equal(ws__spec_facts(spec, 0, &text), 0);
    for (size_t i = 0; i < WS_COUNT(parts_of); i++)
        if (!strstr(text, parts_of[i]))
            fail_msg("no %s in %s", parts_of[i], text);
    assert_null(strstr(text, "0x10"));
    assert_int_equal(ctx->err.code, 0);
    ws__free(ctx, text);
    /* Names of its own would be others than the op's. */
    edit("twice.yaml", "op: ./op.yaml", "op: ./op.yaml\nnames: {IN: X}");
    edit("twice.yaml", "args: [X, Y,", "args: [IN, Y,");
    edit("twice.yaml", "args: [X, {", "args: [IN, {");
    assert_int_equal(load(true), 0);
    told(ws__spec_facts(spec, 0, &text), "names of its own");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans, setup, teardown),
        cmocka_unit_test_setup_teardown(promises, setup, teardown),
        cmocka_unit_test_setup_teardown(identity, setup, teardown),
        cmocka_unit_test_setup_teardown(folder, setup, teardown),
        cmocka_unit_test_setup_teardown(errors, setup, teardown),
        cmocka_unit_test_setup_teardown(index_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(varied, setup, teardown),
        cmocka_unit_test_setup_teardown(facts, setup, teardown),
        cmocka_unit_test(parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
