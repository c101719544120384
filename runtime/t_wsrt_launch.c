/*
 * t_wsrt_launch.c: launching from a pack, on a driver that is pretended: the
 * numbers are those that the tuner would launch with, the order is the plan's,
 * what is wrong is told before anything is launched, nothing is loaded while a
 * stream is captured, and whichever call of the driver fails, nothing leaks
 * and the next attempt works.
 */
#include "base/t_base.h"

#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>

#include "pack/t_pack_sample.h"
#include "t_fake_driver.h"
#include "wsrt_exec.h"
#include "wsrt_format.h"

#define NENTRY 24
#define STREAM ((void *)0x5000)

struct fixture {
    struct ws_ctx *ctx;
    struct sample s;
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
    struct wsrt_exec *e;
    float scale;
    void *tensor[SAMPLE_TENSORS];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->ctx = t_ctx(NULL);
    if (sample_make(f->ctx, &f->s, NENTRY, 3) ||
        ws__pack_image(f->ctx, &f->s.content, &f->image, &f->bytes) ||
        wsrt_open_memory(f->image, f->bytes, &f->p, NULL, 0))
        return -1;
    fake_reset();
    f->scale = 2.5f;
    f->tensor[TENSOR_A] = (void *)0x10000;
    f->tensor[TENSOR_SCALE] = &f->scale;
    f->tensor[TENSOR_C] = (void *)0x20004;
    return wsrt_exec_open_cuda(f->p, &fake_driver, &f->e, NULL, 0);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    wsrt_exec_close(f->e);
    assert_int_equal(fake.module, 0);
    wsrt_close(f->p);
    ws__free(f->ctx, f->image);
    sample_free(&f->s);
    ws_ctx_free(f->ctx);
    free(f);
    return 0;
}

/* The first entry of a kernel whose M is over (or not over) 8. */
static const struct ws__pack_entry *find(const struct fixture *f,
                                         uint32_t kernel, bool large,
                                         struct wsrt_pick *pick)
{
    for (size_t i = 0; i < NENTRY; i++) {
        const struct ws__pack_entry *e = &f->s.entry[i];

        if (e->candidate.kernel != kernel ||
            (e->workload->axis[AXIS_M] > 8) != large ||
            e->workload->axis[AXIS_M] > 65535)
            continue;
        assert_int_equal(wsrt_pick(f->p, e->workload->axis, pick), WSRT_OK);
        return e;
    }
    fail_msg("no such entry in the sample");
    return NULL;
}

static void tensors(void **state)
{
    struct fixture *f = *state;
    struct wsrt_tensor t;

    assert_int_equal(wsrt_tensor_count(f->p), SAMPLE_TENSORS);
    assert_int_equal(wsrt_tensor_find(f->p, "C"), TENSOR_C);
    assert_int_equal(wsrt_tensor_find(f->p, "D"), WSRT_EARG);
    assert_int_equal(wsrt_tensor(f->p, TENSOR_A, &t), WSRT_OK);
    assert_int_equal(t.role, WSRT_INPUT);
    assert_int_equal(t.dtype, 0);
    assert_int_equal(t.type_axis, AXIS_T);
    assert_int_equal(t.align, 16);
    assert_int_equal(wsrt_tensor(f->p, TENSOR_SCALE, &t), WSRT_OK);
    assert_int_equal(t.by_value, 1);
    assert_int_equal(t.dtype, WS__DT_F32);
    assert_int_equal(wsrt_tensor(f->p, TENSOR_C, &t), WSRT_OK);
    assert_int_equal(t.align, 4);
    assert_int_equal(wsrt_tensor(f->p, SAMPLE_TENSORS, &t), WSRT_EARG);
    assert_int_equal(wsrt_tensor_count(NULL), 0);
}

