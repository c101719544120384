/*
 * modes.c: what the modes of timing do to a time, on a real device.
 *
 *   modes [DEVICE]     ("cuda:0")
 *
 * y += a x over 12.6, 50 and 201 MB, launched again on the same buffers, on
 * sets in turn that are together larger than the cache, after a flush by the
 * device's own means, and after one by writing; an empty kernel, one and ten
 * times, launched one by one and as a graph; and what the harness costs:
 * samples a second, a worker's start, a crash and a hang until the next kernel
 * runs. Prints Markdown; times are medians of 41 samples.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/stats.h"
#include "device/device.h"

#define SAMPLES 41
#define MAX_SETS 24

static const char source[] =
    "extern \"C\" __global__ void saxpy(const float4 *x, float4 *y, long n)\n"
    "{\n"
    "    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;\n"
    "    if (i < n) {\n"
    "        float4 u = x[i], v = y[i];\n"
    "        v.x += 2 * u.x; v.y += 2 * u.y; v.z += 2 * u.z; v.w += 2 * u.w;\n"
    "        y[i] = v;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void empty() {}\n"
    "extern \"C\" __global__ void hang(volatile int *p) { while (!*p) ; }\n"
    "extern \"C\" __global__ void stray(char *p) { p[1ll << 44] = 1; }\n";

static struct ws_ctx *ctx;
static struct ws__device dev;
static const char *name = "cuda:0";
static uint32_t module;

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "modes: %s: %s\n", what, ws_ctx_error(ctx)->message);
    exit(1);
}

static void open_device(void)
{
    static const char *const entry[] = {"saxpy", "empty", "hang", "stray"};
    const struct ws__build b = {.source = source,
                                .dialect = WS__DIALECT_CUDA,
                                .entry = entry,
                                .nentry = WS_COUNT(entry)};
    struct ws__built built;

    must(ws__device_open(ctx, name, &dev), "open the device");
    must(dev.ops->build(dev.self, &b, &built), "build");
    module = built.module;
    ws__built_free(ctx, &built);
}

static uint32_t alloc(uint64_t bytes)
{
    uint32_t buffer;

    must(dev.ops->alloc(dev.self, bytes, 0, 0, &buffer), "take memory");
    must(dev.ops->fill(dev.self, buffer, 0), "fill memory");
    return buffer;
}

/* The median of SAMPLES, in us. */
static double run(struct ws__dev_batch *b)
{
    static struct ws__dev_sample x[SAMPLES];
    double ns[SAMPLES];
    size_t n;

    b->nprog = 1;
    b->inner = 1;
    b->rounds = SAMPLES;
    must(dev.ops->run(dev.self, b, x, &n), "run");
    for (size_t i = 0; i < n; i++)
        ns[i] = x[i].ns;
    return ws__median(ns, n) / 1e3;
}

struct set {
    struct ws__dev_arg arg[3];
    struct ws__dev_launch launch;
};

static double saxpy(struct set *set, size_t nset, uint64_t flush, uint32_t dirt)
{
    struct ws__dev_fill fill = {.buffer = dirt, .pattern = 1};
    struct ws__dev_seq seq[MAX_SETS] = {{0}};
    struct ws__dev_batch b = {.prog = seq, .nset = nset, .flush_bytes = flush};

    for (size_t i = 0; i < nset; i++) {
        seq[i].launch = &set[i].launch;
        seq[i].nlaunch = 1;
        seq[i].fill = &fill;
        seq[i].nfill = dirt != 0;
    }
    run(&b);
    return run(&b);
}

static void one_size(uint64_t bytes, uint64_t cache)
{
    struct set set[MAX_SETS] = {{{{0}}, {0}}};
    uint64_t each = bytes / 3, n = each / 16;
    uint32_t dirt = alloc(2 * cache);
    double same, turn, flushed, written;

    for (size_t i = 0; i < MAX_SETS; i++) {
        struct set *s = &set[i];

        for (int k = 0; k < 2; k++) {
            s->arg[k].kind = WS__ARG_TENSOR;
            s->arg[k].buffer = alloc(each);
        }
        s->arg[2] = (struct ws__dev_arg){.kind = WS__ARG_VALUE, .bytes = 8};
        memcpy(s->arg[2].value, &n, 8);
        s->launch = (struct ws__dev_launch){.module = module,
                                            .entry = "saxpy",
                                            .grid = {(n + 255) / 256, 1, 1},
                                            .block = {256, 1, 1},
                                            .arg = s->arg,
                                            .narg = 3};
    }
    same = saxpy(set, 1, 0, 0);
    turn = saxpy(set, MAX_SETS, 0, 0);
    flushed = saxpy(set, 1, 2 * cache, 0);
    written = saxpy(set, 1, 0, dirt);
    printf("| %.1f MB | %.2f | %.2f | %.2f | %.2f |\n", (double)bytes / 1e6,
           same, turn, flushed, written);
    fflush(stdout);
    for (size_t i = 0; i < MAX_SETS; i++)
        for (int k = 0; k < 2; k++)
            dev.ops->release(dev.self, set[i].arg[k].buffer);
    dev.ops->release(dev.self, dirt);
}

