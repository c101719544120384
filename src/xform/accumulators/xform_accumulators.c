/*
 * xform_accumulators.c: a sum in several parts that do not wait for each other.
 *
 * Each addition of sum += f(j) waits for the one before, and compilers may not
 * change the order. Here as many turns as a parameter says add to a variable
 * each; what is left over is done by the loop as it was, and the parts come
 * together behind it. The body is there twice: the compiler unrolls the copy,
 * so that the array of parts lies in registers.
 */
#include "xform/clang_api.h"
#include "xform/loop.h"

#include "base/banned.h"

static const char *const findings[] = {"wait_fixed", "wait_memory",
                                       "wait_units", NULL};
static const struct ws__xform_delta deltas[] = {{"wait", 0.3, 1},
                                                {"long_scoreboard", 0.5, 1},
                                                {NULL, 0, 0}};

static bool has_loop(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root + 1; i < end; i++)
        if (t->node[i].kind == WS__AST_FOR ||
            t->node[i].kind == WS__AST_WHILE || t->node[i].kind == WS__AST_DO)
            return true;
    return false;
}

/* Is a float that outlives a turn changed, perhaps by what it was? */
static bool carries_float(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++) {
        int32_t to = ws__ast_bare(t, ws__ast_child(t, i, 0));

        if (t->node[i].kind == WS__AST_ASSIGN &&
            ws__ast_is(t, to, WS__AST_REF) && t->node[to].decl >= 0 &&
            !ws__ast_below(t, t->node[to].decl, root) &&
            t->node[to].type.class == WS__AT_FLOAT &&
            !t->node[to].type.pointers &&
            (t->node[i].op != CL_BinaryOperator_Assign ||
             ws__loop_count(t, root, to) > 1))
            return true;
    }
    return false;
}

/* What of a loop cannot be copied. */
static const char *check_form(const struct ws__xform_in *in,
                              const struct ws__loop *l)
{
    const struct ws__ast *t = in->ast;

    if (!ws__ast_is(t, t->node[l->f.loop].parent, WS__AST_BLOCK))
        return "the loop stands in no block of statements";
    if (l->f.by >= 0 && (!ws__ast_is_pure(t, l->f.by) ||
                         t->node[l->f.by].type.class != WS__AT_INT))
        return "the step has effects";
    for (int32_t e = 0; e < 2; e++) {
        int32_t root = e ? l->f.by : l->f.to;
        int32_t end = root < 0 ? 0 : ws__ast_after(t, root);

        for (int32_t i = root; i >= 0 && i < end; i++)
            if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
                (t->node[i].decl == l->f.var ||
                 ws__ast_changes(t, l->f.body, t->node[i].decl)))
                return "the bound or the step changes in the loop";
    }
    for (size_t i = 0; i < l->nred; i++) {
        int32_t end = ws__ast_after(t, l->f.body);

        if (l->red[i].decl < 0)
            return "what is summed lies in memory";
        if (l->red[i].where >= 0)
            return "the place of the largest value is kept";
        for (int32_t k = l->f.body; k < end; k++)
            if (ws__ast_is(t, k, WS__AST_REF) &&
                t->node[k].decl == l->red[i].decl && t->node[k].macro)
                return "a macro has what is summed";
    }
    return NULL;
}

/* Is it what is left over: does it begin where a loop without a beginning of
 * its own has come to? */
static bool is_rest(const struct ws__xform_in *in, const struct ws__ast_for *f)
{
    const struct ws__ast *t = in->ast;
    int32_t from = ws__ast_bare(t, f->from);

    if (!ws__ast_is(t, from, WS__AST_REF) || t->node[from].decl < 0)
        return false;
    for (int32_t i = in->body; i < f->loop; i++) {
        struct ws__ast_for o;

        ws__ast_for(t, i, &o);
        if (t->node[i].kind == WS__AST_FOR && o.init < 0 && o.step >= 0 &&
            ws__ast_changes(t, o.step, t->node[from].decl))
            return true;
    }
    return false;
}

static int look(const struct ws__xform_in *in, int32_t i, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__ast_for f;
    struct ws__loop l;
    struct ws__site *s;
    int64_t from, to;
    int rc = 0;

    ws__ast_for(t, i, &f);
    if (f.body < 0 || has_loop(t, i) || !carries_float(t, f.body) ||
        is_rest(in, &f))
        return 0;
    if (f.counts && ws__ast_const(t, f.from, &from) &&
        ws__ast_const(t, f.to, &to) && to - from <= 16)
        return 0; /* unrolled by compilers, and short */
    WS_TRY(ws__loop_read(in, i, &l));
    if (!l.why)
        l.why = check_form(in, &l);
    else
        l.why = ws__arena_printf(in->arena, "the loop %s", l.why);
    if (!l.why && ws__xform_has_directive(t, i))
        l.why = "the loop has directives";
    if (l.why)
        return ws__site_refuse(in, out, i, "several accumulators", l.why);
    s = ws__site_add(in, out, i, &rc, "several accumulators for '%s'",
                     t->node[l.red[0].decl].name);
    if (s)
        s->trust = "no index comes within a few steps of the largest number "
                   "of its type";
    return rc;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR)
            WS_TRY(look(in, i, out));
    return 0;
}

