/*
 * t_ast.c: the tree of a source, and indices as sums: what is read is what is
 * written, in both languages; what fails says where; every allocation fails.
 * What needs libclang is skipped without it.
 */
#include "base/t_base.h"

#include "xform/clang_api.h"
#include "xform/t_xform.h"

static struct ws_ctx *ctx;
static struct ws__arena arena;
static bool have_clang;

static int build_in(struct ws_ctx *c, struct ws__arena *a, const char *text,
                    bool cuda, struct ws__ast *out)
{
    struct ws__ast_source s = {.path = cuda ? "t.cu" : "t.cl",
                               .text = text,
                               .dialect =
                                   cuda ? WS__DIALECT_CUDA : WS__DIALECT_OPENCL,
                               .prologue = "#define TILE 16\n",
                               .headers = "ops/dialect/parse"};

    return ws__ast_build(c, a, &s, out);
}

static void build(const char *text, bool cuda, struct ws__ast *out)
{
    int rc = build_in(ctx, &arena, text, cuda, out);

    if (rc < 0)
        print_error("%s\n", ctx->err.message);
    assert_int_equal(rc, 0);
}

#define NEEDS_CLANG                                                            \
    do {                                                                       \
        (void)state;                                                           \
        if (!have_clang)                                                       \
            SKIP("no libclang 19: no source is read");                         \
    } while (0)

/* The first node of a kind, or the one whose text begins so. */
static int32_t find(const struct ws__ast *t, enum ws__ast_kind k,
                    const char *text)
{
    for (int32_t i = 0; i < t->n; i++)
        if (t->node[i].kind == k &&
            (!text || !strncmp(t->text + t->node[i].begin, text, strlen(text))))
            return i;
    fail_msg("no node '%s'", text ? text : "");
    return -1;
}

/* --- the tree ------------------------------------------------------------- */

static void order(void **state)
{
    struct ws__ast t;
    int32_t f;

    NEEDS_CLANG;
    build("__kernel void k(__global float *y, int n)\n{\n"
          "    for (int i = 0; i < n; i++)\n        y[i] = 1.0f;\n}\n"
          "float other(float v) { return v; }\n",
          false, &t);
    f = ws__ast_function(&t, "k");
    assert_true(f == 0 && t.node[f].is_kernel);
    assert_int_equal(ws__ast_function(&t, "other"), ws__ast_after(&t, f));
    assert_int_equal(ws__ast_after(&t, ws__ast_function(&t, "other")), t.n);
    assert_int_equal(ws__ast_function(&t, "none"), -1);
    assert_false(t.node[ws__ast_function(&t, "other")].is_kernel);
    for (int32_t i = 0; i < t.n; i++) {
        int32_t p = t.node[i].parent, after = ws__ast_after(&t, i);

        assert_true(after > i && after <= t.n);
        assert_true(p < i && t.node[i].begin <= t.node[i].end);
        if (p >= 0)
            assert_true(t.node[p].begin <= t.node[i].begin);
        for (int32_t c = i + 1; c < after; c++)
            assert_true(ws__ast_below(&t, c, i));
    }
}

/* What clang calls otherwise than it is written. */
static void cuda_classes(void **state)
{
    struct ws__ast t;
    int32_t i;

    NEEDS_CLANG;
    build("#include <cuda_fp16.h>\n"
          "extern \"C\" __global__ void k(float4 *o, __half *h, float4 v)\n"
          "{ o[1] = v; h[0] += h[1]; h[2] = h[3] * h[4]; float z = h[5]; }\n",
          true, &t);
    i = find(&t, WS__AST_ASSIGN, "o[1] = v");
    assert_int_equal(t.node[i].op, CL_BinaryOperator_Assign);
    assert_int_equal(ws__ast_nchild(&t, i), 2);
    i = find(&t, WS__AST_ASSIGN, "h[0] += h[1]");
    assert_int_equal(t.node[i].op, CL_BinaryOperator_AddAssign);
    i = find(&t, WS__AST_BINARY, "h[3] * h[4]");
    assert_int_equal(t.node[i].op, CL_BinaryOperator_Mul);
    assert_int_equal(t.node[ws__ast_child(&t, i, 1)].kind, WS__AST_INDEX);
    assert_true(t.node[find(&t, WS__AST_FUNCTION, NULL)].is_kernel);
    i = find(&t, WS__AST_PARAM, "float4 *o");
    assert_int_equal(t.node[i].type.width, 4);
    assert_int_equal(t.node[i].type.pointers, 1);
}

