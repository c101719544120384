/*
 * xform_fast_math.c: the device's own approximations of functions of float32.
 *
 * All functions that the kernel runs are looked at together. Each kind is a
 * site of its own, and where there are several, all of them at once come first:
 * the single ones are for where that is beyond the tolerance. Results differ in
 * rounding; functions of float64, of other types and of the user's own are left
 * alone.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

enum kind { EXP, LOG, TRIG, RSQRT, DIVIDE, NKIND };

static const struct {
    const char *words, *trust;
} kinds[NKIND] = {
    [EXP] = {"exponentials", NULL},
    [LOG] = {"logarithms", NULL},
    [TRIG] = {"sines and cosines", "arguments are small: far from zero the "
                                   "error grows"},
    [RSQRT] = {"reciprocals of square roots", NULL},
    [DIVIDE] = {"divisions", "no divisor is beyond 2^126"},
};

static const struct {
    enum kind kind;
    const char *cuda[2]; /* what it is, what it becomes */
    const char *opencl[2];
} names[] = {
    {EXP, {"expf", "__expf"}, {NULL, NULL}},
    {EXP, {"exp", "__expf"}, {"exp", "native_exp"}},
    {EXP, {"exp10f", "__exp10f"}, {"exp10", "native_exp10"}},
    {EXP, {NULL, NULL}, {"exp2", "native_exp2"}},
    {LOG, {"logf", "__logf"}, {NULL, NULL}},
    {LOG, {"log", "__logf"}, {"log", "native_log"}},
    {LOG, {"log2f", "__log2f"}, {"log2", "native_log2"}},
    {LOG, {"log10f", "__log10f"}, {"log10", "native_log10"}},
    {TRIG, {"sinf", "__sinf"}, {NULL, NULL}},
    {TRIG, {"sin", "__sinf"}, {"sin", "native_sin"}},
    {TRIG, {"cosf", "__cosf"}, {NULL, NULL}},
    {TRIG, {"cos", "__cosf"}, {"cos", "native_cos"}},
};

static const char *const findings[] = {"special", "wait_shared", "wait_mio",
                                       "mostly_fma", NULL};
static const struct ws__xform_delta deltas[] = {{"time", 0.6, 1}, {NULL, 0, 0}};

static bool is_float32(const struct ws__ast_type *y)
{
    return y->class == WS__AT_FLOAT && y->bits == 32 && y->width == 1 &&
           !y->pointers && !y->ndim;
}

/* float32, or an integer that becomes one. */
static bool is_operand(const struct ws__ast *t, int32_t i)
{
    const struct ws__ast_type *y = &t->node[i].type;

    return is_float32(y) || (y->class == WS__AT_INT && !y->pointers);
}

static bool is_call(const struct ws__ast *t, int32_t i, const char *a,
                    const char *b)
{
    const struct ws__ast_node *n = &t->node[i];

    return n->kind == WS__AST_CALL && n->decl < 0 && n->name &&
           (!strcmp(n->name, a) || !strcmp(n->name, b)) && n->first >= 0;
}

/* The new name of a function of one argument; NULL: there is none. */
static const char *new_name(const struct ws__ast *t, int32_t i, enum kind *kind)
{
    const struct ws__ast_node *n = &t->node[i];
    bool cuda = t->dialect == WS__DIALECT_CUDA;

    for (size_t k = 0; k < WS_COUNT(names); k++) {
        const char *const *p = cuda ? names[k].cuda : names[k].opencl;

        if (p[0] && is_call(t, i, p[0], p[0]) && ws__ast_nchild(t, i) == 2 &&
            n->name) {
            *kind = names[k].kind;
            return p[1];
        }
    }
    return NULL;
}

/* Is there nothing but blanks and one slash between the operands? */
static bool is_plain_slash(const struct ws__ast *t, uint32_t from, uint32_t to)
{
    int slashes = 0;

    for (; from < to; from++) {
        if (t->text[from] == '/')
            slashes++;
        else if (!strchr(" \t\n", t->text[from]))
            return false;
    }
    return slashes == 1;
}

static bool is_one(const struct ws__ast *t, int32_t i)
{
    const struct ws__ast_node *n = &t->node[ws__ast_bare(t, i)];
    const char *p = t->text + n->begin;
    size_t len = n->end - n->begin;

    if (n->kind == WS__AST_INT)
        return n->known && n->value == 1;
    return n->kind == WS__AST_FLOAT && len >= 2 && p[0] == '1' && p[1] == '.' &&
           strspn(p + 2, "0") + 2 + (p[len - 1] == 'f' || p[len - 1] == 'F') ==
               len;
}

static bool is_number(const struct ws__ast *t, int32_t i)
{
    int64_t v;

    i = ws__ast_bare(t, i);
    return i < 0 || t->node[i].kind == WS__AST_FLOAT || ws__ast_const(t, i, &v);
}

static bool divides(const struct ws__ast *t, int32_t i, enum kind *kind)
{
    int32_t l = ws__ast_child(t, i, 0), r = ws__ast_child(t, i, 1);

    if (t->node[i].kind != WS__AST_BINARY ||
        t->node[i].op != CL_BinaryOperator_Div || r < 0 ||
        !is_plain_slash(t, t->node[l].end, t->node[r].begin) ||
        !ws__xform_is_whole(t, l) || !ws__xform_is_whole(t, r))
        return false;
    if (is_call(t, r, "sqrtf", "sqrt")) {
        *kind = RSQRT;
        return true;
    }
    *kind = DIVIDE;
    return !is_number(t, r);
}