static void images(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;
    const struct ws__pack_entry *e = find(f, 0, true, &pick);
    struct wsrt_image m;
    uint32_t at;

    assert_int_equal(wsrt_pick_image(f->p, &pick, e->workload->axis, &at), 0);
    assert_int_equal(wsrt_image(f->p, at, &m), WSRT_OK);
    assert_string_equal(m.family, "cuda");
    assert_string_equal(m.target, "sm_90");
    assert_int_equal(m.bytes, strlen(m.data));
    for (size_t i = 0; i < f->s.content.nbinary; i++)
        if (!memcmp(&f->s.binary[i].candidate, &e->candidate,
                    sizeof(e->candidate)) &&
            f->s.binary[i].workload == e->workload)
            assert_string_equal(m.data, f->s.binary[i].image);
    assert_int_equal(wsrt_image(f->p, wsrt_image_count(f->p), &m), WSRT_EARG);
}

/* An image is for the values that were compiled in, and for no others. */
static void baked_values(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick, other;
    const struct ws__pack_entry *e = NULL;
    int64_t axes[SAMPLE_AXES];
    uint32_t at;

    for (size_t i = 0; i < NENTRY && !e; i++)
        if (f->s.entry[i].candidate.kernel == 1)
            e = &f->s.entry[i];
    assert_non_null(e);
    memcpy(axes, e->workload->axis, sizeof(axes));
    assert_int_equal(wsrt_pick(f->p, axes, &pick), WSRT_OK);
    assert_int_equal(wsrt_pick_image(f->p, &pick, axes, &at), WSRT_OK);
    axes[AXIS_M]++;
    assert_int_equal(wsrt_pick_image(f->p, &pick, axes, &at), WSRT_OK);
    axes[AXIS_N] += 1024;
    assert_int_equal(wsrt_pick_image(f->p, &pick, axes, &at), WSRT_ENOIMAGE);
    assert_int_equal(wsrt_prepare(f->e, &pick, axes, STREAM, NULL, 0),
                     WSRT_ENOIMAGE);
    assert_int_equal(wsrt_launch(f->e, &pick, axes, f->tensor, NULL, 0, STREAM),
                     WSRT_ENOIMAGE);
    other = pick;
    other.variant = wsrt_variant_count(f->p);
    assert_int_equal(wsrt_pick_image(f->p, &other, axes, &at), WSRT_EARG);
    axes[AXIS_K]++;
    assert_int_equal(wsrt_pick_image(f->p, &pick, axes, &at), WSRT_EARG);
}

static uint64_t number(const unsigned char *p, size_t bytes)
{
    uint64_t v = 0;

    memcpy(&v, p, bytes);
    return v;
}

