/*
 * launch.c PACK [BATCHES]: a plain C program that launches gemm from a pack: no
 * header and no library of CUDA's, only wsrt.h and libwsrt.a.
 *
 * For every float32 shape of the pack, and for one near each that was not
 * tuned: pick, prepare, launch on a stream, compare with sums made here;
 * then launch into a captured graph, where preparing must be refused without
 * harm to the capture, and replay it twice. Inputs are small whole numbers, so
 * that every order of sums gives the same float. At last, for the quickest
 * shape, what the calls cost the processor beside a bare cuLaunchKernel of the
 * same function with arguments that are ready.
 *
 * Prints one JSON document; exit code 1 if anything was wrong. Built and run
 * by tests/gpu/launch.sh.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wsrt.h"

#define FLOAT32 2 /* code of the element type */
#define CAPTURE_GLOBAL 0
#define SPOTS 4096  /* elements compared where there are more */
#define BATCH 128   /* launches between two waits: no queue gets full */
#define BATCHES 201 /* of each call; fewer, or 0, by the second argument */

/* Field, symbol, arguments; handles are pointers, device memory a number. */
#define CUDA(X)                                                                \
    X(init, "cuInit", (unsigned))                                              \
    X(device_get, "cuDeviceGet", (int *, int))                                 \
    X(device_name, "cuDeviceGetName", (char *, int, int))                      \
    X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                      \
    X(set_current, "cuCtxSetCurrent", (void *))                                \
    X(alloc, "cuMemAlloc_v2", (uint64_t *, size_t))                            \
    X(free, "cuMemFree_v2", (uint64_t))                                        \
    X(to_device, "cuMemcpyHtoD_v2", (uint64_t, const void *, size_t))          \
    X(to_host, "cuMemcpyDtoH_v2", (void *, uint64_t, size_t))                  \
    X(set, "cuMemsetD32_v2", (uint64_t, unsigned, size_t))                     \
    X(stream_create, "cuStreamCreate", (void **, unsigned))                    \
    X(stream_wait, "cuStreamSynchronize", (void *))                            \
    X(begin_capture, "cuStreamBeginCapture_v2", (void *, int))                 \
    X(end_capture, "cuStreamEndCapture", (void *, void **))                    \
    X(graph_nodes, "cuGraphGetNodes", (void *, void **, size_t *))             \
    X(instantiate, "cuGraphInstantiateWithFlags",                              \
      (void **, void *, unsigned long long))                                   \
    X(graph_launch, "cuGraphLaunch", (void *, void *))                         \
    X(graph_exec_destroy, "cuGraphExecDestroy", (void *))                      \
    X(graph_destroy, "cuGraphDestroy", (void *))                               \
    X(launch, "cuLaunchKernel",                                                \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       unsigned, void *, void **, void **))

static struct {
#define X(field, name, args) int(*field) args;
    CUDA(X)
#undef X
} cu;

struct run {
    struct wsrt_pack *pack;
    struct wsrt_exec *exec;
    void *stream;
    int64_t axes[WSRT_MEMO_AXES];
    int64_t m, n, k;
    uint64_t a, w, c, scratch, scratch_bytes; /* on the device */
    float *host_a, *host_w, *host_c;
    void *tensor[3];
    long checked, wrong;
    int failures;
    const char *comma;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt,
                                                                ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "launch: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(1);
}

static void must(int error, const char *what)
{
    if (error)
        die("%s: CUDA error %d", what, error);
}

static void load_cuda(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);

    if (!lib)
        die("%s", dlerror());
#define X(field, name, args)                                                   \
    *(void **)&cu.field = dlsym(lib, name);                                    \
    if (!cu.field)                                                             \
        die("the driver has no '%s'", name);
    CUDA(X)
#undef X
}

/* Is a status what it should be? */
static void expect(struct run *r, int status, int want, const char *what)
{
    if (status == want)
        return;
    fprintf(stderr, "launch: %s: '%s' (driver: %d), not '%s'\n", what,
            wsrt_status_text(status), wsrt_exec_driver_error(r->exec),
            wsrt_status_text(want));
    r->failures++;
}

