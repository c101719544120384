/*
 * t_spec_reference.c: the key `reference`: the three kinds, what goes into the
 * hash, texts for packs, and paths that try to leave the op's folder.
 */
#include "base/t_base.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "spec/spec.h"

#define RUN "def run(A):\n    return A\n"
#define HEAD                                                                   \
    "op: x\naxes: {M: var}\ninputs: {A: {shape: [M], dtype: float32}}\n"       \
    "outputs: {C: {shape: [M], dtype: float32}}\n"
#define KERNEL                                                                 \
    "kernel: naive\nsource: naive.c\n"                                         \
    "parameters: {BM: {values: [1, 2], default: 2}}\n"                         \
    "launches: [{entry: f, grid: [M], block: [BM], args: [A, C]}]\n"

static struct ws_ctx *ctx;
static char dir[] = "/tmp/ws_ref_XXXXXX";

static const char *at(const char *name)
{
    static char path[8][300];
    static unsigned next;
    char *p = path[next++ % 8];

    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    return p;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int load_as(const char *reference, struct ws__spec **s)
{
    char text[2000];

    snprintf(text, sizeof(text), HEAD "%s", reference);
    put("op.yaml", text);
    return ws__spec_load(ctx, dir, NULL, s);
}

static struct ws__spec *good(const char *reference)
{
    struct ws__spec *s;

    if (load_as(reference, &s) < 0)
        fail_msg("%s: %s", reference, ws_ctx_error(ctx)->message);
    return s;
}

static struct ws__hash hash_of(const char *reference)
{
    struct ws__spec *s = good(reference);
    struct ws__hash h = s->op->hash;

    ws__spec_free(s);
    return h;
}

static void python_is_read(void **state)
{
    struct ws__spec *s = good("reference: {python: ref.py}\n");
    const struct ws__python *p = &s->op->python;

    (void)state;
    assert_string_equal(p->text, RUN);
    assert_string_equal(p->file, at("ref.py"));
    assert_string_equal(p->function, "run");
    assert_int_equal(p->arrays, WS__PY_NUMPY);
    assert_null(s->op->reference);
    assert_null(s->op->trusted.kernel);
    assert_int_equal(s->nkernel, 2);
    ws__spec_free(s);
    s = good("reference: {python: sub/../ref.py, function: f, "
             "framework: torch}\n");
    assert_string_equal(s->op->python.function, "f");
    assert_int_equal(s->op->python.arrays, WS__PY_TORCH);
    ws__spec_free(s);
    s = good("reference:\n  text: |\n    def run(A):\n        return A\n");
    assert_string_equal(s->op->python.text, RUN);
    assert_string_equal(s->op->python.file, "reference");
    ws__spec_free(s);
}

static void kernels_are_read(void **state)
{
    struct ws__spec *s = good("reference: {kernel: kernels/naive.yaml}\n");

    (void)state;
    assert_string_equal(s->op->trusted.kernel->name, "naive");
    assert_ptr_equal(s->op->trusted.kernel->op, s->op);
    assert_null(s->op->trusted.config);
    assert_int_equal(s->nkernel, 1); /* it is no candidate */
    assert_string_equal(s->kernel[0].name, "other");
    ws__spec_free(s);
    s = good("reference: {kernel: kernels/../kernels/naive.yaml, "
             "config: BM=1}\n");
    assert_string_equal(s->op->trusted.config, "BM=1");
    assert_int_equal(s->nkernel, 1);
    ws__spec_free(s);
}

static void content_is_meaning(void **state)
{
    struct ws__hash python = hash_of("reference: {python: ref.py}\n");
    struct ws__hash kernel =
        hash_of("reference: {kernel: kernels/naive.yaml}\n");

    (void)state;
    assert_true(
        ws__hash_eq(python, hash_of("reference:\n  text: |\n    def run(A):\n"
                                    "        return A\n")));
    assert_false(
        ws__hash_eq(python,
                    hash_of("reference: {python: ref.py, function: f}\n")));
    assert_false(ws__hash_eq(
        python, hash_of("reference: {python: ref.py, framework: torch}\n")));
    assert_false(ws__hash_eq(python, kernel));
    assert_false(ws__hash_eq(python, hash_of("")));
    assert_false(ws__hash_eq(
        kernel,
        hash_of("reference: {kernel: kernels/naive.yaml, config: BM=1}\n")));
    put("ref.py", RUN "# other\n");
    put("kernels/naive.c", "// other BM\n");
    assert_false(ws__hash_eq(python, hash_of("reference: {python: ref.py}\n")));
    assert_false(
        ws__hash_eq(kernel,
                    hash_of("reference: {kernel: kernels/naive.yaml}\n")));
    put("ref.py", RUN);
    put("kernels/naive.c", "// BM\n");
}

static struct ws__spec *through_text(struct ws__spec *s, char **op)
{
    struct ws__spec *back;
    const char *texts;
    char *kernel;

    assert_int_equal(ws__spec_to_text(s, 0, op, &kernel), 0);
    texts = kernel;
    if (ws__spec_from_text(ctx, *op, &texts, NULL, 1, &back) < 0)
        fail_msg("%s: %s", *op, ws_ctx_error(ctx)->message);
    ws__free(ctx, kernel);
    return back;
}

static void texts_hold_all(void **state)
{
    static const char *const forms[] = {
        "reference: {python: ref.py, framework: torch}\n",
        "reference: {kernel: kernels/naive.yaml, config: BM=1}\n"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(forms); i++) {
        struct ws__spec *s = good(forms[i]), *back, *twice;
        char *op[2];

        back = through_text(s, &op[0]);
        assert_null(strstr(op[0], "ref.py"));
        assert_null(strstr(op[0], "naive.yaml"));
        assert_true(ws__hash_eq(s->op->hash, back->op->hash));
        twice = through_text(back, &op[1]);
        assert_string_equal(op[0], op[1]);
        assert_true(ws__hash_eq(s->op->hash, twice->op->hash));
        ws__free(ctx, op[0]);
        ws__free(ctx, op[1]);
        ws__spec_free(twice);
        ws__spec_free(back);
        ws__spec_free(s);
    }
}

static void texts_name_no_files(void **state)
{
    static const char *const forms[] = {
        HEAD "reference: {python: ref.py}\n",
        HEAD "reference: {kernel: kernels/naive.yaml}\n"};
    static const char *const kernel =
        "{kernel: k, source: k.c, launches: [{entry: f, grid: M, block: 1, "
        "args: [C]}]}";
    struct ws__spec *s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(forms); i++) {
        assert_int_equal(ws__spec_from_text(ctx, forms[i], &kernel, NULL, 1,
                                            &s),
                         WS_ESPEC);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, "is a file"));
    }
}

