/*
 * t_families.c: the shipped kernels on every family of values.
 *
 * Each kernel of every shipped operator, in its default config, on the awkward
 * shapes of t_shapes.yaml and on inputs of each family that the operator takes,
 * on the OpenCL device: under the operator's own tolerance it must be right. So
 * what an operator does not refuse refuses no honest kernel.
 *
 * The kernel runs as a trusted one would (measure_trusted.c), which gives its
 * results as doubles: over two patterns of poison, with guards, twice the same
 * bits, no NaN. Its type axis is cut down to the type of the workload, so that
 * it does not run in a wider one.
 */
#include "base/t_base.h"

#include <math.h>

#include "measure/measure.h"
#include "spec/spec.h"

#define LIMIT_NS 60000000000u
#define POISON 0xffc1ffc1u
#define SEED 11
#define SEEDS 3

static struct ws_ctx *ctx;
static unsigned tried, refused; /* runs; families of a shape */

static void must(int rc, const char *what)
{
    const struct ws_error *e = ws_ctx_error(ctx);

    if (rc < 0)
        fail_msg("%s: %s (%s)", what, e->message, e->hint);
}

static struct ws__spec *load_op(size_t i)
{
    static const struct ws__spec_opts opts = {.share_dir = "ops"};
    struct ws__spec *s = NULL;
    char path[200];

    snprintf(path, sizeof(path), "ops/%s", ws__native_table[i]->name);
    must(ws__spec_load(ctx, path, &opts, &s), path);
    snprintf(path, sizeof(path), "ops/%s/t_shapes.yaml",
             ws__native_table[i]->name);
    must(ws__spec_workloads(s, path), path);
    return s;
}

static size_t type_axis(const struct ws__op *op)
{
    size_t a = 0;

    while (op->axis[a].kind != WS__AXIS_TYPE)
        a++;
    assert_true(a < op->naxis);
    return a;
}

struct bench {
    const struct ws__spec *s;
    struct ws__op op; /* whose reference is the kernel */
    struct ws__kernel kernel;
    enum ws__dtype type; /* the only one of its type axis */
    struct ws__reference *ref;
    struct ws__measure *m;
};

static int open_bench(const struct ws__spec *s, size_t kernel,
                      enum ws__dtype type, struct bench *b)
{
    /* A session wants something to measure; nobody asks for it. */
    static const struct ws__kernel nobody;
    const struct ws__measure_opts opts = {.device = "opencl", .builders = 1};

    memset(b, 0, sizeof(*b));
    b->s = s;
    b->type = type;
    b->op = *s->op;
    b->kernel = s->kernel[kernel];
    b->kernel.op = &b->op;
    b->op.reference = NULL;
    b->op.trusted.kernel = &b->kernel;
    b->op.axis[type_axis(s->op)].types = &b->type;
    b->op.axis[type_axis(s->op)].ntypes = 1;
    must(ws__reference_open(ctx, s->op, 2, LIMIT_NS, &b->ref), s->op->name);
    return ws__measure_open(ctx, &b->op, &nobody, 1, s->workload, s->nworkload,
                            &opts, &b->m);
}

static void close_bench(struct bench *b)
{
    ws__measure_close(b->m);
    ws__reference_close(b->ref);
}

/* got: what the kernel wrote, as doubles; an inout's reference is kept too. */
static void compare(const struct bench *b, const struct ws__instance *in,
                    size_t t, const double *got, const double *want,
                    enum ws__family f)
{
    size_t bytes = ws__dtype_bytes(in->shape[t].dtype);
    unsigned char *raw = calloc(in->shape[t].elements, bytes);
    struct ws__mismatch m = {0};
    struct ws__buf w;
    int rc;

    assert_non_null(raw);
    assert_true(in->shape[t].contiguous);
    ws__dtype_store(in->shape[t].dtype, got, raw, in->shape[t].elements);
    rc = ws__family_finite(in->op, f)
             ? ws__compare_finite(ctx, in, t, raw, want, 0, POISON, &m)
             : ws__compare(ctx, in, t, raw, want, 0, POISON, &m);
    must(rc, "comparing");
    ws__buf_init(&w, ctx, 4096);
    ws__workload_print(&w, in->op, in->workload);
    if (!rc)
        fail_msg("%s on %s, values %s: %llu of %llu elements of '%s' wrong; "
                 "at %llu %.9g, not %.9g +- %.3g",
                 b->kernel.name, w.data, ws__family_key(f),
                 (unsigned long long)m.bad, (unsigned long long)m.total,
                 in->op->tensor[t].name, (unsigned long long)m.worst,
                 m.worst_got, m.worst_want, m.allowed);
    ws__buf_free(&w);
    free(raw);
}

static void try_family(const struct bench *b, uint32_t w, enum ws__family f,
                       uint64_t seed)
{
    struct ws__problem *p, *q;
    struct ws__instance in;

    must(ws__instance_make(ctx, b->s->op, &b->s->workload[w], &in), "shapes");
    must(ws__problem_new(ctx, &in, &p), "memory");
    must(ws__problem_new(ctx, &in, &q), "memory");
    must(ws__problem_fill_family(p, b->ref, seed, 2, f), "filling");
    must(ws__problem_fill_family(q, b->ref, seed, 2, f), "filling");
    must(ws__reference_run(b->ref, p), "the reference");
    must(ws__measure_trusted(b->m, w, q), ws__family_key(f));
    for (size_t t = 0; t < in.op->ntensor; t++)
        if (p->result[t])
            compare(b, &in, t, q->result[t], p->result[t], f);
    ws__problem_free(p);
    ws__problem_free(q);
    tried++;
}

static int try_kernel(const struct ws__spec *s, size_t kernel,
                      enum ws__dtype type)
{
    size_t axis = type_axis(s->op);
    struct bench b;
    int rc = open_bench(s, kernel, type, &b);

    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER || rc == WS_ENOENT) {
        close_bench(&b);
        return rc;
    }
    must(rc, b.kernel.name);
    for (uint32_t w = 0; w < s->nworkload; w++)
        for (int f = 0; f < WS__NFAMILY; f++) {
            if (s->workload[w].axis[axis] != (int64_t)type)
                continue;
            if (ws__family_refused(s->op, (enum ws__family)f) &&
                !ws__family_finite(s->op, (enum ws__family)f))
                refused++;
            else
                for (uint64_t i = 0; i < SEEDS; i++)
                    try_family(&b, w, (enum ws__family)f, SEED + w * SEEDS + i);
        }
    close_bench(&b);
    return 0;
}

static void families(void **state)
{
    (void)state;
    for (size_t i = 0; ws__native_table[i]; i++) {
        struct ws__spec *s = load_op(i);
        const struct ws__axis *types = &s->op->axis[type_axis(s->op)];

        for (size_t k = 0; k < s->nkernel; k++) {
            if (s->kernel[k].dialect == WS__DIALECT_CUDA)
                continue; /* no OpenCL device takes it */
            for (size_t t = 0; t < types->ntypes; t++)
                if (try_kernel(s, k, types->types[t]) < 0) {
                    ws__spec_free(s);
                    SKIP("%s", ws_ctx_error(ctx)->message);
                }
        }
        ws__spec_free(s);
    }
    printf("# %u runs of kernels on families, %u refused by the operator\n",
           tried, refused);
    assert_true(tried > 100);
}

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(families)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