/* Two launches, zeroed scratch before them, every kind of argument. */
static void launches(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;
    const struct ws__pack_entry *e = find(f, 0, true, &pick);
    const int64_t *axis = e->workload->axis;
    int64_t m = axis[AXIS_M], n = axis[AXIS_N];
    int64_t bm = sample_tile[e->candidate.config.at[0]];
    uint64_t partial = (uint64_t)(4 * m * n), bytes = 0, scratch = 0x100000;
    const struct fake_launch *l = fake.launch;
    float split = e->candidate.config.at[3] ? 2.0f : 0.5f;
    uint16_t ratio;
    double dm = (double)m;

    partial = (partial + 255) / 256 * 256;
    ws__dtype_set(WS__DT_BF16, &ratio, 0, (double)m / (double)n);
    assert_int_equal(wsrt_prepare(f->e, &pick, axis, STREAM, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_scratch_bytes(f->p, &pick, axis, &bytes), WSRT_OK);
    assert_int_equal(bytes, partial + (uint64_t)(n + 1 + 255) / 256 * 256);
    assert_int_equal(wsrt_launch(f->e, &pick, axis, f->tensor,
                                 (void *)(uintptr_t)scratch, bytes, STREAM),
                     WSRT_OK);
    assert_int_equal(fake.nset, 1);
    assert_int_equal(fake.set[0].address, scratch);
    assert_int_equal(fake.set[0].words, m * n);
    assert_int_equal(fake.set[0].before, 0);
    assert_ptr_equal(fake.set[0].stream, STREAM);
    assert_int_equal(fake.nlaunch, 2);
    assert_string_equal(l[0].function->name, "main_1");
    assert_int_equal(l[0].grid[0], (n + bm - 1) / bm);
    assert_int_equal(l[0].grid[1], m);
    assert_int_equal(l[0].grid[2], 1);
    assert_int_equal(l[0].block[0], bm);
    assert_int_equal(l[0].block[1], 2);
    assert_int_equal(l[0].shared, bm * 4 + 1024);
    assert_ptr_equal(l[0].stream, STREAM);
    assert_int_equal(l[0].narg, 12);
    assert_int_equal(number(l[0].arg[0], 8), 0x10000);
    assert_memory_equal(l[0].arg[1], &f->scale, 4);
    assert_int_equal(number(l[0].arg[2], 8), 0x20004);
    assert_int_equal(number(l[0].arg[3], 8), scratch);
    assert_int_equal(number(l[0].arg[4], 8), scratch + partial);
    assert_int_equal(number(l[0].arg[5], 4), m);
    assert_true((int64_t)number(l[0].arg[6], 8) == -n);
    assert_memory_equal(l[0].arg[7], &split, 4);
    assert_int_equal(l[0].arg[8][0], e->candidate.config.at[2]);
    assert_memory_equal(l[0].arg[9], &ratio, 2);
    assert_memory_equal(l[0].arg[10], &dm, 8);
    assert_int_equal(l[0].arg[11][0], 7);
    assert_int_equal(l[0].function->loaded, 1);
    assert_int_equal(l[0].function->dynamic, 232448 - 1000);
    assert_string_equal(l[1].function->name, "add_1");
    assert_int_equal(l[1].grid[0], m);
    assert_int_equal(l[1].block[0], 64);
    assert_int_equal(l[1].shared, 0);
    assert_int_equal(l[1].function->dynamic, 0);
    assert_int_equal(number(l[1].arg[0], 8), scratch);
    assert_int_equal(number(l[1].arg[1], 8), 0x20004);
}

/* A buffer that the shape does not use is a null pointer, its launch stays
 * out, and nothing is zeroed. */
static void small_shape(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;
    const struct ws__pack_entry *e = find(f, 0, true, &pick);
    int64_t axes[SAMPLE_AXES];
    uint64_t bytes = 0;

    memcpy(axes, e->workload->axis, sizeof(axes));
    axes[AXIS_M] = 8;
    assert_int_equal(wsrt_prepare(f->e, &pick, axes, STREAM, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_scratch_bytes(f->p, &pick, axes, &bytes), WSRT_OK);
    assert_true(bytes > 0 && bytes < (uint64_t)axes[AXIS_N] + 512);
    assert_int_equal(wsrt_launch(f->e, &pick, axes, f->tensor, (void *)0x100000,
                                 bytes, STREAM),
                     WSRT_OK);
    assert_int_equal(fake.nset, 0);
    assert_int_equal(fake.nlaunch, 1);
    assert_int_equal(number(fake.launch[0].arg[3], 8), 0);
    assert_int_equal(number(fake.launch[0].arg[4], 8), 0x100000);
}

/* The runtime's plan against the tuner's, for shapes tuned and not. */
static void same_as_the_tuner(void **state)
{
    struct fixture *f = *state;
    struct ws__plan *want = calloc(1, sizeof(*want));
    struct wsrt_plan *got = calloc(1, sizeof(*got));
    struct ws__rng r;
    int compared = 0, refused = 0;

    ws__rng_seed(&r, 5);
    for (int round = 0; round < 3000; round++) {
        const struct ws__pack_entry *e = &f->s.entry[ws__rng_below(&r, NENTRY)];
        const struct ws__kernel *k = &f->s.kernel[e->candidate.kernel];
        union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
        int64_t axes[SAMPLE_AXES];
        struct wsrt_pick pick;
        size_t at = 0;
        int rc;

        assert_int_equal(wsrt_pick(f->p, e->workload->axis, &pick), WSRT_OK);
        sample_shape(&r, axes);
        if (round % 4 == 0)
            axes[AXIS_M] = INT64_C(1) << ws__rng_below(&r, 62);
        for (int a = 0; a < SAMPLE_AXES; a++)
            vars[a].i = axes[a];
        ws__config_vars(k, &e->candidate.config, vars);
        rc = wsrt__plan(f->p, pick.variant, WSRT_NONE, axes, got, NULL);
        if (ws__plan_make(f->ctx, k, vars, want) < 0) {
            assert_int_equal(rc, WSRT_EPLAN);
            refused++;
            continue;
        }
        assert_int_equal(rc, WSRT_OK);
        compared++;
        assert_int_equal(got->nlaunch, want->nlaunch);
        for (size_t i = 0; i < want->nlaunch; i++)
            for (int d = 0; d < 3; d++) {
                assert_int_equal(got->launch[i].grid[d],
                                 want->launch[i].grid[d]);
                assert_int_equal(got->launch[i].block[d],
                                 want->launch[i].block[d]);
            }
        for (size_t i = 0; i < want->nlaunch; i++)
            for (size_t a = 0; a < want->launch[i].narg; a++) {
                const struct ws__plan_arg *x = &want->launch[i].arg[a];

                if (x->kind == WS__ARG_SHARED)
                    continue;
                if (x->kind == WS__ARG_VALUE)
                    assert_memory_equal(&got->arg[at].value, x->value,
                                        x->bytes);
                else if (x->kind == WS__ARG_TENSOR)
                    assert_int_equal(got->arg[at].index, x->index);
                at++;
            }
    }
    assert_true(compared > 500 && refused > 100);
    free(want);
    free(got);
}

/* Every float type rounds as the tuner does. */
static void rounds_alike(void **state)
{
    struct ws__rng r;

    (void)state;
    ws__rng_seed(&r, 8);
    for (int i = 0; i < 200000; i++) {
        enum ws__dtype t = (enum ws__dtype)(WS__DT_F64 + ws__rng_below(&r, 6));
        double v = ldexp((double)(int64_t)ws__rng_below(&r, 4096) - 2048,
                         (int)ws__rng_below(&r, 300) - 160);
        uint64_t want = 0;

        if (i % 3 == 0)
            v *= 1 + ldexp(1.0, -(int)ws__rng_below(&r, 53));
        if (i % 5 == 0)
            v = -v;
        ws__dtype_set(t, &want, 0, v);
        if (wsrt__float_bits(v, (uint32_t)t) != want)
            fail_msg("%a as %s", v, ws__dtype_name(t));
    }
}

static void bad_calls(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;
    const struct ws__pack_entry *e = find(f, 0, true, &pick);
    const int64_t *axis = e->workload->axis;
    void *const scratch = (void *)0x100000;
    struct wsrt_plan *plan = calloc(1, sizeof(*plan));
    uint64_t bytes;
    void *bad[SAMPLE_TENSORS];

    assert_int_equal(wsrt_plan_make(f->e, &pick, axis, plan), WSRT_ENOTREADY);
    assert_int_equal(wsrt_prepare(f->e, &pick, axis, STREAM, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_plan_make(f->e, &pick, axis, plan), WSRT_OK);
    bytes = plan->scratch_bytes;
#define LAUNCH(t, s, b) wsrt_plan_launch(plan, t, s, b, STREAM)
    for (int t = 0; t < SAMPLE_TENSORS; t++) {
        memcpy(bad, f->tensor, sizeof(bad));
        bad[t] = NULL;
        assert_int_equal(LAUNCH(bad, scratch, bytes), WSRT_EARG);
    }
    memcpy(bad, f->tensor, sizeof(bad));
    bad[TENSOR_A] = (void *)0x10008;
    assert_int_equal(LAUNCH(bad, scratch, bytes), WSRT_EARG);
    assert_int_equal(LAUNCH(NULL, scratch, bytes), WSRT_EARG);
    assert_int_equal(LAUNCH(f->tensor, NULL, bytes), WSRT_EARG);
    assert_int_equal(LAUNCH(f->tensor, (void *)0x100080, bytes), WSRT_EARG);
    assert_int_equal(LAUNCH(f->tensor, scratch, bytes - 1), WSRT_EARG);
    assert_int_equal(wsrt_plan_launch(NULL, f->tensor, scratch, bytes, STREAM),
                     WSRT_EARG);
    assert_int_equal(fake.nlaunch + fake.nset, 0);
    assert_int_equal(LAUNCH(f->tensor, scratch, bytes), WSRT_OK);
#undef LAUNCH
    assert_int_equal(wsrt_plan_make(NULL, &pick, axis, plan), WSRT_EARG);
    assert_int_equal(wsrt_plan_make(f->e, NULL, axis, plan), WSRT_EARG);
    assert_int_equal(wsrt_plan_make(f->e, &pick, NULL, plan), WSRT_EARG);
    assert_int_equal(wsrt_scratch_bytes(f->p, &pick, axis, NULL), WSRT_EARG);
    free(plan);
}

/* Too many blocks, or a size that overflows: told, not launched. */
static void no_plan(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;
    const struct ws__pack_entry *e = find(f, 0, true, &pick);
    int64_t axes[SAMPLE_AXES];

    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_OK);
    memcpy(axes, e->workload->axis, sizeof(axes));
    f->e->shared_optin = 1; /* less than its first launch wants */
    assert_int_equal(wsrt_launch(f->e, &pick, axes, f->tensor, (void *)0x100000,
                                 UINT64_MAX, STREAM),
                     WSRT_EPLAN);
    f->e->shared_optin = 232448;
    axes[AXIS_M] = 65536; /* of y */
    assert_int_equal(wsrt_launch(f->e, &pick, axes, f->tensor, (void *)0x100000,
                                 UINT64_MAX, STREAM),
                     WSRT_EPLAN);
    axes[AXIS_M] = INT64_MAX;
    assert_int_equal(wsrt_launch(f->e, &pick, axes, f->tensor, (void *)0x100000,
                                 UINT64_MAX, STREAM),
                     WSRT_EPLAN);
    axes[AXIS_M] = 0;
    assert_int_equal(wsrt_launch(f->e, &pick, axes, f->tensor, (void *)0x100000,
                                 UINT64_MAX, STREAM),
                     WSRT_EARG);
    assert_int_equal(fake.nlaunch, 0);
}

static void captured(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;
    const struct ws__pack_entry *e = find(f, 0, true, &pick);
    const int64_t *axis = e->workload->axis;
    char reason[100] = "";

    fake.capturing = 1;
    assert_int_equal(wsrt_prepare(f->e, &pick, axis, STREAM, reason,
                                  sizeof(reason)),
                     WSRT_ECAPTURE);
    assert_non_null(strstr(reason, "captured"));
    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_ECAPTURE);
    fake.implicit = 1;
    assert_int_equal(wsrt_prepare_all(f->e, NULL, NULL, 0), WSRT_ECAPTURE);
    fake.implicit = 0;
    assert_int_equal(fake.module, 0);
    fake.capturing = 0;
    assert_int_equal(wsrt_prepare(f->e, &pick, axis, STREAM, NULL, 0), WSRT_OK);
    assert_int_equal(fake.mode, 1); /* as it was */
    fake.capturing = 1;
    atomic_store(&fake.calls, 0);
    assert_int_equal(wsrt_launch(f->e, &pick, axis, f->tensor, (void *)0x100000,
                                 UINT64_MAX, STREAM),
                     WSRT_OK);
    assert_int_equal(fake.calls, 3); /* a memset and two launches, no more */
    assert_int_equal(fake.loaded_while, 0);
}

static void loads_once(void **state)
{
    struct fixture *f = *state;
    int modules, functions;

    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_OK);
    modules = fake.module;
    functions = fake.nfunction;
    assert_int_equal(modules, wsrt_image_count(f->p));
    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_OK);
    assert_int_equal(fake.module, modules);
    assert_int_equal(fake.nfunction, functions);
}

