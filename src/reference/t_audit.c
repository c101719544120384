/*
 * t_audit.c: is the checker of an op told from one that judges nothing?
 *
 * Small operators whose reference is a function of the test: an honest one is
 * fit; one whose result is constant, the same for every seed, independent of an
 * input, no number, or hidden by a loose tolerance is refused, with the reason.
 */
#include "base/t_base.h"

#include <math.h>

#include "reference/refpriv.h"

#define ROWS 24
#define COLS 40
#define MAX_LINES 200

enum { X, Y, OUT };

static const struct ws__workload no_workload;

/* OUT[ROWS, COLS] of X[ROWS, COLS] and Y[COLS]. */
struct sample {
    struct ws__op op;
    struct ws__instance in;
    double (*element)(double x, double y, size_t i);
    const char *fails; /* what the reference says */
    /* What the audit told. */
    struct ws__audit_line line[MAX_LINES];
    char text[MAX_LINES][2][300];
    size_t nline, refused, stop_at;
    int runs;
    bool by_seed;  /* the result also depends on the seed of the run */
    double wobble; /* how much it changes from run to run */
};

static double product(double x, double y, size_t i)
{
    (void)i;
    return x * y;
}

static void shape(struct sample *s, size_t t, int64_t rows, enum ws__dtype d)
{
    struct ws__tensor_shape *to = &s->in.shape[t];

    *to = (struct ws__tensor_shape){
        .ndim = 2,
        .dim = {rows, COLS},
        .stride = {COLS, 1},
        .dtype = d,
        .elements = (uint64_t)rows * COLS,
        .bytes = (uint64_t)rows * COLS * ws__dtype_bytes(d),
        .contiguous = true,
    };
    s->op.tensor[t].ndim = 2;
    s->op.tensor[t].align = 1;
    s->op.tensor[t].fill = (struct ws__fill){WS__FILL_NORMAL, 0, 1};
}

static void make(struct sample *s, double (*element)(double, double, size_t))
{
    static const char *const name[] = {"X", "Y", "OUT"};

    memset(s, 0, sizeof(*s));
    s->op.name = "sample";
    s->op.ntensor = 3;
    s->op.tolerance.accumulate = WS__DT_F32;
    for (size_t t = 0; t < 3; t++) {
        s->op.tensor[t].name = name[t];
        s->op.tensor[t].role = t == OUT ? WS__OUTPUT : WS__INPUT;
        shape(s, t, t == Y ? 1 : ROWS, WS__DT_F32);
    }
    s->in.op = &s->op;
    s->in.workload = &no_workload;
    s->in.reduction = 1;
    s->element = element;
}

static int run(void *self, struct ws__problem *p)
{
    struct sample *s = self;

    s->runs++;
    if (s->fails)
        return ws__fail(p->ctx, WS_EREFERENCE, "%s", s->fails);
    for (size_t i = 0; i < ROWS * COLS; i++)
        p->result[OUT][i] =
            s->element(ws__dtype_get(s->in.shape[X].dtype, p->input[X], i),
                       ws__dtype_get(s->in.shape[Y].dtype, p->input[Y],
                                     i % COLS),
                       i) +
            s->runs * s->wobble + (s->by_seed ? (double)(p->seed % 64) : 0);
    return 0;
}

static int keep(void *user, const struct ws__audit_line *line)
{
    struct sample *s = user;
    size_t n = s->nline;

    if (s->stop_at && n == s->stop_at)
        return WS_ECANCEL;
    assert_true(n < MAX_LINES);
    s->line[n] = *line;
    snprintf(s->text[n][0], 300, "%s", line->name);
    snprintf(s->text[n][1], 300, "%s", line->why ? line->why : "");
    s->refused += line->end == WS__AUDIT_REFUSED;
    s->nline++;
    return 0;
}

static int audit(struct ws_ctx *ctx, struct sample *s)
{
    struct ws__audit a = {.run = run,
                          .self = s,
                          .threads = 1,
                          .seed = 3,
                          .tell = keep,
                          .user = s};

    return ws__audit_run(ctx, &s->in, &a);
}

