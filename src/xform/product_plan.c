/* product_plan.c: launch plan and parameters of a product by tiles. */
#include "xform/clang_api.h"
#include "xform/product_emit.h"

#include "base/banned.h"

/* --- the launch ----------------------------------------------------------- */

/* The expression in the words of the kernel file; NULL: it has none. */
static const char *in_plan(const struct ws__xform_in *in, int32_t i, int depth)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_node *n;
    const struct ws__arg *arg;
    const char *a, *b;

    while (ws__ast_is(t, i, WS__AST_PAREN) || ws__ast_is(t, i, WS__AST_CAST))
        i = ws__ast_child(t, i, 0);
    if (i < 0 || depth > 16)
        return NULL;
    n = &t->node[i];
    if (n->kind == WS__AST_INT) {
        a = ws__xform_text(in, i);
        if (!a || (a[0] >= '0' && a[0] <= '9'))
            return n->known ? ws__arena_printf(in->arena, "%lld",
                                               (long long)n->value)
                            : NULL;
        return ws__scope_find(&in->kernel->scope, a) >= 0 ? a : NULL;
    }
    if (n->kind == WS__AST_REF && n->decl >= 0 &&
        t->node[n->decl].kind == WS__AST_PARAM) {
        arg = ws__xform_arg(in, n->decl);
        return arg && arg->kind == WS__ARG_VALUE && arg->expr
                   ? ws__arena_printf(in->arena, "(%s)", arg->expr->text)
                   : NULL;
    }
    if (n->kind == WS__AST_REF && n->decl >= 0 &&
        !ws__ast_changes(t, in->body, n->decl) &&
        ws__ast_nchild(t, n->decl) == 1)
        return in_plan(in, ws__ast_child(t, n->decl, 0), depth + 1);
    if (n->kind != WS__AST_BINARY ||
        (n->op != CL_BinaryOperator_Add && n->op != CL_BinaryOperator_Sub &&
         n->op != CL_BinaryOperator_Mul))
        return NULL;
    a = in_plan(in, ws__ast_child(t, i, 0), depth + 1);
    b = in_plan(in, ws__ast_child(t, i, 1), depth + 1);
    if (!a || !b)
        return NULL;
    return ws__arena_printf(in->arena, "(%s %c %s)", a,
                            n->op == CL_BinaryOperator_Add   ? '+'
                            : n->op == CL_BinaryOperator_Sub ? '-'
                                                             : '*',
                            b);
}

/* Without parentheses around the whole. */
static const char *bare_plan(struct ws__product_emit *e,
                             const struct ws__xform_in *in, int32_t i)
{
    const char *s = in_plan(in, i, 0);
    size_t n = s ? strlen(s) : 0;

    if (!s || s[0] != '(' || strcspn(s, ")") != n - 1)
        return ws__product_sure(e, s);
    return ws__product_sure(e, ws__arena_strndup(in->arena, s + 1, n - 2));
}

/* Does a constraint name what says how large blocks are? */
static bool is_constrained(const struct ws__xform_in *in)
{
    const struct ws__kernel *k = in->kernel;

    for (size_t i = 0; i < k->nparam; i++)
        for (size_t c = 0; c < k->nconstraint; c++)
            for (int d = 0; d < 2; d++)
                if (!strcmp(ws__xform_block(in, d), k->param[i].name) &&
                    strstr(k->constraint[c].expr->text, k->param[i].name))
                    return true;
    return false;
}

bool ws__product_planned(const struct ws__xform_in *in,
                         const struct ws__product *p)
{
    return !is_constrained(in) && in_plan(in, p->side[0].bound, 0) &&
           in_plan(in, p->side[1].bound, 0);
}

static const char *tile_bytes(struct ws__product_emit *e)
{
    const char *sum = NULL;

    for (size_t i = 0; i < e->p->nload; i++) {
        const struct ws__product_load *x = &e->p->load[i];

        if (x->same >= 0)
            continue;
        sum = ws__product_sure(
            e,
            ws__arena_printf(e->in->arena, "%s%s(%s + %d) * %u", sum ? sum : "",
                             sum ? " + " : "", e->size[x->side],
                             e->registers ? 4 : 1, x->bytes));
    }
    return sum;
}

static void change_launches(struct ws__product_emit *e)
{
    const struct ws__kernel *k = e->in->kernel;
    const char *const *s = e->size, *const *q = e->part;

    for (size_t i = 0; i < k->nlaunch; i++) {
        struct ws__xform_in l = *e->in;
        const char *x = s[1], *y = s[0];

        if (strcmp(k->launch[i].entry, k->launch[e->in->launch].entry))
            continue;
        l.launch = i;
        if (e->registers) {
            x = ws__product_sure(e, ws__arena_printf(e->in->arena,
                                                     "(%s // %s) * (%s // %s)",
                                                     s[0], q[0], s[1], q[1]));
            y = "1";
        }
        for (int d = 0; d < 2; d++)
            ws__rewrite_change(
                e->out,
                ws__product_sure(
                    e, ws__arena_printf(e->in->arena, "\"ceil_div(%s, %s)\"",
                                        bare_plan(e, &l, e->p->side[d].bound),
                                        s[d])),
                "launches[%zu].grid[%d]", i, e->p->side[d].dim);
        if (k->launch[i].shared)
            ws__rewrite_change(
                e->out,
                ws__product_sure(e,
                                 ws__arena_printf(e->in->arena, "\"(%s) * %s\"",
                                                  tile_bytes(e), e->size[2])),
                "launches[%zu].shared", i);
        ws__rewrite_change(e->out, x, "launches[%zu].block[0]", i);
        ws__rewrite_change(e->out, y, "launches[%zu].block[1]", i);
    }
}

