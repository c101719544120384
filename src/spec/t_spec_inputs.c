/*
 * t_spec_inputs.c: what workloads say of their inputs: numbers, rules, files;
 * their errors; their identity; and that the inputs become what was said.
 */
#include "base/t_base.h"

#include <sys/stat.h>
#include <unistd.h>

#include "reference/reference.h"
#include "spec/spec.h"

static struct ws_ctx *ctx;
static char dir[64];

#define OP                                                                     \
    "{op: x, axes: {M: var, P: {range: [1, 9]}}, inputs: {\n"                  \
    "A: {shape: [M, 2], dtype: float32, strides: [3, 1]},\n"                   \
    "I: {shape: [M], dtype: int32, fill: {integers: [0, 3]}},\n"               \
    "s: {dtype: float32, fill: {constant: 2}}},\n"                             \
    "outputs: {C: {shape: [M], dtype: int8}}}\n"

static const char *in_dir(const char *name)
{
    static char path[4][160];
    static int i;

    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
    return path[i];
}

static void put(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(in_dir(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* A safetensors file: I = {first, 2, 3}, A = {{0, 1}, {2, 3}, {4, 5}}. */
static void put_tensors(const char *name, int32_t first)
{
    static const char header[] =
        "{\"I\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[0,12]},"
        "\"A\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[12,36]}}";
    unsigned char file[400] = {sizeof(header) - 1};
    int32_t i[3] = {first, 2, 3};
    float a[6] = {0, 1, 2, 3, 4, 5};
    size_t n = 8;

    memcpy(file + n, header, sizeof(header) - 1);
    n += sizeof(header) - 1;
    memcpy(file + n, i, sizeof(i));
    memcpy(file + n + sizeof(i), a, sizeof(a));
    put(name, file, n + sizeof(i) + sizeof(a));
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/ws_in_XXXXXX");
    ctx = t_ctx(NULL);
    if (!ctx || !mkdtemp(dir))
        return -1;
    mkdir(in_dir("sub"), 0700);
    put("op.yaml", OP, sizeof(OP) - 1);
    put_tensors("sub/t.st", 1);
    return symlink("/etc/passwd", in_dir("sub/link"));
}

static int teardown(void **state)
{
    static const char *const names[] = {"op.yaml", "w.yaml", "sub/t.st",
                                        "sub/link", "moved.st"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(names); i++)
        unlink(in_dir(names[i]));
    rmdir(in_dir("sub"));
    ws_ctx_free(ctx);
    return rmdir(dir);
}

static int load(const char *workloads, struct ws__spec **out)
{
    struct ws__spec_opts o = {.workloads = in_dir("w.yaml")};

    put("w.yaml", workloads, strlen(workloads));
    return ws__spec_load(ctx, in_dir("op.yaml"), &o, out);
}

static struct ws__spec *good(const char *workloads)
{
    struct ws__spec *s = NULL;

    if (load(workloads, &s) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    return s;
}

static void rules(void **state)
{
    struct ws__spec *s =
        good("- {M: 3, P: 1, inputs: {s: 0.5, I: {integers: [1, 2]}}}\n"
             "- {M: 3, P: 2, inputs: {A: normal, s: 7}}\n"
             "- {M: 3, P: 3}\n");
    const struct ws__workload *w = s->workload;

    (void)state;
    assert_int_equal(w[0].input[0].kind, WS__INPUT_OP);
    assert_ptr_equal(ws__workload_fill(s->op, &w[0], 0),
                     &s->op->tensor[0].fill);
    assert_int_equal(ws__workload_fill(s->op, &w[0], 1)->kind,
                     WS__FILL_INTEGERS);
    assert_true(ws__workload_fill(s->op, &w[0], 1)->b == 2);
    assert_int_equal(ws__workload_fill(s->op, &w[0], 2)->kind,
                     WS__FILL_CONSTANT);
    assert_true(ws__workload_fill(s->op, &w[0], 2)->a == 0.5);
    assert_int_equal(ws__workload_fill(s->op, &w[1], 0)->kind, WS__FILL_NORMAL);
    assert_true(ws__workload_fill(s->op, &w[1], 2)->a == 7);
    assert_null(w[2].input);
    assert_true(ws__workload_fill(s->op, &w[2], 2)->a == 2);
    ws__spec_free(s);
}

static struct ws__hash hash_of(const char *workloads)
{
    struct ws__spec *s = good(workloads);
    struct ws__hash h = ws__workload_hash(s->op, s->workload);

    ws__spec_free(s);
    return h;
}

static bool same(const char *a, const char *b)
{
    return ws__hash_eq(hash_of(a), hash_of(b));
}

static void identity(void **state)
{
    static const char file[] =
        "[{M: 3, P: 1, inputs: {I: {safetensors: sub/t.st}}}]";
    struct ws__hash before = hash_of(file), plain = hash_of("[{M: 3, P: 1}]");

    (void)state;
    assert_false(ws__hash_eq(before, plain));
    assert_false(same("[{M: 3, P: 1}]", "[{M: 3, P: 1, inputs: {s: 2}}]"));
    assert_false(same("[{M: 3, P: 1, inputs: {s: 3}}]",
                      "[{M: 3, P: 1, inputs: {s: 2}}]"));
    assert_true(same("[{M: 3, P: 1, inputs: {s: 3, A: normal}}]",
                     "[{M: 3, P: 1, inputs: {A: {normal: [0, 1]}, s: 3.0}}]"));
    /* The content counts, not the place. */
    put_tensors("moved.st", 1);
    assert_true(ws__hash_eq(
        before,
        hash_of("[{M: 3, P: 1, inputs: {I: {safetensors: moved.st}}}]")));
    put_tensors("sub/t.st", 0);
    assert_false(ws__hash_eq(before, hash_of(file)));
}

static void filled(void **state)
{
    struct ws__spec *s =
        good("- {M: 3, P: 1, inputs: {I: {safetensors: sub/t.st, key: I},\n"
             "   A: {safetensors: sub/t.st}, s: 0.25}}\n");
    struct ws__problem *p, *q;
    struct ws__instance in;
    const float *a;

    (void)state;
    assert_int_equal(ws__instance_make(ctx, s->op, s->workload, &in), 0);
    assert_int_equal(ws__problem_new(ctx, &in, &p), 0);
    assert_int_equal(ws__problem_new(ctx, &in, &q), 0);
    assert_int_equal(ws__problem_fill(p, NULL, 1, 1), 0);
    assert_int_equal(ws__problem_fill(q, NULL, 2, 2), 0);
    assert_int_equal(((int32_t *)p->input[1])[0], 1);
    assert_int_equal(((int32_t *)p->input[1])[2], 3);
    assert_true(((float *)p->input[2])[0] == 0.25f);
    a = p->input[0]; /* rows of two, three apart */
    for (int i = 0; i < 6; i++)
        assert_true(a[i / 2 * 3 + i % 2] == (float)i);
    assert_true(a[2] != 0 && a[5] != 0); /* what lies between them */
    assert_memory_equal(p->input[1], q->input[1], 12);
    put_tensors("sub/t.st", 2);
    assert_int_equal(ws__problem_fill(p, NULL, 1, 1), WS_ESPEC);
    assert_non_null(
        strstr(ws_ctx_error(ctx)->message, "is not what it was when"));
    unlink(in_dir("sub/t.st"));
    assert_int_equal(ws__problem_fill(p, NULL, 1, 1), WS_ENOENT);
    ws__problem_free(p);
    ws__problem_free(q);
    ws__spec_free(s);
}

static void errors(void **state)
{
    static const struct {
        const char *input;
        int code;
        unsigned line;
        const char *message, *hint;
    } cases[] = {
        {"Q: 1", WS_ESPEC, 2, "op 'x' has no tensor 'Q'", "listed in"},
        {"a: 1", WS_ESPEC, 2, "op 'x' has no tensor 'a'", "mean 'A'"},
        {"C: 1", WS_ESPEC, 2, "'C' is an output", "only inputs"},
        {"s: gaussian", WS_ESPEC, 2, "'gaussian'", "normal native"},
        {"s: \"1\"", WS_ESPEC, 2, "'1'", "normal native"},
        {"s: 1e999", WS_ESPEC, 2, "1e999", ""},
        {"s: [1]", WS_ESPEC, 2, "is a list", "a fill"},
        {"s: {constant: x}", WS_ESPEC, 2, "'x'", "number"},
        {"I: native", WS_ESPEC, 2, "input 'I' cannot be 'native'", "generator"},
        {"I: {key: I}", WS_ESPEC, 2, "has no 'safetensors'", ""},
        {"I: {safetensors: sub/t.st, kye: I}", WS_ESPEC, 2, "unknown key 'kye'",
         "'key'"},
        {"I: {safetensors: sub/none.st}", WS_ENOENT, 2, "none.st", ""},
        {"I: {safetensors: sub}", WS_EINVAL, 2, "not a regular file", ""},
        {"I: {safetensors: ../../etc/passwd}", WS_ESPEC, 2, "outside of",
         "into that folder"},
        {"I: {safetensors: /etc/passwd}", WS_ESPEC, 2, "outside of", ""},
        {"I: {safetensors: sub/link}", WS_ESPEC, 2, "outside of", "not a link"},
        {"I: {safetensors: op.yaml}", WS_ECORRUPT, 2, "no safetensors file",
         ""},
        {"I: {safetensors: sub/t.st, key: J}", WS_ESPEC, 2, "has no tensor 'J'",
         "it has I A"},
        {"I: {safetensors: sub/t.st, key: A}", WS_ESPEC, 2,
         "is float32 [3, 2], the workload needs int32 [3]", "other axis"},
    };
    struct ws__spec *s;
    char text[300];

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        const struct ws_error *e = ws_ctx_error(ctx);
        int rc;

        snprintf(text, sizeof(text),
                 "- {M: 3, P: 2}\n- {M: 3, P: 1, inputs: {%s}}\n",
                 cases[i].input);
        rc = load(text, &s);
        if (rc != cases[i].code || e->line != cases[i].line ||
            !strstr(e->message, cases[i].message) ||
            !strstr(e->hint, cases[i].hint) || !strstr(e->file, "w.yaml"))
            fail_msg("case %zu: %d %s:%u %s (%s)", i, rc, e->file, e->line,
                     e->message, e->hint);
    }
    assert_int_equal(load("[{M: 4, P: 1, inputs: {I: {safetensors: "
                          "sub/t.st}}}]",
                          &s),
                     WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message,
                           "is int32 [3], the workload needs int32 [4]"));
}

static int body(struct ws_ctx *c, void *user)
{
    struct ws__spec_opts o = {.workloads = in_dir("w.yaml")};
    struct ws__spec *s;
    int rc = ws__spec_load(c, in_dir("op.yaml"), &o, &s);

    (void)user;
    if (rc >= 0)
        ws__spec_free(s);
    return rc;
}

static void torture(void **state)
{
    static const char text[] =
        "[{M: 3, P: 1, inputs: {I: {safetensors: sub/t.st}, s: 1}}]";

    (void)state;
    put("w.yaml", text, sizeof(text) - 1);
    assert_true(t_torture(body, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules, setup, teardown),
        cmocka_unit_test_setup_teardown(identity, setup, teardown),
        cmocka_unit_test_setup_teardown(filled, setup, teardown),
        cmocka_unit_test_setup_teardown(errors, setup, teardown),
        cmocka_unit_test_setup_teardown(torture, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
