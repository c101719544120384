/* ast.c: looking at a kernel's tree. See ast.h. */
#include "xform/ast.h"

#include "xform/clang_api.h"

#include "base/banned.h"

int32_t ws__ast_child(const struct ws__ast *t, int32_t i, int nth)
{
    int32_t c = i < 0 ? -1 : t->node[i].first;

    while (c >= 0 && nth-- > 0)
        c = t->node[c].next;
    return c;
}

int ws__ast_nchild(const struct ws__ast *t, int32_t i)
{
    int n = 0;

    for (int32_t c = ws__ast_child(t, i, 0); c >= 0; c = t->node[c].next)
        n++;
    return n;
}

int32_t ws__ast_bare(const struct ws__ast *t, int32_t i)
{
    while (i >= 0) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t c = ws__ast_child(t, i, 0);

        if (c < 0 || n->next == i || ws__ast_nchild(t, i) != 1)
            return i;
        if (n->kind == WS__AST_PAREN
                ? ws__ast_is_op(t, c, CL_BinaryOperator_Comma)
                : !(n->kind == WS__AST_CAST &&
                    n->type.class == t->node[c].type.class &&
                    n->type.bits >= t->node[c].type.bits))
            return i;
        i = c;
    }
    return i;
}

bool ws__ast_below(const struct ws__ast *t, int32_t i, int32_t root)
{
    while (i > root)
        i = t->node[i].parent;
    return i == root;
}

int32_t ws__ast_up(const struct ws__ast *t, int32_t i, enum ws__ast_kind k)
{
    while (i >= 0 && t->node[i].kind != k)
        i = t->node[i].parent;
    return i;
}

static bool is_loop(enum ws__ast_kind k)
{
    return k == WS__AST_FOR || k == WS__AST_WHILE || k == WS__AST_DO;
}

int32_t ws__ast_statement(const struct ws__ast *t, int32_t i)
{
    while (i >= 0) {
        int32_t p = t->node[i].parent;
        enum ws__ast_kind k = p < 0 ? WS__AST_BLOCK : t->node[p].kind;

        if (k == WS__AST_BLOCK || is_loop(k) || k == WS__AST_IF)
            return i;
        i = p;
    }
    return -1;
}

int32_t ws__ast_function(const struct ws__ast *t, const char *name)
{
    for (int32_t i = 0; i < t->n; i = ws__ast_after(t, i)) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind != WS__AST_FUNCTION || !n->name || strcmp(n->name, name))
            continue;
        for (int32_t c = n->first; c >= 0; c = t->node[c].next)
            if (t->node[c].kind == WS__AST_BLOCK)
                return i;
    }
    return -1;
}

void ws__ast_line(const struct ws__ast *t, uint32_t at, struct ws__loc *out)
{
    *out = (struct ws__loc){t->path, 1, 1};
    for (uint32_t i = 0; i < at && i < t->len; i++) {
        out->column++;
        if (t->text[i] == '\n') {
            out->line++;
            out->column = 1;
        }
    }
}

const char *ws__ast_text(const struct ws__ast *t, struct ws__arena *a,
                         int32_t i)
{
    const struct ws__ast_node *n = &t->node[i];

    return ws__arena_strndup(a, t->text + n->begin, n->end - n->begin);
}

bool ws__ast_refers(const struct ws__ast *t, int32_t i, int32_t decl)
{
    i = ws__ast_bare(t, i);
    return i >= 0 && t->node[i].kind == WS__AST_REF && decl >= 0 &&
           t->node[i].decl == decl;
}

