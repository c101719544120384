/*
 * infer.c: from a tree to facts: parameters first, then twice over all
 * accesses. The first time tells which elements say places; the second time
 * that bounds what they are used for.
 */
#include "xform/clang_api.h"
#include "xform/infer_int.h"

#include <stdarg.h>

#include "base/banned.h"

const char *ws__infer_words(struct ws__infer *x, const char *fmt, ...)
{
    char text[600];
    const char *out;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    out = ws__arena_strdup(x->arena, text);
    if (!out)
        x->rc = WS_ENOMEM;
    return out;
}

void ws__infer_note(struct ws__infer *x, int32_t node, const char *fmt, ...)
{
    char text[300];
    struct ws__loc at = {0};
    va_list ap;

    if (x->out->nnote == WS_COUNT(x->out->note))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ws__ast_line(x->t, x->t->node[node].begin, &at);
    x->out->note[x->out->nnote] =
        ws__infer_words(x, "%s (line %u)", text, (unsigned)at.line);
    x->out->nnote += x->rc >= 0;
}

/* --- names ------------------------------------------------------------------
 */

static bool is_free(struct ws__infer *x, const char *name)
{
    for (size_t i = 0; i < x->out->nfact; i++)
        if (x->out->fact[i].name && !strcmp(x->out->fact[i].name, name))
            return false;
    for (size_t i = 0; i < x->in->nmissing; i++)
        if (!strcmp(x->in->missing[i], name))
            return false;
    return strcmp(name, "T") != 0 && x->in->may_name(x->in->user, name);
}

static const char *free_name(struct ws__infer *x, const char *own)
{
    char name[64];

    snprintf(name, sizeof(name), "%.55s", own && *own ? own : "arg");
    if (is_free(x, name))
        return ws__infer_words(x, "%s", name);
    for (int n = 1; n < 100; n++) {
        snprintf(name, sizeof(name), n == 1 ? "%.55s_" : "%.55s_%d",
                 own && *own ? own : "arg", n);
        if (is_free(x, name))
            return ws__infer_words(x, "%s", name);
    }
    return ws__infer_words(x, "arg_%zu", x->out->nfact);
}

static struct ws__fact *new_fact(struct ws__infer *x)
{
    if (x->out->nfact == WS__FACT_MAX) {
        if (x->rc >= 0)
            x->rc = ws__fail(x->ctx, WS_ELIMIT, "more than %d parameters",
                             WS__FACT_MAX);
        return NULL;
    }
    memset(&x->out->fact[x->out->nfact], 0, sizeof(struct ws__fact));
    x->out->fact[x->out->nfact].least = 1;
    x->out->fact[x->out->nfact].multiple = 1;
    x->most_of[x->out->nfact] = -1;
    return &x->out->fact[x->out->nfact];
}

int ws__infer_axis(struct ws__infer *x, const char *base, const char *guess)
{
    struct ws__fact *f = new_fact(x);

    if (!f)
        return -1;
    f->name = free_name(x, base);
    if (!f->name)
        return -1;
    f->role = WS__FACT_AXIS;
    f->dtype = WS__DT_I32;
    f->guess = guess;
    return (int)x->out->nfact++;
}

/* --- parameters -------------------------------------------------------------
 */

static enum ws__dtype dtype_of(const struct ws__ast_node *n)
{
    const struct ws__ast_type *t = &n->type;

    if (t->class == WS__AT_FLOAT)
        return t->bits == 64                                  ? WS__DT_F64
               : t->bits == 32                                ? WS__DT_F32
               : t->bits != 16                                ? WS__DT_NONE
               : n->spelled && strstr(n->spelled, "bfloat16") ? WS__DT_BF16
                                                              : WS__DT_F16;
    if (t->class != WS__AT_INT)
        return WS__DT_NONE;
    if (n->spelled &&
        (strstr(n->spelled, "bool") || strstr(n->spelled, "_Bool")))
        return WS__DT_BOOL;
    return t->bits == 64    ? WS__DT_I64
           : t->bits == 32  ? WS__DT_I32
           : t->bits == 16  ? WS__DT_I16
           : t->is_unsigned ? WS__DT_U8
                            : WS__DT_I8;
}

static void role_of(struct ws__infer *x, const struct ws__ast_node *n,
                    struct ws__fact *f)
{
    size_t at = x->out->nfact;

