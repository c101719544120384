/*
 * measure_filter.c: the resource filter: which candidates can run at all.
 *
 * It answers without building, from the evaluated launch plan and the limits
 * that the device reports, so strategies may ask it for thousands of configs.
 * It is exact for what the plan declares and silent about what only a
 * compiler knows (registers); those show as a refused launch. Every reason
 * has both numbers, the one wanted and the one there is.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

#define REASON 256

bool ws__measure_in_buffer(const struct ws__op *op, size_t t)
{
    return op->tensor[t].ndim || op->tensor[t].role != WS__INPUT;
}

/* Wide enough for a tile's stray row of a large tensor, small beside a small
 * one. */
uint32_t ws__measure_guard_bytes(uint64_t bytes)
{
    return bytes < (1u << 20) ? 4096 : 65536;
}

static void fill_vars(const struct ws__measure *m, const struct ws__kernel *k,
                      const struct ws__workload *w, union wsrt_value *vars)
{
    memset(vars, 0, WS__MAX_SLOTS * sizeof(*vars));
    for (size_t i = 0; i < m->op->naxis; i++)
        vars[i].i = w->axis[i];
    ws__identity_vars(&m->info.id, k, vars);
}

void ws__measure_vars(struct ws__measure *m, const struct ws__kernel *k,
                      uint32_t workload, union wsrt_value *vars)
{
    fill_vars(m, k, &m->workload[workload], vars);
}

/* Of ready-made code the device says itself what it takes. */
static int check_dialect(const struct ws__measure *m,
                         const struct ws__kernel *k, char *reason)
{
    const struct ws__device_ops *ops = ws__device_find(m->info.id.family);

    if (!ops || !ops->dialects || ws__dialect_is_ready(k->dialect) ||
        (ops->dialects >> k->dialect & 1))
        return 1;
    snprintf(reason, REASON,
             "kernel '%s' is in %s, which %s devices do not take", k->name,
             ws__dialect_name(k->dialect), m->info.id.family);
    return 0;
}

static int check_ranges(const struct ws__measure *m, const struct ws__kernel *k,
                        const struct ws__workload *w, char *reason)
{
    for (size_t i = 0; i < m->op->naxis; i++) {
        int64_t v = w->axis[i];
        int64_t lo = k->range_lo[i], hi = k->range_hi[i];

        if ((lo || hi) && (v < lo || v > hi)) {
            snprintf(reason, REASON,
                     "axis '%s' is %lld; kernel '%s' is made for %lld..%lld",
                     m->op->axis[i].name, (long long)v, k->name, (long long)lo,
                     (long long)hi);
            return 0;
        }
    }
    return 1;
}

/* 1: it holds, or only thins the space. */
static int constraint_holds(const struct ws__constraint *c,
                            const union wsrt_value *vars)
{
    return c->prune ? 1 : ws__expr_test(c->expr, vars);
}

static int check_constraints(const struct ws__kernel *k,
                             const union wsrt_value *vars, char *reason)
{
    for (size_t i = 0; i < k->nconstraint; i++) {
        int rc = constraint_holds(&k->constraint[i], vars);

        if (rc == 1)
            continue;
        snprintf(reason, REASON, "constraint '%.150s' %s",
                 k->constraint[i].expr->text,
                 rc ? "cannot be evaluated" : "does not hold");
        return 0;
    }
    return 1;
}

size_t ws__measure_unmet(struct ws__measure *m, const struct ws__candidate *c,
                         const struct ws__workload *w)
{
    const struct ws__kernel *k = &m->kernel[c->kernel];
    union wsrt_value vars[WS__MAX_SLOTS];
    size_t n = 0;

    fill_vars(m, k, w, vars);
    ws__config_vars(k, &c->config, vars);
    for (size_t i = 0; i < k->nconstraint; i++)
        n += constraint_holds(&k->constraint[i], vars) != 1;
    return n;
}

bool ws__measure_takes(struct ws__measure *m, const struct ws__candidate *c,
                       const struct ws__workload *w)
{
    char reason[REASON];

    return check_ranges(m, &m->kernel[c->kernel], w, reason) &&
           !ws__measure_unmet(m, c, w);
}

static int over(char *reason, const struct ws__plan_launch *l, const char *what,
                uint64_t want, uint64_t limit)
{
    if (!limit || want <= limit)
        return 1;
    snprintf(reason, REASON, "%s of '%.60s' is %llu; the device allows %llu",
             what, ws__plan_entry(l), (unsigned long long)want,
             (unsigned long long)limit);
    return 0;
}

static int check_launch(const struct ws__measure *m,
                        const struct ws__plan_launch *l, char *reason)
{
    static const char *const block_name[] = {"block size x", "block size y",
                                             "block size z"};
    static const char *const grid_name[] = {"grid size x", "grid size y",
                                            "grid size z"};
    const struct ws__device_info *info = &m->info;
    uint64_t threads = 1, shared = 0;

    for (int i = 0; i < 3; i++) {
        threads *= l->block[i];
        if (!over(reason, l, block_name[i], l->block[i], info->max_block[i]) ||
            !over(reason, l, grid_name[i], l->grid[i], info->max_grid[i]))
            return 0;
    }
    for (size_t i = 0; i < l->narg; i++)
        if (l->arg[i].kind == WS__ARG_SHARED)
            shared += l->arg[i].bytes;
    if (l->shared_bytes > shared)
        shared = l->shared_bytes;
    return over(reason, l, "number of threads a block", threads,
                info->id.max_threads) &&
           over(reason, l, "shared memory in bytes", shared,
                info->id.shared_bytes);
}