/* How many of the sorted are below. */
static size_t count_below(const int32_t *sorted, size_t n, int32_t limit)
{
    size_t lo = 0;

    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;

        if (sorted[mid] < limit)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

size_t ws__ast_uses_of(const struct ws__ast *t, int32_t root, int32_t decl,
                       const int32_t **out)
{
    const int32_t *all = decl < 0 ? NULL : t->use + t->node[decl].use;
    size_t n = decl < 0 ? 0 : (size_t)t->node[decl].nuse, skip;

    *out = NULL;
    if (!n)
        return 0;
    skip = count_below(all, n, root);
    *out = all + skip;
    return count_below(all, n, ws__ast_after(t, root)) - skip;
}

bool ws__ast_uses(const struct ws__ast *t, int32_t root, int32_t decl)
{
    const int32_t *use;

    return ws__ast_uses_of(t, root, decl, &use) > 0;
}

static bool is_step(const struct ws__ast_node *n)
{
    return n->kind == WS__AST_UNARY && n->op >= CL_UnaryOperator_PostInc &&
           n->op <= CL_UnaryOperator_AddrOf;
}

bool ws__ast_is_reference(const struct ws__ast *t, int32_t decl)
{
    return t->node[decl].spelled && strchr(t->node[decl].spelled, '&');
}

/* Does parameter number nth of a call's function take a reference? Of functions
 * elsewhere those of numbers take none. */
static bool takes_reference(const struct ws__ast *t, int32_t call, int nth)
{
    int32_t f = t->node[call].decl;
    int32_t arg = ws__ast_child(t, call, nth + 1);

    if (f < 0 || t->node[f].kind != WS__AST_FUNCTION)
        return t->node[arg].type.class == WS__AT_OTHER;
    for (int32_t c = t->node[f].first; c >= 0; c = t->node[c].next)
        if (t->node[c].kind == WS__AST_PARAM && !nth--)
            return ws__ast_is_reference(t, c);
    return true;
}

bool ws__ast_is_bound(const struct ws__ast *t, int32_t i)
{
    int32_t p = t->node[i].parent;
    int nth = 0;

    for (; p >= 0 && (t->node[p].kind == WS__AST_PAREN ||
                      t->node[p].kind == WS__AST_MEMBER);
         p = t->node[p].parent)
        i = p;
    if (p < 0)
        return false;
    if (t->node[p].kind == WS__AST_VAR)
        return ws__ast_is_reference(t, p);
    if (t->node[p].kind != WS__AST_CALL)
        return false;
    for (int32_t c = t->node[p].first; c >= 0; c = t->node[c].next, nth++)
        if (c == i && nth)
            return takes_reference(t, p, nth - 1);
    return false;
}

/* Does an assignment or a step write to the variable, or to a part of it: x.y,
 * x[i] of an array or a vector of one's own? */
static bool writes_to(const struct ws__ast *t, int32_t i, int32_t decl)
{
    int32_t to = ws__ast_child(t, i, 0);

    if (ws__ast_refers(t, to, decl))
        return true;
    while (ws__ast_is(t, to, WS__AST_MEMBER) ||
           ws__ast_is(t, to, WS__AST_INDEX) || ws__ast_is(t, to, WS__AST_PAREN))
        to = ws__ast_child(t, to, 0);
    return ws__ast_refers(t, to, decl) && !t->node[decl].type.pointers;
}

/* Can what p makes of the array below it write to it: a function that gets its
 * address, a pointer that is set to it? */
static bool may_write(const struct ws__ast *t, int32_t p, int32_t array)
{
    int32_t c = ws__ast_child(t, p, 0);
    int32_t f = t->node[p].decl, param;

    if (t->node[p].kind == WS__AST_VAR)
        return t->node[p].type.pointers && !t->node[p].type.is_const;
    if (t->node[p].kind != WS__AST_CALL)
        return t->node[p].kind != WS__AST_OTHER; /* sizeof */
    if (ws__ast_is_pure_call(t, p))
        return false;
    if (f < 0 || t->node[f].kind != WS__AST_FUNCTION)
        return true;
    param = t->node[f].first;
    for (c = t->node[c].next; c >= 0 && c != array; c = t->node[c].next)
        param = param < 0 ? param : t->node[param].next;
    return !ws__ast_is(t, param, WS__AST_PARAM) ||
           !t->node[param].type.is_const;
}

/* Is an array of its own, or a part that is one, handed on as an address? */
static bool hands_array(const struct ws__ast *t, int32_t use, int32_t root)
{
    const struct ws__ast_node *d = &t->node[t->node[use].decl];
    int32_t i = use, p = t->node[use].parent;
    int levels = 0;

    if (d->kind != WS__AST_VAR || !d->type.ndim || d->type.is_const)
        return false;
    for (;
         p >= root && p >= 0 && t->node[p].first == i &&
         (t->node[p].kind == WS__AST_PAREN || t->node[p].kind == WS__AST_CAST ||
          t->node[p].kind == WS__AST_INDEX);
         i = p, p = t->node[p].parent)
        levels += t->node[p].kind == WS__AST_INDEX;
    return levels < d->type.ndim && p >= root && p >= 0 && may_write(t, p, i);
}

bool ws__ast_is_changed_at(const struct ws__ast *t, int32_t use, int32_t root)
{
    int32_t decl = t->node[use].decl, i = use, p = t->node[use].parent;

    if (ws__ast_is_bound(t, i) || hands_array(t, i, root))
        return true;
    while (p >= root && p >= 0 && t->node[p].first == i &&
           (t->node[p].kind == WS__AST_PAREN ||
            t->node[p].kind == WS__AST_CAST ||
            t->node[p].kind == WS__AST_MEMBER ||
            t->node[p].kind == WS__AST_INDEX)) {
        i = p;
        p = t->node[p].parent;
    }
    return p >= root && p >= 0 && t->node[p].first == i &&
           (t->node[p].kind == WS__AST_ASSIGN || is_step(&t->node[p])) &&
           writes_to(t, p, decl);
}

bool ws__ast_changes(const struct ws__ast *t, int32_t root, int32_t decl)
{
    const int32_t *use;
    size_t n;

    if (decl < 0 || !t->node[decl].is_changed)
        return false;
    n = ws__ast_uses_of(t, root, decl, &use);
    for (size_t k = 0; k < n; k++)
        if (ws__ast_is_changed_at(t, use[k], root))
            return true;
    return false;
}

static bool arithmetic(int op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case CL_BinaryOperator_Add:
        return !__builtin_add_overflow(a, b, out);
    case CL_BinaryOperator_Sub:
        return !__builtin_sub_overflow(a, b, out);
    case CL_BinaryOperator_Mul:
        return !__builtin_mul_overflow(a, b, out);
    case CL_BinaryOperator_Div:
        *out = b > 0 ? a / b : 0;
        return b > 0;
    case CL_BinaryOperator_Rem:
        *out = b > 0 ? a % b : 0;
        return b > 0;
    default:
        return false;
    }
}