/* -2 to 2, a function of the place. */
static float element(uint64_t i, uint64_t seed)
{
    i = (i + seed) * UINT64_C(0x9e3779b97f4a7c15);
    return (float)((int)((i >> 40) % 5) - 2);
}

static void *on_host(size_t n)
{
    void *p = malloc(n);

    if (!p)
        die("out of memory");
    return p;
}

static void make_inputs(struct run *r)
{
    size_t na = (size_t)(r->m * r->k), nw = (size_t)(r->n * r->k);
    size_t nc = (size_t)(r->m * r->n);

    r->host_a = on_host(na * 4);
    r->host_w = on_host(nw * 4);
    r->host_c = on_host(nc * 4);
    for (size_t i = 0; i < na; i++)
        r->host_a[i] = element(i, 1);
    for (size_t i = 0; i < nw; i++)
        r->host_w[i] = element(i, 77);
    must(cu.alloc(&r->a, na * 4), "allocate A");
    must(cu.alloc(&r->w, nw * 4), "allocate W");
    must(cu.alloc(&r->c, nc * 4), "allocate C");
    must(cu.to_device(r->a, r->host_a, na * 4), "write A");
    must(cu.to_device(r->w, r->host_w, nw * 4), "write W");
    r->tensor[0] = (void *)(uintptr_t)r->a;
    r->tensor[1] = (void *)(uintptr_t)r->w;
    r->tensor[2] = (void *)(uintptr_t)r->c;
}

static void drop_inputs(struct run *r)
{
    free(r->host_a);
    free(r->host_w);
    free(r->host_c);
    must(cu.free(r->a), "free");
    must(cu.free(r->w), "free");
    must(cu.free(r->c), "free");
    if (r->scratch)
        must(cu.free(r->scratch), "free");
    r->scratch = 0;
}

/* What lies in C against sums made here; C is worthless afterwards. */
static long compare(struct run *r)
{
    uint64_t n = (uint64_t)(r->m * r->n);
    uint64_t step = n > SPOTS ? n / SPOTS | 1 : 1;
    long wrong = 0;

    must(cu.stream_wait(r->stream), "wait for the kernel");
    must(cu.to_host(r->host_c, r->c, (size_t)n * 4), "read C");
    for (uint64_t i = 0; i < n; i += step) {
        const float *a = r->host_a + i / (uint64_t)r->n * (uint64_t)r->k;
        const float *w = r->host_w + i % (uint64_t)r->n * (uint64_t)r->k;
        int sum = 0;

        for (int64_t k = 0; k < r->k; k++)
            sum += (int)a[k] * (int)w[k];
        wrong += !(r->host_c[i] == (float)sum);
        r->checked++;
    }
    must(cu.set(r->c, 0xffffffffu, (size_t)n), "poison C");
    r->wrong += wrong;
    return wrong;
}

/* Capture: preparing is refused, the launch becomes nodes; replayed twice. */
static long through_graph(struct run *r, const struct wsrt_pick *pick,
                          const struct wsrt_plan *plan, size_t *nodes)
{
    void *graph = NULL, *exec = NULL;
    long wrong = 0;

    must(cu.begin_capture(r->stream, CAPTURE_GLOBAL), "begin the capture");
    expect(r, wsrt_prepare(r->exec, pick, r->axes, r->stream, NULL, 0),
           WSRT_ECAPTURE, "prepare in a capture");
    expect(r,
           wsrt_launch(r->exec, pick, r->axes, r->tensor,
                       (void *)(uintptr_t)r->scratch, r->scratch_bytes,
                       r->stream),
           WSRT_OK, "launch in a capture");
    must(cu.end_capture(r->stream, &graph), "end the capture");
    must(cu.graph_nodes(graph, NULL, nodes), "count the nodes");
    if (*nodes != plan->nlaunch + plan->nzero) {
        fprintf(stderr, "launch: %zu nodes, not %u + %u\n", *nodes,
                plan->nlaunch, plan->nzero);
        r->failures++;
    }
    must(cu.instantiate(&exec, graph, 0), "instantiate the graph");
    for (int i = 0; i < 2; i++) {
        must(cu.graph_launch(exec, r->stream), "launch the graph");
        wrong += compare(r);
    }
    must(cu.graph_exec_destroy(exec), "destroy the graph");
    must(cu.graph_destroy(graph), "destroy the graph");
    return wrong;
}