/* Adds one buffer; 0 if it alone is too large. */
static int add_buffer(const struct ws__measure *m, const char *name,
                      uint64_t bytes, uint64_t *sum, char *reason)
{
    uint64_t whole = bytes + 2 * (uint64_t)ws__measure_guard_bytes(bytes);

    *sum += whole;
    if (!m->info.max_alloc_bytes || whole <= m->info.max_alloc_bytes)
        return 1;
    snprintf(reason, REASON,
             "'%.60s' takes %llu bytes; the device allocates %llu at once",
             name, (unsigned long long)whole,
             (unsigned long long)m->info.max_alloc_bytes);
    return 0;
}

/* Memory for time: a table of results, say. Splitting a sum into parts takes
 * some copies of an output, packing a copy of an input. */
#define SCRATCH_RATIO 64u
#define SCRATCH_FREE ((uint64_t)16 << 20)

static int check_scratch(uint64_t tensors, uint64_t scratch, char *reason)
{
    uint64_t limit = tensors > UINT64_MAX / SCRATCH_RATIO
                         ? UINT64_MAX
                         : tensors * SCRATCH_RATIO;

    if (scratch <= SCRATCH_FREE || scratch <= limit)
        return 1;
    snprintf(reason, REASON,
             "scratch memory takes %llu bytes, over %u times the %llu of all "
             "tensors",
             (unsigned long long)scratch, SCRATCH_RATIO,
             (unsigned long long)tensors);
    return 0;
}

static int check_memory(const struct ws__measure *m, const struct ws__kernel *k,
                        const struct ws__instance *in,
                        const struct ws__plan *plan, char *reason)
{
    const struct ws__op *op = m->op;
    uint64_t sum = 0, tensors, limit = ws__measure_max_bytes(m);

    for (size_t i = 0; i < op->ntensor; i++) {
        int copies = op->tensor[i].role == WS__INOUT ? 2 : 1;

        if (!ws__measure_in_buffer(op, i))
            continue;
        for (int c = 0; c < copies; c++)
            if (!add_buffer(m, op->tensor[i].name, in->shape[i].bytes, &sum,
                            reason))
                return 0;
    }
    tensors = sum;
    for (size_t i = 0; i < k->nscratch; i++)
        if (plan->scratch_bytes[i] &&
            !add_buffer(m, k->scratch[i].name, plan->scratch_bytes[i], &sum,
                        reason))
            return 0;
    if (!check_scratch(tensors, sum - tensors, reason))
        return 0;
    if (sum <= limit)
        return 1;
    snprintf(reason, REASON,
             "tensors and scratch take %llu bytes; %llu may be used",
             (unsigned long long)sum, (unsigned long long)limit);
    return 0;
}

/* Not `compile`: what could be compiled is not asked for, and fits as far as is
 * known. */
static int make_plan(struct ws__measure *m, const struct ws__candidate *c,
                     uint32_t workload, bool compile, struct ws__plan *plan,
                     char reason[REASON])
{
    union wsrt_value vars[WS__MAX_SLOTS];
    const struct ws__instance *in;
    const struct ws__kernel *k;
    int rc;

    reason[0] = '\0';
    if (c->kernel >= m->nkernel || workload >= m->nworkload)
        return ws__fail(m->ctx, WS_EINVAL, "no kernel %u or workload %u",
                        c->kernel, workload);
    k = &m->kernel[c->kernel];
    WS_TRY(ws__measure_instance(m, workload, &in));
    ws__measure_vars(m, k, workload, vars);
    ws__config_vars(k, &c->config, vars);
    if (!check_dialect(m, k, reason) ||
        !check_ranges(m, k, &m->workload[workload], reason) ||
        !check_constraints(k, vars, reason))
        return 0;
    if (ws__dialect_is_ready(k->dialect) && k->dialect != WS__DIALECT_TRITON) {
        const struct ws__source_file *f;
        char name[WS__MAX_ENTRY];

        WS_TRY(ws__kernel_file(m->ctx, k, &c->config, in, name, &f));
        if (!f) {
            snprintf(reason, REASON, "there is no file '%.200s'", name);
            return 0;
        }
    }
    if (k->dialect == WS__DIALECT_TRITON && m->opts.ready && compile)
        WS_TRY(m->opts.ready(m->opts.ready_user, k, vars));
    rc = ws__plan_make(m->ctx, k, vars, plan);
    if (rc == WS_ENOENT && m->opts.ready && !compile) {
        ws__error_clear(m->ctx);
        return 1;
    }
    if (rc == WS_ENOMEM)
        return rc;
    if (rc < 0) {
        snprintf(reason, REASON, "no launch plan: %.230s", m->ctx->err.message);
        return 0;
    }
    for (size_t i = 0; i < plan->nlaunch; i++)
        if (!check_launch(m, &plan->launch[i], reason))
            return 0;
    return check_memory(m, k, in, plan, reason);
}

int ws__measure_plan(struct ws__measure *m, const struct ws__candidate *c,
                     uint32_t workload, struct ws__plan *plan,
                     char reason[REASON])
{
    return make_plan(m, c, workload, true, plan, reason);
}

int ws__measure_fits(struct ws__measure *m, const struct ws__candidate *c,
                     uint32_t workload, char reason[REASON])
{
    struct ws__plan plan; /* some 40 KB */

    return make_plan(m, c, workload, false, &plan, reason);
}