static void require(struct ws__product_emit *e, const char *what,
                    const char *about)
{
    ws__rewrite_change(
        e->out,
        ws__product_sure(e, ws__arena_printf(e->in->arena,
                                             "{require: \"%s\", about: \"%s\"}",
                                             what, about)),
        "constraints[+]");
}

static void add_parameters(struct ws__product_emit *e)
{
    const char *const *s = e->size, *const *q = e->part;
    struct ws__arena *a = e->in->arena;
    const char *values = e->registers ? "[16, 32, 64, 128]" : "[8, 16, 32]";
    const char *dflt = e->registers ? "64" : "32";
    const char *threads =
        e->registers
            ? ws__product_sure(e, ws__arena_printf(a, "(%s // %s) * (%s // %s)",
                                                   s[0], q[0], s[1], q[1]))
            : ws__product_sure(e, ws__arena_printf(a, "%s * %s", s[0], s[1]));

    ws__rewrite_param(e->out, s[0], values, dflt, "rows of outputs a block");
    ws__rewrite_param(e->out, s[1], values, dflt, "columns of outputs a block");
    ws__rewrite_param(e->out, s[2], "[8, 16, 32]", e->registers ? "16" : "32",
                      "terms of a tile");
    if (e->registers) {
        ws__rewrite_param(e->out, q[0], "[1, 2, 4, 8]", "4",
                          "rows of outputs a thread");
        ws__rewrite_param(e->out, q[1], "[1, 2, 4, 8]", "4",
                          "columns of outputs a thread");
        for (int i = 0; i < 2; i++)
            require(e,
                    ws__product_sure(e,
                                     ws__arena_printf(a, "%s * %s %% (%s) == 0",
                                                      s[i], s[2], threads)),
                    "threads load a tile evenly");
    }
    require(e,
            ws__product_sure(
                e, ws__arena_printf(a, "%s <= min(device_max_threads, 1024)",
                                    threads)),
            "threads of a block");
    require(e,
            ws__product_sure(
                e,
                ws__arena_printf(a,
                                 "(%s) * %s <= min(device_shared_bytes, 49152)",
                                 tile_bytes(e), s[2])),
            "tiles fit in shared memory");
    ws__rewrite_change(
        e->out,
        ws__product_sure(
            e, ws__arena_printf(
                   a,
                   "{prune: \"device_is_cpu or %s >= 32\", about: \"at "
                   "least a warp\"}",
                   threads)),
        "constraints[+]");
}

/* --- parameters that nobody uses any more --------------------------------- */

static int count_word(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    int hits = 0;

    for (size_t i = 0; i + n <= len; i++)
        hits += !strncmp(text + i, word, n) &&
                (!i || !ws__is_word(text[i - 1])) &&
                (i + n == len || !ws__is_word(text[i + n]));
    return hits;
}

static int count_expr(const struct ws__expr *x, const char *word)
{
    return x ? count_word(x->text, strlen(x->text), word) : 0;
}

/* In what is left of source and launch plan. */
static int count_left(const struct ws__product_emit *e, const char *word)
{
    const struct ws__kernel *k = e->in->kernel;
    int n = count_word(e->t->text, e->t->len, word);

    for (size_t i = 0; i < e->out->nedit; i++) {
        const struct ws__edit *d = &e->out->edit[i];

        n += count_word(d->text, strlen(d->text), word) -
             count_word(e->t->text + d->at, d->len, word);
    }
    for (size_t i = 0; i < k->nlaunch; i++) {
        const struct ws__launch *l = &k->launch[i];
        bool ours = !strcmp(l->entry, k->launch[e->in->launch].entry);

        for (int d = 0; d < 3; d++)
            if (!ours || (d != e->p->side[0].dim && d != e->p->side[1].dim))
                n += count_expr(l->grid[d], word) +
                     count_expr(l->block[d], word);
        for (size_t a = 0; a < l->narg; a++)
            n += count_expr(l->arg[a].expr, word);
    }
    return n;
}

static void drop_parameters(struct ws__product_emit *e)
{
    const struct ws__kernel *k = e->in->kernel;

    for (size_t i = 0; i < k->nparam; i++) {
        bool was = false;

        for (int d = 0; d < 2; d++)
            was = was || !strcmp(ws__xform_block(e->in, d), k->param[i].name);
        if (was && !count_left(e, k->param[i].name))
            ws__rewrite_change(e->out, "", "parameters.%s", k->param[i].name);
    }
}

void ws__product_plan(struct ws__product_emit *e)
{
    change_launches(e);
    add_parameters(e);
    drop_parameters(e);
}