static struct fixture *inner;

static int prepare_inside(void)
{
    fake.on_load = NULL;
    return wsrt_prepare_all(inner->e, STREAM, NULL, 0) == WSRT_EBUSY ? 46 : 1;
}

static void one_prepares(void **state)
{
    struct fixture *f = *state;

    inner = f;
    fake.on_load = prepare_inside;
    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_EDRIVER);
    assert_int_equal(wsrt_exec_driver_error(f->e), 46);
    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_OK);
}

static int other_gpu(void)
{
    fake.on_load = NULL;
    return 209;
}

static void for_another_gpu(void **state)
{
    struct fixture *f = *state;
    char reason[200] = "";

    fake.on_load = other_gpu;
    assert_int_equal(wsrt_prepare_all(f->e, STREAM, reason, sizeof(reason)),
                     WSRT_ENOIMAGE);
    assert_non_null(strstr(reason, "for sm_90 on a device of compute "
                                   "capability 9.0"));
}

static void foreign_context(void **state)
{
    struct fixture *f = *state;

    fake.context = f;
    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_EARG);
    assert_int_equal(fake.module, 0);
}

static int open_with(struct fixture *f, const struct wsrt_cuda_driver *d,
                     char *reason, size_t n)
{
    struct wsrt_exec *e;
    int rc = wsrt_exec_open_cuda(f->p, d, &e, reason, n);

    assert_true((e != NULL) == (rc == WSRT_OK));
    wsrt_exec_close(e);
    return rc;
}

