/*
 * t_draft.c: what becomes of a function's arguments in a draft: by name, by
 * place, as parts of a new op; names that cannot be kept; what a filled draft
 * loads as.
 */
#include "base/t_base.h"

#include "spec/draft.h"
#include "spec/spec.h"

static const char op_text[] =
    "{op: o, axes: {M: var, K: var, D: 4, T: {types: [float32, float16]}}, "
    "inputs: {A: {shape: [M, K], dtype: T}, B: {shape: [K], dtype: T}, alpha: "
    "{dtype: float32}}, outputs: {C: {shape: [M], dtype: T}, E: {shape: [M], "
    "dtype: int32}}, constants: {EPS: 1e-5}}";

static struct ws_ctx *ctx;
static struct ws__arena arena;
static struct ws__signature sig;
static struct ws__buf kernel, op;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    ws__arena_init(&arena, ctx);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws__buf_free(&kernel);
    ws__buf_free(&op);
    ws__arena_free(&arena);
    ws_ctx_free(ctx);
    return 0;
}

static void draft(const char *source, const struct ws__op *given)
{
    struct ws__draft d = {.name = "k",
                          .source_file = "my k.cl",
                          .read_by = "x",
                          .dialect = WS__DIALECT_CUDA,
                          .sig = &sig,
                          .op = given,
                          .op_ref = given ? "o" : "./k.op.yaml"};

    assert_int_equal(ws__signature_read(ctx, &arena, source, NULL, &sig), 0);
    for (size_t i = 0; i < sig.nentry; i++)
        d.entry[d.nentry++] = i;
    ws__buf_init(&kernel, ctx, WS__DRAFT_TEXT_MAX);
    ws__buf_init(&op, ctx, WS__DRAFT_TEXT_MAX);
    assert_int_equal(ws__draft_write(ctx, &d, &kernel, &op), 0);
}

static void has(const struct ws__buf *b, const char *words)
{
    if (!strstr(b->data, words))
        fail_msg("'%s' is not in:\n%s", words, b->data);
}

static void lacks(const struct ws__buf *b, const char *words)
{
    if (b->data && strstr(b->data, words))
        fail_msg("'%s' is in:\n%s", words, b->data);
}

static void for_an_op(void **state)
{
    struct ws__spec *s = NULL;

    (void)state;
    assert_int_equal(ws__spec_from_text(ctx, op_text, NULL, NULL, 0, &s), 0);
    draft("__global__ void f(const float *b, const float *first, float *C, int "
          "*rest, float *more, int m, long k, int n, float Alpha, float beta) "
          "{ x = EPS + D + K + TILE; }",
          s->op);
    assert_int_equal(op.len, 0);
    has(&kernel, "source: \"my k.cl\"\n");
    has(&kernel, "      - B ");  /* letters of either case */
    has(&kernel, "      - A  "); /* the input that is left */
    has(&kernel, "# a guess, by its place: const float *first");
    has(&kernel, "      - E  ");
    has(&kernel, "# a tensor or a scratch buffer: float *more");
    has(&kernel, "      - {int32: M} ");
    has(&kernel, "      - {int64: K} ");
    has(&kernel, "      - {int32: ???} ");
    has(&kernel, "      - alpha ");
    has(&kernel, "      - {float32: ???} ");
    has(&kernel, "  - {require: T == float32, about: the type in the source}");
    has(&kernel, "specialize: [K]");
    has(&kernel, "  TILE: {values: ???}");
    lacks(&kernel, "EPS:");
    lacks(&kernel, "  D:");
    ws__spec_free(s);
}

static void for_a_new_one(void **state)
{
    (void)state;
    draft("template <typename in, int len> __global__ void f(const in *min, "
          "float4 *out, unsigned n, double, Foo z, bool ok, half *float32) {}\n"
          "__global__ void g(const float4 *out, int n) {}",
          NULL);
    has(&op, "  n: var ");
    has(&op, "  T: {types: ???}"); /* 'in' is a word of expressions */
    has(&op, "  min_: {shape: ???, dtype: T}");
    has(&op, "outputs:\n  out: {shape: ???, dtype: float32}");
    has(&op, "count single elements");
    has(&op, "  arg3: {dtype: float64}");
    has(&op, "  float32_: {shape: ???, dtype: float16}");
    has(&op, "  - {n: ???}");
    has(&kernel, "  - entry: \"f<{T}, {P2}>\"");
    has(&kernel, "  P2: {values: ???}");
    has(&kernel, "      - ???                                  # Foo z; its "
                 "type 'Foo z' is not known");
    has(&kernel, "      - {bool: ???}");
    has(&kernel, "  - entry: g\n");
    lacks(&kernel, "{shared:");
}

static void shared_by_the_launch(void **state)
{
    (void)state;
    draft("__global__ void f(float *x)\n{\n    extern __shared__ float s[];\n"
          "    __shared__ float fixed[64];\n}",
          NULL);
    has(&kernel, "      - {shared: ???} ");
    has(&kernel, "# bytes of extern __shared__");
    ws__buf_free(&kernel);
    ws__buf_free(&op);
    draft("__global__ void f(float *x) { __shared__ float fixed[64]; }", NULL);
    lacks(&kernel, "{shared:");
}

/* With the blanks filled it is a specification. */
static void filled(void **state)
{
    static const char *const pairs[][2] = {{"values: ???", "values: [1, 2]"},
                                           {"grid: ???", "grid: n"},
                                           {"block: ???", "block: 64"},
                                           {"shape: ???", "shape: [n]"},
                                           {"{n: ???}", "{n: 77}"},
                                           {"reduction: ???", "reduction: 1"},
                                           {"reference: ???",
                                            "reference: native"}};
    struct ws__spec *s = NULL;
    const char *text, *source = "BM";

    (void)state;
    draft("#ifndef BM\n#define BM 8\n#endif\n__global__ void f(const float *x, "
          "float *y, int n, float a) { BM; }",
          NULL);
    has(&kernel, "BM: {values: [8, ???]}");
    for (size_t i = 0; i < WS_COUNT(pairs); i++)
        for (int b = 0; b < 2; b++) {
            struct ws__buf *buf = b ? &op : &kernel;
            char *at;

            while ((at = strstr(buf->data, pairs[i][0])) != NULL) {
                struct ws__buf next;

                ws__buf_init(&next, ctx, WS__DRAFT_TEXT_MAX);
                ws__buf_add(&next, buf->data, (size_t)(at - buf->data));
                ws__buf_puts(&next, pairs[i][1]);
                ws__buf_puts(&next, at + strlen(pairs[i][0]));
                assert_int_equal(next.failed, 0);
                ws__buf_free(buf);
                *buf = next;
            }
        }
    text = strstr(kernel.data, "[8, ???]");
    assert_non_null(text);
    memcpy((char *)(uintptr_t)text, "[8, 16 ]", 8);
    text = kernel.data;
    assert_int_equal(ws__spec_from_text(ctx, op.data, &text, &source, 1, &s),
                     0);
    assert_int_equal(s->kernel[0].nparam, 1);
    assert_int_equal(s->kernel[0].launch[0].narg, 4);
    assert_int_equal(s->op->ntensor, 3);
    ws__spec_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(for_an_op, setup, teardown),
        cmocka_unit_test_setup_teardown(for_a_new_one, setup, teardown),
        cmocka_unit_test_setup_teardown(shared_by_the_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(filled, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