/* The line of that name. */
static const struct ws__audit_line *find(const struct sample *s,
                                         const char *name)
{
    for (size_t i = 0; i < s->nline; i++)
        if (!strcmp(s->text[i][0], name))
            return &s->line[i];
    fail_msg("no line '%s'", name);
    return NULL;
}

static const char *why(const struct sample *s, const char *name)
{
    return s->text[find(s, name) - s->line][1];
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' has no '%s'", text, part);
}

static void test_fit(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;
    size_t rejected = 0;

    (void)state;
    make(&s, product);
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(s.refused, 0);
    for (size_t i = 0; i < s.nline; i++)
        rejected += s.line[i].kind == WS__AUDIT_RESULT &&
                    s.line[i].end == WS__AUDIT_FINE;
    assert_int_equal(rejected, 16);
    assert_true(find(&s, "all zero")->share > 1e3);
    assert_true(
        isinf(find(&s, "not written in the last tile of 16 x 16")->share));
    assert_int_equal(find(&s, "zero beyond a multiple of 32 of a row")->end,
                     WS__AUDIT_FINE);
    assert_int_equal(find(&s, "rounded to the next narrower type")->end,
                     WS__AUDIT_FINE);
    /* tf32 is within a hundredth, and not within a hundred-thousandth. */
    assert_false(find(&s, "rounded to the next narrower type")->rejected[0]);
    assert_true(find(&s, "rounded to the next narrower type")->rejected[1]);
    assert_int_equal(find(&s, "inputs rounded to fewer bits")->end,
                     WS__AUDIT_FINE);
    assert_int_equal(find(&s, "X")->end, WS__AUDIT_FINE);
    assert_int_equal(find(&s, "Y")->end, WS__AUDIT_FINE);
    assert_int_equal(find(&s, "huge")->end, WS__AUDIT_FINE);
    assert_true(find(&s, "x3")->tried == find(&s, "x3")->caught);
    assert_string_equal(why(&s, "signs"), "the op's fills lie around zero");
    ws_ctx_free(ctx);
}

/* What is declared to be rough may be rough. */
static void test_declared(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    make(&s, product);
    s.op.tolerance.accumulate = WS__DT_F16;
    s.op.refused[WS__FAMILY_HUGE] = "not for such values";
    s.op.refused[WS__FAMILY_SPIKES] = "errors grow";
    s.op.finite[WS__FAMILY_SPIKES] = true;
    s.op.refused[WS__FAMILY_MINUS] = "none is negative"; /* nor are some */
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(s.refused, 0);
    assert_has(why(&s, "rounded to the next narrower type"), "no more exact");
    assert_int_equal(find(&s, "inputs rounded to fewer bits")->end,
                     WS__AUDIT_NONE);
    assert_int_equal(find(&s, "huge")->end, WS__AUDIT_NONE);
    assert_string_equal(why(&s, "huge"), "not for such values");
    assert_int_equal(find(&s, "spikes")->end, WS__AUDIT_FINE);
    assert_int_equal(find(&s, "spikes")->tried, 0);
    assert_string_equal(why(&s, "signs"), "none is negative");
    ws_ctx_free(ctx);
}

static double constant(double x, double y, size_t i)
{
    (void)x;
    (void)y;
    (void)i;
    return 0.5;
}

static double place(double x, double y, size_t i)
{
    (void)x;
    (void)y;
    return (double)i;
}

static double nearly(double x, double y, size_t i)
{
    (void)i;
    return 1000 + 1e-5 * x * y;
}

static double one_input(double x, double y, size_t i)
{
    (void)i;
    return x + 1e-12 * y;
}

static double scarcely(double x, double y, size_t i)
{
    (void)i;
    return x + 1e-7 * y;
}

static double by_row(double x, double y, size_t i)
{
    return (double)(i / COLS) + 1e-9 * x * y;
}