static void opening(void **state)
{
    struct fixture *f = *state;
    struct wsrt_cuda_driver d = fake_driver;
    char reason[200] = "";
    void *lib;

    d.func_load = NULL; /* an older driver */
    assert_int_equal(open_with(f, &d, NULL, 0), WSRT_OK);
    d = fake_driver;
    d.size = offsetof(struct wsrt_cuda_driver, func_load);
    assert_int_equal(open_with(f, &d, NULL, 0), WSRT_OK);
    d.launch_kernel = NULL;
    assert_int_equal(open_with(f, &d, reason, sizeof(reason)), WSRT_EARG);
    assert_non_null(strstr(reason, "cuLaunchKernel"));
    fake.context = NULL;
    assert_int_equal(open_with(f, &fake_driver, reason, sizeof(reason)),
                     WSRT_ENODRIVER);
    assert_non_null(strstr(reason, "no CUDA context"));
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) {
        assert_int_equal(open_with(f, NULL, reason, sizeof(reason)),
                         WSRT_ENODRIVER);
        assert_non_null(strstr(reason, "libcuda"));
    } else {
        dlclose(lib);
    }
    wsrt_exec_close(NULL);
    assert_int_equal(wsrt_exec_driver_error(NULL), 0);
}

/* A pack without binaries, and one for another device. */
static void without_binaries(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pack *p;
    struct wsrt_exec *e;
    struct wsrt_pick pick;
    uint64_t bytes;
    void *image;
    size_t n;
    char reason[100];

    for (size_t i = 0; i < f->s.content.nbinary; i++)
        f->s.binary[i].family = "null";
    for (int with = 1; with >= 0; with--) {
        if (!with)
            f->s.content.nbinary = 0;
        assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &n), 0);
        assert_int_equal(wsrt_open_memory(image, n, &p, NULL, 0), WSRT_OK);
        assert_int_equal(wsrt_exec_open_cuda(p, &fake_driver, &e, reason,
                                             sizeof(reason)),
                         WSRT_ENOIMAGE);
        assert_non_null(strstr(reason, with ? "other devices" : "no binaries"));
        assert_int_equal(wsrt_pick(p, f->s.workload[0].axis, &pick), WSRT_OK);
        assert_int_equal(wsrt_scratch_bytes(p, &pick, f->s.workload[0].axis,
                                            &bytes),
                         WSRT_OK);
        wsrt_close(p);
        ws__free(f->ctx, image);
    }
}