static void opencl_members(void **state)
{
    struct ws__ast t;
    int32_t i;

    NEEDS_CLANG;
    build("float not_a_kernel_of(float4 v) { v.xy = 1.5f; return v.s3; }\n"
          "kernel void k(global float4 *o) { o[0].w = o[1].x; }\n",
          false, &t);
    i = find(&t, WS__AST_MEMBER, "v.xy");
    assert_string_equal(t.node[i].name, "xy");
    assert_true(ws__ast_changes(&t, 0, find(&t, WS__AST_PARAM, "float4 v")));
    i = find(&t, WS__AST_ASSIGN, "o[0].w");
    assert_string_equal(t.node[ws__ast_child(&t, i, 0)].name, "w");
    assert_false(t.node[0].is_kernel);
    assert_true(t.node[ws__ast_function(&t, "k")].is_kernel);
}

static void changes(void **state)
{
    struct ws__ast t;

    NEEDS_CLANG;
    build("__device__ void set(int &a, int b) { a = b; }\n"
          "__global__ void k(int *y, int p, int q, int r, int s)\n"
          "{ set(p, q); int &t = r; int u = s; y[u] = t + q; }\n",
          true, &t);
    assert_true(ws__ast_changes(&t, 0, find(&t, WS__AST_PARAM, "int &a")));
    assert_true(ws__ast_changes(&t, ws__ast_function(&t, "k"),
                                find(&t, WS__AST_PARAM, "int p")));
    assert_false(ws__ast_changes(&t, ws__ast_function(&t, "k"),
                                 find(&t, WS__AST_PARAM, "int q")));
    assert_true(ws__ast_changes(&t, ws__ast_function(&t, "k"),
                                find(&t, WS__AST_PARAM, "int r")));
    assert_false(ws__ast_changes(&t, ws__ast_function(&t, "k"),
                                 find(&t, WS__AST_PARAM, "int s")));
}

/* An array of a thread's own changes where a function or a pointer gets it that
 * may write. */
static void handed_arrays(void **state)
{
    static const struct {
        const char *text;
        bool changes;
    } c[] = {{"fill(a);", true},
             {"fill(b[1]);", true},
             {"fill(a + 1);", true},
             {"float *p = a; p[0] = 1;", true},
             {"y[0] = look(1, a);", false},
             {"y[0] = a[1] + b[0][1];", false},
             {"const float *p = a; y[0] = p[1];", false},
             {"y[0] = sizeof(a);", false},
             {"unknown(a);", true}};

    NEEDS_CLANG;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        bool second = strstr(c[i].text, "b[1])") != NULL;
        char text[500];
        struct ws__ast t;

        snprintf(text, sizeof(text),
                 "extern __device__ void unknown(float *);\n"
                 "__device__ void fill(float *v) { v[0] = 1; }\n"
                 "__device__ float look(int i, const float *v)\n"
                 "{ return v[i]; }\n"
                 "__global__ void k(float *y)\n"
                 "{ float a[4]; float b[2][4]; %s }\n",
                 c[i].text);
        build(text, true, &t);
        if (ws__ast_changes(&t, ws__ast_function(&t, "k"),
                            find(&t, WS__AST_VAR,
                                 second ? "float b[2][4]" : "float a[4]")) !=
            c[i].changes)
            fail_msg("%s", c[i].text);
    }
}