bool ws__ast_const(const struct ws__ast *t, int32_t i, int64_t *value)
{
    const struct ws__ast_node *n;
    int64_t a, b;

    i = ws__ast_bare(t, i);
    if (i < 0)
        return false;
    n = &t->node[i];
    if (n->known) {
        *value = n->value;
        return true;
    }
    if (n->kind == WS__AST_REF && n->decl >= 0 && t->node[n->decl].known) {
        *value = t->node[n->decl].value;
        return true;
    }
    return n->kind == WS__AST_BINARY && n->type.class == WS__AT_INT &&
           ws__ast_const(t, ws__ast_child(t, i, 0), &a) &&
           ws__ast_const(t, ws__ast_child(t, i, 1), &b) &&
           arithmetic(n->op, a, b, value) &&
           (*value >= 0 || !n->type.is_unsigned);
}

bool ws__ast_is_op(const struct ws__ast *t, int32_t i, int op)
{
    return i >= 0 && t->node[i].op == op &&
           (t->node[i].kind == WS__AST_BINARY ||
            t->node[i].kind == WS__AST_ASSIGN);
}

bool ws__ast_is_value(const struct ws__ast *t, int32_t i, int64_t v)
{
    int64_t c;

    return i >= 0 && ws__ast_const(t, i, &c) && c == v;
}

bool ws__ast_is_zero(const struct ws__ast *t, int32_t i)
{
    const char *p;

    i = ws__ast_bare(t, i);
    while (ws__ast_is(t, i, WS__AST_CAST) && ws__ast_nchild(t, i) == 1)
        i = ws__ast_bare(t, ws__ast_child(t, i, 0));
    if (ws__ast_is_value(t, i, 0))
        return true;
    if (!ws__ast_is(t, i, WS__AST_FLOAT) || t->node[i].macro)
        return false;
    p = t->text + t->node[i].begin;
    p += strspn(p, "0.");
    return p > t->text + t->node[i].begin &&
           (p == t->text + t->node[i].end || strchr("fFlLeEhH", *p));
}

