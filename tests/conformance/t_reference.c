/*
 * t_reference.c: what every shipped operator promises, for each member of
 * the generated table of native references.
 *
 * The smallest workloads of its file, the awkward ones of its t_shapes.yaml,
 * and odd ones inside its ranges: every axis near the ends of its range and
 * beside powers of two, every type. On each the reference runs in its worker,
 * in one thread and in two, with the same bits; its results are numbers and,
 * rounded to the output's type, pass the comparison; every mutant is rejected.
 * Each kernel's default keeps its constraints on some workload, on a CPU or on
 * a GPU, and the OpenCL device finds it right. The same of the examples of own
 * operators, whose references are in Python and a trusted kernel: the generic
 * mistakes are their mutants.
 */
#include "base/t_base.h"

#include <math.h>
#include <unistd.h>

#include "base/hash.h"
#include "reference/reference.h"
#include "spec/spec.h"

#define LIMIT_NS 60000000000u
#define POISON 0xffc1ffc1u
#define SMALLEST 1
#define ODD 12
#define MAX_BYTES ((double)(64 << 20))
#define MAX_ODD_BYTES ((double)(1 << 20))
#define MAX_MUTANTS 64

static struct ws_ctx *ctx;

static struct ws__spec *load_op(const char *name)
{
    static const struct ws__spec_opts opts = {.share_dir = "ops"};
    struct ws__spec *s;
    char path[200];

    snprintf(path, sizeof(path), "ops/%s", name);
    if (ws__spec_load(ctx, path, &opts, &s) < 0)
        fail_msg("%s:%u: %s", ws_ctx_error(ctx)->file, ws_ctx_error(ctx)->line,
                 ws_ctx_error(ctx)->message);
    return s;
}

/* ---- workloads ---------------------------------------------------------- */

static double bytes_of(const struct ws__spec *s, const struct ws__workload *w)
{
    struct ws__instance in;
    double sum = 0;

    if (ws__instance_make(ctx, s->op, w, &in) < 0)
        return HUGE_VAL;
    for (size_t i = 0; i < s->op->ntensor; i++)
        sum += (double)in.shape[i].bytes;
    return sum;
}

/* The shipped workload of rank `rank` by size. */
static const struct ws__workload *smallest(const struct ws__spec *s,
                                           size_t rank)
{
    for (size_t i = 0; i < s->nworkload; i++) {
        double bytes = bytes_of(s, &s->workload[i]);
        size_t before = 0;

        for (size_t j = 0; j < s->nworkload; j++) {
            double other = bytes_of(s, &s->workload[j]);

            before += other < bytes || (other == bytes && j < i);
        }
        if (before == rank)
            return &s->workload[i];
    }
    return NULL;
}

/* A length that is near the end of its range, or beside a power of two. */
static int64_t odd_length(const struct ws__axis *a, struct ws__rng *rng)
{
    static const int64_t lengths[] = {1, 2, 3, 7, 17, 33, 65, 100, 129, 513};
    uint64_t pick = ws__rng_below(rng, WS_COUNT(lengths) + 1);
    int64_t v = pick < WS_COUNT(lengths) ? lengths[pick] : a->lo;

    if (!a->hi)
        return v;
    return v < a->lo ? a->lo + v % 3 : v > a->hi ? a->hi : v;
}

static bool odd_workload(const struct ws__spec *s, struct ws__rng *rng,
                         struct ws__workload *w)
{
    for (int tries = 0; tries < 1000; tries++) {
        memset(w, 0, sizeof(*w));
        w->name = "odd";
        for (size_t i = 0; i < s->op->naxis; i++) {
            const struct ws__axis *a = &s->op->axis[i];

            if (a->kind == WS__AXIS_VAR)
                w->axis[i] = odd_length(a, rng);
            else if (a->kind == WS__AXIS_TYPE)
                w->axis[i] = a->types[ws__rng_below(rng, a->ntypes)];
            else
                w->axis[i] = a->value;
        }
        if (bytes_of(s, w) <= MAX_ODD_BYTES)
            return true;
    }
    return false;
}

/* ---- references --------------------------------------------------------- */

struct truth {
    struct ws__instance in;
    struct ws__problem *p;
    double *want[WS__MAX_TENSORS];
    void *got[WS__MAX_TENSORS];
};

static void must(int rc, const struct ws__instance *in, const char *what)
{
    struct ws__buf b;

    if (rc >= 0)
        return;
    ws__buf_init(&b, ctx, 4096);
    ws__workload_print(&b, in->op, in->workload);
    fail_msg("%s, %s: %s: %s", in->op->name, b.data, what,
             ws_ctx_error(ctx)->message);
}

static void no(const struct ws__instance *in, const char *what)
{
    must(ws__fail(ctx, WS_EREFERENCE, "no"), in, what);
}