static double no_number(double x, double y, size_t i)
{
    (void)y;
    return i == 700 ? (double)NAN : x;
}

static double infinite(double x, double y, size_t i)
{
    return i == 700 ? HUGE_VAL : x * y;
}

static double root(double x, double y, size_t i)
{
    (void)i;
    return sqrt(x) * y;
}

#define SOUND "the reference is of numbers, and other ones for another seed"

/* Which line refuses, and why. */
static const struct {
    double (*element)(double, double, size_t);
    const char *name, *why;
} unfit[] = {
    {constant, SOUND, "same for two seeds"},
    {place, SOUND, "same for two seeds"},
    {nearly, "its mean everywhere", "too tame"},
    {nearly, "the result of another seed", "too tame"},
    {by_row, "its mean along dimension 1", "too tame"},
    {one_input, "Y", "no result depends on it"},
    {scarcely, "Y", "too tame"},
    {no_number, SOUND, "no number"},
    {infinite, SOUND, "infinite: true"},
};

static void test_unfit(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(unfit); i++) {
        struct sample s;

        make(&s, unfit[i].element);
        assert_int_equal(audit(ctx, &s), 0);
        assert_true(s.refused > 0);
        assert_int_equal(find(&s, unfit[i].name)->end, WS__AUDIT_REFUSED);
        assert_has(why(&s, unfit[i].name), unfit[i].why);
    }
    ws_ctx_free(ctx);
}

#define REPEATED "the same results each time for the same inputs"

/* Nobody is judged by what changes from run to run: nothing else is told. */
static void test_not_deterministic(void **state)
{
    static struct ws__kernel kernel;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    for (int i = 0; i < 5; i++) {
        bool fit = i == 3;

        make(&s, product);
        s.by_seed = i == 1;
        s.wobble = i == 1 ? 0 : i >= 3 ? 1e-7 : 1e-16;
        kernel.order_dependent = i >= 3;
        if (i >= 2) /* may add in any order, within the tolerance */
            s.op.trusted.kernel = &kernel;
        if (i == 4)
            s.wobble = 1e-4;
        assert_int_equal(audit(ctx, &s), 0);
        assert_int_equal(find(&s, REPEATED)->end,
                         fit ? WS__AUDIT_FINE : WS__AUDIT_REFUSED);
        assert_int_equal(s.refused, fit ? 0 : 1);
        if (!fit) {
            assert_int_equal(s.nline, 1);
            assert_has(why(&s, REPEATED), "not deterministic");
            assert_has(why(&s, REPEATED), "of 960 elements, the first at ");
        }
    }
    make(&s, no_number);
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(s.nline, 1);
    ws_ctx_free(ctx);
}

static double even(double x, double y, size_t i)
{
    return i % COLS < COLS - 16 ? x * x * y : y;
}

static double faint(double x, double y, size_t i)
{
    return i % COLS < COLS - 16 ? x * y : y + 1e-9 * x;
}

/* Inputs as a kernel misreads them: a mistake where it matters. */
static void test_misread(void **state)
{
    static const char signs[] = "inputs without their signs";
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    make(&s, product);
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(find(&s, signs)->end, WS__AUDIT_FINE);
    assert_int_equal(find(&s, "'X' without the last 16 of dim 0")->end,
                     WS__AUDIT_FINE);
    assert_int_equal(find(&s, "'Y' without the last 16 of dim 1")->end,
                     WS__AUDIT_FINE);
    make(&s, even);
    s.op.tensor[Y].fill = (struct ws__fill){WS__FILL_UNIFORM, 1, 2};
    assert_int_equal(audit(ctx, &s), 0);
    assert_has(why(&s, signs), "it changes nothing");
    assert_has(why(&s, "'X' without the last 16 of dim 1"),
               "it changes nothing");
    make(&s, faint);
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(s.refused, 1);
    assert_int_equal(find(&s, "'X' without the last 16 of dim 1")->end,
                     WS__AUDIT_REFUSED);
    ws_ctx_free(ctx);
}

