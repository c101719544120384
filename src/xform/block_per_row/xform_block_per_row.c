/*
 * xform_block_per_row.c: a block for each row instead of a thread.
 *
 * For few, long rows: see rows.h and xform_warp_per_row.c. What the loops carry
 * goes through shuffles in each warp and then through shared memory, where all
 * threads read the warps' parts in the same order and so come to the same
 * value. A block is one row, so the grid is the number of rows.
 */
#include "core/trial.h"
#include "xform/rows.h"

#include "base/banned.h"

static const char *const findings[] = {"small_grid", "uncoalesced_loads",
                                       "uncoalesced_stores", "waste", NULL};
static const struct ws__xform_delta deltas[] = {{"load_sectors", 0.1, 0.6},
                                                {"store_sectors", 0.1, 1},
                                                {"occupied", 1, 8},
                                                {NULL, 0, 0}};

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    return ws__rows_find(in, "a block", out);
}

/* Does the source say how many threads it is for? */
static bool is_bounded(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    const char *p =
        strstr(t->text + t->node[in->func].begin, "__launch_bounds__");

    return p && p < t->text + t->node[in->body].begin;
}

/* A number of threads becomes a parameter, where nothing is said against it;
 * what is one already stays. */
static int edit_launch(const struct ws__rows *p, struct ws__rewrite *out)
{
    const char *block = ws__xform_block(p->in, 0), *grid = ws__rows_count(p);
    const char *name = ws__xform_name(p->in, "BLOCK"), *whole;
    int64_t number;

    if (!grid)
        grid = ws__arena_printf(p->in->arena, "(%s) * (%s)",
                                ws__xform_grid(p->in, 0), block);
    whole =
        ws__arena_printf(p->in->arena, "(%s) %% %d == 0", block, WS__ROWS_WARP);
    if (!grid || !whole || !name)
        return WS_ENOMEM;
    ws__rewrite_change(out, grid, "launches[%zu].grid[0]", p->in->launch);
    if (!ws__rows_number(block, &number)) {
        ws__rewrite_change(out, whole, "constraints[+]");
        return 0;
    }
    if (is_bounded(p->in))
        return 0;
    ws__rewrite_change(out, name, "launches[%zu].block[0]", p->in->launch);
    ws__rewrite_param(out, name, "[32, 64, 128, 256, 512, 1024]", "256",
                      "threads a row");
    return 0;
}

/* A variable of the function's own that is threadIdx.x already; NULL: none. */
static const char *thread_name(const struct ws__rows *p)
{
    const struct ws__ast *t = p->in->ast;
    int dim;

    for (int32_t i = p->in->body; i < p->row; i++)
        if (t->node[i].kind == WS__AST_VAR &&
            t->node[t->node[i].parent].parent == p->in->body &&
            ws__ast_launch_value(t, ws__ast_child(t, i, 0), &dim) ==
                WS__AL_THREAD &&
            !dim && !t->node[i].type.is_unsigned &&
            !ws__ast_changes(t, p->in->body, i))
            return t->node[i].name;
    return NULL;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct ws__rows *p = ws__arena_alloc(in->arena, 1, sizeof(*p));
    struct ws__rows_team w = {.stride = "blockDim.x",
                              .sync = "__syncthreads();",
                              .parts = "parts",
                              .warp = ws__xform_name(in, "warp"),
                              .step = ws__xform_name(in, "step"),
                              .other = ws__xform_name(in, "other"),
                              .other_at = ws__xform_name(in, "other_at")};

    (void)s;
    if (!p || !w.warp || !w.step || !w.other || !w.other_at)
        return WS_ENOMEM;
    WS_TRY(ws__rows_read(in, p));
    w.lane = thread_name(p);
    if (!w.lane) {
        w.lane = ws__xform_name(in, "tid");
        if (!w.lane)
            return WS_ENOMEM;
        ws__rewrite_behind(out, in->ast->node[p->row].parent,
                           "int %s = threadIdx.x;", w.lane);
    }
    ws__rewrite_node(out, ws__ast_child(in->ast, p->row, 0), "blockIdx.x");
    WS_TRY(ws__rows_edit(p, &w, out));
    return edit_launch(p, out);
}

const struct ws__xform_ops ws__xform_block_per_row = {
    .abi = WS__XFORM_ABI,
    .name = "block_per_row",
    .about = "a block instead of a thread for each row",
    .needs = "a thread's number is the row's, loops along the row carry "
             "nothing but sums, largest and smallest values, and threads "
             "share nothing",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .opencl = false,
    .gain = 4,
    .find = find,
    .apply = apply,
};