/* As a kernel would write it: the result in the tensor's type and strides. */
static void store(const struct ws__tensor_shape *s, const double *from,
                  void *to)
{
    const uint32_t poison = POISON;

    for (uint64_t i = 0; i + 4 <= s->bytes; i += 4)
        memcpy((char *)to + i, &poison, 4);
    for (uint64_t i = 0; i < s->elements; i++) {
        uint64_t at = 0, rest = i;

        for (size_t d = s->ndim; d-- > 0;) {
            at += rest % (uint64_t)s->dim[d] * (uint64_t)s->stride[d];
            rest /= (uint64_t)s->dim[d];
        }
        ws__dtype_set(s->dtype, to, (size_t)at, from[i]);
    }
}

/* Does the comparison accept what p->result holds? */
static bool accepted(struct truth *t)
{
    bool all = true;

    for (size_t i = 0; i < t->in.op->ntensor; i++) {
        struct ws__mismatch m;
        int rc;

        if (!t->want[i])
            continue;
        store(&t->in.shape[i], t->p->result[i], t->got[i]);
        rc = ws__compare(ctx, &t->in, i, t->got[i], t->want[i], 0, POISON, &m);
        must(rc, &t->in, "comparing");
        all = all && rc == 1;
    }
    return all;
}

static void keep_truth(struct truth *t)
{
    for (size_t i = 0; i < t->in.op->ntensor; i++) {
        const struct ws__tensor_shape *s = &t->in.shape[i];

        if (!t->p->result[i])
            continue;
        t->want[i] = ws__alloc(ctx, s->elements, sizeof(double));
        t->got[i] = ws__alloc(ctx, s->bytes + 8, 1);
        assert_true(t->want[i] && t->got[i]);
        memcpy(t->want[i], t->p->result[i], s->elements * sizeof(double));
        for (uint64_t e = 0; e < s->elements; e++)
            if (isnan(t->want[i][e]))
                no(&t->in, "the reference is no number");
    }
}

static void same_bits(const struct truth *t)
{
    for (size_t i = 0; i < t->in.op->ntensor; i++)
        if (t->want[i] && memcmp(t->want[i], t->p->result[i],
                                 t->in.shape[i].elements * sizeof(double)))
            no(&t->in, "two threads compute other bits than one");
}

/* Counts in done[] which mutants were mistakes here. */
static void check_mutants(struct ws__reference *r, struct truth *t,
                          unsigned *done)
{
    for (size_t i = 0; i < ws__reference_mutants(r); i++) {
        int rc = ws__reference_mutant(r, t->p, i);

        assert_non_null(ws__reference_mutant_name(r, i));
        if (rc == WS_ENOTSUP)
            continue;
        must(rc, &t->in, ws__reference_mutant_name(r, i));
        done[i]++;
        if (accepted(t))
            no(&t->in, ws__reference_mutant_name(r, i));
    }
}

static void check_workload(struct ws__reference *const r[2],
                           const struct ws__op *op,
                           const struct ws__workload *w, uint64_t seed,
                           unsigned *done)
{
    struct truth t = {.p = NULL};

    assert_int_equal(ws__instance_make(ctx, op, w, &t.in), 0);
    must(ws__problem_new(ctx, &t.in, &t.p), &t.in, "memory");
    must(ws__problem_fill(t.p, r[0], seed, 1), &t.in, "filling");
    must(ws__reference_run(r[0], t.p), &t.in, "running");
    keep_truth(&t);
    must(ws__problem_fill(t.p, r[1], seed, 2), &t.in, "filling");
    must(ws__reference_run(r[1], t.p), &t.in, "running");
    same_bits(&t);
    if (!accepted(&t))
        no(&t.in, "the rounded reference is rejected");
    check_mutants(r[1], &t, done);
    for (size_t i = 0; i < op->ntensor; i++) {
        ws__free(ctx, t.want[i]);
        ws__free(ctx, t.got[i]);
    }
    ws__problem_free(t.p);
}

/* The awkward shapes that the op brings, instead of its workloads. */
static void take_shapes(struct ws__spec *s)
{
    char path[200];

    snprintf(path, sizeof(path), "ops/%s/t_shapes.yaml", s->op->name);
    if (ws__spec_workloads(s, path) < 0)
        fail_msg("%s:%u: %s", ws_ctx_error(ctx)->file, ws_ctx_error(ctx)->line,
                 ws_ctx_error(ctx)->message);
}