static void mistakes_are_told(void **state)
{
    static const struct {
        const char *reference, *message;
        int code;
    } bad[] = {
        {"{python: none.py}", "'none.py' is not found", WS_ENOENT},
        {"{python: /etc/passwd}", "outside of", WS_ESPEC},
        {"{python: ../../etc/passwd}", "outside of", WS_ESPEC},
        {"{python: link.py}", "outside of", WS_ESPEC},
        {"{python: linked/passwd}", "outside of", WS_ESPEC},
        {"{python: sub}", "sub", WS_EINVAL},
        {"{python: [ref.py]}", "'python' is a list", WS_ESPEC},
        {"{python: ref.py, text: x}", "twice", WS_ESPEC},
        {"{python: ref.py, config: a=1}", "'config'", WS_ESPEC},
        {"{python: ref.py, native: x}", "'python'", WS_ESPEC},
        {"{python: ref.py, function: a.b}", "'a.b'", WS_ESPEC},
        {"{python: ref.py, framework: jax}", "'jax'", WS_ESPEC},
        {"{python: long.py}", "long.py", WS_ELIMIT},
        {"{function: run}", "no kind", WS_ESPEC},
        {"{kernel: none.yaml}", "'none.yaml' is not found", WS_ENOENT},
        {"{kernel: link.py}", "outside of", WS_ESPEC},
        {"{kernel: kernels/naive.yaml, config: BM=3}", "BM", WS_ESPEC},
        {"{kernel: kernels/naive.yaml, function: f}", "'function'", WS_ESPEC},
        {"{kernel: sub/foreign.yaml}", "for op 'y'", WS_ESPEC},
        {"{kernel: sub/ready.yaml}", "'n' is ready-made", WS_ESPEC},
        {"{kernel: {kernel: a}}", "'text'", WS_ESPEC},
        {"{kernel: [a]}", "'kernel' is a list", WS_ESPEC},
        {"{kernel: {kernel: n, source: n.c, launches: [{entry: f, grid: [M], "
         "block: [1], args: [C]}]}, text: \"#include \\\"/etc/passwd\\\"\\n\"}",
         "absolute", WS_ESPEC},
    };
    struct ws__spec *s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        char text[600];
        int rc;

        snprintf(text, sizeof(text), "reference: %s\n", bad[i].reference);
        rc = load_as(text, &s);
        if (rc != bad[i].code ||
            !strstr(ws_ctx_error(ctx)->message, bad[i].message))
            fail_msg("%s: %d: %s", bad[i].reference, rc,
                     ws_ctx_error(ctx)->message);
        assert_true(ws_ctx_error(ctx)->line > 0);
        assert_true(ws_ctx_error(ctx)->file[0] != '\0');
    }
}

