/*
 * counters.c: hardware counters of two kernels, on a real device.
 *
 *   counters count [DEVICE]   counts, and times before and after
 *   counters plain [DEVICE]   only launches them: for ncu to look at
 *   counters names one|full   the metrics of a set for sm_90, for ncu
 *
 * `stream` reads and writes 512 MiB, `gemm` multiplies bfloat16 matrices of
 * 4096 x 4096 by the tensor instructions of a warp, `small` does what `stream`
 * does with 64 KiB and is only timed. `count` prints a line a
 * fact: "value KERNEL METRIC NUMBER" (cold caches), "time before|after KERNEL
 * MICROSECONDS" (median), "cost FIRST MEDIAN MIN MAX" in milliseconds of
 * counting `stream` by the one-pass set, and "passes SET NUMBER".
 * tests/gpu/counters.sh compares with ncu.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/stats.h"
#include "device/device.h"
#include "profile/metrics.h"

#define SAMPLES 41
#define COUNTS 21
#define STREAM_BYTES ((uint64_t)512 << 20)
#define SMALL_BYTES 65536
#define SIDE 4096u
#define FLUSH_BYTES ((uint64_t)256 << 20)

static const char source[] =
    "extern \"C\" __global__ void stream(const float4 *x, float4 *y, long n)\n"
    "{\n"
    "    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n;\n"
    "         i += (long)gridDim.x * blockDim.x) {\n"
    "        float4 u = x[i];\n"
    "        u.x += 1;\n"
    "        y[i] = u;\n"
    "    }\n"
    "}\n"
    "/* c = a b^T; a warp has 32 x 32 of c, a block 64 x 128. */\n"
    "extern \"C\" __global__ void gemm(const unsigned *a, const unsigned *b,\n"
    "                                float *c, int side)\n"
    "{\n"
    "    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
    "    int r = lane / 4, q = lane % 4, half = side / 2;\n"
    "    int m = blockIdx.y * 64 + warp / 4 * 32;\n"
    "    int n = blockIdx.x * 128 + warp % 4 * 32;\n"
    "    float d[2][4][4] = {};\n"
    "    for (int k = 0; k < half; k += 8) {\n"
    "        unsigned u[2][4], v[4][2];\n"
    "        for (int i = 0; i < 2; i++) {\n"
    "            const unsigned *p = a + (long)(m + i * 16 + r) * half + k;\n"
    "            u[i][0] = p[q];\n"
    "            u[i][1] = p[8l * half + q];\n"
    "            u[i][2] = p[q + 4];\n"
    "            u[i][3] = p[8l * half + q + 4];\n"
    "        }\n"
    "        for (int j = 0; j < 4; j++) {\n"
    "            const unsigned *p = b + (long)(n + j * 8 + r) * half + k;\n"
    "            v[j][0] = p[q];\n"
    "            v[j][1] = p[q + 4];\n"
    "        }\n"
    "        for (int i = 0; i < 2; i++)\n"
    "            for (int j = 0; j < 4; j++)\n"
    "                asm volatile(\n"
    "                    \"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
    "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};\"\n"
    "                    : \"+f\"(d[i][j][0]), \"+f\"(d[i][j][1]),\n"
    "                      \"+f\"(d[i][j][2]), \"+f\"(d[i][j][3])\n"
    "                    : \"r\"(u[i][0]), \"r\"(u[i][1]), \"r\"(u[i][2]),\n"
    "                      \"r\"(u[i][3]), \"r\"(v[j][0]), \"r\"(v[j][1]));\n"
    "    }\n"
    "    for (int i = 0; i < 2; i++)\n"
    "        for (int j = 0; j < 4; j++) {\n"
    "            float *p = c + (long)(m + i * 16 + r) * side + n + j * 8 + "
    "2 * q;\n"
    "            p[0] = d[i][j][0];\n"
    "            p[1] = d[i][j][1];\n"
    "            p[8l * side] = d[i][j][2];\n"
    "            p[8l * side + 1] = d[i][j][3];\n"
    "        }\n"
    "}\n";