/* Open, prepare all, launch; the n-th call of the driver fails. */
static int whole(struct fixture *f, const struct ws__pack_entry *e,
                 const struct wsrt_pick *pick)
{
    struct wsrt_exec *x;
    char reason[200] = "";
    int rc =
        wsrt_exec_open_cuda(f->p, &fake_driver, &x, reason, sizeof(reason));

    if (rc == WSRT_OK)
        rc = wsrt_prepare_all(x, STREAM, reason, sizeof(reason));
    assert_true((rc == WSRT_OK) == !reason[0]);
    if (rc == WSRT_OK)
        rc = wsrt_launch(x, pick, e->workload->axis, f->tensor,
                         (void *)0x100000, UINT64_MAX, STREAM);
    if (rc != WSRT_OK && x) {
        assert_int_equal(wsrt_exec_driver_error(x), FAKE_ERROR);
        fake.fail_at = 0;
        assert_int_equal(wsrt_prepare_all(x, STREAM, NULL, 0), WSRT_OK);
        assert_int_equal(wsrt_launch(x, pick, e->workload->axis, f->tensor,
                                     (void *)0x100000, UINT64_MAX, STREAM),
                         WSRT_OK);
    }
    wsrt_exec_close(x);
    return rc;
}

static void every_call_fails(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;
    const struct ws__pack_entry *e = find(f, 0, true, &pick);
    int failed = 0;

    for (int n = 1;; n++) {
        int rc;

        fake_reset();
        fake.fail_at = n;
        rc = whole(f, e, &pick);
        assert_int_equal(fake.module, 0);
        if (rc == WSRT_OK)
            break;
        assert_int_equal(rc, n == 1 ? WSRT_ENODRIVER : WSRT_EDRIVER);
        failed++;
    }
    assert_true(failed > 50);
}

