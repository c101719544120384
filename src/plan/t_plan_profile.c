/*
 * t_plan_profile.c: a profile at the public interface, on the null device,
 * whose kernels say how long they take, with ceilings from a file: what is
 * taken from it, and that the cost of launching is found.
 */
#include "base/t_base.h"

#include <math.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/device.h"
#include "plan/plan.h"
#include "spec/roof_file.h"

static char dir[] = "/tmp/t_plan_profile.XXXXXX";
static char yaml[64], source[64], roofs[64];

static const char TWO[] =
    "kernel: two\ndialect: opencl\nsource: two.null\n"
    "launches:\n"
    "  - {entry: first, grid: 1, block: 1, args: [A, C]}\n"
    "  - {entry: then, grid: 2, block: 1, args: [A, C]}\n";
static const char TWO_SOURCE[] = "kernel first\n  copy 1 0\n  time 9000\n"
                                 "kernel then\n  time 1000\n";

static void set(struct ws__roof *r, enum ws__ceiling_of c, double v)
{
    r->ceiling[c] = (struct ws__ceiling){.known = true,
                                         .value = v,
                                         .from = WS__ROOF_MEASURED,
                                         .lo = v,
                                         .hi = v,
                                         .nsample = 7};
}

/* The file of the null device's ceilings, as measured on 1970-01-02. l2 0: it
 * is not known. */
static void put_roof(double launch_ns, double l2)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__roof r = {.cache_bytes = 4096, .measured_ns = 86400000000000u};
    const struct ws__device_info *info;
    struct ws__device dev;

    set(&r, WS__ROOF_COPY, 8e9);
    set(&r, WS__ROOF_LAUNCH, launch_ns);
    if (l2 > 0)
        set(&r, WS__ROOF_L2, l2);
    assert_int_equal(ws__device_open(ctx, "null", &dev), 0);
    info = dev.ops->info(dev.self);
    snprintf(r.device, sizeof(r.device), "%s", info->id.device);
    r.hash = ws__roof_identity(&info->id);
    assert_int_equal(ws__roof_save(ctx, roofs, &info->id, &r), 0);
    ws__device_close(&dev);
    ws_ctx_free(ctx);
}

static void drop_roof(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device dev;
    char *path;

    assert_int_equal(ws__device_open(ctx, "null", &dev), 0);
    path = ws__roof_path(ctx, roofs, &dev.ops->info(dev.self)->id);
    assert_non_null(path);
    unlink(path);
    rmdir(roofs);
    ws__free(ctx, path);
    ws__device_close(&dev);
    ws_ctx_free(ctx);
}

/* The kernel `two` on 8196 bytes, which take 10 us. */
static struct ws_spec *profile(struct ws_ctx *ctx, struct ws_profile *p)
{
    const char *file = yaml;
    struct ws_spec_open_opts so = {.size = sizeof(so),
                                   .path = "tests/data/timed",
                                   .kernels = &file,
                                   .nkernels = 1};
    struct ws_profile_opts o = {.size = sizeof(o),
                                .device = "null",
                                .workload = "large"};
    struct ws_spec *spec;

    ctx->data_dir = ws__strdup(ctx, dir);
    assert_int_equal(ws_spec_open_with(ctx, &so, &spec), 0);
    assert_int_equal(ws_profile(spec, &o, p), 0);
    assert_string_equal(p->verdict, "ok");
    assert_true(p->time_ns == 10000);
    assert_int_equal(p->nlaunch, 2);
    return spec;
}

static const struct ws_profile_finding *found(const struct ws_profile *p,
                                              const char *key)
{
    for (size_t i = 0; i < p->nfinding; i++)
        if (!strcmp(p->finding[i].key, key))
            return &p->finding[i];
    return NULL;
}

static const char *needs(const struct ws_profile *p, const char *rule)
{
    for (size_t i = 0; i < p->nblind; i++)
        if (!strcmp(p->blind[i].key, rule))
            return p->blind[i].needs;
    return "";
}

/* Each launch has its row, of what is known of it. */
static void launches(const struct ws_profile *p)
{
    assert_string_equal(p->launch[0].entry, "first");
    assert_string_equal(p->launch[1].entry, "then");
    assert_int_equal(p->launch[1].grid[0], 2);
    assert_true(isnan(p->launch[0].registers) && isnan(p->registers));
    assert_true(isnan(p->launch[1].shared_bytes) && isnan(p->spill_bytes));
    assert_string_equal(p->launch[1].limiter, "not known");
    assert_int_equal(p->main_launch, 1); /* the one with most threads */
}

static void measured(void **state)
{
    const struct ws_profile_finding *f;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_profile p;
    struct ws_spec *spec;

    (void)state;
    put_roof(4000, 4e9);
    spec = profile(ctx, &p);
    assert_string_equal(p.bytes_from, "measured");
    assert_string_equal(p.launch_from, "measured");
    assert_true(p.roof_ns == 86400000000000u);
    /* Warm: 4096 bytes of the cache, the rest of memory, half as fast. */
    assert_true(p.bytes == 8196 && p.cached_bytes == 4096);
    assert_string_equal(p.cached_from, "measured");
    assert_string_equal(p.bytes_by, "copy");
    assert_true(fabs(p.bytes_ns - (4096 / 4. + 4100 / 8.)) < 1e-6);
    assert_true(fabs(p.gap - 10000 / p.bytes_ns) < 1e-9 && !p.partly);
    assert_true(p.launch_ns == 8000);
    assert_string_equal(p.bound, "launch");
    f = found(&p, "launch");
    assert_non_null(f);
    assert_ptr_equal(f, &p.finding[0]);
    assert_string_equal(f->evidence[0].key, "launch_share");
    assert_true(f->evidence[0].value == .8);
    assert_string_equal(f->move[0].metric.key, "time");
    assert_true(f->move[0].metric.value == 10000);
    assert_string_equal(needs(&p, "launch"), "");
    assert_string_equal(needs(&p, "dram"), "counters");
    launches(&p);
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

/* Cheap launches are not held against it; a cache without a ceiling is left
 * out, and that is said. */
static void cheap(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_profile p;
    struct ws_spec *spec;

    (void)state;
    put_roof(100, 0);
    spec = profile(ctx, &p);
    assert_null(found(&p, "launch"));
    assert_true(p.partly && fabs(p.bytes_ns - 4100 / 8.) < 1e-6);
    assert_string_equal(p.cached_from, "unknown");
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

static void none(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_profile p;
    struct ws_spec *spec;

    (void)state;
    drop_roof();
    spec = profile(ctx, &p);
    assert_true(isnan(p.gap) && isnan(p.launch_ns) && !p.roof_ns);
    assert_string_equal(p.launch_from, "unknown");
    assert_null(found(&p, "launch"));
    assert_non_null(strstr(needs(&p, "launch"), "ceilings"));
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

static int set_up(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(yaml, sizeof(yaml), "%s/two.yaml", dir);
    snprintf(source, sizeof(source), "%s/two.null", dir);
    snprintf(roofs, sizeof(roofs), "%s/roofs", dir);
    assert_int_equal(ws__fs_write(ctx, yaml, TWO, strlen(TWO)), 0);
    assert_int_equal(ws__fs_write(ctx, source, TWO_SOURCE, strlen(TWO_SOURCE)),
                     0);
    ws_ctx_free(ctx);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(yaml);
    unlink(source);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured),
                                       cmocka_unit_test(cheap),
                                       cmocka_unit_test(none)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
