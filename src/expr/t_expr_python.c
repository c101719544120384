/*
 * t_expr_python.c: the language against Python itself. Two thousand random
 * expressions, the same ones every time, go through one Python process; the
 * values must agree to the last bit, and where Python divides by zero, leaves
 * 64 bits or the finite floats, evaluation must fail.
 *
 * Python's side wraps every operator so that it notices integers of more than
 * 64 bits at the place where they arise. Where this language is stricter by
 * design (a shared type of both sides of `and`), values are compared as
 * numbers.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "base/hash.h"
#include "expr/expr.h"

#define COUNT 2000

static const char script[] =
    "import ast, math, sys\n"
    "LO, HI = -2**63, 2**63 - 1\n"
    "def ck(v):\n"
    "    if isinstance(v, int) and not LO <= v <= HI:\n"
    "        raise OverflowError\n"
    "    if isinstance(v, complex):\n"
    "        raise ValueError\n"
    "    if isinstance(v, float) and not math.isfinite(v):\n"
    "        raise ValueError\n"
    "    return v\n"
    "def shl(a, b):\n"
    "    if b > 64 and a != 0:\n"
    "        raise OverflowError\n"
    "    return 0 if a == 0 and b >= 0 else ck(a << b)\n"
    "def pw(a, b):\n"
    "    if isinstance(a, int) and isinstance(b, int):\n"
    "        if b < 0:\n"
    "            raise ValueError\n"
    "        if b > 64 and abs(a) > 1:\n"
    "            raise OverflowError\n"
    "    return ck(a ** b)\n"
    "def ceil_div(a, b):\n"
    "    return ck(-(-a // b))\n"
    "def round_up(a, b):\n"
    "    return ck(ceil_div(a, b) * b)\n"
    "def is_pow2(x):\n"
    "    return x > 0 and x & (x - 1) == 0\n"
    "def log2_floor(x):\n"
    "    if x <= 0:\n"
    "        raise ValueError\n"
    "    return x.bit_length() - 1\n"
    "def clamp(x, a, b):\n"
    "    return min(max(x, a), b)\n"
    "class T(ast.NodeTransformer):\n"
    "    def call(self, f, *a):\n"
    "        return ast.Call(ast.Name(f, ast.Load()), list(a), [])\n"
    "    def visit_BinOp(self, n):\n"
    "        self.generic_visit(n)\n"
    "        if isinstance(n.op, ast.LShift):\n"
    "            return self.call('shl', n.left, n.right)\n"
    "        if isinstance(n.op, ast.Pow):\n"
    "            return self.call('pw', n.left, n.right)\n"
    "        return self.call('ck', n)\n"
    "    def visit_UnaryOp(self, n):\n"
    "        self.generic_visit(n)\n"
    "        return self.call('ck', n)\n"
    "    def visit_Call(self, n):\n"
    "        self.generic_visit(n)\n"
    "        return self.call('ck', n)\n"
    "env = {k: v for k, v in globals().items()\n"
    "       if callable(v) and k != 'T'}\n"
    "for line in open(sys.argv[1]):\n"
    "    a, x, y, z, f, g, p, text = line.rstrip('\\n').split('\\t')\n"
    "    env.update(a=int(a), x=int(x), y=int(y), z=int(z),\n"
    "               f=float.fromhex(f), g=float.fromhex(g), p=bool(int(p)))\n"
    "    tree = ast.fix_missing_locations(T().visit(\n"
    "        ast.parse(text, mode='eval')))\n"
    "    try:\n"
    "        v = eval(compile(tree, 'e', 'eval'), env)\n"
    "    except ZeroDivisionError:\n"
    "        print('z')\n"
    "    except (OverflowError, ValueError):\n"
    "        print('e')\n"
    "    else:\n"
    "        print('f', v.hex()) if isinstance(v, float) "
    "else print('i', int(v))\n";

/* --- random expressions, typed so that they compile --- */

struct gen {
    struct ws__rng rng;
    char text[16384];
    size_t n;
};