static const char *how_text(enum wsrt_how how)
{
    return how == WSRT_EXACT ? "exact"
                             : (how == WSRT_NEAREST ? "nearest" : "default");
}

static void set_shape(struct run *r, const int64_t *axes)
{
    memcpy(r->axes, axes, wsrt_axis_count(r->pack) * sizeof(*axes));
    r->m = axes[wsrt_axis_find(r->pack, "M")];
    r->n = axes[wsrt_axis_find(r->pack, "N")];
    r->k = axes[wsrt_axis_find(r->pack, "K")];
}

static void get_scratch(struct run *r, const struct wsrt_pick *pick)
{
    expect(r, wsrt_scratch_bytes(r->pack, pick, r->axes, &r->scratch_bytes),
           WSRT_OK, "scratch");
    if (r->scratch_bytes)
        must(cu.alloc(&r->scratch, r->scratch_bytes), "allocate scratch");
}

static void try_shape(struct run *r, const int64_t *axes)
{
    static struct wsrt_plan plan;
    struct wsrt_pick pick;
    char reason[300] = "";
    long wrong, graph_wrong;
    size_t nodes = 0;
    int rc;

    set_shape(r, axes);
    if (wsrt_pick(r->pack, r->axes, &pick) != WSRT_OK)
        return;
    make_inputs(r);
    get_scratch(r, &pick);
    rc = wsrt_prepare(r->exec, &pick, r->axes, r->stream, reason,
                      sizeof(reason));
    if (rc)
        fprintf(stderr, "launch: %s\n", reason);
    expect(r, rc, WSRT_OK, "prepare");
    expect(r, wsrt_plan_make(r->exec, &pick, r->axes, &plan), WSRT_OK, "plan");
    expect(r,
           wsrt_launch(r->exec, &pick, r->axes, r->tensor,
                       (void *)(uintptr_t)r->scratch, r->scratch_bytes,
                       r->stream),
           WSRT_OK, "launch");
    wrong = compare(r);
    graph_wrong = through_graph(r, &pick, &plan, &nodes);
    printf("%s\n  {\"M\": %lld, \"N\": %lld, \"K\": %lld, \"how\": \"%s\", "
           "\"launches\": %u, \"zeroed\": %u, \"scratch_bytes\": %llu, "
           "\"wrong\": %ld, \"graph_nodes\": %zu, \"graph_wrong\": %ld}",
           r->comma, (long long)r->m, (long long)r->n, (long long)r->k,
           how_text(pick.how), plan.nlaunch, plan.nzero,
           (unsigned long long)r->scratch_bytes, wrong, nodes, graph_wrong);
    r->comma = ",";
    drop_inputs(r);
}

/* Every float32 shape of the pack, and the one with a row more. */
static void try_all(struct run *r)
{
    int type = wsrt_axis_find(r->pack, "T"), m = wsrt_axis_find(r->pack, "M");

    for (uint32_t e = 0; e < wsrt_entry_count(r->pack); e++) {
        int64_t axes[WSRT_MEMO_AXES];

        memcpy(axes, wsrt_entry_axes(r->pack, e),
               wsrt_axis_count(r->pack) * sizeof(*axes));
        if (axes[type] != FLOAT32)
            continue;
        try_shape(r, axes);
        axes[m]++;
        try_shape(r, axes);
    }
}

