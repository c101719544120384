/*
 * xform_launch_bounds.c: tells the compiler how many threads a block has, and
 * how many blocks a unit shall hold, as a parameter.
 *
 * Without it the compiler allows for blocks of 1024 threads and keeps as many
 * registers as it likes; with it, more warps fit, or more registers are there.
 */
#include "xform/xform.h"

#include "base/banned.h"

static const char *const findings[] = {"few_warps_registers", "spills",
                                       "wait_memory", NULL};
static const struct ws__xform_delta deltas[] = {{"occupied", 1, 2.5},
                                                {"spill_bytes", 1, 4},
                                                {NULL, 0, 0}};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static bool is_param(const struct ws__kernel *k, const char *word, size_t n)
{
    for (size_t i = 0; i < k->nparam; i++)
        if (strlen(k->param[i].name) == n &&
            !strncmp(k->param[i].name, word, n))
            return k->param[i].type == WS__INT;
    return false;
}

/* Numbers and parameters, multiplied: the same in C. */
static bool is_product(const struct ws__kernel *k, const char *text)
{
    while (*text) {
        size_t n = 0;

        while (is_word(text[n]))
            n++;
        if (!n) {
            if (!strchr(" *()", *text))
                return false;
            text++;
            continue;
        }
        if (strspn(text, "0123456789") != n && !is_param(k, text, n))
            return false;
        text += n;
    }
    return true;
}

/* Where the function's name stands; 0: not found. */
static uint32_t name_at(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_node *f = &t->node[in->func];
    const char *p = t->text + f->begin, *body;
    size_t n = strlen(f->name);

    body = t->text + t->node[in->body].begin;
    for (const char *q = strstr(p, f->name); q && q < body;
         q = strstr(q + 1, f->name))
        if (q > p && !is_word(q[-1]) && !is_word(q[n]) &&
            q[n + strspn(q + n, " \t\n")] == '(')
            return (uint32_t)(q - t->text);
    return 0;
}

static const char *size_text(const struct ws__xform_in *in)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    const char *text = NULL;

    for (int d = 0; d < 3; d++) {
        if (!l->block[d])
            continue;
        text = !text
                   ? l->block[d]->text
                   : ws__arena_printf(in->arena,
                                      strspn(l->block[d]->text, "0123456789") ==
                                              strlen(l->block[d]->text)
                                          ? "%s * %s"
                                          : "%s * (%s)",
                                      text, l->block[d]->text);
        if (!text)
            return NULL;
    }
    return text ? text : "1";
}

static const char *refusal(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    const char *bounds =
        strstr(t->text + t->node[in->func].begin, "__launch_bounds__");

    if (bounds && bounds < t->text + t->node[in->body].begin)
        return "it has launch bounds";
    if (!ws__xform_same_blocks(in))
        return "it is launched with blocks of several sizes";
    for (int d = 0; d < 3; d++)
        if (!is_product(in->kernel, ws__xform_block(in, d)))
            return "the size of a block is no product of numbers and "
                   "parameters";
    return name_at(in) ? NULL : "a macro names the function";
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const char *why = refusal(in);
    int rc = 0;

    if (!in->ast->node[in->func].is_kernel)
        return 0;
    if (why)
        return ws__site_refuse(in, out, in->func, "launch bounds", why);
    ws__site_add(in, out, in->func, &rc,
                 "launch bounds of '%s', and blocks a unit as a parameter",
                 in->kernel->launch[in->launch].entry);
    return rc;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const char *size = size_text(in), *name = ws__xform_name(in, "MIN_BLOCKS");
    const char *limit;

    (void)s;
    if (!size || !name)
        return WS_ENOMEM;
    limit = ws__arena_printf(in->arena, "\"%s * (%s) <= 2048\"", name, size);
    if (!limit)
        return WS_ENOMEM;
    ws__rewrite_at(out, name_at(in), 0, "__launch_bounds__(%s, %s) ", size,
                   name);
    ws__rewrite_param(out, name, "[1, 2, 3, 4, 6, 8, 12, 16]", "1",
                      "blocks that a unit holds at least");
    ws__rewrite_change(out, limit, "constraints[+]");
    return 0;
}

const struct ws__xform_ops ws__xform_launch_bounds = {
    .abi = WS__XFORM_ABI,
    .name = "launch_bounds",
    .about = "the size of a block and the blocks a unit, told to the compiler",
    .needs = "blocks whose size is a product of numbers and parameters",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .join = WS__JOIN_ALL,
    .gain = 1.1,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