/* --- edits ---------------------------------------------------------------- */

struct copy {
    const struct ws__xform_in *in;
    struct ws__loop l;
    const char *n, *next, *turn, *by; /* parameter, variables, step */
    const char *part[WS__LOOP_REDUCTIONS];
    const char *i0, *i1, *i2, *tab;
    struct ws__buf b;
};

/* The text of the body with the parts' names, one level deeper. */
static void copy_text(struct copy *c, uint32_t from, uint32_t to)
{
    const struct ws__ast *t = c->in->ast;
    int32_t node = c->l.f.body, end = ws__ast_after(t, node);

    while (from < to) {
        bool hit = false;

        for (; node < end && t->node[node].begin < from; node++)
            continue;
        for (int32_t i = node; i < end && !hit; i++)
            for (size_t k = 0; k < c->l.nred && !hit; k++)
                if (t->node[i].kind == WS__AST_REF &&
                    t->node[i].begin == from &&
                    t->node[i].decl == c->l.red[k].decl) {
                    ws__buf_printf(&c->b, "%s[%s]", c->part[k], c->turn);
                    from = t->node[i].end;
                    hit = true;
                }
        if (hit)
            continue;
        ws__buf_add(&c->b, t->text + from, 1);
        if (t->text[from] == '\n' && t->text[from + 1] != '\n')
            ws__buf_puts(&c->b, c->tab);
        from++;
    }
}

static void copy_body(struct copy *c)
{
    const struct ws__ast *t = c->in->ast;
    const struct ws__ast_node *n = &t->node[c->l.f.body];
    uint32_t from = n->begin, to = n->end;

    if (n->kind == WS__AST_BLOCK) {
        from++;
        to--;
        while (from < to && strchr(" \t\n\r", t->text[from]))
            from++;
        while (to > from && strchr(" \t\n\r", t->text[to - 1]))
            to--;
    }
    ws__buf_puts(&c->b, c->i2);
    copy_text(c, from, to);
    if (n->kind != WS__AST_BLOCK && t->text[to - 1] != '}' &&
        t->text[to - 1] != ';')
        ws__buf_puts(&c->b, ";");
    ws__buf_puts(&c->b, "\n");
}

static void print_start(struct copy *c)
{
    const struct ws__ast *t = c->in->ast;

    for (size_t k = 0; k < c->l.nred; k++) {
        const struct ws__reduction *r = &c->l.red[k];

        ws__buf_printf(&c->b, "%s %s[%s]%s;\n%s",
                       ws__loop_type(t, &t->node[r->decl].type), c->part[k],
                       c->n, r->kind == WS__RED_SUM ? " = {0}" : "", c->i0);
    }
    ws__buf_printf(&c->b, "%s %s = %s;\n",
                   ws__loop_type(t, &t->node[c->l.f.var].type), c->next,
                   ws__xform_text(c->in, c->l.f.from));
    for (size_t k = 0; k < c->l.nred; k++)
        if (c->l.red[k].kind != WS__RED_SUM)
            ws__buf_printf(&c->b,
                           "%sfor (int %s = 0; %s < %s; %s++)\n"
                           "%s%s[%s] = %s;\n",
                           c->i0, c->turn, c->turn, c->n, c->turn, c->i1,
                           c->part[k], c->turn, t->node[c->l.red[k].decl].name);
}

static void print_loop(struct copy *c)
{
    const struct ws__ast *t = c->in->ast;
    const char *by = c->by;

    ws__buf_printf(&c->b, "%sfor (; %s + (%s - 1)%s%s %s %s; %s += %s%s%s) {\n",
                   c->i0, c->next, c->n, by ? " * " : "", by ? by : "",
                   c->l.f.inclusive ? "<=" : "<",
                   ws__xform_text(c->in, c->l.f.to), c->next, c->n,
                   by ? " * " : "", by ? by : "");
    ws__buf_printf(&c->b,
                   "#pragma unroll\n%sfor (int %s = 0; %s < %s; %s++) {\n",
                   c->i1, c->turn, c->turn, c->n, c->turn);
    ws__buf_printf(&c->b, "%sconst %s %s = %s + %s%s%s;\n\n", c->i2,
                   ws__loop_type(t, &t->node[c->l.f.var].type),
                   t->node[c->l.f.var].name, c->next, c->turn, by ? " * " : "",
                   by ? by : "");
    copy_body(c);
    ws__buf_printf(&c->b, "%s}\n%s}\n%s", c->i1, c->i0, c->i0);
}