/* ---- what it costs ------------------------------------------------------ */

struct bench {
    struct run *r;
    struct wsrt_pick pick;
    struct wsrt_plan plan;
    struct wsrt_memo memo;
    void *param[7];
    int32_t size[3];
};

static void bare(struct bench *b)
{
    const struct wsrt_plan_launch *l = &b->plan.launch[0];

    cu.launch(l->function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
              l->block[1], l->block[2], l->shared_bytes, b->r->stream, b->param,
              NULL);
}

static void planned(struct bench *b)
{
    wsrt_plan_launch(&b->plan, b->r->tensor, (void *)(uintptr_t)b->r->scratch,
                     b->r->scratch_bytes, b->r->stream);
}

static void launched(struct bench *b)
{
    wsrt_launch(b->r->exec, &b->pick, b->r->axes, b->r->tensor,
                (void *)(uintptr_t)b->r->scratch, b->r->scratch_bytes,
                b->r->stream);
}

static void picked_and_launched(struct bench *b)
{
    wsrt_pick_memo(b->r->pack, &b->memo, b->r->axes, &b->pick);
    launched(b);
}

static void picked(struct bench *b)
{
    wsrt_pick(b->r->pack, b->r->axes, &b->pick);
}

static void remembered(struct bench *b)
{
    wsrt_pick_memo(b->r->pack, &b->memo, b->r->axes, &b->pick);
}