static unsigned pick(struct gen *g, unsigned n)
{
    return (unsigned)ws__rng_below(&g->rng, n);
}

static void put(struct gen *g, const char *s)
{
    size_t n = strlen(s);

    assert_true(g->n + n < sizeof(g->text));
    memcpy(g->text + g->n, s, n + 1);
    g->n += n;
}

#define PUT_ONE_OF(g, ...)                                                     \
    do {                                                                       \
        static const char *const of_[] = {__VA_ARGS__};                        \
        put(g, of_[pick(g, WS_COUNT(of_))]);                                   \
    } while (0)

static void gen_int(struct gen *g, int depth);
static void gen_bool(struct gen *g, int depth);
static void gen_float(struct gen *g, int depth);

/* Operands and operators without parentheses: what binds how is for both
 * parsers to find out. */
static void gen_flat(struct gen *g)
{
    unsigned n = 2 + pick(g, 7);

    put(g, "(");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            PUT_ONE_OF(g, " + ", " - ", " * ", " // ", " % ", " & ", " | ",
                       " ^ ", " << ", " >> ", " < ",
                       " <= ", " == ", " != ", " > ", " >= ", " and ", " or ",
                       " and not ", " or not ");
        PUT_ONE_OF(g, "", "", "", "-", "~", "+", "- -");
        PUT_ONE_OF(g, "x", "y", "z", "a", "1", "2", "3", "x**2", "2**y**0");
    }
    put(g, ")");
}

static void gen_args(struct gen *g, const char *fn, unsigned n, int depth,
                     void (*arg)(struct gen *, int))
{
    put(g, fn);
    put(g, "(");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            put(g, ", ");
        arg(g, depth);
    }
    put(g, ")");
}

static void gen_infix(struct gen *g, int depth, void (*side)(struct gen *, int),
                      const char *op)
{
    put(g, "(");
    side(g, depth);
    put(g, op);
    side(g, depth);
    put(g, ")");
}

static void gen_cond(struct gen *g, int depth, void (*side)(struct gen *, int))
{
    put(g, "(");
    side(g, depth);
    put(g, " if ");
    gen_bool(g, depth);
    put(g, " else ");
    side(g, depth);
    put(g, ")");
}

static void gen_int(struct gen *g, int depth)
{
    static const char *const infix[] = {" + ",   " - ",  " * ",  " // ",
                                        " % ",   " & ",  " | ",  " ^ ",
                                        " and ", " or ", " << ", " >> "};

    if (depth <= 0) {
        PUT_ONE_OF(g, "x", "y", "z", "a", "0", "1", "2", "7", "-3", "1000",
                   "0x7fffffff", "4294967296", "9223372036854775807");
        return;
    }
    depth--;
    switch (pick(g, 12)) {
    case 0:
        gen_flat(g);
        break;
    case 1:
        gen_args(g, "ceil_div", 2, depth, gen_int);
        break;
    case 2:
        gen_args(g, "round_up", 2, depth, gen_int);
        break;
    case 3:
        gen_args(g, "min", 1 + 1 + pick(g, 3), depth, gen_int);
        break;
    case 4:
        gen_args(g, "clamp", 3, depth, gen_int);
        break;
    case 5:
        gen_args(g, "abs", 1, depth, gen_int);
        break;
    case 6:
        gen_args(g, "log2_floor", 1, depth, gen_int);
        break;
    case 7:
        gen_cond(g, depth, gen_int);
        break;
    case 8:
        gen_args(g, "int", 1, depth, gen_float);
        break;
    case 9:
        put(g, "(");
        gen_int(g, depth);
        PUT_ONE_OF(g, ")**0", ")**1", ")**2", ")**3", ")**5");
        break;
    default:
        gen_infix(g, depth, gen_int, infix[pick(g, WS_COUNT(infix))]);
    }
}