static double empties(size_t n, bool graph)
{
    struct ws__dev_launch launch[10];
    struct ws__dev_seq seq = {.launch = launch, .nlaunch = n};
    struct ws__dev_batch b = {.prog = &seq, .nset = 1, .graph = graph};

    for (size_t i = 0; i < n; i++)
        launch[i] = (struct ws__dev_launch){.module = module,
                                            .entry = "empty",
                                            .grid = {132, 1, 1},
                                            .block = {128, 1, 1}};
    run(&b);
    return run(&b);
}

/* From the launch of one that fails to the end of one that does not. */
static double failure(const char *entry, uint64_t limit_ns, int *code)
{
    struct ws__dev_arg arg = {.kind = WS__ARG_TENSOR, .buffer = alloc(64)};
    struct ws__dev_launch l = {.module = module,
                               .entry = entry,
                               .grid = {1, 1, 1},
                               .block = {1, 1, 1},
                               .arg = &arg,
                               .narg = 1};
    struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    struct ws__dev_batch b = {
        .prog = &seq, .nset = 1, .nprog = 1, .rounds = 1, .inner = 1};
    struct ws__dev_sample x;
    uint64_t begin;
    size_t n;

    empties(1, false);
    dev.ops->set_limit(dev.self, limit_ns);
    begin = ws__now_ns();
    *code = dev.ops->run(dev.self, &b, &x, &n);
    printf("%s: %s\n", ws_status_name(*code), ws_ctx_error(ctx)->message);
    ws__device_close(&dev);
    open_device();
    empties(1, false);
    return (double)(ws__now_ns() - begin) / 1e6;
}

int main(int argc, char **argv)
{
    struct ws_ctx_opts opts = {.size = sizeof(opts)};
    const struct ws__device_info *info;
    uint64_t begin, cache;
    double ms, again;
    int code;

    opts.worker_path = getenv("WAVESMITH_WORKER");
    opts.cache_dir = getenv("WAVESMITH_CACHE");
    if (argc > 1)
        name = argv[1];
    ctx = ws_ctx_new(&opts);
    if (!ctx)
        return 1;
    begin = ws__now_ns();
    open_device();
    ms = (double)(ws__now_ns() - begin) / 1e6;
    info = dev.ops->info(dev.self);
    cache = info->id.cache_bytes;
    printf("%s, driver %s, %s\n%s\n\n", info->id.device, info->id.driver,
           info->id.compiler, info->extra);
    printf("| y += a x, us | same buffers | %d sets in turn | flushed | "
           "written over |\n|---|---|---|---|---|\n",
           MAX_SETS);
    one_size(12582912, cache);
    one_size(50331648, cache);
    one_size(201326592, cache);
    printf("\n| empty kernel, us | one by one | graph |\n|---|---|---|\n"
           "| 1 launch | %.2f | %.2f |\n",
           empties(1, false), empties(1, true));
    printf("| 10 launches | %.2f | %.2f |\n\n", empties(10, false),
           empties(10, true));
    begin = ws__now_ns();
    for (int i = 0; i < 5; i++)
        empties(1, false);
    printf("samples a second: %.0f\n",
           10.0 * SAMPLES * 1e9 / (double)(ws__now_ns() - begin));
    begin = ws__now_ns();
    ws__device_close(&dev);
    open_device();
    empties(1, false);
    again = (double)(ws__now_ns() - begin) / 1e6;
    printf("opened and built: %.0f ms, once more and run: %.0f ms\n", ms,
           again);
    ms = failure("stray", 5000000000u, &code);
    printf("an illegal address, until the next kernel has run: %.0f ms\n", ms);
    ms = failure("hang", 1000000000u, &code);
    printf("a hang with a limit of 1000 ms, until the next kernel has run: "
           "%.0f ms\n",
           ms);
    ws__device_close(&dev);
    ws_ctx_free(ctx);
    return 0;
}
