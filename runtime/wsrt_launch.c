/*
 * wsrt_launch.c: puts a plan on a stream.
 *
 * The hot path of the runtime, and safe while a stream is captured: nothing
 * but the driver's launches and memsets is called, and nothing of ours waits,
 * locks or allocates. What can be told wrong beforehand is told before the
 * first launch.
 */
#include "wsrt_exec.h"

/* What CUDA allows in y and z, and threads a block; how much shared memory is
 * the device's to say. */
#define CUDA_MAX_GRID_YZ 65535u
#define CUDA_MAX_BLOCK_Z 64u
#define CUDA_MAX_THREADS 1024u

static int fits_cuda(const struct wsrt_exec *e,
                     const struct wsrt_plan_launch *l)
{
    return l->grid[1] <= CUDA_MAX_GRID_YZ && l->grid[2] <= CUDA_MAX_GRID_YZ &&
           l->block[2] <= CUDA_MAX_BLOCK_Z &&
           (uint64_t)l->block[0] * l->block[1] * l->block[2] <=
               CUDA_MAX_THREADS &&
           l->shared_bytes <= (uint32_t)e->shared_optin;
}

int wsrt_plan_make(struct wsrt_exec *e, const struct wsrt_pick *pick,
                   const int64_t *axes, struct wsrt_plan *out)
{
    uint32_t symbol[WSRT_MAX_LAUNCHES], binary;
    int rc;

    if (!e || !out || wsrt__pick_check(e->pack, pick, axes))
        return WSRT_EARG;
    binary = wsrt__find_binary(e->pack, pick->variant, axes);
    if (binary == WSRT_NONE)
        return WSRT_ENOIMAGE;
    rc = wsrt__plan(e->pack, pick->variant, binary, axes, out, symbol);
    if (rc != WSRT_OK)
        return rc;
    out->exec = e;
    for (uint32_t i = 0; i < out->nlaunch; i++) {
        struct wsrt_plan_launch *l = &out->launch[i];

        if (!fits_cuda(e, l))
            return WSRT_EPLAN;
        l->function =
            atomic_load_explicit(&e->function[symbol[i]], memory_order_acquire);
        if (!l->function)
            return WSRT_ENOTREADY;
    }
    return WSRT_OK;
}

/* A null or misaligned pointer would end the whole process's use of the GPU
 * once a kernel follows it. */
static int check_tensor(const struct wsrt_pack *p, uint32_t i, const void *at)
{
    return !at ||
           (!p->tensor[i].by_value && (uintptr_t)at % p->tensor[i].align);
}

static int check_call(const struct wsrt_plan *plan, void *const *tensors,
                      const void *scratch, uint64_t scratch_bytes)
{
    const struct wsrt_plan_launch *last = &plan->launch[plan->nlaunch - 1];
    const struct wsrt_plan_arg *end = plan->arg + last->first_arg + last->narg;

    for (const struct wsrt_plan_arg *a = plan->arg; a < end; a++)
        if (a->kind == WSRT_ARG_TENSOR &&
            (!tensors || check_tensor(plan->pack, a->index, tensors[a->index])))
            return WSRT_EARG;
    if (plan->scratch_bytes &&
        (!scratch || (uintptr_t)scratch % WSRT_SCRATCH_ALIGN ||
         scratch_bytes < plan->scratch_bytes))
        return WSRT_EARG;
    return WSRT_OK;
}

static int driver_failed(struct wsrt_exec *e, int error)
{
    atomic_store_explicit(&e->error, error, memory_order_relaxed);
    return WSRT_EDRIVER;
}

static int zero_scratch(const struct wsrt_plan *plan, uint64_t scratch,
                        void *stream)
{
    struct wsrt_exec *e = plan->exec;

    for (uint32_t i = 0; i < plan->nzero; i++) {
        /* Up to the next buffer there is room for a whole word. */
        int error =
            e->driver.memset_d32_async(scratch + plan->zero[i].at, 0,
                                       (size_t)(plan->zero[i].bytes + 3) / 4,
                                       stream);

        if (error)
            return driver_failed(e, error);
    }
    return WSRT_OK;
}

/* The driver takes the address of every argument: those of the caller's
 * pointers, of the plan's numbers, of scratch pointers made here. */
static int launch_one(const struct wsrt_plan *plan,
                      const struct wsrt_plan_launch *l, void *const *tensors,
                      uint64_t scratch, void *stream)
{
    const struct wsrt_pack *p = plan->pack;
    void *param[WSRT_MAX_ARGS];
    uint64_t place[WSRT_MAX_ARGS];
    int error;

    for (uint32_t i = 0; i < l->narg; i++) {
        const struct wsrt_plan_arg *a = &plan->arg[l->first_arg + i];

        if (a->kind == WSRT_ARG_TENSOR) {
            param[i] = p->tensor[a->index].by_value
                           ? tensors[a->index]
                           : (void *)(uintptr_t)&tensors[a->index];
            continue;
        }
        place[i] = a->kind == WSRT_ARG_SCRATCH ? scratch + a->value : a->value;
        param[i] = &place[i];
    }
    error =
        plan->exec->driver.launch_kernel(l->function, l->grid[0], l->grid[1],
                                         l->grid[2], l->block[0], l->block[1],
                                         l->block[2], l->shared_bytes, stream,
                                         param, NULL);
    return error ? driver_failed(plan->exec, error) : WSRT_OK;
}

int wsrt_plan_launch(const struct wsrt_plan *plan, void *const *tensors,
                     void *scratch, uint64_t scratch_bytes, void *stream)
{
    uint64_t at = (uint64_t)(uintptr_t)scratch;
    int rc;

    if (!plan || !plan->exec)
        return WSRT_EARG;
    rc = check_call(plan, tensors, scratch, scratch_bytes);
    if (rc == WSRT_OK && plan->nzero)
        rc = zero_scratch(plan, at, stream);
    for (uint32_t i = 0; i < plan->nlaunch && rc == WSRT_OK; i++)
        rc = launch_one(plan, &plan->launch[i], tensors, at, stream);
    return rc;
}

int wsrt_launch(struct wsrt_exec *e, const struct wsrt_pick *pick,
                const int64_t *axes, void *const *tensors, void *scratch,
                uint64_t scratch_bytes, void *stream)
{
    struct wsrt_plan plan;
    int rc = wsrt_plan_make(e, pick, axes, &plan);

    return rc == WSRT_OK ? wsrt_plan_launch(&plan, tensors, scratch,
                                            scratch_bytes, stream)
                         : rc;
}