static void gen_float(struct gen *g, int depth)
{
    static const char *const infix[] = {" + ",  " - ", " * ",   " / ",
                                        " // ", " % ", " and ", " or "};

    if (depth <= 0) {
        PUT_ONE_OF(g, "f", "g", "0.5", "-1.25", "1e10", "3.0", "0.1", "1e300");
        return;
    }
    depth--;
    switch (pick(g, 9)) {
    case 0:
        gen_infix(g, depth, gen_int, " / ");
        break;
    case 1:
        gen_args(g, "float", 1, depth, gen_int);
        break;
    case 2:
        gen_args(g, "max", 2, depth, gen_float);
        break;
    case 3:
        gen_cond(g, depth, gen_float);
        break;
    case 4:
        put(g, "(");
        gen_float(g, depth);
        PUT_ONE_OF(g, " + x)", " * y)", " // z)", " % x)", " - 2)", " / 3)",
                   " ** 2)", " ** 0.5)", " ** -1)");
        break;
    case 5:
        put(g, "-");
        gen_float(g, depth);
        break;
    default:
        gen_infix(g, depth, gen_float, infix[pick(g, WS_COUNT(infix))]);
    }
}

static void gen_bool(struct gen *g, int depth)
{
    static const char *const compare[] = {" < ",  " <= ", " == ",
                                          " != ", " > ",  " >= "};
    void (*side)(struct gen *, int) = pick(g, 3) ? gen_int : gen_float;

    if (depth <= 0) {
        PUT_ONE_OF(g, "p", "True", "False", "x > 2", "f < g");
        return;
    }
    depth--;
    switch (pick(g, 7)) {
    case 0:
        gen_infix(g, depth, gen_bool, pick(g, 2) ? " and " : " or ");
        break;
    case 1:
        put(g, "(not ");
        gen_bool(g, depth);
        put(g, ")");
        break;
    case 2:
        put(g, "(");
        gen_int(g, depth);
        PUT_ONE_OF(g, " in [1, 2, x + 1])", " not in (7, -3, y))",
                   " in range(0, 50, 7))", " in range(x, y))",
                   " in range(90, -90, -4))", " in [2**i for i in range(9)])",
                   " not in [a] + list(range(3)))");
        break;
    case 3: /* a chain */
        put(g, "(");
        for (unsigned i = 0, n = 3 + pick(g, 3); i < n; i++) {
            if (i)
                put(g, compare[pick(g, WS_COUNT(compare))]);
            side(g, depth - 1);
        }
        put(g, ")");
        break;
    case 4:
        gen_args(g, "is_pow2", 1, depth, gen_int);
        break;
    default:
        gen_infix(g, depth, side, compare[pick(g, WS_COUNT(compare))]);
    }
}

/* --- the comparison --- */

static const struct {
    int64_t a, x, y, z;
    double f, g;
    int p;
} inputs[] = {
    {0, 7, -2, 3, 2.5, -0.75, 1},
    {INT64_MAX, 1, 5, -8, 1e10, 3.0, 0},
    {INT64_MIN, -1, 0, 64, -7.5, 0.1, 1},
    {1000003, 32, 16, -1, 1e-3, 2.0, 0},
};

static void set_vars(size_t i, union wsrt_value *v)
{
    v[0].i = inputs[i].a;
    v[1].i = inputs[i].x;
    v[2].i = inputs[i].y;
    v[3].i = inputs[i].z;
    v[4].f = inputs[i].f;
    v[5].f = inputs[i].g;
    v[6].i = inputs[i].p;
}

static void write_cases(FILE *out, char **text)
{
    struct gen g;

    ws__rng_seed(&g.rng, 20240607);
    for (size_t i = 0; i < COUNT; i++) {
        size_t k = i % WS_COUNT(inputs);

        g.n = 0;
        if (i % 3 == 0)
            gen_int(&g, 1 + (int)(i % 4));
        else if (i % 3 == 1)
            gen_bool(&g, 1 + (int)(i % 4));
        else
            gen_float(&g, 1 + (int)(i % 4));
        text[i] = strdup(g.text);
        fprintf(out, "%lld\t%lld\t%lld\t%lld\t%a\t%a\t%d\t%s\n",
                (long long)inputs[k].a, (long long)inputs[k].x,
                (long long)inputs[k].y, (long long)inputs[k].z, inputs[k].f,
                inputs[k].g, inputs[k].p, g.text);
    }
}

