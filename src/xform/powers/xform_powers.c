/*
 * xform_powers.c: powers whose exponent is a small multiple of a half as
 * products and square roots.
 *
 * pow is a logarithm and an exponential with care for all that can happen, some
 * thirty instructions; x * x is one. A base that is a variable, a member or a
 * number is written as often as it is needed: compilers see that products and
 * roots of the same are the same, and compute them once. Of any other a small
 * function is made, so that it is computed once. A division by a root becomes a
 * product with a reciprocal root.
 *
 * All powers of all functions that the kernel runs are one site. A power is
 * computed in the type that it was.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MOST 12 /* of twice the exponent: x^6 */
#define MAX_TEXT (1 << 16)

static const char *const findings[] = {"special",    "fma",        "mostly_fma",
                                       "wait_units", "wait_fixed", NULL};
static const struct ws__xform_delta deltas[] = {{"time", 0.3, 1}, {NULL, 0, 0}};

struct power {
    int32_t call, x, e;
    int twice;    /* the exponent */
    bool plain;   /* the base can be written several times */
    bool divides; /* a / it becomes a * what `twice` says */
    bool cast;    /* the base has another type */
    bool is_double;
};

/* --- reading -------------------------------------------------------------- */

static bool is_power_name(const char *name)
{
    static const char *const names[] = {"powf",     "pow",    "pown",
                                        "powr",     "__powf", "native_powr",
                                        "half_powr"};

    for (size_t i = 0; name && i < WS_COUNT(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* Twice the number that is written: 3 of "1.50f". */
static bool half_steps(const char *s, size_t n, int *twice)
{
    size_t i = 0, digits = 0;

    *twice = 0;
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++, digits++)
        *twice = *twice * 10 + 2 * (s[i] - '0');
    if (digits > 3)
        return false;
    if (i < n && s[i] == '.') {
        i++;
        if (i < n && s[i] == '5') {
            ++*twice;
            i++;
            digits++;
        }
        for (; i < n && s[i] == '0'; i++)
            digits++;
    }
    i += i < n && (s[i] == 'f' || s[i] == 'F');
    return i == n && digits;
}

static int32_t skip_parens(const struct ws__ast *t, int32_t i)
{
    while (ws__ast_is(t, i, WS__AST_PAREN))
        i = ws__ast_child(t, i, 0);
    return i;
}

static const char *read_exponent(const struct ws__ast *t, struct power *p)
{
    int32_t i = skip_parens(t, p->e);
    bool minus = ws__ast_is(t, i, WS__AST_UNARY) &&
                 t->node[i].op == CL_UnaryOperator_Minus;
    const struct ws__ast_node *n;

    i = minus ? skip_parens(t, ws__ast_child(t, i, 0)) : i;
    n = &t->node[i];
    if (n->kind != WS__AST_INT && n->kind != WS__AST_FLOAT)
        return "an exponent is not written as a number";
    if (t->node[p->e].macro)
        return "a macro has an exponent";
    if (!half_steps(t->text + n->begin, n->end - n->begin, &p->twice) ||
        p->twice > MOST || !p->twice || (p->twice == 2 && !minus))
        return "an exponent is no small multiple of a half";
    p->twice = minus ? -p->twice : p->twice;
    return NULL;
}

/* Is there nothing but blanks and one such sign? */
static bool is_gap(const struct ws__ast *t, uint32_t from, uint32_t to,
                   char sign)
{
    int signs = 0;

    for (; from < to; from++) {
        if (t->text[from] == sign)
            signs++;
        else if (!strchr(" \t\n", t->text[from]))
            return false;
    }
    return signs == 1;
}

/* Can the base be written again: one word, or a member of one? */
static bool is_plain(const struct ws__ast *t, int32_t x)
{
    const struct ws__ast_node *n = &t->node[skip_parens(t, x)];
    int32_t i = ws__ast_bare(t, x);

    for (uint32_t at = n->begin; at < n->end; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz_.0123456789"
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                    t->text[at]))
            return false;
    if (ws__ast_is(t, i, WS__AST_UNARY) &&
        t->node[i].op == CL_UnaryOperator_Minus)
        i = ws__ast_bare(t, ws__ast_child(t, i, 0));
    while (ws__ast_is(t, i, WS__AST_MEMBER))
        i = ws__ast_child(t, i, 0);
    if (ws__ast_is(t, i, WS__AST_REF))
        return t->node[i].decl < 0 ||
               !(t->node[t->node[i].decl].spelled &&
                 strstr(t->node[t->node[i].decl].spelled, "volatile"));
    return ws__ast_is(t, i, WS__AST_INT) || ws__ast_is(t, i, WS__AST_FLOAT);
}

static bool is_number(const struct ws__ast_type *y)
{
    return !y->pointers && !y->ndim && y->width == 1 &&
           (y->class == WS__AT_INT || y->class == WS__AT_FLOAT);
}

/* Reciprocal roots are better than divisions by roots. */
static void look_above(const struct ws__ast *t, struct power *p)
{
    const struct ws__ast_node *n = &t->node[p->call];
    int32_t up = n->parent, l = ws__ast_child(t, up, 0);

    if (!ws__ast_is(t, up, WS__AST_BINARY) ||
        t->node[up].op != CL_BinaryOperator_Div || l == p->call ||
        t->node[up].type.class != WS__AT_FLOAT ||
        t->node[up].type.bits != n->type.bits || t->node[up].type.width != 1 ||
        !is_gap(t, t->node[l].end, n->begin, '/') ||
        !ws__xform_is_whole(t, l) ||
        !(p->twice == 1 || p->twice == 3 || p->twice < 0))
        return;
    p->divides = true;
    p->twice = -p->twice;
}

/* Is it a power? *why: one that stays. */
static bool read_power(const struct ws__ast *t, int32_t i, struct power *p,
                       const char **why)
{
    const struct ws__ast_node *n = &t->node[i], *x;
    bool std;

    *why = NULL;
    *p = (struct power){.call = i};
    if (n->kind != WS__AST_CALL || n->decl >= 0 || !is_power_name(n->name) ||
        ws__ast_nchild(t, i) != 3 || n->type.class != WS__AT_FLOAT ||
        n->type.width != 1 || (n->type.bits != 32 && n->type.bits != 64))
        return false;
    p->x = ws__ast_child(t, i, 1);
    p->e = ws__ast_child(t, i, 2);
    x = &t->node[p->x];
    std = !strncmp(t->text + n->begin, "std::", 5);
    if (!is_number(&x->type))
        return false;
    *why = read_exponent(t, p);
    if (*why)
        return true;
    if (strncmp(t->text + n->begin + (std ? 5 : 0), n->name, strlen(n->name)) !=
            0 ||
        !is_gap(t, n->begin + (std ? 5 : 0) + (uint32_t)strlen(n->name),
                x->begin, '(') ||
        !is_gap(t, x->end, t->node[p->e].begin, ',') ||
        !is_gap(t, t->node[p->e].end, n->end, ')') ||
        !ws__xform_is_whole(t, i) || !ws__xform_is_whole(t, p->x)) {
        *why = "a macro or a comment is part of a power";
        return true;
    }
    p->is_double = n->type.bits == 64;
    p->cast = x->type.class != WS__AT_FLOAT || x->type.bits != n->type.bits;
    p->plain = is_plain(t, p->x);
    look_above(t, p);
    return true;
}

/* Is the base needed once? */
static bool is_single(int twice)
{
    return twice == 1 || twice == -1 || twice == 2 || twice == -2;
}

static bool needs_function(const struct power *p)
{
    return !p->plain && !is_single(p->twice);
}

/* May a function be missing where it is needed: for some configs, or outside of
 * a namespace? */
static bool has_parts(const struct ws__ast *t)
{
    for (const char *p = strchr(t->text, '#'); p; p = strchr(p + 1, '#'))
        if (!strncmp(p + 1 + strspn(p + 1, " \t"), "if", 2))
            return true;
    return strstr(t->text, "namespace ") != NULL;
}

static const char *root(const struct ws__ast *t, bool is_double, bool of_one)
{
    if (t->dialect != WS__DIALECT_CUDA || is_double)
        return of_one ? "rsqrt" : "sqrt";
    return of_one ? "rsqrtf" : "sqrtf";
}

/* Has the source something of its own that is called like the root that it
 * takes? */
static bool has_own_root(const struct ws__ast *t, const struct power *p)
{
    for (int32_t i = 0; i < t->n && p->twice % 2; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if ((n->kind == WS__AST_FUNCTION || n->kind == WS__AST_VAR ||
             n->kind == WS__AST_PARAM) &&
            n->name &&
            (!strcmp(n->name, root(t, p->is_double, false)) ||
             !strcmp(n->name, root(t, p->is_double, true))))
            return true;
    }
    return false;
}

/* The next power of what the kernel runs, behind node *at. */
static bool next_power(const struct ws__xform_in *in, int32_t *at,
                       struct power *p, const char **why)
{
    const struct ws__ast *t = in->ast;

    while ((*at = ws__xform_next_run(in, *at)) < t->n) {
        if (!read_power(t, *at, p, why))
            continue;
        if (!*why && needs_function(p) && has_parts(t))
            *why = "a function for it could be missing in parts of the source";
        if (!*why && has_own_root(t, p))
            *why = "the source has its own meaning for the name of a root";
        return true;
    }
    return false;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const char *why, *first_why = NULL;
    int32_t first = -1, refused = -1;
    bool delicate = false, negative = false;
    struct ws__site *s;
    struct power p;
    size_t n = 0;
    int rc = 0;

    if (!ws__xform_is_first(in))
        return 0;
    for (int32_t at = -1; next_power(in, &at, &p, &why);) {
        if (why) {
            refused = refused < 0 ? p.call : refused;
            first_why = first_why ? first_why : why;
            continue;
        }
        first = first < 0 ? p.call : first;
        delicate = delicate || p.twice < 0 || p.twice % 2;
        negative = negative || strstr(in->ast->node[p.call].name, "powr");
        n++;
    }
    if (!n)
        return refused < 0 ? 0
                           : ws__site_refuse(in, out, refused,
                                             "powers as products", first_why);
    s = ws__site_add(in, out, first, &rc,
                     n > 1 ? "%zu powers as products and roots"
                           : "a power as a product",
                     n);
    if (s && (delicate || negative))
        s->trust = ws__arena_printf(
            in->arena, "%s%s%s",
            delicate ? "no base is minus infinity, or so large or small that a "
                       "part of a power is infinite"
                     : "",
            delicate && negative ? "; " : "",
            negative ? "no base of powr is negative" : "");
    return rc;
}

/* --- writing -------------------------------------------------------------- */

static void put_whole(struct ws__buf *b, int k, const char *x)
{
    if (k == 4 || k == 5)
        ws__buf_printf(b, "(%s * %s) * (%s * %s)%s%s", x, x, x, x,
                       k == 5 ? " * " : "", k == 5 ? x : "");
    else if (k == 6)
        ws__buf_printf(b, "(%s * %s * %s) * (%s * %s * %s)", x, x, x, x, x, x);
    else
        for (int i = 0; i < k; i++)
            ws__buf_printf(b, "%s%s", i ? " * " : "", x);
}

/* The power of x, which is one word or a cast of one. */
static void put_power(struct ws__buf *b, const struct ws__ast *t, int twice,
                      bool is_double, const char *x)
{
    int k = (twice < 0 ? -twice : twice) / 2;
    bool half = twice % 2;

    if (half && (twice == -1 || twice == -3)) {
        const char *r = root(t, is_double, true);

        for (int i = 0; i <= 2 * k; i++)
            ws__buf_printf(b, "%s%s(%s)", i ? " * " : "", r, x);
        return;
    }
    if (twice < 0)
        ws__buf_printf(b, "%s / ", is_double ? "1.0" : "1.0f");
    if (twice < 0 && k + half > 1)
        ws__buf_puts(b, "(");
    put_whole(b, k, x);
    if (half)
        ws__buf_printf(b, "%s%s(%s)", k ? " * " : "", root(t, is_double, false),
                       x);
    if (twice < 0 && k + half > 1)
        ws__buf_puts(b, ")");
}

static const char *type_name(bool is_double)
{
    return is_double ? "double" : "float";
}

/* "square", "cube", "power_minus_2_5", ...; NULL: no memory. */
static const char *function_name(const struct ws__xform_in *in, int twice,
                                 bool is_double)
{
    int k = twice < 0 ? -twice : twice;
    const char *name;

    if (twice == 4 || twice == 6)
        name =
            ws__arena_printf(in->arena, "%s%s", twice == 4 ? "square" : "cube",
                             is_double ? "_double" : "");
    else
        name = ws__arena_printf(in->arena, "power_%s%d%s%s",
                                twice < 0 ? "minus_" : "", k / 2,
                                k % 2 ? "_5" : "", is_double ? "_double" : "");
    return name ? ws__xform_name(in, name) : NULL;
}

/* The base is an expression that stays where it is: edits around it. */
static void put_around(struct ws__rewrite *out, const struct power *p)
{
    const struct ws__ast *t = out->in->ast;
    const struct ws__ast_node *n = &t->node[p->call], *x = &t->node[p->x];
    const char *type = type_name(p->is_double), *name;
    uint32_t open = x->begin - n->begin, close = n->end - x->end;

    if (!is_single(p->twice)) {
        name = function_name(out->in, p->twice, p->is_double);
        if (!name)
            out->failed = WS_ENOMEM;
        ws__rewrite_at(out, n->begin, open, "%s(", name);
        ws__rewrite_at(out, x->end, close, ")");
    } else if (p->twice == 1 || p->twice == -1) {
        name = root(t, p->is_double, p->twice < 0);
        ws__rewrite_at(out, n->begin, open, p->cast ? "%s((%s)(" : "%s(", name,
                       type);
        ws__rewrite_at(out, x->end, close, p->cast ? "))" : ")");
    } else {
        ws__rewrite_at(out, n->begin, open, "%s%s%s%s(",
                       p->twice > 0   ? ""
                       : p->is_double ? "(1.0 / "
                                      : "(1.0f / ",
                       p->cast ? "(" : "", p->cast ? type : "",
                       p->cast ? ")" : "");
        ws__rewrite_at(out, x->end, close, p->twice > 0 ? ")" : "))");
    }
}

static void put_plain(struct ws__rewrite *out, const struct power *p)
{
    const struct ws__xform_in *in = out->in;
    const char *x = ws__xform_text(in, skip_parens(in->ast, p->x));
    bool bare = p->twice == 1 || p->twice == -1 || p->twice == 2;
    struct ws__buf b;

    if (x && p->cast)
        x = ws__arena_printf(in->arena, "(%s)%s", type_name(p->is_double), x);
    if (!x) {
        out->failed = WS_ENOMEM;
        return;
    }
    ws__buf_init(&b, in->ctx, MAX_TEXT);
    put_power(&b, in->ast, p->twice, p->is_double, x);
    if (b.failed)
        out->failed = WS_ENOMEM;
    else
        ws__rewrite_node(out, p->call, bare ? "%s" : "(%s)", b.data);
    ws__buf_free(&b);
}

static int put_function(struct ws__buf *b, const struct ws__xform_in *in,
                        int twice, bool is_double)
{
    const char *name = function_name(in, twice, is_double);
    const char *type = type_name(is_double);

    if (!name)
        return WS_ENOMEM;
    ws__buf_printf(b, "%s %s %s(%s x)\n{\n    return ",
                   in->ast->dialect == WS__DIALECT_CUDA ? "static __device__"
                                                        : "static",
                   type, name, type);
    put_power(b, in->ast, twice, is_double, "x");
    ws__buf_puts(b, ";\n}\n\n");
    return 0;
}

/* Is there text before a place, and no blank line between? */
static bool wants_blank(const struct ws__ast *t, uint32_t at)
{
    const char *s = t->text + at;

    return at > ws__xform_top(t) + 2 && strncmp(s - 2, "\n\n", 2) != 0;
}

/* The functions, in front of the first that calls one. */
static int put_functions(const struct ws__xform_in *in, struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    bool done[2][2 * MOST + 1] = {{false}};
    const char *why;
    int32_t first = -1;
    struct ws__buf b;
    struct power p;
    uint32_t at;
    int rc = 0;

    ws__buf_init(&b, in->ctx, MAX_TEXT);
    for (int32_t i = -1; next_power(in, &i, &p, &why) && rc >= 0;) {
        if (why || !needs_function(&p) || done[p.is_double][p.twice + MOST])
            continue;
        done[p.is_double][p.twice + MOST] = true;
        first = first < 0 ? ws__ast_up(t, p.call, WS__AST_FUNCTION) : first;
        rc = put_function(&b, in, p.twice, p.is_double);
    }
    if (b.failed)
        rc = WS_ENOMEM;
    if (rc >= 0 && first >= 0) {
        at = ws__xform_before_function(t, first);
        ws__rewrite_at(out, at, 0, "%s%s", wants_blank(t, at) ? "\n" : "",
                       b.data);
    }
    ws__buf_free(&b);
    return rc;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    const char *why;
    struct power p;

    (void)s;
    for (int32_t at = -1; next_power(in, &at, &p, &why);) {
        const struct ws__ast_node *n = &t->node[p.call];

        if (why)
            continue;
        if (p.divides) {
            uint32_t l = t->node[ws__ast_child(t, n->parent, 0)].end;

            while (t->text[l] != '/')
                l++;
            ws__rewrite_at(out, l, 1, "*");
        }
        if (p.plain)
            put_plain(out, &p);
        else
            put_around(out, &p);
    }
    return put_functions(in, out);
}

const struct ws__xform_ops ws__xform_powers = {
    .abi = WS__XFORM_ABI,
    .name = "powers",
    .about = "powers with small constant exponents as products and roots",
    .needs = "calls of pow and its like whose exponent is written as a small "
             "multiple of a half",
    .finding = findings,
    .delta = deltas,
    .rounding = true,
    .cuda = true,
    .opencl = true,
    .gain = 1.5,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