/* Is the node of a kind? *why: it is, but is left alone. */
static bool look(const struct ws__ast *t, int32_t i, enum kind *kind,
                 const char **why)
{
    const struct ws__ast_node *n = &t->node[i];

    *why = NULL;
    if (!(n->kind == WS__AST_CALL && new_name(t, i, kind)) &&
        !divides(t, i, kind))
        return false;
    if (n->kind == WS__AST_BINARY &&
        (n->type.class != WS__AT_FLOAT || n->type.width != 1))
        return false;
    if (n->macro)
        *why = "a macro has it";
    else if (!is_float32(&n->type))
        *why = "it is computed in another type than float32";
    for (int32_t c = n->first; c >= 0 && !*why; c = t->node[c].next)
        if ((n->kind == WS__AST_BINARY || c != n->first) && !is_operand(t, c))
            *why = "it is computed in another type than float32";
    return true;
}

static int add_site(const struct ws__xform_in *in, int32_t at, unsigned mask,
                    struct ws__sites *out)
{
    struct ws__site *s;
    char words[200] = "", trust[200] = "";
    size_t n = 0, m = 0;
    int rc = 0;

    for (int k = 0; k < NKIND; k++) {
        if (!(mask & 1u << k))
            continue;
        n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s",
                              n ? ", " : "", kinds[k].words);
        if (kinds[k].trust)
            m += (size_t)snprintf(trust + m, sizeof(trust) - m, "%s%s",
                                  m ? "; " : "", kinds[k].trust);
    }
    s = ws__site_add(in, out, at, &rc, "approximate %s", words);
    if (!s)
        return rc;
    s->arg[0] = mask;
    if (m) {
        s->trust = ws__arena_strdup(in->arena, trust);
        if (!s->trust)
            return WS_ENOMEM;
    }
    return 0;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    int32_t first[NKIND], refused = -1, top = -1;
    const char *why = NULL;
    unsigned mask = 0;

    if (!ws__xform_is_first(in))
        return 0;
    for (int32_t i = -1; (i = ws__xform_next_run(in, i)) < t->n;) {
        const char *w;
        enum kind k;

        if (!look(t, i, &k, &w))
            continue;
        if (w) {
            refused = refused < 0 ? i : refused;
            why = why ? why : w;
            continue;
        }
        if (!(mask & 1u << k))
            first[k] = i;
        top = top < 0 ? i : top;
        mask |= 1u << k;
    }
    if (mask & (mask - 1))
        WS_TRY(add_site(in, top, mask, out));
    for (int k = 0; k < NKIND; k++)
        if (mask & 1u << k)
            WS_TRY(add_site(in, first[k], 1u << k, out));
    if (!mask && refused >= 0)
        return ws__site_refuse(in, out, refused, "approximate functions", why);
    return 0;
}

/* --- writing it ----------------------------------------------------------- */

static void put_divide(struct ws__rewrite *out, int32_t i, enum kind k)
{
    const struct ws__ast *t = out->in->ast;
    bool cuda = t->dialect == WS__DIALECT_CUDA;
    const struct ws__ast_node *l = &t->node[ws__ast_child(t, i, 0)];
    int32_t r = ws__ast_child(t, i, 1);
    const struct ws__ast_node *f;

    if (k == DIVIDE) {
        ws__rewrite_at(out, t->node[i].begin, 0,
                       cuda ? "__fdividef(" : "native_divide(");
        ws__rewrite_at(out, l->end, t->node[r].begin - l->end, ", ");
        ws__rewrite_at(out, t->node[i].end, 0, ")");
        return;
    }
    f = &t->node[ws__ast_child(t, r, 0)]; /* sqrtf */
    if (is_one(t, ws__ast_child(t, i, 0)))
        ws__rewrite_at(out, t->node[i].begin, f->end - t->node[i].begin, "%s",
                       cuda ? "rsqrtf" : "rsqrt");
    else
        ws__rewrite_at(out, l->end, f->end - l->end, " * %s",
                       cuda ? "rsqrtf" : "rsqrt");
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;

    for (int32_t i = -1; (i = ws__xform_next_run(in, i)) < t->n;) {
        const char *why, *name;
        enum kind k;

        if (!look(t, i, &k, &why) || why || !(s->arg[0] & 1 << k))
            continue;
        if (k == DIVIDE || k == RSQRT) {
            put_divide(out, i, k);
        } else {
            name = new_name(t, i, &k);
            ws__rewrite_node(out, t->node[i].first, "%s", name);
        }
    }
    return 0;
}

const struct ws__xform_ops ws__xform_fast_math = {
    .abi = WS__XFORM_ABI,
    .name = "fast_math",
    .about = "the device's approximations of functions of float32",
    .needs = "functions or divisions that are computed in float32",
    .finding = findings,
    .delta = deltas,
    .rounding = true,
    .cuda = true,
    .opencl = true,
    .gain = 1.15,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