static void compare(struct ws_ctx *ctx, const struct ws__scope *s,
                    const char *text, const union wsrt_value *vars,
                    const char *answer)
{
    const char *message = ws_ctx_error(ctx)->message;
    struct ws__arena a;
    struct ws__expr *e;
    union wsrt_value v;
    bool same;
    int rc;

    ws__arena_init(&a, ctx);
    if (ws__expr_compile(ctx, &a, text, NULL, s, -1, &e) != 0)
        fail_msg("'%s' does not compile: %s", text, message);
    rc = ws__expr_eval(ctx, e, vars, &v);
    if (answer[0] == 'z')
        same = rc < 0 && strstr(message, "division by zero");
    else if (answer[0] == 'e')
        same = rc < 0 && !strstr(message, "division by zero");
    else if (rc < 0)
        same = false;
    else if (answer[0] == 'f')
        same = (e->type == WS__FLOAT ? v.f : (double)v.i) ==
               strtod(answer + 2, NULL);
    else if (e->type == WS__FLOAT)
        same = v.f == (double)strtoll(answer + 2, NULL, 10);
    else
        same = v.i == strtoll(answer + 2, NULL, 10);
    if (!same)
        fail_msg("'%s' (a %lld, x %lld, y %lld, z %lld, f %g, g %g): rc %d, "
                 "%lld or %.17g; python: %s",
                 text, (long long)vars[0].i, (long long)vars[1].i,
                 (long long)vars[2].i, (long long)vars[3].i, vars[4].f,
                 vars[5].f, rc, (long long)v.i, v.f, answer);
    ws__arena_free(&a);
}

static void make_scope(struct ws_ctx *ctx, struct ws__scope *s)
{
    static const struct {
        const char *name;
        enum ws__type type;
    } names[] = {{"a", WS__INT}, {"x", WS__INT},   {"y", WS__INT},
                 {"z", WS__INT}, {"f", WS__FLOAT}, {"g", WS__FLOAT},
                 {"p", WS__BOOL}};

    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < WS_COUNT(names); i++)
        assert_int_equal(ws__scope_add(ctx, s, names[i].name, names[i].type,
                                       NULL),
                         0);
}

static void test_python(void **state)
{
    char dir[] = "/tmp/t_expr_python.XXXXXX", py[64], in[64], line[256];
    static char *text[COUNT];
    union wsrt_value vars[7];
    struct ws_ctx *ctx;
    struct ws__scope scope;
    size_t n = 0, errors = 0;
    FILE *f;

    (void)state;
    if (system("python3 -c 'import ast' 2>/dev/null") != 0)
        SKIP("no python3");
    assert_non_null(mkdtemp(dir));
    snprintf(py, sizeof(py), "%s/run.py", dir);
    snprintf(in, sizeof(in), "%s/cases", dir);
    f = fopen(py, "w");
    assert_non_null(f);
    fputs(script, f);
    fclose(f);
    f = fopen(in, "w");
    assert_non_null(f);
    write_cases(f, text);
    fclose(f);
    snprintf(line, sizeof(line), "python3 -W ignore %s %s", py, in);
    ctx = t_ctx(NULL);
    make_scope(ctx, &scope);
    f = popen(line, "r");
    assert_non_null(f);
    for (; n < COUNT && fgets(line, sizeof(line), f); n++) {
        line[strcspn(line, "\n")] = '\0';
        set_vars(n % WS_COUNT(inputs), vars);
        errors += line[0] == 'z' || line[0] == 'e';
        compare(ctx, &scope, text[n], vars, line);
    }
    assert_int_equal(pclose(f), 0);
    assert_int_equal(n, COUNT);
    /* Most cases must have a value, or little was compared. */
    assert_true(errors < COUNT / 2);
    printf("# %zu values, %zu errors agree\n", COUNT - errors, errors);
    for (size_t i = 0; i < COUNT; i++)
        free(text[i]);
    ws_ctx_free(ctx);
    unlink(py);
    unlink(in);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_python)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