static void only_natives_fill(void **state)
{
    struct ws__spec *s;

    (void)state;
    put("op.yaml", "op: x\naxes: {M: var}\n"
                   "inputs: {A: {shape: [M], dtype: int32, fill: native}}\n"
                   "outputs: {C: {shape: [M], dtype: int32}}\n"
                   "reference: {python: ref.py}\n");
    assert_int_equal(ws__spec_load(ctx, dir, NULL, &s), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "cannot fill 'A'"));
}

static void memory_may_fail(void **state)
{
    static const char *const forms[] = {
        "reference: {python: ref.py}\n",
        "reference: {kernel: kernels/naive.yaml, config: BM=1}\n"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(forms); i++) {
        ws__spec_free(good(forms[i]));
        for (long fail = 1;; fail++) {
            struct t_alloc a = {0};
            struct ws_ctx *c = t_ctx(&a);
            struct ws__spec *s = NULL;
            int rc;

            a.calls = 0;
            a.fail_at = fail;
            rc = ws__spec_load(c, dir, NULL, &s);
            ws__spec_free(s);
            ws_ctx_free(c);
            assert_int_equal(a.live, 0);
            if (a.calls < fail) {
                assert_int_equal(rc, 0);
                break;
            }
            assert_int_equal(rc, WS_ENOMEM);
        }
    }
}

static int setup(void **state)
{
    static char spaces[(2 << 20)];

    (void)state;
    ctx = t_ctx(NULL);
    if (!mkdtemp(dir) || mkdir(at("kernels"), 0755) || mkdir(at("sub"), 0755) ||
        symlink("/etc/passwd", at("link.py")) || symlink("/etc", at("linked")))
        return -1;
    memset(spaces, ' ', sizeof(spaces) - 1);
    put("ref.py", RUN);
    put("long.py", spaces);
    put("kernels/naive.yaml", KERNEL);
    put("kernels/naive.c", "// BM\n");
    put("kernels/other.yaml",
        "kernel: other\nsource: other.c\n"
        "launches: [{entry: g, grid: [M], block: [1], args: [A, C]}]\n");
    put("kernels/other.c", "// other\n");
    put("sub/foreign.yaml", "op: y\n" KERNEL);
    put("sub/ready.yaml", "kernel: n\ndialect: ptx\nsource: n.ptx\n"
                          "launches: [{entry: f, grid: [M], block: [1], "
                          "args: [A, C]}]\n");
    put("sub/n.ptx", ".version 8.0\n.target sm_90\n.visible .entry f(\n"
                     ".param .u64 a, .param .u64 b) { ret; }\n");
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"kernels/naive.yaml",
                                        "kernels/naive.c",
                                        "kernels/other.yaml",
                                        "kernels/other.c",
                                        "sub/ready.yaml",
                                        "sub/n.ptx",
                                        "sub/foreign.yaml",
                                        "ref.py",
                                        "long.py",
                                        "link.py",
                                        "linked",
                                        "op.yaml"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(names); i++)
        unlink(at(names[i]));
    rmdir(at("kernels"));
    rmdir(at("sub"));
    ws_ctx_free(ctx);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_is_read),
        cmocka_unit_test(kernels_are_read),
        cmocka_unit_test(content_is_meaning),
        cmocka_unit_test(texts_hold_all),
        cmocka_unit_test(texts_name_no_files),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(only_natives_fill),
        cmocka_unit_test(memory_may_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