struct launcher {
    pthread_t id;
    struct fixture *f;
    const struct ws__pack_entry *e;
    struct wsrt_pick pick;
    long ready, bad;
};

static void *launch_a_lot(void *arg)
{
    struct launcher *t = arg;

    for (int i = 0; i < 20000; i++) {
        int rc =
            wsrt_launch(t->f->e, &t->pick, t->e->workload->axis, t->f->tensor,
                        (void *)0x100000, UINT64_MAX, STREAM);

        t->ready += rc == WSRT_OK;
        t->bad += rc != WSRT_OK && rc != WSRT_ENOTREADY;
    }
    return NULL;
}

static void many_threads(void **state)
{
    struct fixture *f = *state;
    struct launcher t[4];
    size_t held;

    fake.record = 0;
    for (int i = 0; i < 4; i++) {
        t[i] = (struct launcher){.f = f};
        t[i].e = find(f, 0, true, &t[i].pick);
        assert_int_equal(pthread_create(&t[i].id, NULL, launch_a_lot, &t[i]),
                         0);
    }
    assert_int_equal(wsrt_prepare_all(f->e, STREAM, NULL, 0), WSRT_OK);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i].id, NULL);
        assert_int_equal(t[i].bad, 0);
    }
    /* Launching allocates nothing (nothing that stays, here; that it calls no
     * allocator at all is what tools/check-runtime-symbols sees). */
    held = mallinfo2().uordblks;
    launch_a_lot(&t[0]);
    assert_int_equal(mallinfo2().uordblks, held);
    assert_true(t[0].ready >= 20000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tensors),
        TEST(images),
        TEST(baked_values),
        TEST(launches),
        TEST(small_shape),
        TEST(same_as_the_tuner),
        cmocka_unit_test(rounds_alike),
        TEST(bad_calls),
        TEST(no_plan),
        TEST(captured),
        TEST(loads_once),
        TEST(one_prepares),
        TEST(for_another_gpu),
        TEST(foreign_context),
        TEST(opening),
        TEST(without_binaries),
        TEST(every_call_fails),
        TEST(many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