static void loops(void **state)
{
    static const struct {
        const char *head;
        bool counts, inclusive;
    } l[] = {{"for (int i = 2; i < n; i++)", true, false},
             {"for (j = 0; j <= n - 1; j += 4 /* ; */)", true, true},
             {"for (int i = 0, k = 1; i < n; i++)", false, false},
             {"for (int i = n; i > 0; i--)", false, false},
             {"for (int i = 1; i < n; i *= 2)", false, false},
             {"for (unsigned char i = 0; i < n; i++)", false, false},
             {"for (short i = 0; i < n; i++)", false, false},
             {"for (float i = 0; i < n; i++)", false, false},
             {"for (long long i = 0; i < n; i++)", true, false},
             {"for (;;)", false, false}};

    NEEDS_CLANG;
    for (size_t i = 0; i < WS_COUNT(l); i++) {
        char text[300];
        struct ws__ast t;
        struct ws__ast_for f;

        snprintf(text, sizeof(text),
                 "__kernel void k(__global int *y, int n) { int j; %s y[0]++; "
                 "}",
                 l[i].head);
        build(text, false, &t);
        ws__ast_for(&t, find(&t, WS__AST_FOR, NULL), &f);
        assert_int_equal(f.counts, l[i].counts);
        assert_int_equal(f.inclusive && f.counts, l[i].inclusive);
        assert_true(f.body >= 0);
    }
}

static void macros_and_words(void **state)
{
    struct ws__ast t;
    struct ws__loc at;
    int64_t v;
    int32_t i;

    NEEDS_CLANG;
    build("#define TWICE(x) ((x) * 2)\n"
          "__kernel void k(__global int *y) { y[TILE + 1] = TWICE(3); }\n",
          false, &t);
    i = find(&t, WS__AST_INDEX, "y[TILE");
    assert_true(t.node[i].macro && ws__xform_is_whole(&t, i));
    assert_true(ws__ast_const(&t, ws__ast_child(&t, i, 1), &v));
    assert_int_equal(v, 17);
    ws__ast_line(&t, t.node[i].begin, &at);
    assert_int_equal(at.line, 2);
    assert_int_equal(at.column, 36);
    assert_true(
        ws__ast_const(&t, ws__ast_child(&t, find(&t, WS__AST_ASSIGN, NULL), 1),
                      &v));
    assert_int_equal(v, 6);
}

/* --- sums ----------------------------------------------------------------- */

/* The sum of the first access of a kernel with these statements. */
static bool sum_of(const char *before, const char *index, bool cuda,
                   struct ws__ast *t, struct ws__affine *out)
{
    char text[600];

    snprintf(text, sizeof(text),
             cuda ? "__global__ void k(int *y, int n, int m) { %s y[%s] = 1; }"
                  : "__kernel void k(__global int *y, int n, int m) { %s y[%s] "
                    "= 1; }",
             before, index);
    build(text, cuda, t);
    return ws__affine_of(t, ws__ast_child(t, find(t, WS__AST_INDEX, "y["), 1),
                         out);
}

static void sums(void **state)
{
    struct ws__ast t;
    struct ws__affine a, p, q;

    NEEDS_CLANG;
    assert_true(sum_of("int r = blockIdx.y * TILE + threadIdx.y, c = "
                       "threadIdx.x;",
                       "(size_t)r * n + 2 * (c + 1) - c", true, &t, &a));
    assert_true(ws__affine_part(&a, WS__SYM(WS__AL_THREAD, 0), &p));
    assert_true(ws__affine_is(&p, 1));
    assert_true(ws__affine_part(&a, WS__SYM(WS__AL_BLOCK, 1), &p));
    assert_true(ws__affine_part(&p, find(&t, WS__AST_PARAM, "int n"), &q));
    assert_true(ws__affine_is(&q, 16));
    assert_false(ws__affine_uses(&a, find(&t, WS__AST_PARAM, "int m")));
    assert_true(
        sum_of("", "get_global_id(0) - get_local_id(0)", false, &t, &a));
    assert_false(ws__affine_uses(&a, WS__SYM(WS__AL_THREAD, 0)));
    assert_true(a.n == 1 && a.term[0].n == 2);
    assert_true(ws__affine_part(&a, WS__SYM(WS__AL_BLOCK_DIM, 0), &p));
    assert_true(ws__affine_part(&p, WS__SYM(WS__AL_BLOCK, 0), &q));
    assert_true(ws__affine_is(&q, 1));
}