    f->dtype = dtype_of(n);
    if (n->type.pointers > 1 || n->type.ndim || f->dtype == WS__DT_NONE ||
        (!n->type.pointers && (n->type.width > 1 || f->dtype == WS__DT_BOOL)))
        f->role = WS__FACT_OPEN;
    else if (n->type.pointers && n->type.space == WS__AS_SHARED)
        f->role = WS__FACT_SHARED;
    else if (n->type.pointers)
        f->role = WS__FACT_INPUT;
    else
        f->role =
            ws__dtype_is_float(f->dtype) ? WS__FACT_SCALAR : WS__FACT_AXIS;
    if (f->role == WS__FACT_INPUT && n->type.width > 1)
        f->guess = "single elements are counted";
    if (f->role == WS__FACT_INPUT && f->dtype == WS__DT_U8)
        x->most_of[at] = 255;
    if (f->role == WS__FACT_INPUT && f->dtype == WS__DT_I8)
        x->most_of[at] = 127;
    x->out->floats = x->out->floats || f->dtype == WS__DT_F32;
}

static int find_fact(const struct ws__infer *x, const struct ws__ast_node *n)
{
    for (size_t i = 0; n->name && i < x->out->nfact; i++) {
        const struct ws__fact *f = &x->out->fact[i];

        if (f->own && !strcmp(f->own, n->name) &&
            (f->role == WS__FACT_AXIS || f->role == WS__FACT_SCALAR) ==
                !n->type.pointers)
            return (int)i;
    }
    return -1;
}

static void add_param(struct ws__infer *x, int32_t param, size_t launch)
{
    const struct ws__ast_node *n = &x->t->node[param];
    struct ws__fact_launch *l = &x->out->launch[launch];
    int at = find_fact(x, n);
    struct ws__fact *f;

    if (l->narg == WS__MAX_ARGS) {
        x->rc = ws__fail(x->ctx, WS_ELIMIT, "'%s' has more than %d parameters",
                         l->entry, WS__MAX_ARGS);
        return;
    }
    if (at < 0) {
        f = new_fact(x);
        if (!f)
            return;
        f->own = n->name ? n->name : "";
        f->name = free_name(x, n->name);
        if (!f->name)
            return;
        role_of(x, n, f);
        if (f->role == WS__FACT_OPEN)
            ws__infer_note(x, param, "parameter '%.60s' of type '%.80s'",
                           f->own, n->spelled ? n->spelled : "?");
        at = (int)x->out->nfact++;
    }
    l->arg_type[l->narg] = dtype_of(n);
    l->arg[l->narg++] = (size_t)at;
}

static void add_params(struct ws__infer *x, size_t launch)
{
    int32_t f = x->in->func[launch];

    x->out->launch[launch].entry = x->t->node[f].name;
    for (int32_t p = x->t->node[f].first; p >= 0 && x->rc >= 0;
         p = x->t->node[p].next)
        if (x->t->node[p].kind == WS__AST_PARAM)
            add_param(x, p, launch);
}

/* --- names that nobody defines
 * ------------------------------------------------ */

/* Does a place in the text lie in a line that begins with these words? */
static bool in_line(const struct ws__ast *t, uint32_t at, const char *words)
{
    while (at && t->text[at - 1] != '\n')
        at--;
    while (t->text[at] == ' ' || t->text[at] == '\t')
        at++;
    return !strncmp(t->text + at, words, strlen(words));
}

static bool in_pragma(const struct ws__ast *t, const char *name)
{
    for (const char *p = strstr(t->text, name); p; p = strstr(p + 1, name))
        if (in_line(t, (uint32_t)(p - t->text), "#pragma"))
            return true;
    return false;
}

static bool is_use(const struct ws__ast *t, int32_t i, const char *name)
{
    const struct ws__ast_node *n = &t->node[i];

    return n->macro && (n->kind == WS__AST_INT || n->kind == WS__AST_FLOAT) &&
           n->end - n->begin == strlen(name) &&
           !memcmp(t->text + n->begin, name, strlen(name));
}

/* Is it computed with in floating point? */
static bool is_float_use(const struct ws__ast *t, int32_t i)
{
    int32_t p = t->node[i].parent, other;
    const struct ws__ast_node *n;

    if (p < 0)
        return false;
    n = &t->node[p];
    if (n->kind == WS__AST_PAREN || n->kind == WS__AST_UNARY)
        return is_float_use(t, p);
    if (n->kind == WS__AST_BINARY) {
        other = ws__ast_child(t, p, ws__ast_child(t, p, 0) == i);
        return t->node[other].type.class == WS__AT_FLOAT ||
               n->type.class == WS__AT_FLOAT ||
               (n->op <= CL_BinaryOperator_Sub && is_float_use(t, p));
    }
    return (n->kind == WS__AST_CALL || n->kind == WS__AST_ASSIGN ||
            n->kind == WS__AST_VAR || n->kind == WS__AST_CHOICE) &&
           n->type.class == WS__AT_FLOAT && !n->type.pointers && !n->type.ndim;
}

