/*
 * perf_pick.c: what a lookup costs, in nanoseconds: exact, nearest among few
 * and many tuned shapes, nearest where the winner may not run the shape,
 * through the memo; and what opening costs.
 *
 * Beside it, as the peer, the plain way to find the nearest shape: one pass
 * over all entries with two logarithms in double precision an entry, guards
 * left out. Both work on the same shapes in the same process.
 *
 * Then a pack with a model of 64 candidates and 1000 tuned shapes: a tuned
 * shape, one never seen through the decision structure, one by the formula over
 * the whole portfolio; beside a plain hash map of the tuned shapes. And its
 * size: without texts and binaries, of which it has none.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pack/t_pack_gemm.h"

#define NSHAPE 1024 /* a power of two */
#define ROUNDS 9    /* the least of these is reported */

struct bench {
    struct sample s;
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
    int64_t shape[NSHAPE][SAMPLE_AXES];
    struct wsrt_memo memo;
    uint32_t sink; /* keeps the calls alive */
};

typedef uint32_t pick_fn(struct bench *b, const int64_t *axes);

static uint32_t plain(struct bench *b, const int64_t *axes)
{
    struct wsrt_pick pick;

    return wsrt_pick(b->p, axes, &pick) == WSRT_OK ? pick.variant : 0;
}

static uint32_t memo(struct bench *b, const int64_t *axes)
{
    struct wsrt_pick pick;

    return wsrt_pick_memo(b->p, &b->memo, axes, &pick) == WSRT_OK ? pick.variant
                                                                  : 0;
}

static uint32_t peer(struct bench *b, const int64_t *axes)
{
    double best = HUGE_VAL;
    uint32_t found = 0;

    for (size_t i = 0; i < b->s.content.nentry; i++) {
        const int64_t *e = b->s.workload[i].axis;
        double d;

        if (e[AXIS_T] != axes[AXIS_T])
            continue;
        d = fabs(log2((double)axes[AXIS_M] / (double)e[AXIS_M])) +
            fabs(log2((double)axes[AXIS_N] / (double)e[AXIS_N]));
        if (d < best) {
            best = d;
            found = (uint32_t)i;
        }
    }
    return found;
}

static void time_one(struct bench *b, const char *name, pick_fn *fn,
                     size_t nshape)
{
    const int calls = 8192;
    double best = HUGE_VAL;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = ws__now_ns();
        uint32_t sum = 0;
        double ns;

        for (int i = 0; i < calls; i++)
            sum += fn(b, b->shape[(size_t)i & (nshape - 1)]);
        ns = (double)(ws__now_ns() - start) / calls;
        b->sink += sum;
        best = ns < best ? ns : best;
    }
    printf("bench %s %.1f ns\n", name, best);
}

static int make(struct ws_ctx *ctx, struct bench *b, size_t n)
{
    WS_TRY(sample_make(ctx, &b->s, n, n));
    WS_TRY(ws__pack_image(ctx, &b->s.content, &b->image, &b->bytes));
    memset(&b->memo, 0, sizeof(b->memo));
    return wsrt_open_memory(b->image, b->bytes, &b->p, NULL, 0);
}

static void drop(struct ws_ctx *ctx, struct bench *b)
{
    wsrt_close(b->p);
    ws__free(ctx, b->image);
    sample_free(&b->s);
}

/* Shapes that are no entry and that the nearest entry may run (free), or may
 * not (second pass). */
static void choose(struct bench *b, bool allowed)
{
    struct ws__rng r;
    size_t n = 0;

    ws__rng_seed(&r, 1);
    for (long tries = 0; n < NSHAPE && tries < 10000000; tries++) {
        int64_t *axes = b->shape[n];
        struct wsrt_pick pick;
        uint32_t e;
        bool may;

        sample_shape(&r, axes);
        if (!allowed)
            axes[AXIS_N] += 8;
        e = peer(b, axes);
        may = sample_may_run(&b->s, b->s.entry[e].candidate.kernel,
                             &b->s.entry[e].candidate.config, axes);
        n += wsrt_pick(b->p, axes, &pick) == WSRT_OK &&
             pick.how == WSRT_NEAREST && may == allowed;
    }
    for (; n && n < NSHAPE; n++)
        memcpy(b->shape[n], b->shape[0], sizeof(b->shape[n]));
}