static void check_op(const struct ws__native_reference *n)
{
    struct ws__spec *s = load_op(n->name);
    unsigned done[MAX_MUTANTS] = {0};
    struct ws__reference *r[2];
    struct ws__rng rng;

    assert_string_equal(s->op->name, n->name);
    assert_int_equal(n->abi, 1);
    assert_true(n->nmutant <= MAX_MUTANTS && s->nworkload > 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ws__reference_open(ctx, s->op, i + 1, LIMIT_NS, &r[i]),
                         0);
    for (size_t i = 0; i < SMALLEST && i < s->nworkload; i++) {
        const struct ws__workload *w = smallest(s, i);

        if (bytes_of(s, w) <= MAX_BYTES)
            check_workload(r, s->op, w, 100 + i, done);
    }
    take_shapes(s);
    for (size_t i = 0; i < s->nworkload; i++)
        check_workload(r, s->op, &s->workload[i], 150 + i, done);
    ws__rng_seed(&rng, 9);
    for (size_t i = 0; i < ODD; i++) {
        struct ws__workload w;

        if (!odd_workload(s, &rng, &w))
            fail_msg("%s: no small workload in its ranges", n->name);
        check_workload(r, s->op, &w, 200 + i, done);
    }
    for (size_t i = 0; i < n->nmutant; i++)
        if (!done[i])
            fail_msg("%s: mutant '%s' was never a mistake", n->name,
                     n->mutant_name[i]);
    ws__reference_close(r[0]);
    ws__reference_close(r[1]);
    ws__spec_free(s);
}

static void references(void **state)
{
    (void)state;
    for (size_t i = 0; ws__native_table[i]; i++)
        check_op(ws__native_table[i]);
}

/* ---- kernels ------------------------------------------------------------ */

static const int64_t machines[][WS__NDEVICE_VARS] = {
    {2, 4096, 524288, 64, 1},   /* a processor */
    {132, 1024, 232448, 16, 0}, /* a GPU */
};

static bool default_fits(const struct ws__kernel *k,
                         const struct ws__workload *w, const int64_t *machine)
{
    struct ws__instance in;
    struct ws__config c;

    assert_int_equal(ws__instance_make(ctx, k->op, w, &in), 0);
    ws__config_default(k, &c);
    ws__config_vars(k, &c, in.vars);
    for (int v = 0; v < WS__NDEVICE_VARS; v++)
        in.vars[ws__kernel_device_slot(k, (enum ws__device_var)v)].i =
            machine[v];
    for (size_t i = 0; i < k->nconstraint; i++)
        if (ws__expr_test(k->constraint[i].expr, in.vars) != 1)
            return false;
    return true;
}

static void defaults(void **state)
{
    (void)state;
    for (size_t o = 0; ws__native_table[o]; o++) {
        struct ws__spec *s = load_op(ws__native_table[o]->name);

        assert_true(s->nkernel > 0);
        for (size_t k = 0; k < s->nkernel; k++) {
            bool fits = false;

            for (size_t m = 0; m < WS_COUNT(machines); m++)
                for (size_t w = 0; w < s->nworkload && !fits; w++)
                    fits = default_fits(&s->kernel[k], &s->workload[w],
                                        machines[m]);
            if (!fits)
                fail_msg("%s: the default of kernel '%s' fits no workload",
                         s->op->name, s->kernel[k].name);
        }
        ws__spec_free(s);
    }
}

/* One check on the smallest workload that the default is made for. */
static int check_kernel(struct ws__spec *s, struct ws_spec *open,
                        const struct ws__kernel *k)
{
    for (size_t i = 0; i < s->nworkload; i++) {
        struct ws_run_opts o = {.size = sizeof(o),
                                .device = "opencl",
                                .kernel = k->name,
                                .seed = 3,
                                .trust_python = 1};
        struct ws_check_result r;
        const struct ws__workload *w = smallest(s, i);
        int rc;

        if (!default_fits(k, w, machines[0]))
            continue;
        o.workload = w->name;
        rc = ws_check(open, &o, &r);
        if (rc == WS_ENODEVICE || rc == WS_ENODRIVER)
            return rc;
        must(rc, &(struct ws__instance){.op = s->op, .workload = w}, k->name);
        if (!strcmp(r.verdict, "filtered"))
            continue;
        if (strcmp(r.verdict, "ok"))
            fail_msg("%s, %s: %s (%s)", k->name, r.workload, r.verdict,
                     r.reason);
        return 0;
    }
    printf("# %s: no workload for a processor\n", k->name);
    return 0;
}

static void kernels(void **state)
{
    (void)state;
    for (size_t o = 0; ws__native_table[o]; o++) {
        struct ws__spec *s = load_op(ws__native_table[o]->name);
        struct ws_spec *open = NULL;
        char path[200];
        int rc = 0;

        snprintf(path, sizeof(path), "ops/%s", s->op->name);
        assert_int_equal(ws_spec_open(ctx, path, NULL, &open), 0);
        for (size_t k = 0; k < s->nkernel && !rc; k++)
            rc = check_kernel(s, open, &s->kernel[k]);
        ws_spec_free(open);
        ws__spec_free(s);
        if (rc < 0)
            SKIP("%s", ws_ctx_error(ctx)->message);
    }
}