static void no_sums(void **state)
{
    struct ws__ast t;
    struct ws__affine a, p;
    int32_t v;

    NEEDS_CLANG;
    assert_false(sum_of("", "n / 2", true, &t, &a));
    assert_false(sum_of("", "(unsigned char)n", true, &t, &a));
    assert_false(sum_of("", "(int)(n * 0.5f)", true, &t, &a));
    assert_false(sum_of("", "y[n]", true, &t, &a));
    /* A variable that changes stands for itself; so does a narrow one. */
    assert_true(sum_of("int i = n; i += m;", "i", true, &t, &a));
    v = find(&t, WS__AST_VAR, "int i");
    assert_true(a.n == 1 && ws__affine_uses(&a, v));
    assert_true(sum_of("unsigned char i = n;", "i", true, &t, &a));
    assert_false(ws__affine_uses(&a, find(&t, WS__AST_PARAM, "int n")));
    assert_true(sum_of("", "n * n", true, &t, &a));
    assert_false(ws__affine_part(&a, find(&t, WS__AST_PARAM, "int n"), &p));
}

static void accesses(void **state)
{
    struct ws__xform_in in;
    struct ws__access a[8];
    struct ws__kernel *k = calloc(1, sizeof(*k));
    struct ws__op *op = calloc(1, sizeof(*op));
    struct ws__ast t;

    NEEDS_CLANG;
    assert_true(k && op);
    build("__global__ void k(float *y, const int *at, const float *x, int n)\n"
          "{ y[at[n]] += x[at[1]]; atomicAdd(&y[2], 1.0f); (y[3])++; }\n",
          true, &t);
    assert_int_equal(t_kernel(ctx, &arena, &t, op, false, k), 0);
    assert_int_equal(ws__xform_open(ctx, &arena, &t, k, 0, &in), 0);
    assert_int_equal(ws__xform_accesses(&in, in.body, WS__AS_GLOBAL, a, 8), 6);
    assert_true(a[0].write && a[0].read && !a[0].affine); /* y[at[n]] */
    assert_true(a[1].read && !a[1].write && a[1].affine); /* at[n] */
    assert_true(a[2].read && !a[2].write);                /* x[at[1]] */
    assert_true(a[4].write && a[5].write);
    assert_int_equal(ws__xform_accesses(&in, in.body, WS__AS_GLOBAL, a, 1), 6);
    assert_false(ws__xform_only_indexed(&in, a[0].decl));
    assert_true(ws__xform_is_alone(&in, a[0].decl));
    free(k);
    free(op);
}

/* --- failures ------------------------------------------------------------- */

/* More than a thread of libclang's own has the stack for. */
static void deep_chain(void **state)
{
    const size_t levels = 8000, room = levels * 32 + 100;
    char *text = malloc(room);
    struct ws__ast t;
    size_t n;

    NEEDS_CLANG;
    n = (size_t)snprintf(text, room, "kernel void k(int n)\n{ if (n) n = 1;\n");
    for (size_t i = 0; i < levels; i++)
        n += (size_t)snprintf(text + n, room - n, "else if (n == %zu) n = 2;\n",
                              i);
    snprintf(text + n, room - n, "}\n");
    assert_int_equal(build_in(ctx, &arena, text, false, &t), WS_ELIMIT);
    free(text);
}