bool ws__ast_same(const struct ws__ast *t, int32_t a, int32_t b)
{
    const struct ws__ast_node *x, *y;
    int32_t c, d;

    a = ws__ast_bare(t, a);
    b = ws__ast_bare(t, b);
    if (a < 0 || b < 0)
        return a < 0 && b < 0;
    x = &t->node[a];
    y = &t->node[b];
    if (x->kind != y->kind || x->op != y->op || x->decl != y->decl ||
        x->known != y->known || (x->known && x->value != y->value))
        return false;
    if ((x->name || y->name) &&
        (!x->name || !y->name || strcmp(x->name, y->name)))
        return false;
    if (x->kind == WS__AST_FLOAT &&
        (x->end - x->begin != y->end - y->begin ||
         memcmp(t->text + x->begin, t->text + y->begin, x->end - x->begin)))
        return false;
    for (c = x->first, d = y->first; c >= 0 && d >= 0;
         c = t->node[c].next, d = t->node[d].next)
        if (!ws__ast_same(t, c, d))
            return false;
    return c < 0 && d < 0;
}

/* --- loops ---------------------------------------------------------------- */

/* The two semicolons and the closing parenthesis of a for's head. */
static bool head_of(const struct ws__ast *t, int32_t loop, uint32_t mark[3])
{
    const struct ws__ast_node *n = &t->node[loop];
    int depth = 0, got = 0;

    for (uint32_t i = n->begin; i < n->end; i++) {
        char c = t->text[i];

        if (c == '/' && t->text[i + 1] == '*') {
            const char *e = strstr(t->text + i + 2, "*/");

            if (!e)
                return false;
            i = (uint32_t)(e - t->text) + 1;
        } else if (c == '/' && t->text[i + 1] == '/') {
            while (i < n->end && t->text[i] != '\n')
                i++;
        } else if (c == '(' || c == '[' || c == '{') {
            depth++;
        } else if (c == ')' || c == ']' || c == '}') {
            if (!--depth) {
                mark[2] = i;
                return got == 2;
            }
        } else if (c == ';' && depth == 1) {
            if (got == 2)
                return false;
            mark[got++] = i;
        }
    }
    return false;
}

/* The variable that the loop begins with, and from where. */
static int32_t counter(const struct ws__ast *t, int32_t init, int32_t *from)
{
    int32_t c = init;

    if (ws__ast_is(t, c, WS__AST_DECL)) {
        if (ws__ast_nchild(t, c) != 1)
            return -1;
        c = ws__ast_child(t, c, 0);
    }
    if (ws__ast_is(t, c, WS__AST_VAR)) {
        int32_t v = ws__ast_child(t, c, 0);

        while (v >= 0 && t->node[v].next >= 0) /* a type's parts go before */
            v = t->node[v].next;
        *from = v;
        return v < 0 ? -1 : c;
    }
    if (ws__ast_is(t, c, WS__AST_ASSIGN) &&
        t->node[c].op == CL_BinaryOperator_Assign) {
        int32_t to = ws__ast_bare(t, ws__ast_child(t, c, 0));

        *from = ws__ast_child(t, c, 1);
        return ws__ast_is(t, to, WS__AST_REF) ? t->node[to].decl : -1;
    }
    return -1;
}

static bool step_of(const struct ws__ast *t, struct ws__ast_for *f)
{
    const struct ws__ast_node *n;
    int32_t to = ws__ast_child(t, f->step, 0);

    if (f->step < 0 || !ws__ast_refers(t, to, f->var))
        return false;
    n = &t->node[f->step];
    f->by = -1;
    if (n->kind == WS__AST_UNARY)
        return n->op == CL_UnaryOperator_PostInc ||
               n->op == CL_UnaryOperator_PreInc;
    if (n->kind != WS__AST_ASSIGN || n->op != CL_BinaryOperator_AddAssign)
        return false;
    f->by = ws__ast_child(t, f->step, 1);
    return true;
}

static bool bound_of(const struct ws__ast *t, struct ws__ast_for *f)
{
    int32_t c = ws__ast_bare(t, f->cond);

    if (!ws__ast_is(t, c, WS__AST_BINARY) ||
        !ws__ast_refers(t, ws__ast_child(t, c, 0), f->var))
        return false;
    f->to = ws__ast_child(t, c, 1);
    f->inclusive = t->node[c].op == CL_BinaryOperator_LE;
    return f->inclusive || t->node[c].op == CL_BinaryOperator_LT;
}