/* The variable that has the name in its length, or -1. */
static int32_t array_with(const struct ws__ast *t, const char *name)
{
    for (int32_t i = 0; i < t->n; i++)
        if (t->node[i].kind == WS__AST_VAR && t->node[i].type.ndim) {
            const char *p = strstr(t->text + t->node[i].begin, name);

            if (p && p < t->text + t->node[i].end)
                return i;
        }
    return -1;
}

static bool is_block(const struct ws__infer *x, size_t which)
{
    for (size_t d = 0; d < x->in->nfunc * 3; d++) {
        const struct ws__ip *b = &x->block[d / 3][d % 3];
        const struct ws__atom *a = b->n == 1 && b->term[0].n == 1
                                       ? &x->atom[b->term[0].atom[0]]
                                       : NULL;

        if (a && a->kind == WS__ATOM_NAME && (size_t)a->key == which)
            return true;
    }
    return false;
}

/* Values to try of a name that changes how a kernel works, not what it
 * computes: by where it stands, or what it is called. NULL: a constant. */
static const char *values_of(const struct ws__infer *x, size_t which)
{
    static const char *const words[] = {"UNROLL",  "TILE", "BLOCK",
                                        "THREADS", "VEC",  "WARP",
                                        "COLS",    "ROWS", "PER_"};
    const struct ws__ast *t = x->t;
    const char *name = x->in->missing[which];
    int32_t array = array_with(t, name);
    bool wide = array >= 0 && t->node[array].type.space == WS__AS_SHARED &&
                t->node[array].type.ndim == 1;

    if (wide || (is_block(x, which) && array < 0))
        return "[128, 64, 256]";
    if (is_block(x, which) ||
        (array >= 0 && t->node[array].type.space == WS__AS_SHARED))
        return "[16, 8, 32]";
    if (array >= 0 || in_pragma(t, name))
        return "[4, 1, 2, 8]";
    for (size_t i = 0; i < WS_COUNT(words); i++)
        if (strstr(name, words[i]))
            return "[4, 1, 2, 8]";
    return NULL;
}

static void add_name(struct ws__infer *x, size_t which)
{
    struct ws__fact_name *m = &x->out->name[x->out->nname];
    const char *name = x->in->missing[which];

    if (x->out->nname == WS_COUNT(x->out->name))
        return;
    memset(m, 0, sizeof(*m));
    m->name = name;
    for (int32_t i = 0; i < x->t->n; i++)
        m->is_float =
            m->is_float || (is_use(x->t, i, name) && is_float_use(x->t, i));
    m->text = m->is_float ? NULL : values_of(x, which);
    m->parameter = m->text != NULL;
    m->guess = m->parameter ? "a guess of values to try: nobody defines it"
                            : "a guess: nobody defines it";
    if (!m->parameter)
        m->text = !m->is_float                                 ? "16"
                  : strstr(name, "EPS") || strstr(name, "eps") ? "1e-5"
                                                               : "0.5";
    x->out->nname++;
}

/* --- what is filled by what
 * ---------------------------------------------------- */

static void set_fill(struct ws__infer *x, size_t i)
{
    struct ws__fact *f = &x->out->fact[i];
    const char *why = NULL;

    if (f->role == WS__FACT_SCALAR) {
        bool small = f->own && (strstr(f->own, "eps") || strstr(f->own, "EPS"));

        f->fill = small ? "{constant: 1e-5}" : "{uniform: [0.5, 1.5]}";
        why = "a guess: a number, by value";
    } else if (f->role != WS__FACT_INPUT && f->role != WS__FACT_INOUT) {
        return;
    } else if (ws__dtype_is_float(f->dtype)) {
        if (x->positive[i]) {
            f->positive = true;
            f->fill = "{uniform: [0.5, 1.5]}";
            why = "a guess: positive, for a logarithm, a root or a quotient";
        }
    } else if (f->role == WS__FACT_INOUT) {
        f->fill = "{integers: [0, 9]}";
        why = "a guess";
    } else {
        int64_t most = x->most_of[i] >= 0 ? x->most_of[i] : 9;

        f->fill = ws__infer_words(x, "{integers: [0, %lld]}", (long long)most);
        why = f->dtype == WS__DT_U8 ? NULL
              : x->is_place[i]      ? "a guess: it says places of other arrays"
                                    : "a guess";
    }
    if (why)
        f->guess = f->guess ? ws__infer_words(x, "%s; %s", f->guess, why) : why;
}

