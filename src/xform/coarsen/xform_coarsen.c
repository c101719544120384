/*
 * xform_coarsen.c: several elements a thread, by a loop with steps of the whole
 * grid.
 *
 * Neighbouring threads keep neighbouring elements, so accesses stay as they
 * are; what each thread does once (its place, addresses, parameters) is done
 * for several elements, and fewer blocks are started. The loop counts in 64
 * bits where the place had 32: the step behind the last element may go beyond
 * them.
 */
#include "xform/xform.h"

#include "base/banned.h"

static const char *const findings[] = {"few_warps_blocks", "wait_fixed",
                                       "wait_dispatch", "mostly_fma", NULL};
static const struct ws__xform_delta deltas[] = {{"waves", 0.1, 0.6},
                                                {NULL, 0, 0}};

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct ws__elements e;
    struct ws__site *s;
    const char *why;
    int rc = 0;

    if (!ws__elements_find(in, &e))
        return 0;
    why = ws__elements_refusal(in, &e, true);
    if (why)
        return ws__site_refuse(in, out, e.decl, "several elements a thread",
                               why);
    s = ws__site_add(in, out, e.decl, &rc,
                     "a thread of '%s' does several elements, a grid apart",
                     in->kernel->launch[in->launch].entry);
    if (s)
        s->trust = "no thread waits for another one's result";
    return rc;
}

/* The loop's head, and the place in it if it is not what counts. */
static void put_head(const struct ws__xform_in *in,
                     const struct ws__elements *e, const char *init,
                     const char *bound, const char *outer, struct ws__buf *b)
{
    const struct ws__ast_node *v = &in->ast->node[e->var];
    const char *type = ws__elements_type(in, e);
    bool cuda = in->kernel->dialect == WS__DIALECT_CUDA,
         wide = v->type.bits > 32;
    const char *counts = cuda ? "long long" : "long";
    const char *name = wide ? v->name : ws__xform_name(in, "item");
    const char *grid = !cuda  ? "(long)get_global_size(0)"
                       : wide ? "(size_t)gridDim.x * blockDim.x"
                              : "(long long)gridDim.x * blockDim.x";

    if (!type || !name) {
        b->failed = WS_ENOMEM;
        return;
    }
    if (!cuda && wide)
        grid = "get_global_size(0)";
    ws__buf_printf(b, "for (%s %s = %s; %s < %s; %s += %s) {\n",
                   wide ? type : counts, name, init, name, bound, name, grid);
    if (!wide)
        ws__buf_printf(b, "%s    const %s %s = %s;\n\n", outer, type, v->name,
                       name);
}

/* The statement, with its line, and a blank one behind, if nothing else is
 * there. */
static void drop(const struct ws__xform_in *in, int32_t node,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    uint32_t b = t->node[node].begin, e = t->node[node].end;
    uint32_t line = b, behind = e;

    while (line && (t->text[line - 1] == ' ' || t->text[line - 1] == '\t'))
        line--;
    while (t->text[behind] == ' ' || t->text[behind] == '\t')
        behind++;
    if ((!line || t->text[line - 1] == '\n') && t->text[behind] == '\n')
        ws__rewrite_at(out, line,
                       behind + 1 + (t->text[behind + 1] == '\n') - line, "%s",
                       "");
    else
        ws__rewrite_at(out, b, e - b, "%s", "");
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__elements e;
    const char *items = ws__xform_name(in, "ITEMS");
    const char *outer, *body, *init, *bound, *inner, *grid;
    struct ws__buf b;
    uint32_t begin, end;

    (void)s;
    if (!ws__elements_find(in, &e))
        return ws__fail(in->ctx, WS_EBUG, "no such site");
    begin = t->node[e.guard].begin;
    end = e.early ? t->node[in->body].end - 1 : ws__xform_end(t, e.last);
    outer = ws__xform_indent(in, e.guard);
    inner = outer ? ws__arena_printf(in->arena, "%s    ", outer) : NULL;
    body = ws__elements_body(in, &e, NULL, 0);
    body = body && inner ? ws__xform_indented(in, body, -1, inner) : NULL;
    init = ws__xform_text(in, ws__ast_child(t, e.var, 0));
    bound = ws__xform_text(in, e.bound);
    grid = items ? ws__arena_printf(in->arena, "ceil_div(%s, %s)",
                                    ws__xform_grid(in, 0), items)
                 : NULL;
    if (!body || !init || !bound || !grid)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 20);
    put_head(in, &e, init, bound, outer, &b);
    ws__buf_printf(&b, "%s\n%s}%s", body, outer, e.early ? "\n" : "");
    if (!b.failed) {
        drop(in, e.decl, out);
        ws__rewrite_at(out, begin, end - begin, "%s", b.data);
    } else {
        out->failed = WS_ENOMEM;
    }
    ws__buf_free(&b);
    ws__rewrite_change(out, grid, "launches[%zu].grid[0]", in->launch);
    ws__rewrite_param(out, items, "[1, 2, 4, 8, 16, 32]", "4",
                      "elements a thread");
    return 0;
}

const struct ws__xform_ops ws__xform_coarsen = {
    .abi = WS__XFORM_ABI,
    .name = "coarsen",
    .about = "several elements a thread, by a loop with steps of the grid",
    .needs = "a thread an element, guarded by i < n, in a launch of one "
             "dimension; nothing that threads do together",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 1.1,
    .find = find,
    .apply = apply,
};