static struct ws_ctx *ctx;
static struct ws__device dev;
enum { STREAM, GEMM, SMALL, KERNELS };
static const char *const label[] = {"stream", "gemm", "small"};
static const char *const entry[] = {"stream", "gemm", "stream"};
static struct ws__dev_arg arg[KERNELS][4];
static struct ws__dev_launch launch[KERNELS];
static uint32_t product; /* the buffer */

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "counters: %s: %s (%s)\n", what, ws_ctx_error(ctx)->message,
            ws_ctx_error(ctx)->hint);
    exit(1);
}

static uint32_t buffer(uint64_t bytes, uint32_t pattern)
{
    uint32_t b;

    must(dev.ops->alloc(dev.self, bytes, 0, 0, &b), "buffer");
    must(dev.ops->fill(dev.self, b, pattern), "fill");
    return b;
}

static void value(struct ws__dev_arg *a, const void *p, uint32_t bytes)
{
    *a = (struct ws__dev_arg){.kind = WS__ARG_VALUE, .bytes = bytes};
    memcpy(a->value, p, bytes);
}

static void tensor(struct ws__dev_arg *a, uint32_t b)
{
    *a = (struct ws__dev_arg){.kind = WS__ARG_TENSOR, .buffer = b};
}

static void build(void)
{
    const struct ws__build b = {.source = source,
                                .dialect = WS__DIALECT_CUDA,
                                .entry = entry,
                                .nentry = 2};
    struct ws__built built;

    must(dev.ops->build(dev.self, &b, &built), "build");
    for (size_t i = 0; i < KERNELS; i++)
        launch[i] = (struct ws__dev_launch){.module = built.module,
                                            .entry = entry[i],
                                            .grid = {1056, 1, 1},
                                            .block = {256, 1, 1},
                                            .arg = arg[i],
                                            .narg = i == GEMM ? 4 : 3};
    launch[GEMM].grid[0] = SIDE / 128;
    launch[GEMM].grid[1] = SIDE / 64;
    launch[SMALL].grid[0] = SMALL_BYTES / 16 / 256;
    ws__built_free(ctx, &built);
}

static void set_up(const char *name)
{
    const int64_t n = (int64_t)(STREAM_BYTES / 16), few = SMALL_BYTES / 16;
    const int32_t side = SIDE;
    const uint32_t ones = 0x3f803f80u; /* two of bfloat16 */

    must(ws__device_open(ctx, name, &dev), "open the device");
    build();
    tensor(&arg[0][0], buffer(STREAM_BYTES, 0));
    tensor(&arg[0][1], buffer(STREAM_BYTES, 0));
    value(&arg[0][2], &n, sizeof(n));
    memcpy(arg[SMALL], arg[STREAM], sizeof(arg[SMALL]));
    value(&arg[SMALL][2], &few, sizeof(few));
    tensor(&arg[1][0], buffer((uint64_t)SIDE * SIDE * 2, ones));
    tensor(&arg[1][1], buffer((uint64_t)SIDE * SIDE * 2, ones));
    product = buffer((uint64_t)SIDE * SIDE * 4, 0);
    tensor(&arg[1][2], product);
    value(&arg[1][3], &side, sizeof(side));
}

/* Median in microseconds. */
static double timed(size_t kernel, uint32_t rounds)
{
    const struct ws__dev_seq seq = {.launch = &launch[kernel], .nlaunch = 1};
    const struct ws__dev_batch batch = {.prog = &seq,
                                        .nprog = 1,
                                        .nset = 1,
                                        .rounds = rounds,
                                        .inner = 1,
                                        .flush_bytes = FLUSH_BYTES};
    struct ws__dev_sample s[SAMPLES];
    double ns[SAMPLES];
    size_t n;

    must(dev.ops->run(dev.self, &batch, s, &n), "run");
    for (size_t i = 0; i < n; i++)
        ns[i] = s[i].ns;
    return ws__median(ns, n) * 1e-3;
}

static void check_product(void)
{
    float got;

    must(dev.ops->read(dev.self, product, 4, &got, sizeof(got)), "read");
    if (got == (float)SIDE)
        return;
    fprintf(stderr, "counters: gemm is wrong: %g\n", (double)got);
    exit(1);
}

static void times(const char *when)
{
    for (size_t k = 0; k < KERNELS; k++)
        printf("time %s %s %.2f\n", when, label[k], timed(k, SAMPLES));
}