static void time_open(struct bench *b)
{
    double best = HUGE_VAL;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = ws__now_ns();
        struct wsrt_pack *p;

        if (wsrt_open_memory(b->image, b->bytes, &p, NULL, 0) == WSRT_OK)
            best = fmin(best, (double)(ws__now_ns() - start));
        wsrt_close(p);
    }
    printf("bench pack_open_%zu_us %.1f us\n", b->s.content.nentry, best / 1e3);
}

static void time_all(struct bench *b)
{
    size_t n = b->s.content.nentry;
    char name[64];

    for (size_t i = 0; i < NSHAPE; i++)
        memcpy(b->shape[i], b->s.workload[i % n].axis, sizeof(b->shape[i]));
    if (n == 100) {
        time_one(b, "pick_exact_ns", plain, NSHAPE);
        time_one(b, "pick_memo_ns", memo, 16);
    }
    choose(b, true);
    snprintf(name, sizeof(name), "pick_nearest_%zu_ns", n);
    time_one(b, name, plain, NSHAPE);
    snprintf(name, sizeof(name), "pick_nearest_%zu_ns.peer", n);
    time_one(b, name, peer, NSHAPE);
    if (n == 100) {
        time_one(b, "pick_nearest_ns", plain, NSHAPE);
        time_one(b, "pick_nearest_ns.peer", peer, NSHAPE);
    }
    choose(b, false);
    snprintf(name, sizeof(name), "pick_guarded_%zu_ns", n);
    time_one(b, name, plain, NSHAPE);
    time_open(b);
}

/* --- a pack with a model --- */

#define NTUNED 1000
#define PLACES 4096 /* a power of two */

struct model_bench {
    struct gemm g;
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
    int64_t tuned[NSHAPE][WS__MAX_AXES], other[NSHAPE][WS__MAX_AXES];
    /* The peer: FNV-1a over the values, linear probing. */
    struct {
        int64_t key[GEMM_AXES];
        uint32_t variant, used;
    } map[PLACES];
};

static size_t place_of(const int64_t *key)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < GEMM_AXES; i++)
        h = (h ^ (uint64_t)key[i]) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ h >> 32) & (PLACES - 1);
}

static uint32_t *find(struct model_bench *b, const int64_t *key)
{
    size_t at = place_of(key);

    while (b->map[at].used &&
           memcmp(b->map[at].key, key, sizeof(b->map[at].key)))
        at = (at + 1) & (PLACES - 1);
    if (!b->map[at].used)
        memcpy(b->map[at].key, key, sizeof(b->map[at].key));
    b->map[at].used = 1;
    return &b->map[at].variant;
}

typedef uint32_t model_fn(struct model_bench *b, const int64_t *axes);

static uint32_t by_pick(struct model_bench *b, const int64_t *axes)
{
    struct wsrt_pick pick;

    return wsrt_pick(b->p, axes, &pick) == WSRT_OK ? pick.variant : 0;
}

static uint32_t by_formula(struct model_bench *b, const int64_t *axes)
{
    struct wsrt_pick pick;

    return wsrt__pick_formula(b->p, &b->p->model[0], axes, &pick) == WSRT_OK
               ? pick.variant
               : 0;
}

static uint32_t by_map(struct model_bench *b, const int64_t *axes)
{
    return *find(b, axes);
}

/* Parts of a look-up by the formula: one prediction after another. */
static uint32_t by_prediction(struct model_bench *b, const int64_t *axes)
{
    const struct wsrt_f_model *m = &b->p->model[0];
    struct wsrt__guess g;
    struct wsrt__work w;

    wsrt__work_start(&w, b->p, m, axes);
    wsrt__model_guess(&w, &g);
    return (uint32_t)g.log2_ns[0];
}

static uint32_t by_tree(struct model_bench *b, const int64_t *axes)
{
    const struct wsrt_f_model *m = &b->p->model[0];
    struct wsrt__work w;

    wsrt__work_start(&w, b->p, m, axes);
    return wsrt__model_cell(&w)->limit;
}

/* Shape after shape in short slices, each at its best of many rounds: others
 * use the machine, too. */
