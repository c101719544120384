/*
 * perf_launch.c: what a launch from a pack costs the processor, in
 * nanoseconds, on a driver that does nothing: the plan made, a plan launched,
 * both in one, both behind the memo of picks.
 *
 * Beside it, as the peer, the same two calls of the driver through the same
 * table with arguments that are ready: what no runtime can be quicker than.
 * A real driver adds about two microseconds to each call on either side.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pack/t_pack_sample.h"
#include "runtime/t_fake_driver.h"

#define CALLS 20000
#define ROUNDS 9 /* the least of these is reported */
#define SCRATCH ((void *)0x100000)

struct bench {
    struct sample s;
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
    struct wsrt_exec *e;
    struct wsrt_pick pick;
    struct wsrt_memo memo;
    struct wsrt_plan plan;
    const int64_t *axes;
    float scale;
    void *tensor[SAMPLE_TENSORS];
    void *param[12];
    int sink; /* keeps the calls alive */
};

static int plan_made(struct bench *b)
{
    return wsrt_plan_make(b->e, &b->pick, b->axes, &b->plan);
}

static int plan_launched(struct bench *b)
{
    return wsrt_plan_launch(&b->plan, b->tensor, SCRATCH, UINT64_MAX, NULL);
}

static int launched(struct bench *b)
{
    return wsrt_launch(b->e, &b->pick, b->axes, b->tensor, SCRATCH, UINT64_MAX,
                       NULL);
}

static int picked(struct bench *b)
{
    wsrt_pick_memo(b->p, &b->memo, b->axes, &b->pick);
    return launched(b);
}

/* The memset and the launches of the plan. */
static int bare(struct bench *b)
{
    int error = fake_driver.memset_d32_async(0x100000, 0, 1000, NULL);

    for (uint32_t i = 0; i < b->plan.nlaunch; i++) {
        const struct wsrt_plan_launch *l = &b->plan.launch[i];

        error |= fake_driver.launch_kernel(l->function, l->grid[0], l->grid[1],
                                           l->grid[2], l->block[0], l->block[1],
                                           l->block[2], l->shared_bytes, NULL,
                                           b->param, NULL);
    }
    return error;
}

static void time_one(struct bench *b, const char *name,
                     int (*call)(struct bench *))
{
    double best = HUGE_VAL;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = ws__now_ns();

        for (int i = 0; i < CALLS; i++)
            b->sink |= call(b);
        best = fmin(best, (double)(ws__now_ns() - start) / CALLS);
    }
    printf("bench %s %.1f ns\n", name, best);
}

static int make(struct ws_ctx *ctx, struct bench *b)
{
    WS_TRY(sample_make(ctx, &b->s, 100, 100));
    WS_TRY(ws__pack_image(ctx, &b->s.content, &b->image, &b->bytes));
    fake_reset();
    fake.record = 0;
    if (wsrt_open_memory(b->image, b->bytes, &b->p, NULL, 0) ||
        wsrt_exec_open_cuda(b->p, &fake_driver, &b->e, NULL, 0) ||
        wsrt_prepare_all(b->e, NULL, NULL, 0))
        return ws__fail(ctx, WS_EBUG, "the pack cannot be launched");
    b->tensor[TENSOR_A] = (void *)0x10000;
    b->tensor[TENSOR_SCALE] = &b->scale;
    b->tensor[TENSOR_C] = (void *)0x20000;
    for (size_t i = 0; i < 100; i++) {
        b->axes = b->s.workload[i].axis;
        if (wsrt_pick(b->p, b->axes, &b->pick) == WSRT_OK &&
            plan_made(b) == WSRT_OK && b->plan.nlaunch == 2)
            return 0;
    }
    return ws__fail(ctx, WS_EBUG, "no shape takes two launches");
}

int main(void)
{
    static struct bench b;
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    int rc = ctx ? make(ctx, &b) : WS_ENOMEM;

    if (rc < 0) {
        fprintf(stderr, "%s\n", ctx ? ws_ctx_error(ctx)->message : "no memory");
        return 1;
    }
    time_one(&b, "launch_plan_make_ns", plan_made);
    time_one(&b, "launch_plan_ns", plan_launched);
    time_one(&b, "launch_plan_ns.peer", bare);
    time_one(&b, "launch_ns", launched);
    time_one(&b, "launch_ns.peer", bare);
    time_one(&b, "launch_memo_ns", picked);
    wsrt_exec_close(b.e);
    wsrt_close(b.p);
    ws__free(ctx, b.image);
    sample_free(&b.s);
    ws_ctx_free(ctx);
    return b.sink ? 1 : 0;
}