struct set {
    enum ws__metric metric[WS__NMETRIC];
    const char *name[WS__NMETRIC];
    size_t n;
};

static struct set set_of(unsigned which)
{
    const char *text = strstr(dev.ops->info(dev.self)->extra, "capability: ");
    int major = 0, minor = 0;
    struct set s;

    if (!text || sscanf(text, "capability: %d.%d", &major, &minor) != 2)
        exit(1);
    s.n =
        ws__metric_set(which, ws__metric_arch(major, minor), s.metric, s.name);
    return s;
}

static uint32_t count(const struct ws__dev_seq *seq, const struct set *s,
                      uint64_t flush_bytes, double *out)
{
    uint32_t passes;

    must(dev.ops->count(dev.self, seq, flush_bytes, s->name, s->n, out,
                        &passes),
         "count");
    return passes;
}

/* Both kernels one after the other, with a timed fill that is no launch. */
static void values(const char *set, unsigned which)
{
    const struct ws__dev_fill fill = {.buffer = product, .timed = true};
    const struct ws__dev_seq seq = {.launch = launch,
                                    .nlaunch = 2,
                                    .fill = &fill,
                                    .nfill = 1};
    struct set s = set_of(which);
    double v[2 * WS__NMETRIC];
    double t0 = (double)ws__now_ns();

    printf("passes %s %u\n", set, (unsigned)count(&seq, &s, FLUSH_BYTES, v));
    printf("first %s %.1f\n", set, ((double)ws__now_ns() - t0) * 1e-6);
    t0 = (double)ws__now_ns();
    count(&seq, &s, FLUSH_BYTES, v);
    printf("second %s %.1f\n", set, ((double)ws__now_ns() - t0) * 1e-6);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < s.n; i++)
            printf("value %s %s %s %.10g\n", set, entry[k], s.name[i],
                   v[k * s.n + i]);
}

static void cost(void)
{
    const struct ws__dev_seq seq = {.launch = launch, .nlaunch = 1};
    struct set s = set_of(WS__METRICS_ONE_PASS);
    double v[WS__NMETRIC], ms[COUNTS];

    for (size_t i = 0; i < COUNTS; i++) {
        uint64_t t0 = ws__now_ns();

        count(&seq, &s, FLUSH_BYTES, v);
        ms[i] = (double)(ws__now_ns() - t0) * 1e-6;
    }
    printf("cost first %.2f", ms[0]);
    printf(" median %.2f", ws__median(ms + 1, COUNTS - 1));
    for (size_t i = 1; i < COUNTS; i++)
        printf(" %.2f", ms[i]);
    printf("\n");
}

static void names(const char *set)
{
    enum ws__metric m[WS__NMETRIC];
    const char *name[WS__NMETRIC];
    size_t n = ws__metric_set(!strcmp(set, "one") ? WS__METRICS_ONE_PASS
                                                  : WS__METRICS_FULL,
                              90, m, name);

    for (size_t i = 0; i < n; i++)
        printf("%s%s", i ? "," : "", name[i]);
    printf("\n");
}

static void note(void *user, enum ws_log_level level, const char *text)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
    struct ws_ctx_opts opts = {.size = sizeof(opts)};

    if (argc > 2 && !strcmp(argv[1], "names")) {
        names(argv[2]);
        return 0;
    }
    if (argc < 2 || (strcmp(argv[1], "count") && strcmp(argv[1], "plain"))) {
        fprintf(stderr, "usage: counters count|plain [DEVICE]\n");
        return 2;
    }
    opts.worker_path = getenv("WAVESMITH_WORKER");
    setvbuf(stdout, NULL, _IOLBF, 0);
    opts.log = getenv("VERBOSE") ? note : NULL;
    ctx = ws_ctx_new(&opts);
    set_up(argc > 2 ? argv[2] : "cuda:0");
    if (!strcmp(argv[1], "plain")) {
        for (size_t k = 0; k < 2; k++)
            timed(k, 1);
    } else {
        times("before");
        check_product();
        cost();
        times("after-one");
        values("one", WS__METRICS_ONE_PASS);
        values("full", WS__METRICS_FULL);
        times("after-full");
    }
    ws__device_close(&dev);
    ws_ctx_free(ctx);
    return 0;
}
