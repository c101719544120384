/*
 * xform_block_size.c: the number of threads a block as a parameter.
 *
 * Where a kernel works for any block, its launch plan alone says how large
 * blocks are: a constant there becomes a parameter, and the grid, which had the
 * same constant, follows.
 */
#include <stdlib.h>

#include "xform/xform.h"

#include "base/banned.h"

static const char *const findings[] = {
    "few_warps_blocks", "small_grid",    "tail",
    "imbalance",        "wait_dispatch", NULL};
static const struct ws__xform_delta deltas[] = {{"occupied", 1, 2},
                                                {NULL, 0, 0}};

static bool is_number(const char *text, long *out)
{
    char *end;

    *out = strtol(text, &end, 10);
    return *text && !*end && *out > 0;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* The number as a word of its own, at or behind p. */
static const char *find_number(const char *p, const char *number)
{
    size_t n = strlen(number);

    for (const char *q = strstr(p, number); q; q = strstr(q + 1, number))
        if ((q == p || !is_word(q[-1])) && !is_word(q[n]))
            return q;
    return NULL;
}

/* Is the number written in the function: an array's size, a bound? */
static bool in_source(const struct ws__xform_in *in, long number)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->func);

    for (int32_t i = in->func; i < end; i++)
        if (t->node[i].kind == WS__AST_INT && t->node[i].known &&
            (t->node[i].value == number || t->node[i].value == number - 1 ||
             t->node[i].value == number / 2))
            return true;
    return false;
}

static bool asks_for_size(const struct ws__xform_in *in)
{
    const struct ws__ast_node *f = &in->ast->node[in->func];
    const char *p = in->ast->text + f->begin;
    const char *body = in->ast->text + in->ast->node[in->body].begin;
    const char *word = strstr(p, "reqd_work_group_size");
    const char *bounds = strstr(p, "__launch_bounds__");

    return (word && word < body) || (bounds && bounds < body);
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    const char *block = ws__xform_block(in, 0);
    const char *why = NULL;
    long n;
    int rc = 0;

    if (!is_number(block, &n) || n < 2 || l->block[1] || l->block[2])
        return 0;
    if (in_source(in, n))
        why = "the source has the number, too: a size may depend on it";
    else if (asks_for_size(in))
        why = "the source asks for this size";
    else if (!find_number(ws__xform_grid(in, 0), block))
        why = "the grid does not say how it follows from the size";
    if (why)
        return ws__site_refuse(in, out, in->func, "threads a block", why);
    ws__site_add(in, out, in->func, &rc,
                 "the %ld threads a block of '%s' become a parameter", n,
                 l->entry);
    return rc;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const char *name = ws__xform_name(in, "BLOCK");
    const char *block = ws__xform_block(in, 0);
    const char *grid = ws__xform_grid(in, 0);
    const char *at = find_number(grid, block);
    struct ws__buf b;

    (void)s;
    if (!name)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 4096);
    while (at) {
        ws__buf_add(&b, grid, (size_t)(at - grid));
        ws__buf_puts(&b, name);
        grid = at + strlen(block);
        at = find_number(grid, block);
    }
    ws__buf_puts(&b, grid);
    if (b.failed) {
        ws__buf_free(&b);
        return WS_ENOMEM;
    }
    ws__rewrite_change(out, b.data, "launches[%zu].grid[0]", in->launch);
    ws__rewrite_change(out, name, "launches[%zu].block[0]", in->launch);
    ws__buf_free(&b);
    ws__rewrite_param(out, name,
                      in->kernel->dialect == WS__DIALECT_CUDA
                          ? "[32, 64, 128, 256, 512, 1024]"
                          : "[1, 4, 8, 16, 32, 64, 128, 256, 512, 1024]",
                      block, "threads a block");
    return 0;
}

const struct ws__xform_ops ws__xform_block_size = {
    .abi = WS__XFORM_ABI,
    .name = "block_size",
    .about = "the number of threads a block as a parameter",
    .needs = "a launch of one dimension whose block is a number that the grid "
             "repeats and the source does not",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 1.1,
    .find = find,
    .apply = apply,
};
