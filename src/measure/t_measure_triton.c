/*
 * t_measure_triton.c: kernels in Triton through the protocol: a launch runs its
 * own file, so a candidate is several modules; what did not compile is the
 * verdict `build` with the compiler's words, what nobody compiled is filtered.
 *
 * Files hold texts for the null device here, in the place of cubins.
 */
#include "measure/t_measure_fixture.h"

#define FIRST "first('*fp32', '*fp32:16', 'i32', "
#define SECOND "second('*fp32:16', '*fp32', 'i32', EVEN=True, "

static struct ws__source_file file[4];
static struct ws__meta even = {.name = "EVEN", .type_axis = -1};

static void set_file(struct ws__source_file *f, const char *key,
                     const char *entry, const char *text, const char *failed)
{
    *f = (struct ws__source_file){.name = entry,
                                  .data = text,
                                  .bytes = text ? strlen(text) : 0,
                                  .key = key,
                                  .entry = entry,
                                  .threads = 32,
                                  .shared_bytes = 64,
                                  .nulls = 2,
                                  .failed = failed};
    if (text)
        f->hash = ws__hash_bytes(text, f->bytes);
}

static void set_launch(struct t_case *c, size_t i, const char *entry)
{
    struct ws__launch *l = &c->kernel.launch[i];

    *l = (struct ws__launch){.entry = entry,
                             .narg = 3,
                             .warps = t_expr(c, "V + 1"),
                             .stages = t_expr(c, "1")};
    l->grid[0] = t_expr(c, "N");
    l->arg[i == 0].kind = WS__ARG_SCRATCH;
    l->arg[i == 0].dtype = WS__DT_F32;
    l->arg[i != 0].kind = WS__ARG_TENSOR;
    l->arg[i != 0].index = i;
    l->arg[2].kind = WS__ARG_VALUE;
    l->arg[2].dtype = WS__DT_I32;
    l->arg[2].expr = t_expr(c, "N");
}

/* A to scratch, doubled, by one file; scratch to C by another. */
static struct t_case *make_case(struct ws_ctx *ctx, const char *second)
{
    struct t_case *c = t_case_new(ctx, "");

    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "null";
    t_script.stands = true;
    if (!c)
        return NULL;
    set_file(&file[0], FIRST "num_warps=1, num_stages=1)", "first",
             "kernel first\nmul 1 0 2\n", NULL);
    set_file(&file[1], FIRST "num_warps=2, num_stages=1)", "first",
             "kernel first\nmul 1 0 2\n", NULL);
    set_file(&file[2], SECOND "num_warps=1, num_stages=1)", "second", second,
             NULL);
    set_file(&file[3], SECOND "num_warps=2, num_stages=1)", "", NULL,
             "CompilationError: no power of 2");
    c->kernel.dialect = WS__DIALECT_TRITON;
    c->kernel.triton = "3.6.0 sm_90";
    c->kernel.source_file = "k.py";
    c->kernel.ready = file;
    c->kernel.nready = 4;
    c->kernel.scratch[0] =
        (struct ws__scratch){.name = "half", .bytes = t_expr(c, "4 * N")};
    c->kernel.nscratch = 1;
    c->kernel.nlaunch = 2;
    set_launch(c, 0, "first");
    set_launch(c, 1, "second");
    even.expr = t_expr(c, "N % 64 == 0");
    c->kernel.launch[1].meta = &even;
    c->kernel.launch[1].nmeta = 1;
    return c;
}

static struct ws__hash ask(struct ws_ctx *ctx, struct ws__measure *m, int v,
                           enum ws__verdict verdict, const char *words)
{
    struct ws__question q = t_question((uint64_t)v + 1, v, 0);
    struct ws__trial t[2];
    struct ws__hash h;

    assert_int_equal(t_answer(m, &q, t), 0);
    if (t[0].verdict != verdict)
        fail_msg("V=%d: %s", v, t[0].reason ? t[0].reason : "other verdict");
    if (words)
        T_ASSERT_HAS(t[0].reason, words);
    h = t[0].candidate_hash;
    t_clear(ctx, t);
    return h;
}