/* One wrong element is a mistake unless some may be wrong. */
static void test_one_element(void **state)
{
    static const char one[] = "zero in one element";
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    make(&s, product);
    s.op.tolerance = ws__tolerance_named(1);
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(find(&s, one)->end, WS__AUDIT_FINE);
    make(&s, product);
    s.op.tolerance = ws__tolerance_named(1);
    s.op.tolerance.ratio = 0.99;
    assert_int_equal(audit(ctx, &s), 0);
    assert_has(why(&s, one), "declared to be wrong");
    ws_ctx_free(ctx);
}

/* An infinity that the op declares; a root of what is positive, but not of
 * other signs. */
static void test_families_of(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    make(&s, infinite);
    s.op.tensor[OUT].infinite = true;
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(find(&s, SOUND)->end, WS__AUDIT_FINE);
    make(&s, root);
    s.op.tensor[X].fill = (struct ws__fill){WS__FILL_UNIFORM, 1, 2};
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(s.refused, 3);
    assert_int_equal(find(&s, "x-1")->end, WS__AUDIT_REFUSED);
    assert_int_equal(find(&s, "signs")->end, WS__AUDIT_REFUSED);
    assert_int_equal(find(&s, "one-sided")->end, WS__AUDIT_REFUSED);
    assert_has(why(&s, "x-1"), "values: {x-1: why}");
    make(&s, root);
    s.op.tensor[X].fill = (struct ws__fill){WS__FILL_UNIFORM, 1, 2};
    s.op.refused[WS__FAMILY_MINUS] = "no root of it"; /* says all three */
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(s.refused, 0);
    ws_ctx_free(ctx);
}

/* Results of a thousandth pass as zero within 1e-2. */
static void test_loose(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    for (int rule = 0; rule < 2; rule++) {
        make(&s, product);
        s.op.tensor[X].fill.b = 1e-4;
        s.op.tolerance = ws__tolerance_named(rule);
        assert_int_equal(audit(ctx, &s), 0);
        if (rule) {
            assert_int_equal(s.refused, 0);
            continue;
        }
        assert_int_equal(find(&s, "all zero")->end, WS__AUDIT_REFUSED);
        assert_true(find(&s, "all zero")->share < 1);
        assert_has(why(&s, "all zero"), "atol 0.01 and rtol 0.01");
        /* Not what fails by itself. */
        assert_int_equal(
            find(&s, "not written in the last tile of 16 x 16")->end,
            WS__AUDIT_FINE);
    }
    ws_ctx_free(ctx);
}

/* At run time the first of the same mistakes, with the same end. */
static void test_admission(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__problem *p;
    struct sample s;

    (void)state;
    for (int i = 0; i < 3; i++) {
        make(&s, i == 1 ? nearly : product);
        if (i == 2) {
            s.op.tensor[X].fill.b = 1e-4;
            s.op.tolerance = ws__tolerance_named(0);
        }
        assert_int_equal(ws__problem_new(ctx, &s.in, &p), 0);
        assert_int_equal(ws__problem_fill(p, NULL, 3, 1), 0);
        assert_int_equal(run(&s, p), 0);
        assert_int_equal(ws__reference_admit(ctx, p), i ? WS_EREFERENCE : 0);
        if (i)
            assert_has(ws_ctx_error(ctx)->message,
                       i == 1 ? "when it is moved by one element"
                              : "when it is all zero");
        ws__problem_free(p);
    }
    ws_ctx_free(ctx);
}

/* A result that is one value everywhere, for every seed; not where it is only
 * the same everywhere, or the inputs are the same. */