/* Is an axis a length, or does it only divide? */
static bool is_length(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = text ? strstr(text, name) : NULL; p;
         p = strstr(p + 1, name)) {
        char before = p == text ? ' ' : p[-1];
        char two = p < text + 2 ? ' ' : p[-2];
        bool whole = strchr(" (,", before) && (!p[n] || strchr(" ),", p[n]));

        if (whole && two != '/' && two != ',' && two != '-')
            return true;
    }
    return false;
}

static void see_axis(struct ws__infer *x, struct ws__fact *axis)
{
    bool length = false;

    for (size_t i = 0; i < x->out->nfact; i++)
        for (size_t d = 0; d < x->out->fact[i].ndim; d++)
            length = length || is_length(x->out->fact[i].shape[d], axis->name);
    for (size_t l = 0; l < x->out->nlaunch; l++)
        for (size_t d = 0; d < x->out->launch[l].ngrid; d++)
            length = length || is_length(x->out->launch[l].grid[d], axis->name);
    length = length || is_length(x->out->reduction, axis->name);
    axis->small = !length;
    if (axis->small && !axis->guess)
        axis->guess = "a guess: no length of an array, perhaps a step";
}

static void finish(struct ws__infer *x)
{
    for (size_t i = 0; i < x->out->nfact; i++) {
        struct ws__fact *f = &x->out->fact[i];

        set_fill(x, i);
        if (f->role == WS__FACT_AXIS)
            see_axis(x, f);
        if ((f->role == WS__FACT_OUTPUT || f->role == WS__FACT_INOUT) &&
            !ws__dtype_is_float(f->dtype))
            x->out->exact = true;
    }
}

/* Elements that stand in a remainder may be anything. */
static void see_remainders(struct ws__infer *x)
{
    for (size_t i = 0; i < x->natom; i++) {
        const struct ws__atom *a = &x->atom[i];

        if (a->kind != WS__ATOM_MOD)
            continue;
        for (int k = 0; k < a->num->n; k++) {
            int v = ws__ip_variable(x, &a->num->term[k]);

            if (v < 0 || x->atom[v].kind != WS__ATOM_LOAD ||
                x->most_of[x->atom[v].key] >= 0)
                continue;
            x->most_of[x->atom[v].key] = 65535;
            x->is_place[x->atom[v].key] = true;
        }
    }
}

static void forget(struct ws__infer *x)
{
    x->natom = 0;
    x->naccess = 0;
    x->nenv = 0;
    memset(x->uses, 0, sizeof(x->uses));
    memset(x->uses_thread, 0, sizeof(x->uses_thread));
    memset(x->strides, 0, sizeof(x->strides));
}

static void all_accesses(struct ws__infer *x)
{
    /* So that products have them in the order of parameters. */
    for (size_t i = 0; i < x->out->nfact; i++)
        if (x->out->fact[i].role == WS__FACT_AXIS)
            ws__atom_get(x, WS__ATOM_SIZE, (int32_t)i, -1, 0);
    for (size_t l = 0; l < x->in->nfunc && x->rc >= 0; l++) {
        for (int d = 0; d < 3; d++)
            x->block[l][d] = x->grid[l][d] = ws__ip_unknown();
        ws__infer_accesses(x, l);
    }
}

static void infer(struct ws__infer *x)
{
    for (size_t l = 0; l < x->in->nfunc && x->rc >= 0; l++)
        add_params(x, l);
    all_accesses(x);
    see_remainders(x);
    forget(x);
    all_accesses(x);
    ws__infer_roles(x);
    for (size_t l = 0; l < x->in->nfunc && x->rc >= 0; l++) {
        ws__infer_block(x, l);
        ws__infer_grid(x, l);
    }
    if (x->rc < 0)
        return;
    for (size_t i = 0; i < x->in->nmissing; i++)
        add_name(x, i);
    ws__infer_shapes(x);
    for (size_t l = 0; l < x->in->nfunc && x->rc >= 0; l++)
        ws__infer_uses(x, l);
    if (x->rc >= 0)
        finish(x);
}

int ws__infer(struct ws_ctx *ctx, struct ws__arena *a,
              const struct ws__infer_in *in, struct ws__facts *out)
{
    struct ws__infer *x;
    int rc;

    memset(out, 0, sizeof(*out));
    if (in->nfunc > WS__MAX_LAUNCHES)
        return ws__fail(ctx, WS_ELIMIT, "more than %d launches",
                        WS__MAX_LAUNCHES);
    x = ws__alloc(ctx, 1, sizeof(*x));
    if (!x)
        return WS_ENOMEM;
    x->ctx = ctx;
    x->arena = a;
    x->in = in;
    x->t = in->ast;
    x->out = out;
    out->nlaunch = in->nfunc;
    infer(x);
    if (!out->reduction)
        out->reduction = "1";
    rc = x->rc;
    ws__free(ctx, x);
    return rc;
}
