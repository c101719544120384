/*
 * xform_warp_per_row.c: a warp for each row instead of a thread.
 *
 * Where a thread walks along a row, the 32 threads of a warp read 32 rows at a
 * time, each element from a sector of its own. Here the 32 threads share the
 * row (see rows.h): they take every 32nd column each, and exchange by shuffles
 * what the loops carry. The launch has 32 times as many threads.
 */
#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/rows.h"

#include "base/banned.h"

static const char *const findings[] = {"uncoalesced_loads",
                                       "uncoalesced_stores", "small_grid",
                                       "waste", NULL};
static const struct ws__xform_delta deltas[] = {{"load_sectors", 0.1, 0.6},
                                                {"store_sectors", 0.1, 1},
                                                {NULL, 0, 0}};

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    return ws__rows_find(in, "a warp", out);
}

/* x of threads is counted in warps. */
static void edit_row(const struct ws__rows *p, struct ws__rewrite *out)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->in->body), size = ws__rows_size(p);

    for (int32_t i = p->in->body; i < end; i++) {
        int dim = 0;
        enum ws__ast_launch v = t->node[i].kind == WS__AST_MEMBER
                                    ? ws__ast_launch_value(t, i, &dim)
                                    : WS__AL_NONE;
        int32_t up = t->node[i].parent;
        bool factor = ws__ast_is(t, up, WS__AST_BINARY) &&
                      t->node[up].op != CL_BinaryOperator_Add;

        if (dim || (v != WS__AL_THREAD && v != WS__AL_BLOCK_DIM))
            continue;
        factor = factor || ws__ast_is(t, up, WS__AST_CAST);
        ws__rewrite_node(out, i, factor ? "(%s / %d)" : "%s / %d",
                         ws__xform_text(p->in, i), WS__ROWS_WARP);
    }
    if (size >= 0)
        ws__rewrite_node(out, size,
                         t->node[size].kind == WS__AST_BINARY ? "((%s) / %d)"
                                                              : "(%s / %d)",
                         ws__xform_text(p->in, size), WS__ROWS_WARP);
}

/* ceil_div(M, 256) of blocks of 256 becomes ceil_div(32 * (M), 256); anything
 * else is taken 32 times. */
static int edit_launch(const struct ws__rows *p, struct ws__rewrite *out)
{
    const char *block = ws__xform_block(p->in, 0), *rows = ws__rows_count(p);
    const char *grid, *whole;
    int64_t number;

    grid = rows ? ws__arena_printf(p->in->arena, "ceil_div(%d * (%s), %s)",
                                   WS__ROWS_WARP, rows, block)
                : ws__arena_printf(p->in->arena, "%d * (%s)", WS__ROWS_WARP,
                                   ws__xform_grid(p->in, 0));
    whole =
        ws__arena_printf(p->in->arena, "(%s) %% %d == 0", block, WS__ROWS_WARP);
    if (!grid || !whole)
        return WS_ENOMEM;
    ws__rewrite_change(out, grid, "launches[%zu].grid[0]", p->in->launch);
    if (!ws__rows_number(block, &number))
        ws__rewrite_change(out, whole, "constraints[+]");
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct ws__rows *p = ws__arena_alloc(in->arena, 1, sizeof(*p));
    struct ws__rows_team w = {.lane = ws__xform_name(in, "lane"),
                              .stride = "32",
                              .sync = "__syncwarp();",
                              .step = ws__xform_name(in, "step"),
                              .other = ws__xform_name(in, "other"),
                              .other_at = ws__xform_name(in, "other_at")};

    (void)s;
    if (!p || !w.lane || !w.step || !w.other || !w.other_at)
        return WS_ENOMEM;
    WS_TRY(ws__rows_read(in, p));
    edit_row(p, out);
    ws__rewrite_behind(out, in->ast->node[p->row].parent,
                       "int %s = threadIdx.x %% %d;", w.lane, WS__ROWS_WARP);
    WS_TRY(ws__rows_edit(p, &w, out));
    return edit_launch(p, out);
}

const struct ws__xform_ops ws__xform_warp_per_row = {
    .abi = WS__XFORM_ABI,
    .name = "warp_per_row",
    .about = "a warp instead of a thread for each row",
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