/* ---- references of users ------------------------------------------------ */

static const char *const examples[] = {"examples/own-op",
                                       "examples/own-op-kernel"};

static struct ws__spec *load_example(const char *path)
{
    static const struct ws__spec_opts opts = {.share_dir = "."};
    struct ws__spec *s;

    if (ws__spec_load(ctx, path, &opts, &s) < 0)
        fail_msg("%s: %s", path, ws_ctx_error(ctx)->message);
    return s;
}

/* Skips if the packages are not there. */
static void need_numpy(void)
{
    struct ws__spec *s = load_example(examples[0]);
    struct ws__instance in;
    struct ws__problem *p;
    struct ws__reference *r;
    int rc;

    assert_int_equal(ws__instance_make(ctx, s->op, smallest(s, 0), &in), 0);
    assert_int_equal(ws__reference_open(ctx, s->op, 1, LIMIT_NS, &r), 0);
    assert_int_equal(ws__problem_new(ctx, &in, &p), 0);
    assert_int_equal(ws__problem_fill(p, r, 1, 1), 0);
    rc = ws__reference_run(r, p);
    ws__problem_free(p);
    ws__reference_close(r);
    ws__spec_free(s);
    if (rc < 0 && strstr(ws_ctx_error(ctx)->hint, "WAVESMITH_PYTHON"))
        SKIP("%s", ws_ctx_error(ctx)->message);
    assert_int_equal(rc, 0);
}

static void check_python(struct ws__reference *r, const struct ws__op *op,
                         const struct ws__workload *w, uint64_t seed)
{
    struct truth t = {.p = NULL};

    assert_int_equal(ws__instance_make(ctx, op, w, &t.in), 0);
    must(ws__problem_new(ctx, &t.in, &t.p), &t.in, "memory");
    must(ws__problem_fill(t.p, r, seed, 1), &t.in, "filling");
    must(ws__reference_run(r, t.p), &t.in, "running");
    keep_truth(&t);
    must(ws__reference_run(r, t.p), &t.in, "running again");
    same_bits(&t);
    if (!accepted(&t))
        no(&t.in, "the rounded reference is rejected");
    must(ws__reference_admit(ctx, t.p), &t.in, "admitting");
    for (size_t i = 0; i < op->ntensor; i++) {
        ws__free(ctx, t.want[i]);
        ws__free(ctx, t.got[i]);
    }
    ws__problem_free(t.p);
}

static void check_odd(const struct ws__spec *s, struct ws__rng *rng)
{
    struct ws__reference *r;
    struct ws__workload w;

    assert_int_equal(ws__reference_open(ctx, s->op, 2, LIMIT_NS, &r), 0);
    for (size_t i = 0; i < ODD; i++) {
        assert_true(odd_workload(s, rng, &w));
        check_python(r, s->op, &w, 300 + i);
    }
    ws__reference_close(r);
}

static void python_references(void **state)
{
    struct ws__rng rng;

    (void)state;
    need_numpy();
    ws__rng_seed(&rng, 11);
    for (size_t e = 0; e < WS_COUNT(examples); e++) {
        struct ws__spec *s = load_example(examples[e]);

        if (s->op->python.text)
            check_odd(s, &rng);
        ws__spec_free(s);
    }
}

static void own_operators(void **state)
{
    int rc = 0;

    (void)state;
    need_numpy();
    for (size_t e = 0; e < WS_COUNT(examples) && !rc; e++) {
        struct ws__spec *s = load_example(examples[e]);
        struct ws_spec *open = NULL;

        assert_int_equal(ws_spec_open(ctx, examples[e], NULL, &open), 0);
        for (size_t k = 0; k < s->nkernel && !rc; k++)
            rc = check_kernel(s, open, &s->kernel[k]);
        ws_spec_free(open);
        ws__spec_free(s);
    }
    if (rc < 0)
        SKIP("%s", ws_ctx_error(ctx)->message);
}

static int setup(void **state)
{
    static char exe[512], cache[600];
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .turn_dir = getenv("WAVESMITH_TURNS"),
                            .share_dir = ".",
                            .cache_dir = cache};

    (void)state;
    o.python = getenv("WAVESMITH_PYTHON");
    if (!o.python)
        o.python = "/usr/bin/python3";
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) <= 0)
        return -1;
    /* Driver caches beside the test, so that a second run is quick. */
    snprintf(cache, sizeof(cache), "%s.cache", exe);
    ctx = ws_ctx_new(&o);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references),    cmocka_unit_test(defaults),
        cmocka_unit_test(kernels),       cmocka_unit_test(python_references),
        cmocka_unit_test(own_operators),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