static void errors(void **state)
{
    struct ws__ast t;
    struct ws__ast_source s = {.path = "t.cl",
                               .text = "",
                               .dialect = WS__DIALECT_OPENCL,
                               .headers = "ops/dialect/parse",
                               .library = "no-such-library"};
    char deep[4000];
    size_t n = 0;

    NEEDS_CLANG;
    assert_int_equal(build_in(ctx, &arena, "kernel void k()\n{ no_such = 1; }",
                              false, &t),
                     WS_ESPEC);
    assert_int_equal(ctx->err.line, 2);
    assert_non_null(strstr(ctx->err.message, "no_such"));
    assert_int_equal(ws__ast_build(ctx, &arena, &s, &t), WS_ENODRIVER);
    assert_null(t.node);
    n += (size_t)snprintf(deep, sizeof(deep), "kernel void k(int n) { n = ");
    for (int i = 0; i < 150; i++)
        n += (size_t)snprintf(deep + n, sizeof(deep) - n, "(1+");
    n += (size_t)snprintf(deep + n, sizeof(deep) - n, "1");
    for (int i = 0; i < 150; i++)
        n += (size_t)snprintf(deep + n, sizeof(deep) - n, ")");
    snprintf(deep + n, sizeof(deep) - n, "; }");
    n = (size_t)build_in(ctx, &arena, deep, false, &t);
    assert_true((int)n == 0 || (int)n == WS_ELIMIT);
    build("", false, &t);
    assert_int_equal(t.n, 0);
    assert_int_equal(ws__ast_function(&t, "k"), -1);
}

/* Everything that a transformation does, with memory that ends. */
static int all_of_it(struct ws_ctx *c, void *user)
{
    struct ws__arena a;
    struct ws__ast t;
    struct ws__kernel *k;
    struct ws__op *op;
    struct ws__sites *s;
    struct ws__rewrite *w;
    char *text;
    int rc;

    ws__arena_init(&a, c);
    k = ws__arena_alloc(&a, 1, sizeof(*k));
    op = ws__arena_alloc(&a, 1, sizeof(*op));
    s = ws__arena_alloc(&a, 1, sizeof(*s));
    w = ws__arena_alloc(&a, 1, sizeof(*w));
    rc = k && op && s && w ? build_in(c, &a, user, true, &t) : WS_ENOMEM;
    if (rc >= 0)
        rc = t_kernel(c, &a, &t, op, false, k);
    for (size_t i = 0; rc >= 0 && ws__xform_table[i]; i++) {
        const struct ws__xform_ops *x = ws__xform_table[i];

        rc = ws__xform_find(c, &a, &t, k, x, s);
        for (size_t n = 0; rc >= 0 && n < s->n; n++)
            if (!s->site[n].refused)
                rc = ws__xform_apply(c, &a, &t, k, x, &s->site[n], &text, w);
    }
    ws__arena_free(&a);
    return rc;
}

static void out_of_memory(void **state)
{
    char text[] =
        "__global__ void k(const float *x, const float *w, float *y, int n)\n"
        "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n\n"
        "    if (i < n) {\n        float s = 0.0f, d = w[i] + n;\n\n"
        "        for (int j = 0; j < 50; j++)\n"
        "            s += w[i] * expf(x[i] / d) / sqrtf(d);\n"
        "        y[i] = s;\n    }\n}\n";

    NEEDS_CLANG;
    assert_true(t_torture(all_of_it, text) > 20);
}

static int cut_macro(const struct ws__xform_in *in, const struct ws__site *s,
                     struct ws__rewrite *out)
{
    const char *at = strstr(in->ast->text, "= ADD(1");

    (void)s;
    ws__rewrite_at(out, (uint32_t)(at - in->ast->text) + 4, 3, "x");
    return 0;
}

static int overlap(const struct ws__xform_in *in, const struct ws__site *s,
                   struct ws__rewrite *out)
{
    (void)in;
    (void)s;
    ws__rewrite_at(out, 3, 4, "x");
    ws__rewrite_at(out, 5, 4, "y");
    return 0;
}

/* An edit that cuts a macro, or two that overlap, are faults that are told. */
static void bad_edits(void **state)
{
    NEEDS_CLANG;
    for (int c = 0; c < 2; c++) {
        struct ws__kernel *k = calloc(1, sizeof(*k));
        struct ws__op *op = calloc(1, sizeof(*op));
        struct ws__rewrite *w = calloc(1, sizeof(*w));
        struct ws__ast t;
        struct ws__site s = {.node = {0, -1, -1, -1}};
        struct ws__xform_ops x = {.name = "bad",
                                  .apply = c ? cut_macro : overlap};
        char *out;

        assert_true(k && op && w);
        build("#define ADD(a, b) ((a) + (b))\n"
              "__kernel void k(__global int *y) { y[0] = ADD(1, 2); }\n",
              false, &t);
        assert_int_equal(t_kernel(ctx, &arena, &t, op, false, k), 0);
        assert_int_equal(ws__xform_apply(ctx, &arena, &t, k, &x, &s, &out, w),
                         WS_EBUG);
        assert_non_null(
            strstr(ctx->err.message, c ? "cuts a macro" : "overlap"));
        free(k);
        free(op);
        free(w);
    }
}