/* Can the variable come to any bound? A narrow one may begin anew before, and
 * the loop ends by something else or not at all. */
static bool holds_bounds(const struct ws__ast *t, int32_t var)
{
    const struct ws__ast_type *y = &t->node[var].type;

    return y->class == WS__AT_INT && y->bits >= 32 && y->width == 1 &&
           !y->pointers && !y->ndim;
}

void ws__ast_for(const struct ws__ast *t, int32_t loop, struct ws__ast_for *out)
{
    uint32_t mark[3];

    *out = (struct ws__ast_for){.loop = loop,
                                .init = -1,
                                .cond = -1,
                                .step = -1,
                                .body = -1,
                                .var = -1,
                                .from = -1,
                                .to = -1,
                                .by = -1};
    if (loop < 0 || t->node[loop].kind != WS__AST_FOR ||
        !head_of(t, loop, mark))
        return;
    for (int32_t c = t->node[loop].first; c >= 0; c = t->node[c].next) {
        uint32_t at = t->node[c].begin;

        if (at < mark[0])
            out->init = c;
        else if (at < mark[1])
            out->cond = c;
        else if (at < mark[2])
            out->step = c;
        else
            out->body = c;
    }
    if (out->init < 0 || out->body < 0)
        return;
    out->var = counter(t, out->init, &out->from);
    out->counts = out->var >= 0 && holds_bounds(t, out->var) &&
                  bound_of(t, out) && step_of(t, out) &&
                  !ws__ast_changes(t, out->body, out->var);
}

/* --- names of the language ------------------------------------------------ */

static enum ws__ast_launch cuda_value(const struct ws__ast *t, int32_t i,
                                      int *dim)
{
    static const struct {
        const char *name;
        enum ws__ast_launch value;
    } n[] = {{"threadIdx", WS__AL_THREAD},
             {"blockIdx", WS__AL_BLOCK},
             {"blockDim", WS__AL_BLOCK_DIM},
             {"gridDim", WS__AL_GRID_DIM}};
    const struct ws__ast_node *m = &t->node[i];
    int32_t of = ws__ast_child(t, i, 0);

    if (m->kind != WS__AST_MEMBER || !m->name || m->name[1] ||
        m->name[0] < 'x' || m->name[0] > 'z' ||
        !ws__ast_is(t, of, WS__AST_REF) || !t->node[of].name)
        return WS__AL_NONE;
    *dim = m->name[0] - 'x';
    for (size_t k = 0; k < WS_COUNT(n); k++)
        if (!strcmp(n[k].name, t->node[of].name))
            return n[k].value;
    return WS__AL_NONE;
}

static enum ws__ast_launch opencl_value(const struct ws__ast *t, int32_t i,
                                        int *dim)
{
    static const struct {
        const char *name;
        enum ws__ast_launch value;
    } n[] = {{"get_local_id", WS__AL_THREAD},
             {"get_group_id", WS__AL_BLOCK},
             {"get_local_size", WS__AL_BLOCK_DIM},
             {"get_num_groups", WS__AL_GRID_DIM},
             {"get_global_id", WS__AL_GLOBAL},
             {"get_global_size", WS__AL_GLOBAL_DIM}};
    const struct ws__ast_node *c = &t->node[i];
    int64_t d;

    if (c->kind != WS__AST_CALL || !c->name ||
        !ws__ast_const(t, ws__ast_child(t, i, 1), &d) || d < 0 || d > 2)
        return WS__AL_NONE;
    *dim = (int)d;
    for (size_t k = 0; k < WS_COUNT(n); k++)
        if (!strcmp(n[k].name, c->name))
            return n[k].value;
    return WS__AL_NONE;
}

enum ws__ast_launch ws__ast_launch_value(const struct ws__ast *t, int32_t i,
                                         int *dim)
{
    i = ws__ast_bare(t, i);
    if (i < 0)
        return WS__AL_NONE;
    return t->dialect == WS__DIALECT_CUDA ? cuda_value(t, i, dim)
                                          : opencl_value(t, i, dim);
}