static void test_constant_results(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__problem *p, *other;
    struct sample s;
    size_t t = 99, y;

    (void)state;
    make(&s, product);
    assert_int_equal(ws__problem_new(ctx, &s.in, &p), 0);
    assert_int_equal(ws__problem_new(ctx, &s.in, &other), 0);
    assert_int_equal(ws__problem_fill(p, NULL, 3, 1), 0);
    assert_int_equal(ws__problem_fill(other, NULL, 4, 1), 0);
    assert_int_equal(run(&s, p), 0);
    assert_int_equal(run(&s, other), 0);
    assert_int_equal(ws__reference_constant(p, NULL, &t), 0);
    for (y = 0; !p->result[y]; y++)
        ;
    for (uint64_t i = 0; i < s.in.shape[y].elements; i++)
        p->result[y][i] = 1 + (double)i * 1e-15; /* 1 in its type */
    assert_int_equal(ws__reference_constant(p, NULL, &t), 1);
    assert_int_equal(t, y);
    assert_int_equal(ws__reference_constant(p, other, &t), 0);
    for (uint64_t i = 0; i < s.in.shape[y].elements; i++)
        other->result[y][i] = 2;
    assert_int_equal(ws__reference_constant(p, other, &t), 0);
    for (uint64_t i = 0; i < s.in.shape[y].elements; i++)
        other->result[y][i] = 1;
    assert_int_equal(ws__reference_constant(p, other, &t), 1);
    assert_int_equal(ws__problem_fill(other, NULL, 3, 1), 0);
    assert_int_equal(ws__reference_constant(p, other, &t), 0);
    ws__problem_free(other);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

/* Constants change by themselves; what nothing changes tells nothing. */
static void test_fixed_inputs(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    make(&s, product);
    s.op.tensor[Y].fill = (struct ws__fill){WS__FILL_CONSTANT, 2, 0};
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(s.refused, 0);
    assert_int_equal(find(&s, "Y")->end, WS__AUDIT_FINE);
    shape(&s, Y, 1, WS__DT_I32);
    s.op.tensor[Y].fill = (struct ws__fill){WS__FILL_CONSTANT, 2, 0};
    s.nline = 0;
    assert_int_equal(audit(ctx, &s), 0);
    assert_int_equal(find(&s, "Y")->end, WS__AUDIT_NONE);
    assert_has(why(&s, "Y"), "the same for every seed");
    ws_ctx_free(ctx);
}

static void test_ends(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct sample s;

    (void)state;
    make(&s, product);
    s.fails = "it is not in the mood";
    assert_int_equal(audit(ctx, &s), WS_EREFERENCE);
    for (size_t at = 1; at < 28; at += 4) {
        make(&s, product);
        s.stop_at = at;
        assert_int_equal(audit(ctx, &s), WS_ECANCEL);
        assert_int_equal(s.nline, at);
    }
    ws_ctx_free(ctx);
}

/* Seven significant values of each width. */
static void test_bits(void **state)
{
    (void)state;
    assert_true(ws__round_bits(1.25, 2) == 1); /* to even */
    assert_true(ws__round_bits(1.75, 2) == 2);
    assert_true(ws__round_bits(1.251, 2) == 1.5);
    assert_true(ws__round_bits(-3e-40, 53) == -3e-40);
    assert_true(isinf(ws__round_bits(HUGE_VAL, 8)));
    assert_true(ws__round_bits(0, 8) == 0);
    assert_true(fabs(ws__round_bits(M_PI, 11) - M_PI) < 0x1p-10);
    assert_true(ws__round_bits(M_PI, 11) != M_PI);
    assert_int_equal(ws__lower_bits(WS__DT_I32), 0);
    assert_int_equal(ws__lower_bits(WS__DT_F32), 11);
}

static int whole(struct ws_ctx *ctx, void *user)
{
    struct sample *s = user;

    make(s, product);
    return audit(ctx, s);
}

static void test_memory(void **state)
{
    struct sample s;

    (void)state;
    assert_true(t_torture(whole, &s) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_unfit),
        cmocka_unit_test(test_families_of),
        cmocka_unit_test(test_not_deterministic),
        cmocka_unit_test(test_misread),
        cmocka_unit_test(test_one_element),
        cmocka_unit_test(test_loose),
        cmocka_unit_test(test_admission),
        cmocka_unit_test(test_constant_results),
        cmocka_unit_test(test_fixed_inputs),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