static void plan_made(struct bench *b)
{
    wsrt_plan_make(b->r->exec, &b->pick, b->r->axes, &b->plan);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static const struct {
    const char *name;
    void (*call)(struct bench *);
} subject[] = {
    {"bare_launch", bare},
    {"wsrt_plan_launch", planned},
    {"wsrt_launch", launched},
    {"wsrt_pick_memo_and_launch", picked_and_launched},
    {"wsrt_plan_make", plan_made},
    {"wsrt_pick", picked},
    {"wsrt_pick_memo", remembered},
};

#define SUBJECTS (sizeof(subject) / sizeof(subject[0]))

/* In turns, so that whatever slows the machine slows all of them. */
static void time_all(struct bench *b, int batches)
{
    static double ns[SUBJECTS][BATCHES];

    for (int i = 0; i < batches; i++)
        for (size_t s = 0; s < SUBJECTS; s++) {
            double begin = now_ns();

            for (int k = 0; k < BATCH; k++)
                subject[s].call(b);
            ns[s][i] = (now_ns() - begin) / BATCH;
            must(cu.stream_wait(b->r->stream), "wait");
        }
    printf(",\n \"cost_ns\": {");
    for (size_t s = 0; s < SUBJECTS; s++) {
        qsort(ns[s], (size_t)batches, sizeof(double), ascending);
        printf("%s\n  \"%s\": {\"median\": %.1f, \"p10\": %.1f, \"p90\": %.1f}",
               s ? "," : "", subject[s].name, ns[s][batches / 2],
               ns[s][batches / 10], ns[s][batches * 9 / 10]);
    }
    printf("\n }");
}

/* The quickest shape that takes one launch. */
static int choose(struct run *r, struct bench *b)
{
    int type = wsrt_axis_find(r->pack, "T");
    double best = 1e300;
    int found = 0;

    for (uint32_t e = 0; e < wsrt_entry_count(r->pack); e++) {
        const int64_t *axes = wsrt_entry_axes(r->pack, e);
        struct wsrt_pick pick;

        if (axes[type] != FLOAT32 || wsrt_pick(r->pack, axes, &pick) ||
            wsrt_plan_make(r->exec, &pick, axes, &b->plan) ||
            b->plan.nlaunch != 1 || b->plan.nzero || pick.time_ns >= best)
            continue;
        best = pick.time_ns;
        set_shape(r, axes);
        found = 1;
    }
    return found;
}

static void measure(struct run *r, int batches)
{
    static struct bench b;

    b.r = r;
    if (!batches || !choose(r, &b)) {
        printf(",\n \"cost_ns\": null");
        return;
    }
    wsrt_pick(r->pack, r->axes, &b.pick);
    make_inputs(r);
    get_scratch(r, &b.pick);
    wsrt_plan_make(r->exec, &b.pick, r->axes, &b.plan);
    b.size[0] = (int32_t)r->m;
    b.size[1] = (int32_t)r->n;
    b.size[2] = (int32_t)r->k;
    b.param[0] = &r->a;
    b.param[1] = &r->w;
    b.param[2] = &r->c;
    b.param[3] = &r->scratch;
    for (int i = 0; i < 3; i++)
        b.param[4 + i] = &b.size[i];
    must(cu.set(r->c, 0xffffffffu, (size_t)(r->m * r->n)), "poison C");
    bare(&b);
    if (compare(r))
        fprintf(stderr, "launch: the bare launch computes something else\n");
    printf(",\n \"cost_of\": {\"M\": %lld, \"N\": %lld, \"K\": %lld, "
           "\"kernel_ns\": %.0f}",
           (long long)r->m, (long long)r->n, (long long)r->k, b.pick.time_ns);
    time_all(&b, batches);
    drop_inputs(r);
}

static void start(struct run *r, const char *path, char *name, int n)
{
    char reason[300] = "";
    void *context;
    double begin;
    int device;

    if (wsrt_open(path, &r->pack, reason, sizeof(reason)))
        die("%s: %s", path, reason);
    load_cuda();
    must(cu.init(0), "start the driver");
    must(cu.device_get(&device, 0), "find a device");
    must(cu.device_name(name, n, device), "ask for its name");
    must(cu.retain(&context, device), "make a context");
    must(cu.set_current(context), "use the context");
    /* One that waits for the default stream, where copies and fills go. */
    must(cu.stream_create(&r->stream, 0), "make a stream");
    if (wsrt_exec_open_cuda(r->pack, NULL, &r->exec, reason, sizeof(reason)))
        die("%s: %s", path, reason);
    printf("{\"device\": \"%s\",\n \"binaries\": %u", name,
           wsrt_image_count(r->pack));
    begin = now_ns();
    if (wsrt_prepare_all(r->exec, r->stream, reason, sizeof(reason)))
        die("%s: %s", path, reason);
    printf(",\n \"prepare_all_ms\": %.3f", (now_ns() - begin) / 1e6);
    wsrt_exec_close(r->exec);
    if (wsrt_exec_open_cuda(r->pack, NULL, &r->exec, reason, sizeof(reason)))
        die("%s: %s", path, reason);
}

/* What was not prepared is not launched. */
static void not_ready(struct run *r)
{
    struct wsrt_pick pick;

    if (!wsrt_entry_count(r->pack) || wsrt_entry(r->pack, 0, &pick))
        die("the pack has no shapes");
    expect(r,
           wsrt_launch(r->exec, &pick, wsrt_entry_axes(r->pack, 0), r->tensor,
                       NULL, 0, r->stream),
           WSRT_ENOTREADY, "launch before preparing");
}

int main(int argc, char **argv)
{
    struct run r = {.comma = ""};
    int batches = argc > 2 ? atoi(argv[2]) : BATCHES;
    char name[200];

    if (argc < 2 || argc > 3 || argv[1][0] == '-' || batches < 0 ||
        batches > BATCHES)
        die("usage: launch PACK [BATCHES] (of gemm, tuned on a CUDA device)");
    start(&r, argv[1], name, sizeof(name));
    not_ready(&r);
    printf(",\n \"shapes\": [");
    try_all(&r);
    printf("\n ]");
    measure(&r, batches);
    wsrt_exec_close(r.exec);
    wsrt_close(r.pack);
    printf(",\n \"checked\": %ld, \"wrong\": %ld, \"failures\": %d}\n",
           r.checked, r.wrong, r.failures);
    return r.wrong || r.failures || !r.checked;
}