static void print_end(struct copy *c)
{
    const struct ws__ast *t = c->in->ast;
    bool many = c->l.nred > 1;

    ws__buf_printf(&c->b,
                   "\n#pragma unroll\n%sfor (int %s = 0; %s < %s; %s++)%s",
                   c->i0, c->turn, c->turn, c->n, c->turn, many ? " {" : "");
    for (size_t k = 0; k < c->l.nred; k++) {
        const struct ws__reduction *r = &c->l.red[k];
        const char *name = t->node[r->decl].name;

        if (r->kind == WS__RED_SUM)
            ws__buf_printf(&c->b, "\n%s%s += %s[%s];", c->i1, name, c->part[k],
                           c->turn);
        else
            ws__buf_printf(&c->b, "\n%s%s = %s(%s, %s[%s]);", c->i1, name,
                           ws__loop_extreme(t, r->at, r->kind, r->by), name,
                           c->part[k], c->turn);
    }
    if (many)
        ws__buf_printf(&c->b, "\n%s}", c->i0);
}

/* The step; signed where the counter is, so that a bound below 0 stays one. */
static const char *step_text(const struct copy *c)
{
    const struct ws__ast *t = c->in->ast;
    struct ws__arena *a = c->in->arena;
    const struct ws__ast_type *y = &t->node[c->l.f.var].type;
    int32_t by = ws__ast_bare(t, c->l.f.by);
    const char *text = ws__xform_text(c->in, c->l.f.by);
    bool simple =
        t->node[by].kind == WS__AST_INT || t->node[by].kind == WS__AST_REF ||
        t->node[by].kind == WS__AST_MEMBER || t->node[by].kind == WS__AST_CALL;

    if (!text)
        return NULL;
    if (!y->is_unsigned && t->node[c->l.f.by].type.is_unsigned)
        return ws__arena_printf(a, simple ? "(%s)%s" : "(%s)(%s)",
                                ws__loop_type(t, y), text);
    return ws__arena_printf(a, simple ? "%s" : "(%s)", text);
}

static int name_all(struct copy *c)
{
    const struct ws__ast *t = c->in->ast;
    struct ws__arena *a = c->in->arena;
    const char *base;

    c->n = ws__xform_name(c->in, "ACCUMULATORS");
    c->next = ws__xform_name(c->in, "next");
    c->turn = ws__xform_name(c->in, "turn");
    c->i0 = ws__xform_indent(c->in, c->l.f.loop);
    if (!c->n || !c->next || !c->turn || !c->i0)
        return WS_ENOMEM;
    c->tab = strchr(c->i0, '\t') ? "\t" : "    ";
    c->i1 = ws__arena_printf(a, "%s%s", c->i0, c->tab);
    c->i2 = ws__arena_printf(a, "%s%s%s", c->i0, c->tab, c->tab);
    if (!c->i1 || !c->i2)
        return WS_ENOMEM;
    if (c->l.f.by >= 0) {
        c->by = step_text(c);
        if (!c->by)
            return WS_ENOMEM;
    }
    for (size_t k = 0; k < c->l.nred; k++) {
        base = ws__arena_printf(a, "%s_part", t->node[c->l.red[k].decl].name);
        c->part[k] = base ? ws__xform_name(c->in, base) : NULL;
        if (!c->part[k])
            return WS_ENOMEM;
    }
    return 0;
}

static int print_all(struct copy *c, struct ws__rewrite *out)
{
    const struct ws__ast *t = c->in->ast;
    size_t before;

    WS_TRY(name_all(c));
    print_start(c);
    print_loop(c);
    before = c->b.len;
    print_end(c);
    if (c->b.failed)
        return WS_ENOMEM;
    ws__rewrite_at(out, t->node[c->l.f.loop].begin, 0, "%.*s", (int)before,
                   c->b.data);
    ws__rewrite_node(out, c->l.f.from, "%s", c->next);
    ws__rewrite_at(out, ws__xform_end(t, c->l.f.loop), 0, "%s",
                   c->b.data + before);
    ws__rewrite_param(out, c->n, "[1, 2, 4, 8]", "4",
                      "parts of a sum that do not wait for each other");
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct copy *c = ws__arena_alloc(in->arena, 1, sizeof(*c));
    int rc;

    if (!c)
        return WS_ENOMEM;
    memset(c, 0, sizeof(*c));
    c->in = in;
    WS_TRY(ws__loop_read(in, s->node[0], &c->l));
    ws__buf_init(&c->b, in->ctx, 1 << 18);
    rc = print_all(c, out);
    ws__buf_free(&c->b);
    return rc;
}

const struct ws__xform_ops ws__xform_accumulators = {
    .abi = WS__XFORM_ABI,
    .name = "accumulators",
    .about = "a sum in several parts that do not wait for each other",
    .needs = "an innermost loop that counts and carries nothing but sums, "
             "largest and smallest values in variables",
    .finding = findings,
    .delta = deltas,
    .rounding = true,
    .cuda = true,
    .opencl = true,
    .gain = 1.15,
    .find = find,
    .apply = apply,
};
