/* t_floor.c: floors, and times that no kernel undercuts. */
#include "base/t_base.h"

#include <math.h>

#include "core/floor.h"

struct world {
    struct ws__op op;
    struct ws__workload work;
    struct ws__instance in;
    struct ws__roof roof;
};

static void set_roof(struct ws__roof *r, enum ws__ceiling_of c, double v)
{
    r->ceiling[c] = (struct ws__ceiling){.known = true,
                                         .value = v,
                                         .from = WS__ROOF_MEASURED};
}

/* C[1000, 1000] = A * B of a type. */
static void make(struct world *w, enum ws__dtype t)
{
    memset(w, 0, sizeof(*w));
    w->op.ntensor = 3;
    w->op.tensor[2].role = WS__OUTPUT;
    w->in.op = &w->op;
    w->in.workload = &w->work;
    w->in.reduction = 1000;
    w->in.flops = 2e9;
    for (size_t i = 0; i < 3; i++)
        w->in.shape[i] =
            (struct ws__tensor_shape){.ndim = 2,
                                      .dim = {1000, 1000},
                                      .stride = {1000, 1},
                                      .dtype = t,
                                      .elements = 1000000,
                                      .bytes = 1000000 * ws__dtype_bytes(t)};
    w->roof.cache_bytes = 4e6;
    set_roof(&w->roof, WS__ROOF_COPY, 1e12);
    set_roof(&w->roof, WS__ROOF_FP32, 50e12);
    set_roof(&w->roof, WS__ROOF_TENSOR_FP16, 500e12);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void floors(void **state)
{
    struct ws__floor f;
    struct world w;

    (void)state;
    make(&w, WS__DT_F16);
    ws__floor_make(&w.in, 6e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_true(f.tensor && f.by_flops == WS__ROOF_TENSOR_FP16);
    assert_true(near(f.bytes_ns, 6000) && near(f.flops_ns, 4000));
    assert_true(near(f.ns, 6000) && !f.partly_known && f.launch_ns == 0);
    assert_int_equal(f.bytes_from, WS__ROOF_MEASURED);
    /* The op's word counts more than its types. */
    w.op.unit = WS__UNIT_VECTOR;
    ws__floor_make(&w.in, 6e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_true(!f.tensor && near(f.ns, 40000));
    make(&w, WS__DT_F32);
    ws__floor_make(&w.in, 12e6, &w.roof, WS__CACHE_COLD, 3, &f);
    assert_true(!f.tensor && near(f.flops_ns, 40000));
    set_roof(&w.roof, WS__ROOF_LAUNCH, 2000);
    ws__floor_make(&w.in, 12e6, &w.roof, WS__CACHE_COLD, 3, &f);
    assert_true(near(f.launch_ns, 6000) && near(f.ns, 40000));
    w.op.unit = WS__UNIT_TENSOR; /* no ceiling for it */
    ws__floor_make(&w.in, 12e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_true(f.by_flops == WS__ROOF_TENSOR_TF32 && f.partly_known);
    assert_true(f.flops_ns == 0 && near(f.ns, 12000));
}

static void warm_floors(void **state)
{
    struct ws__floor f;
    struct world w;

    (void)state;
    make(&w, WS__DT_F16);
    w.in.flops = 0;
    ws__floor_make(&w.in, 6e6, &w.roof, WS__CACHE_WARM, 1, &f);
    /* 2 MB must come from memory; how fast the rest is nobody knows. */
    assert_true(f.partly_known && near(f.bytes_ns, 2000));
    set_roof(&w.roof, WS__ROOF_L2, 4e12);
    ws__floor_make(&w.in, 6e6, &w.roof, WS__CACHE_WARM, 1, &f);
    assert_true(!f.partly_known && near(f.bytes_ns, 3000));
    assert_true(f.cached == 4e6 && f.by_bytes == WS__ROOF_COPY);
    assert_int_equal(f.cached_from, WS__ROOF_MEASURED);
    ws__floor_make(&w.in, 3e6, &w.roof, WS__CACHE_WARM, 1, &f);
    assert_true(near(f.bytes_ns, 750));
    assert_true(f.cached == 3e6 && f.by_bytes == WS__ROOF_L2);
    memset(&w.roof, 0, sizeof(w.roof));
    ws__floor_make(&w.in, 3e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_true(f.ns == 0 && f.partly_known);
}

/* What is mostly read is held against the rate of reading. */
static void directions(void **state)
{
    struct ws__floor f;
    struct world w;

    (void)state;
    make(&w, WS__DT_F16);
    w.in.shape[2].bytes = 1000;
    ws__floor_make(&w.in, 4e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_int_equal(f.by_bytes, WS__ROOF_COPY); /* READ is not known */
    set_roof(&w.roof, WS__ROOF_READ, 2e12);
    ws__floor_make(&w.in, 4e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_true(f.by_bytes == WS__ROOF_READ && near(f.bytes_ns, 2000));
}

/* A float64 tensor, or a declared sum in it. */
static void doubles(void **state)
{
    struct ws__floor f;
    struct world w;

    (void)state;
    make(&w, WS__DT_F32);
    ws__floor_make(&w.in, 6e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_false(f.f64);
    w.op.tolerance.accumulate = WS__DT_F64;
    ws__floor_make(&w.in, 6e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_true(f.f64);
    make(&w, WS__DT_F64);
    ws__floor_make(&w.in, 6e6, &w.roof, WS__CACHE_COLD, 1, &f);
    assert_true(f.f64);
}

/* Every doubt counts for the kernel. */
static void limits(void **state)
{
    struct world w;

    (void)state;
    make(&w, WS__DT_F16);
    w.in.flops = 0;
    w.op.tensor[2].role = WS__OUTPUT;
    /* 2 of 6 MB are an output that may stay in the cache. */
    assert_true(
        near(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_COLD, false),
             4000));
    /* Warm, 4 MB may be in it, and nobody knows how fast that is. */
    assert_true(
        near(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_WARM, false),
             2000));
    set_roof(&w.roof, WS__ROOF_L2, 4e12);
    assert_true(
        near(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_WARM, false),
             3000));
    /* The fastest memory, at the upper end of its interval. */
    set_roof(&w.roof, WS__ROOF_READ, 2e12);
    w.roof.ceiling[WS__ROOF_READ].hi = 4e12;
    assert_true(
        near(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_COLD, false),
             1000));
    /* Matrix units, whatever the op says of them. */
    w.in.flops = 2e9;
    w.op.unit = WS__UNIT_VECTOR;
    assert_true(
        near(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_COLD, false),
             4000));
}

/* A unit that nobody measured may be faster than all that are known. */
static void limits_of_unknown_units(void **state)
{
    struct world w;

    (void)state;
    make(&w, WS__DT_F16);
    w.op.tensor[2].role = WS__OUTPUT;
    assert_true(
        near(ws__floor_limit(&w.in, 0, &w.roof, WS__CACHE_COLD, false), 4000));
    w.roof.ceiling[WS__ROOF_TENSOR_FP16].slowed = 1;
    assert_true(ws__floor_limit(&w.in, 0, &w.roof, WS__CACHE_COLD, false) == 0);
    w.roof.ceiling[WS__ROOF_TENSOR_FP16].known = false;
    assert_true(ws__floor_limit(&w.in, 0, &w.roof, WS__CACHE_COLD, false) == 0);
    assert_true(near(ws__floor_limit(&w.in, 0, &w.roof, WS__CACHE_COLD, true),
                     20000)); /* a processor has no others */
    make(&w, WS__DT_F16);
    w.in.shape[0].dtype = WS__DT_F8E4M3;
    assert_true(ws__floor_limit(&w.in, 0, &w.roof, WS__CACHE_COLD, false) == 0);
    set_roof(&w.roof, WS__ROOF_TENSOR_FP8, 1000e12);
    set_roof(&w.roof, WS__ROOF_TENSOR_INT8, 800e12);
    assert_true(
        near(ws__floor_limit(&w.in, 0, &w.roof, WS__CACHE_COLD, false), 2000));
    /* What was slowed is not known, of memory, too. */
    make(&w, WS__DT_F16);
    w.in.flops = 0;
    w.op.tensor[2].role = WS__OUTPUT;
    w.roof.ceiling[WS__ROOF_COPY].slowed = 1;
    assert_true(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_COLD, false) ==
                0);
}

static void limits_of_processors(void **state)
{
    struct world w;

    (void)state;
    make(&w, WS__DT_F16);
    w.in.flops = 0;
    w.op.tensor[2].role = WS__OUTPUT;
    set_roof(&w.roof, WS__ROOF_L2, 4e12);
    assert_true(
        near(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_COLD, true), 2000));
    assert_true(
        near(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_WARM, true), 1000));
    assert_true(ws__floor_limit(&w.in, 3e6, &w.roof, WS__CACHE_WARM, true) ==
                0);
}

/* Nothing is concluded from ceilings or a cache that nobody knows. */
static void no_limits(void **state)
{
    struct world w;

    (void)state;
    make(&w, WS__DT_F16);
    w.roof.cache_bytes = 0;
    w.in.flops = 0;
    assert_true(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_COLD, false) ==
                0);
    memset(&w.roof, 0, sizeof(w.roof));
    w.in.flops = 2e9;
    assert_true(ws__floor_limit(&w.in, 6e6, &w.roof, WS__CACHE_COLD, false) ==
                0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floors),
        cmocka_unit_test(warm_floors),
        cmocka_unit_test(directions),
        cmocka_unit_test(doubles),
        cmocka_unit_test(limits),
        cmocka_unit_test(limits_of_processors),
        cmocka_unit_test(limits_of_unknown_units),
        cmocka_unit_test(no_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