/* In the place of the first statement; the last one goes. */
static int replace_lines(const struct ws__xform_in *in,
                         const struct ws__site *s, struct ws__rewrite *out)
{
    const char *text = in->ast->text, *b = strstr(text, "    b();\n");
    uint32_t at = (uint32_t)(strstr(text, "a();") - text);

    (void)s;
    ws__rewrite_at(out, at, 4, "one();\n    two();");
    ws__rewrite_at(out, (uint32_t)(b - text), 9, "%s", "");
    return 0;
}

/* Lines that are left alone keep their ends, new ones end as most do. */
static void edits_keep_ends(void **state)
{
    static const struct {
        const char *text, *want;
    } row[] = {
        {"void a(void);void b(void);\n__kernel void k(__global int *y)\n{\n"
         "    a();\n    y[0] = 1;\n    b();\n}\n",
         "void a(void);void b(void);\n__kernel void k(__global int *y)\n{\n"
         "    one();\n    two();\n    y[0] = 1;\n}\n"},
        {"void a(void);void b(void);\r\n__kernel void k(__global int "
         "*y)\r\n{\r\n"
         "    a();\r\n    y[0] = 1;\r\n    b();\r\n}",
         "void a(void);void b(void);\r\n__kernel void k(__global int "
         "*y)\r\n{\r\n"
         "    one();\r\n    two();\r\n    y[0] = 1;\r\n}"},
        {"void a(void);void b(void);\r\n__kernel void k(__global int *y)\n{\r\n"
         "    a();\n    y[0] = 1;\r\n    b();\r\n}\n",
         "void a(void);void b(void);\r\n__kernel void k(__global int *y)\n{\r\n"
         "    one();\r\n    two();\n    y[0] = 1;\r\n}\n"},
        {"void a(void);void b(void);\n__kernel void k(__global int *y)\r\n{\n"
         "    a();\r\n    y[0] = 1;\n    b();\r\n}\n",
         "void a(void);void b(void);\n__kernel void k(__global int *y)\r\n{\n"
         "    one();\n    two();\r\n    y[0] = 1;\n}\n"},
    };

    NEEDS_CLANG;
    for (size_t i = 0; i < WS_COUNT(row); i++) {
        struct ws__kernel *k = calloc(1, sizeof(*k));
        struct ws__op *op = calloc(1, sizeof(*op));
        struct ws__rewrite *w = calloc(1, sizeof(*w));
        struct ws__site s = {.node = {0, -1, -1, -1}};
        struct ws__xform_ops x = {.name = "lines", .apply = replace_lines};
        struct ws__ast t;
        char *out;

        assert_true(k && op && w);
        build(row[i].text, false, &t);
        assert_int_equal(t_kernel(ctx, &arena, &t, op, false, k), 0);
        assert_int_equal(ws__xform_apply(ctx, &arena, &t, k, &x, &s, &out, w),
                         0);
        assert_string_equal(out, row[i].want);
        free(k);
        free(op);
        free(w);
    }
}

/* Are the uses of a declaration below root what looking at all nodes finds? */
static void check_uses(const struct ws__ast *t, int32_t root, int32_t decl)
{
    const int32_t *use;
    size_t n = ws__ast_uses_of(t, root, decl, &use), hits = 0;

    for (int32_t i = root; i < ws__ast_after(t, root); i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == decl) {
            assert_true(hits < n);
            assert_int_equal(use[hits++], i);
        }
    assert_int_equal(hits, n);
}