bool ws__ast_is_barrier(const struct ws__ast *t, int32_t i)
{
    const struct ws__ast_node *n = &t->node[i];

    return n->kind == WS__AST_CALL && n->name &&
           (!strcmp(n->name, "__syncthreads") || !strcmp(n->name, "barrier") ||
            !strcmp(n->name, "work_group_barrier"));
}

/* Functions of the languages that have no effects. */
/* clang-format off */
static const char *const pure[] = {
    "expf", "exp", "exp2f", "exp2", "logf", "log", "log2f", "log2", "log1pf",
    "sqrtf", "sqrt", "rsqrtf", "rsqrt", "fabsf", "fabs", "floorf", "floor",
    "ceilf", "ceil", "tanhf", "tanh", "erff", "erf", "erfcf", "sinf", "sin",
    "cosf", "cos", "powf", "pow", "fmaxf", "fmax", "fminf", "fmin", "fmaf",
    "fma", "mad", "min", "max", "abs", "__expf", "__logf", "native_exp",
    "native_log", "native_sqrt", "native_rsqrt", "__fdividef", "native_divide",
    "native_recip", "__ldg", "get_global_id", "get_local_id", "get_group_id",
    "get_local_size", "get_global_size", "get_num_groups", "convert_float",
    "convert_int", "as_int", "as_float", "__half2float", "__float2half",
    "__bfloat162float", "__float2bfloat16", "isnan", "isinf", "clamp", "select",
    "tanf", "atan2f", "expm1f", "normcdff", "erfc", "vload4", "__builtin_inff",
    "__builtin_inf", "__builtin_nanf", "__builtin_nan", "fdividef", "__frcp_rn",
    "__fsqrt_rn", "__frsqrt_rn", "__fdiv_rn", "__fadd_rn", "__fmul_rn",
    "__fmaf_rn", "__saturatef", "__log2f", "__log10f", "__exp10f", "__tanf",
    "log10f", "log10", "exp10f", "exp10", "log1p", "expm1", "rintf", "rint",
    "roundf", "round", "truncf", "trunc", "fmodf", "fmod", "hypotf", "hypot",
    "cbrtf", "cbrt", "sinhf", "sinh", "coshf", "cosh", "asinf", "asin", "acosf",
    "acos", "atanf", "atan", "atan2", "tan", "copysignf", "copysign",
    "isfinite", "__float_as_int", "__int_as_float", "__float_as_uint",
    "__uint_as_float", "__float2int_rn", "__float2int_rz", "__float2int_rd",
    "__int2float_rn", "mix", "smoothstep", "sign", "step", "dot", "length",
    "mad24", "mul24", "__mul24", "__popc", "__clz", "__ffs", "native_exp2",
    "native_log2", "native_log10", "native_exp10", "native_tan", "half_exp",
    "half_rsqrt", "powr", "pown", "convert_uint", "convert_float4",
    "convert_half", "make_int2", "make_int4", "make_uint4", "__hadd", "__hmul",
    "__hsub", "__hfma", "__low2float", "__high2float", "__half22float2",
    "__float22half2_rn", "make_half2", "__habs", "isnormal", "signbit",
    "degrees", "radians", "__ldcs", "__sinf", "__cosf", "__powf", "native_sin",
    "native_cos", "native_powr", "make_float2", "make_float4", "vload2",
    "__half", "__nv_bfloat16", /* constructors */
};
/* clang-format on */

static bool is_pure_call(const char *name)
{
    for (size_t i = 0; name && i < WS_COUNT(pure); i++)
        if (!strcmp(pure[i], name))
            return true;
    return false;
}

bool ws__ast_is_pure_call(const struct ws__ast *t, int32_t i)
{
    return t->node[i].decl < 0 && is_pure_call(t->node[i].name);
}

bool ws__ast_is_pure(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_ASSIGN || n->kind == WS__AST_JUMP ||
            (is_step(n) && n->op != CL_UnaryOperator_AddrOf) ||
            (n->kind == WS__AST_CALL && !ws__ast_is_pure_call(t, i)) ||
            n->kind == WS__AST_OTHER)
            return false;
    }
    return true;
}

bool ws__ast_is_pure_name(const char *name)
{
    return is_pure_call(name);
}