static void answers(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = make_case(ctx, "kernel second\ncopy 1 0\n");
    struct ws__measure *m;
    struct ws__hash h, other;
    char reason[256];
    struct ws__question q = t_question(1, 2, 0);

    (void)state;
    assert_int_equal(t_measure_open(c, NULL, &m), 0);
    h = ask(ctx, m, 0, WS__V_OK, NULL);
    assert_int_equal(t_script.builds, 2);
    ask(ctx, m, 0, WS__V_OK, NULL);
    assert_int_equal(t_script.builds, 2);
    ask(ctx, m, 1, WS__V_BUILD, "no power of 2");
    ask(ctx, m, 2, WS__V_FILTERED, "not compiled: first(");
    assert_int_equal(ws__measure_fits(m, &q.a, 0, reason), 0);
    T_ASSERT_HAS(reason, "num_warps=3");
    ws__measure_close(m);
    t_case_free(c);
    /* Triton's version is a part of what a candidate is. */
    c = make_case(ctx, "kernel second\ncopy 1 0\n");
    c->kernel.triton = "3.7.0 sm_90";
    assert_int_equal(t_measure_open(c, NULL, &m), 0);
    other = ask(ctx, m, 0, WS__V_OK, NULL);
    assert_false(ws__hash_eq(h, other));
    ws__measure_close(m);
    t_case_free(c);
    /* The second file alone is wrong. */
    c = make_case(ctx, "kernel second\nfill 1 0\n");
    assert_int_equal(t_measure_open(c, NULL, &m), 0);
    other = ask(ctx, m, 0, WS__V_WRONG, NULL);
    assert_false(ws__hash_eq(h, other));
    ws__measure_close(m);
    t_case_free(c);
    ws_ctx_free(ctx);
}

/* --- compiled when it is asked for ---------------------------------------- */

struct maker {
    struct t_case *c;
    int asked, rc;
    int64_t n; /* of the last launch */
};

static int compile(void *user, const struct ws__kernel *k,
                   const union wsrt_value *vars)
{
    struct maker *x = user;

    assert_ptr_equal(k, &x->c->kernel);
    x->asked++;
    x->n = vars[0].i;
    x->c->kernel.nready = 4;
    return x->rc;
}

static void on_demand(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = make_case(ctx, "kernel second\ncopy 1 0\n");
    struct maker x = {.c = c};
    const struct ws__measure_opts o = {.builders = 1,
                                       .cache = WS__CACHE_WARM,
                                       .ready = compile,
                                       .ready_user = &x};
    struct ws__question q = t_question(1, 0, 0);
    struct ws__trial t[2];
    struct ws__measure *m;
    char reason[256];

    (void)state;
    c->kernel.nready = 0;
    assert_int_equal(t_measure_open(c, &o, &m), 0);
    /* Who asks whether it fits compiles nothing. */
    assert_int_equal(ws__measure_fits(m, &q.a, 0, reason), 1);
    assert_int_equal(x.asked, 0);
    ask(ctx, m, 0, WS__V_OK, NULL);
    assert_true(x.asked >= 1);
    assert_int_equal(x.n, c->workload[0].axis[0]);
    ask(ctx, m, 1, WS__V_BUILD, "no power of 2");
    /* What nobody compiles is filtered. */
    ask(ctx, m, 2, WS__V_FILTERED, "not compiled: first(");
    /* A compiler that is gone is no fault of a candidate. */
    x.rc = WS_EREFERENCE;
    assert_int_equal(t_answer(m, &q, t), WS_EREFERENCE);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
    ws_ctx_free(ctx);
}

/* The second of two builds fails. */
static void half_built(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = make_case(ctx, "kernel second\ncopy 1 0\n");
    struct ws__measure *m;

    (void)state;
    assert_int_equal(t_measure_open(c, NULL, &m), 0);
    set_file(&file[2], file[2].key, "second", "kernel other\n", NULL);
    ask(ctx, m, 0, WS__V_BUILD, "no kernel 'second'");
    ws__measure_close(m);
    assert_int_equal(t_script.live, 0);
    t_case_free(c);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers),
                                       cmocka_unit_test(on_demand),
                                       cmocka_unit_test(half_built)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