/* What is kept of nodes and declarations, for sources of thousands of loops. */
static void tables(void **state)
{
    static const char text[] =
        "#define SQ(v) ((v) * (v))\n#define ONE 1\n"
        "__device__ int twice(int &v, int w) { v += w; return v + ONE; }\n"
        "__global__ void k(float *y, int n)\n{\n    int a = 0, b[4], c = n;\n"
        "    float4 v = make_float4(0, 1, 2, 3);\n"
        "    for (int i = SQ(ONE); i < n; i++) { int same = i; b[same % 4] = "
        "c; }\n"
        "    v.x += 2; (a) = 3; twice(c, a);\n"
        "    y[SQ(a + ONE)] = SQ(SQ(v.x)) + b[0];\n}\n"
        "__device__ int last;\n";
    struct ws__ast t;

    NEEDS_CLANG;
    build(text, true, &t);
    for (int32_t i = 0; i < t.n; i++) {
        int32_t after = i + 1;

        while (after < t.n && ws__ast_below(&t, after, i))
            after++;
        assert_int_equal(ws__ast_after(&t, i), after);
        for (int32_t root = 0; root < t.n; root += 7)
            check_uses(&t, root, i);
        if (t.node[i].kind == WS__AST_VAR)
            assert_int_equal(t.node[i].is_changed,
                             strchr("abcvi", t.node[i].name[0]) != NULL);
    }
    assert_true(t.node[find(&t, WS__AST_INDEX, "y[")].macro);
    assert_true(t.node[find(&t, WS__AST_FOR, NULL)].macro);
    assert_false(t.node[find(&t, WS__AST_INDEX, "b[same")].macro);
    assert_false(t.node[find(&t, WS__AST_CALL, "twice")].macro);
}

static int setup(void **state)
{
    struct cl_api api = {0};

    (void)state;
    setenv("LIBCLANG_NOTHREADS", "1", 1);
    ctx = t_ctx(NULL);
    ws__arena_init(&arena, ctx);
    have_clang = ws__clang_open(ctx, NULL, &api) >= 0;
    ws__clang_close(&api);
    ws__error_clear(ctx);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ws__arena_free(&arena);
    ws_ctx_free(ctx);
    return 0;
}

/* Lines are read with LF; which were CR LF is known. */
static void ends_of_lines(void **state)
{
    struct ws__ast t;

    NEEDS_CLANG;
    build("int a;\r\nint b;\r\n", true, &t);
    assert_true(t.crlf);
    assert_string_equal(t.text, "int a;\nint b;\n");
    assert_int_equal(t.len, strlen(t.text));
    assert_true(t.node[find(&t, WS__AST_VAR, "int b")].begin == 7);
    assert_int_equal(t.ncr, 2);
    build("int a;\r\nint b;\n", true, &t);
    assert_false(t.crlf);
    assert_string_equal(t.text, "int a;\nint b;\n");
    assert_int_equal(t.ncr, 1);
    assert_int_equal(t.cr[0], 6);
    build("int a;\nint b;\r\n/* \r */int c;\r\n", true, &t);
    assert_true(t.crlf);
    assert_string_equal(t.text, "int a;\nint b;\n/* \r */int c;\n");
    assert_int_equal(t.ncr, 2);
    build("int a; int b;", true, &t);
    assert_false(t.crlf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order),
                                       cmocka_unit_test(cuda_classes),
                                       cmocka_unit_test(opencl_members),
                                       cmocka_unit_test(changes),
                                       cmocka_unit_test(handed_arrays),
                                       cmocka_unit_test(loops),
                                       cmocka_unit_test(macros_and_words),
                                       cmocka_unit_test(sums),
                                       cmocka_unit_test(no_sums),
                                       cmocka_unit_test(accesses),
                                       cmocka_unit_test(errors),
                                       cmocka_unit_test(deep_chain),
                                       cmocka_unit_test(out_of_memory),
                                       cmocka_unit_test(bad_edits),
                                       cmocka_unit_test(tables),
                                       cmocka_unit_test(ends_of_lines),
                                       cmocka_unit_test(edits_keep_ends)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