#define SLICE 64
static double time_model(struct model_bench *b, model_fn *fn,
                         int64_t (*shape)[WS__MAX_AXES])
{
    static volatile uint32_t sink;
    double sum_ns = 0;

    for (int first = 0; first < NSHAPE; first += SLICE) {
        double best = HUGE_VAL;

        for (int round = 0; round < 60; round++) {
            uint64_t start = ws__now_ns();
            uint32_t sum = 0;

            for (int i = first; i < first + SLICE; i++)
                sum += fn(b, shape[i]);
            best = fmin(best, (double)(ws__now_ns() - start));
            sink += sum;
        }
        sum_ns += best;
    }
    return sum_ns / NSHAPE;
}

/* Others that use the machine slow all of this down. */
static void print_load(void)
{
    double load = 0;

    if (getloadavg(&load, 1) == 1)
        printf("# load of the machine: %.2f\n", load);
}

static void report(const char *name, double ns, double map_ns)
{
    printf("bench %s %.1f ns, %.2f of a hash map\n", name, ns, ns / map_ns);
}

static void choose_shapes(struct model_bench *b)
{
    struct ws__rng r;

    ws__rng_seed(&r, 4);
    for (size_t i = 0; i < NSHAPE;) {
        struct wsrt_pick pick;

        memcpy(b->tuned[i], b->g.s.workload[i % NTUNED].axis,
               sizeof(b->tuned[i]));
        *find(b, b->tuned[i]) = by_pick(b, b->tuned[i]);
        memset(b->other[i], 0, sizeof(b->other[i]));
        gemm_shape(&r, b->other[i]);
        i += wsrt_pick(b->p, b->other[i], &pick) == WSRT_OK &&
             pick.how != WSRT_EXACT;
    }
}

static void describe(const struct model_bench *b)
{
    const struct wsrt_f_model *m = &b->p->model[0];
    double open_ns = HUGE_VAL;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = ws__now_ns();
        struct wsrt_pack *p;

        if (wsrt_open_memory(b->image, b->bytes, &p, NULL, 0) == WSRT_OK)
            open_ns = fmin(open_ns, (double)(ws__now_ns() - start));
        wsrt_close(p);
    }
    printf("bench model_pack_open_us %.1f us\n", open_ns / 1e3);
    printf("bench model_pack_bytes %zu bytes, %u candidates of %u, %u nodes\n",
           b->bytes, m->nform, m->considered, m->nnode);
    printf("bench model_pack_loss %.4f at most, %.4f on average, of %u shapes; "
           "%.1f%% without the formula\n",
           wsrt__exp2(m->tree_worst), wsrt__exp2(m->tree_mean), m->points,
           m->at_once / 10.0);
}

static int bench_model(struct ws_ctx *ctx)
{
    static struct model_bench b;
    double map_ns;

    WS_TRY(gemm_make(ctx, &b.g, NTUNED, WSRT_MAX_FORMS));
    gemm_keep_all(&b.g);
    WS_TRY(ws__pack_image(ctx, &b.g.s.content, &b.image, &b.bytes));
    if (wsrt_open_memory(b.image, b.bytes, &b.p, NULL, 0))
        return WS_EBUG;
    choose_shapes(&b);
    map_ns = time_model(&b, by_map, b.tuned);
    print_load();
    printf("bench pick_hash_map %.1f ns\n", map_ns);
    report("pick_exact", time_model(&b, by_pick, b.tuned), map_ns);
    report("pick_model", time_model(&b, by_pick, b.other), map_ns);
    report("pick_full", time_model(&b, by_formula, b.other), map_ns);
    report("pick_tree_alone", time_model(&b, by_tree, b.other), map_ns);
    report("pick_predicting_all", time_model(&b, by_prediction, b.other),
           map_ns);
    describe(&b);
    wsrt_close(b.p);
    ws__free(ctx, b.image);
    gemm_free(&b.g);
    return 0;
}

int main(void)
{
    static const size_t sizes[] = {10, 100, 1000};
    static struct bench b;
    struct ws_ctx *ctx = ws_ctx_new(NULL);

    if (!ctx)
        return 1;
    for (size_t i = 0; i < WS_COUNT(sizes); i++) {
        if (make(ctx, &b, sizes[i])) {
            fprintf(stderr, "%s\n", ws_ctx_error(ctx)->message);
            return 1;
        }
        time_all(&b);
        drop(ctx, &b);
    }
    if (bench_model(ctx)) {
        fprintf(stderr, "%s\n", ws_ctx_error(ctx)->message);
        return 1;
    }
    ws_ctx_free(ctx);
    return 0;
}
