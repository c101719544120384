/*
 * perf_pick.c: what a lookup costs, in nanoseconds: exact, nearest among few
 * and many tuned shapes, nearest where the winner may not run the shape,
 * through the memo; and what opening costs.
 *
 * Beside it, as the peer, the plain way to find the nearest shape: one pass
 * over all entries with two logarithms in double precision an entry, guards
 * left out. Both work on the same shapes in the same process.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pack/t_pack_sample.h"
#include "wsrt_format.h"

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
    ws_ctx_free(ctx);
    return 0;
}
