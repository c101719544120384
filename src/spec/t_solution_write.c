/*
 * t_solution_write.c: the functions that solutions carry compute what our
 * expressions do: expressions printed in C++ are compiled, run, and compared
 * with the evaluator on many values.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "spec/solution.h"
#include "spec/solution_launch.h"

static const char *const texts[] = {
    "a + b * 3 - 2",
    "a // b",
    "-a // b",
    "a % b",
    "-a % b",
    "ceil_div(a, b)",
    "ceil_div(-a, b)",
    "round_up(a, 16)",
    "min(a, b, 5)",
    "max(a, b, 5, 7)",
    "clamp(a, 3, 20)",
    "abs(b - a)",
    "is_pow2(a)",
    "log2_floor(a)",
    "2 ** (a % 10)",
    "a << 2 | b >> 1",
    "(a & 6) ^ ~b",
    "1 < a < b <= 40",
    "a in [1, 2, 16] or b not in [3, 4]",
    "a > 3 and not (b == 7)",
    "a % 3 or b",
    "a % 3 and b",
    "a if a > b else b + 1",
    "a / b > 1.5",
    "int(a * 1.25)",
    "a == 16 and b == 3 && a != b",
    "min(a * 0.5, 3) < b",
};

static int name(void *user, size_t slot, struct ws__buf *out)
{
    (void)user;
    return ws__buf_printf(out, "wsl_v[%zu]", slot);
}

static void print(struct ws_ctx *ctx, struct ws__arena *arena,
                  struct ws__scope *scope, FILE *f, struct ws__expr **e)
{
    fputs(ws__solution_launch, f);
    fputs("#include <stdio.h>\nint main() {\n"
          "for (int64_t a = 1; a < 40; a++) for (int64_t b = 1; b < 9; b++) {\n"
          "const int64_t wsl_v[] = {a, b}; (void)wsl_v;\n",
          f);
    for (size_t i = 0; i < WS_COUNT(texts); i++) {
        struct ws__buf b;

        ws__buf_init(&b, ctx, 10000);
        assert_int_equal(ws__expr_compile(ctx, arena, texts[i], NULL, scope, -1,
                                          &e[i]),
                         0);
        assert_int_equal(ws__expr_print_c(ctx, e[i], scope, name, NULL, &b), 0);
        fprintf(f, "printf(\"%%lld\\n\", (long long)%s);\n", b.data);
        ws__buf_free(&b);
    }
    fputs("}\n}\n", f);
}

static void t_same_values(void **state)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__scope scope = {0};
    struct ws__expr *e[WS_COUNT(texts)];
    char dir[] = "/tmp/ws_solution_XXXXXX", line[600];
    struct ws__arena arena;
    size_t n = 0;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(dir));
    ws__arena_init(&arena, ctx);
    assert_int_equal(ws__scope_add(ctx, &scope, "a", WS__INT, NULL), 0);
    assert_int_equal(ws__scope_add(ctx, &scope, "b", WS__INT, NULL), 0);
    snprintf(line, sizeof(line), "%s/p.cpp", dir);
    f = fopen(line, "w");
    assert_non_null(f);
    print(ctx, &arena, &scope, f, e);
    fclose(f);
    snprintf(line, sizeof(line),
             "g++ -w -I%s/tests/data/solution -o %s/p %s/p.cpp -c && echo ok",
             getenv("WS_ROOT") ? getenv("WS_ROOT") : ".", dir, dir);
    f = popen(line, "r");
    assert_non_null(f);
    if (!fgets(line, sizeof(line), f) || strcmp(line, "ok\n") != 0)
        fail_msg("g++ does not compile the expressions");
    pclose(f);
    /* The launch is never called: the runtime's functions may be missing. */
    snprintf(line, sizeof(line),
             "cd %s && mv p p.o && g++ -Wl,--unresolved-symbols=ignore-all -o "
             "p p.o && ./p",
             dir);
    f = popen(line, "r");
    assert_non_null(f);
    for (int64_t a = 1; a < 40; a++)
        for (int64_t b = 1; b < 9; b++)
            for (size_t i = 0; i < WS_COUNT(texts); i++) {
                const union wsrt_value vars[2] = {{.i = a}, {.i = b}};
                union wsrt_value v;

                assert_int_equal(ws__expr_eval(ctx, e[i], vars, &v), 0);
                assert_non_null(fgets(line, sizeof(line), f));
                if (strtoll(line, NULL, 10) != v.i)
                    fail_msg("%s of a=%lld, b=%lld: %lld, not %s", texts[i],
                             (long long)a, (long long)b, (long long)v.i, line);
                n++;
            }
    assert_null(fgets(line, sizeof(line), f));
    assert_int_equal(pclose(f), 0);
    assert_int_equal(n, 39 * 8 * WS_COUNT(texts));
    snprintf(line, sizeof(line), "%s/p.cpp", dir);
    unlink(line);
    snprintf(line, sizeof(line), "%s/p.o", dir);
    unlink(line);
    snprintf(line, sizeof(line), "%s/p", dir);
    unlink(line);
    rmdir(dir);
    ws__arena_free(&arena);
    ws_ctx_free(ctx);
}

/* What has no counterpart is said, with its place. */
static void t_refused(void **state)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__scope scope = {0};
    struct ws__arena arena;
    struct ws__expr *e;
    struct ws__buf b;

    (void)state;
    ws__arena_init(&arena, ctx);
    assert_int_equal(ws__scope_add(ctx, &scope, "a", WS__INT, NULL), 0);
    assert_int_equal(ws__scope_add(ctx, &scope, "b", WS__INT, NULL), 0);
    ws__buf_init(&b, ctx, 10000);
    assert_int_equal(ws__expr_compile(ctx, &arena, "a in range(b, 40)", NULL,
                                      &scope, -1, &e),
                     0);
    assert_int_equal(ws__expr_print_c(ctx, e, &scope, name, NULL, &b),
                     WS_ENOTSUP);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "in C++"));
    ws__buf_free(&b);
    ws__arena_free(&arena);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_same_values),
        cmocka_unit_test(t_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
