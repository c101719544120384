/* ast_build.c: clang's tree as an array of nodes. See ast.h. */
#include "xform/ast.h"

#include "xform/clang_api.h"

#include <pthread.h>

#include "base/banned.h"

#define MAX_NODES 200000
/* Of the stack that clang runs on: a level takes some 2 KB, and two bytes of a
 * source, one macro each, can go down one. */
#define MIN_STACK ((size_t)64 << 20)
#define MAX_STACK ((size_t)4 << 30)
#define STACK_A_BYTE 1024
#define MAX_DEPTH 400
#define MAX_ARGS 40

/* A declaration's cursor by its node, to find it from references. */
struct decl {
    struct cl_cursor cursor;
    int32_t node;
};

struct build {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    struct cl_api api;
    cl_unit unit;
    cl_file file;
    struct ws__ast *out;
    size_t cap, ndecl, decl_cap, macro_cap;
    struct decl *decl;
    int32_t parent;
    int depth, rc;
};

static const struct {
    int cursor;
    enum ws__ast_kind kind;
} kinds[] = {
    {CL_Cursor_FunctionDecl, WS__AST_FUNCTION},
    {CL_Cursor_FunctionTemplate, WS__AST_FUNCTION},
    {CL_Cursor_ParmDecl, WS__AST_PARAM},
    {CL_Cursor_NonTypeTemplateParameter, WS__AST_VAR},
    {CL_Cursor_VarDecl, WS__AST_VAR},
    {CL_Cursor_DeclStmt, WS__AST_DECL},
    {CL_Cursor_CompoundStmt, WS__AST_BLOCK},
    {CL_Cursor_ForStmt, WS__AST_FOR},
    {CL_Cursor_WhileStmt, WS__AST_WHILE},
    {CL_Cursor_DoStmt, WS__AST_DO},
    {CL_Cursor_IfStmt, WS__AST_IF},
    {CL_Cursor_ReturnStmt, WS__AST_RETURN},
    {CL_Cursor_BreakStmt, WS__AST_BREAK},
    {CL_Cursor_ContinueStmt, WS__AST_CONTINUE},
    {CL_Cursor_NullStmt, WS__AST_EMPTY},
    {CL_Cursor_GotoStmt, WS__AST_JUMP},
    {CL_Cursor_LabelStmt, WS__AST_JUMP},
    {CL_Cursor_SwitchStmt, WS__AST_JUMP},
    {CL_Cursor_GCCAsmStmt, WS__AST_JUMP},
    {CL_Cursor_BinaryOperator, WS__AST_BINARY},
    {CL_Cursor_CompoundAssignOperator, WS__AST_ASSIGN},
    {CL_Cursor_UnaryOperator, WS__AST_UNARY},
    {CL_Cursor_ConditionalOperator, WS__AST_CHOICE},
    {CL_Cursor_CallExpr, WS__AST_CALL},
    {CL_Cursor_DeclRefExpr, WS__AST_REF},
    {CL_Cursor_MemberRefExpr, WS__AST_MEMBER},
    {CL_Cursor_ArraySubscriptExpr, WS__AST_INDEX},
    {CL_Cursor_IntegerLiteral, WS__AST_INT},
    {CL_Cursor_FloatingLiteral, WS__AST_FLOAT},
    {CL_Cursor_ParenExpr, WS__AST_PAREN},
    {CL_Cursor_CStyleCastExpr, WS__AST_CAST},
    {CL_Cursor_CXXStaticCastExpr, WS__AST_CAST},
    {CL_Cursor_CXXFunctionalCastExpr, WS__AST_CAST},
    {CL_Cursor_CXXReinterpretCastExpr, WS__AST_CAST},
    {CL_Cursor_InitListExpr, WS__AST_LIST},
};

static enum ws__ast_kind kind_of(int cursor)
{
    for (size_t i = 0; i < WS_COUNT(kinds); i++)
        if (kinds[i].cursor == cursor)
            return kinds[i].kind;
    return WS__AST_OTHER;
}

/* NULL: the text is empty, or there is no memory (b->rc). */
static const char *keep(struct build *b, struct cl_string s)
{
    const char *text = b->api.getCString(s), *copy = NULL;

    if (text && *text) {
        copy = ws__arena_strdup(b->arena, text);
        if (!copy)
            b->rc = WS_ENOMEM;
    }
    b->api.disposeString(s);
    return copy;
}

/* --- types ---------------------------------------------------------------- */

static void number_type(int kind, struct ws__ast_type *t)
{
    static const struct {
        int kind;
        enum ws__ast_class class;
        uint16_t bits;
        bool is_unsigned;
    } n[] = {
        {CL_Type_Bool, WS__AT_INT, 8, true},
        {CL_Type_UChar, WS__AT_INT, 8, true},
        {CL_Type_SChar, WS__AT_INT, 8, false},
        {CL_Type_UShort, WS__AT_INT, 16, true},
        {CL_Type_Short, WS__AT_INT, 16, false},
        {CL_Type_UInt, WS__AT_INT, 32, true},
        {CL_Type_Int, WS__AT_INT, 32, false},
        {CL_Type_ULong, WS__AT_INT, 64, true},
        {CL_Type_Long, WS__AT_INT, 64, false},
        {CL_Type_ULongLong, WS__AT_INT, 64, true},
        {CL_Type_LongLong, WS__AT_INT, 64, false},
        {CL_Type_Half, WS__AT_FLOAT, 16, false},
        {CL_Type_Float16, WS__AT_FLOAT, 16, false},
        {CL_Type_Float, WS__AT_FLOAT, 32, false},
        {CL_Type_Double, WS__AT_FLOAT, 64, false},
        {CL_Type_Void, WS__AT_VOID, 0, false},
    };

    for (size_t i = 0; i < WS_COUNT(n); i++)
        if (n[i].kind == kind) {
            t->class = n[i].class;
            t->bits = n[i].bits;
            t->is_unsigned = n[i].is_unsigned;
        }
}

/* "float2" and its like are records in CUDA. */
static void record_type(const char *spelled, struct ws__ast_type *t)
{
    static const struct {
        const char *name;
        enum ws__ast_class class;
        uint16_t bits;
    } n[] = {{"float", WS__AT_FLOAT, 32},
             {"double", WS__AT_FLOAT, 64},
             {"int", WS__AT_INT, 32},
             {"uint", WS__AT_INT, 32}};

    if (!spelled)
        return;
    if (!strncmp(spelled, "const ", 6))
        spelled += 6;
    for (size_t i = 0; i < WS_COUNT(n); i++) {
        size_t len = strlen(n[i].name);

        if (strncmp(spelled, n[i].name, len) || spelled[len] < '2' ||
            spelled[len] > '4' || spelled[len + 1])
            continue;
        t->class = n[i].class;
        t->bits = n[i].bits;
        t->width = (uint16_t)(spelled[len] - '0');
    }
    if (!strcmp(spelled, "__half") || !strcmp(spelled, "__nv_bfloat16")) {
        t->class = WS__AT_FLOAT;
        t->bits = 16;
    }
}

static enum ws__ast_space space_of(const char *spelled)
{
    if (!spelled)
        return WS__AS_NONE;
    if (strstr(spelled, "__local"))
        return WS__AS_SHARED;
    if (strstr(spelled, "__global"))
        return WS__AS_GLOBAL;
    return strstr(spelled, "__constant") ? WS__AS_CONSTANT : WS__AS_NONE;
}

static void read_type(struct build *b, struct cl_type of,
                      struct ws__ast_node *n)
{
    struct cl_type t = b->api.getCanonicalType(of);
    struct ws__ast_type *out = &n->type;
    const char *spelled = keep(b, b->api.getTypeSpelling(t));

    n->spelled = spelled;
    out->width = 1;
    out->space = space_of(spelled);
    while (t.kind == CL_Type_ConstantArray ||
           t.kind == CL_Type_IncompleteArray) {
        if (out->ndim < 4)
            out->dim[out->ndim++] =
                t.kind == CL_Type_ConstantArray ? b->api.getNumElements(t) : -1;
        t = b->api.getCanonicalType(b->api.getElementType(t));
    }
    if (t.kind == CL_Type_Pointer)
        out->is_restrict = b->api.isRestrictQualifiedType(t);
    while (t.kind == CL_Type_Pointer) {
        out->pointers++;
        t = b->api.getCanonicalType(b->api.getPointeeType(t));
    }
    out->is_const = b->api.isConstQualifiedType(t);
    if (t.kind == CL_Type_Vector || t.kind == CL_Type_ExtVector) {
        out->width = (uint16_t)b->api.getNumElements(t);
        t = b->api.getCanonicalType(b->api.getElementType(t));
    }
    number_type(t.kind, out);
    if (t.kind == CL_Type_Record)
        record_type(keep(b, b->api.getTypeSpelling(t)), out);
}

/* --- nodes ---------------------------------------------------------------- */

/* Offsets of a range in the file; false: it lies elsewhere. */
static bool range_of(struct build *b, struct cl_cursor c, uint32_t *begin,
                     uint32_t *end)
{
    struct cl_range r = b->api.getCursorExtent(c);
    cl_file f[2] = {NULL, NULL};
    unsigned at[2] = {0, 0};

    b->api.getFileLocation(b->api.getRangeStart(r), &f[0], NULL, NULL, &at[0]);
    b->api.getFileLocation(b->api.getRangeEnd(r), &f[1], NULL, NULL, &at[1]);
    *begin = at[0];
    *end = at[1];
    return f[0] && f[0] == b->file && f[1] == b->file && at[0] <= at[1] &&
           at[1] <= b->out->len;
}

static int32_t find_decl(const struct build *b, struct cl_cursor c)
{
    for (size_t i = b->ndecl; i-- > 0;)
        if (b->api.equalCursors(b->decl[i].cursor, c))
            return b->decl[i].node;
    return -1;
}

static void remember(struct build *b, struct cl_cursor c, int32_t node)
{
    if (ws__grow(b->ctx, (void **)&b->decl, &b->decl_cap, b->ndecl,
                 sizeof(*b->decl)) < 0) {
        b->rc = WS_ENOMEM;
        return;
    }
    b->decl[b->ndecl++] = (struct decl){c, node};
}

static void evaluate(struct build *b, struct cl_cursor c,
                     struct ws__ast_node *n)
{
    cl_eval e = b->api.Cursor_Evaluate(c);

    if (e && b->api.EvalResult_getKind(e) == CL_INT_VALUE) {
        n->value = b->api.EvalResult_getAsLongLong(e);
        n->known = true;
    }
    if (e)
        b->api.EvalResult_dispose(e);
}

/* __kernel stands before the name; it is no part of the type. */
static bool is_opencl_kernel(const struct ws__ast *t,
                             const struct ws__ast_node *n)
{
    const char *p = t->text + n->begin, *end = strchr(p, '(');

    if (t->dialect == WS__DIALECT_CUDA || !end)
        return false;
    for (const char *w = strstr(p, "kernel"); w && w < end;
         w = strstr(w + 1, "kernel")) {
        const char *b = w;

        while (b > p && b[-1] == '_')
            b--;
        if ((b == p || !ws__is_word(b[-1])) && !ws__is_word(w[6]))
            return true;
    }
    return false;
}

/* What C++ makes calls of, of classes such as __half and float4, is what it
 * looks like. */
static void take_operator(struct ws__ast_node *n)
{
    static const struct {
        const char *name;
        enum ws__ast_kind kind;
        uint16_t op;
    } ops[] = {
        {"=", WS__AST_ASSIGN, CL_BinaryOperator_Assign},
        {"+=", WS__AST_ASSIGN, CL_BinaryOperator_AddAssign},
        {"-=", WS__AST_ASSIGN, CL_BinaryOperator_SubAssign},
        {"*=", WS__AST_ASSIGN, CL_BinaryOperator_MulAssign},
        {"/=", WS__AST_ASSIGN, CL_BinaryOperator_DivAssign},
        {"+", WS__AST_BINARY, CL_BinaryOperator_Add},
        {"-", WS__AST_BINARY, CL_BinaryOperator_Sub},
        {"*", WS__AST_BINARY, CL_BinaryOperator_Mul},
        {"/", WS__AST_BINARY, CL_BinaryOperator_Div},
        {"<", WS__AST_BINARY, CL_BinaryOperator_LT},
        {">", WS__AST_BINARY, CL_BinaryOperator_GT},
        {"<=", WS__AST_BINARY, CL_BinaryOperator_LE},
        {">=", WS__AST_BINARY, CL_BinaryOperator_GE},
        {"==", WS__AST_BINARY, CL_BinaryOperator_EQ},
        {"!=", WS__AST_BINARY, CL_BinaryOperator_NE},
    };

    if (!n->name || strncmp(n->name, "operator", 8))
        return;
    for (size_t i = 0; i < WS_COUNT(ops); i++)
        if (!strcmp(n->name + 8, ops[i].name)) {
            n->kind = ops[i].kind;
            n->op = ops[i].op;
            n->name = NULL;
            return;
        }
    if (n->name[8] == ' ') /* "operator float" */
        n->kind = WS__AST_CAST;
}

static void add_facts(struct build *b, struct cl_cursor c, int32_t at)
{
    struct ws__ast_node *n = &b->out->node[at];

    n->name = keep(b, b->api.getCursorSpelling(c));
    read_type(b, b->api.getCursorType(c), n);
    n->decl = -1;
    switch (n->kind) {
    case WS__AST_FUNCTION:
        n->is_kernel = is_opencl_kernel(b->out, n);
        remember(b, c, at);
        break;
    case WS__AST_PARAM:
        remember(b, c, at);
        break;
    case WS__AST_VAR:
        remember(b, c, at);
        n->is_static = n->parent < 0;
        if (n->type.is_const && n->type.class == WS__AT_INT && !n->type.ndim &&
            !n->type.pointers)
            evaluate(b, c, n);
        break;
    case WS__AST_INT:
        evaluate(b, c, n);
        break;
    case WS__AST_REF:
    case WS__AST_CALL:
        n->decl = find_decl(b, b->api.getCursorReferenced(c));
        if (n->kind == WS__AST_CALL)
            take_operator(n);
        break;
    case WS__AST_BINARY:
        n->op = (uint16_t)b->api.getCursorBinaryOperatorKind(c);
        if (n->op == CL_BinaryOperator_Assign)
            n->kind = WS__AST_ASSIGN;
        break;
    case WS__AST_ASSIGN:
        n->op = (uint16_t)b->api.getCursorBinaryOperatorKind(c);
        break;
    case WS__AST_UNARY:
        n->op = (uint16_t)b->api.getCursorUnaryOperatorKind(c);
        break;
    default:
        break;
    }
}

/* Attributes say what a variable or a function is. */
static void take_attribute(struct build *b, int kind)
{
    struct ws__ast_node *n = b->parent < 0 ? NULL : &b->out->node[b->parent];

    if (!n)
        return;
    if (kind == CL_Cursor_CUDASharedAttr) {
        n->type.space = WS__AS_SHARED;
        n->is_static = true;
    }
    if (kind == CL_Cursor_CUDAGlobalAttr)
        n->is_kernel = true;
}

/* Copying an object, or making one of nothing: no call that anyone wrote. */
static bool is_silent_call(struct build *b, struct cl_cursor c, uint32_t end)
{
    char last = end ? b->out->text[end - 1] : '\0';

    return c.kind == CL_Cursor_CallExpr && last != ')' && last != '}' &&
           b->api.getCursorReferenced(c).kind == CL_Cursor_Constructor;
}

/* The name of an operator inside what is that operator's expression. */
static bool is_operator_name(const struct build *b, struct cl_cursor c,
                             uint32_t begin)
{
    enum ws__ast_kind k =
        b->parent < 0 ? WS__AST_OTHER : b->out->node[b->parent].kind;

    return c.kind == CL_Cursor_DeclRefExpr &&
           (k == WS__AST_ASSIGN || k == WS__AST_BINARY) &&
           !ws__is_word(b->out->text[begin]);
}

/* Is it what clang puts around something for its own sake? */
static bool is_wrapper(struct build *b, struct cl_cursor c, bool here,
                       uint32_t end)
{
    return c.kind == CL_Cursor_UnexposedExpr ||
           c.kind == CL_Cursor_UnexposedStmt || /* a loop with a pragma */
           c.kind == CL_Cursor_LinkageSpec || c.kind == CL_Cursor_Namespace ||
           (here && is_silent_call(b, c, end)) ||
           (here && c.kind == CL_Cursor_MemberRefExpr &&
            b->api.getCursorReferenced(c).kind == CL_Cursor_ConversionFunction);
}

/* clang does not show OpenCL's v.x: "v" in a wrapper that is longer. Where the
 * name begins, or 0. */
static uint32_t swizzle(const struct build *b, struct cl_cursor c,
                        uint32_t begin, uint32_t end)
{
    const struct ws__ast *t = b->out;
    const struct ws__ast_node *p = b->parent < 0 ? NULL : &t->node[b->parent];
    uint32_t at = end;

    if (t->dialect == WS__DIALECT_CUDA || c.kind != CL_Cursor_UnexposedExpr)
        return 0;
    while (at > begin && ws__is_word(t->text[at - 1]))
        at--;
    if (at == end || at < begin + 2 || t->text[at - 1] != '.' ||
        (t->text[at] >= '0' && t->text[at] <= '9') ||
        (t->text[begin] >= '0' && t->text[begin] <= '9') ||
        (p && p->kind == WS__AST_MEMBER && p->begin == begin && p->end == end))
        return 0;
    return at;
}

static int visit(struct cl_cursor c, struct cl_cursor parent, void *user);

static void descend(struct build *b, struct cl_cursor c, int32_t as)
{
    int32_t parent = b->parent;

    if (b->depth == MAX_DEPTH) {
        b->rc = ws__fail(b->ctx, WS_ELIMIT, "'%s' is nested too deeply",
                         b->out->path);
        return;
    }
    b->parent = as;
    b->depth++;
    b->api.visitChildren(c, visit, b);
    b->depth--;
    b->parent = parent;
}

static int32_t new_node(struct build *b, struct cl_cursor c, uint32_t begin,
                        uint32_t end)
{
    struct ws__ast *t = b->out;
    int32_t at = t->n;

    if (t->n == MAX_NODES) {
        b->rc = ws__fail(b->ctx, WS_ELIMIT, "'%s' has too many parts", t->path);
        return -1;
    }
    if (ws__grow(b->ctx, (void **)&t->node, &b->cap, (size_t)t->n,
                 sizeof(*t->node)) < 0) {
        b->rc = WS_ENOMEM;
        return -1;
    }
    memset(&t->node[at], 0, sizeof(t->node[at]));
    t->node[at].kind = kind_of(c.kind);
    t->node[at].begin = begin;
    t->node[at].end = end;
    t->node[at].parent = b->parent;
    t->node[at].first = t->node[at].next = -1;
    t->n++;
    return at;
}

static void add_macro(struct build *b, uint32_t begin, uint32_t end)
{
    struct ws__ast *t = b->out;

    if (ws__grow(b->ctx, (void **)&t->macro, &b->macro_cap, t->nmacro,
                 sizeof(*t->macro)) < 0) {
        b->rc = WS_ENOMEM;
        return;
    }
    t->macro[t->nmacro++] = (uint64_t)begin << 32 | end;
}

static void visit_node(struct build *b, struct cl_cursor c, uint32_t begin,
                       uint32_t end)
{
    uint32_t name = swizzle(b, c, begin, end);
    int32_t at;

    at = new_node(b, c, begin, end);
    if (at >= 0 && name)
        b->out->node[at].kind = WS__AST_MEMBER;
    if (at >= 0)
        add_facts(b, c, at);
    if (b->rc >= 0 && name) {
        b->out->node[at].name =
            ws__arena_strndup(b->arena, b->out->text + name, end - name);
        if (!b->out->node[at].name)
            b->rc = WS_ENOMEM;
    }
    if (b->rc >= 0)
        descend(b, c, at);
}

static int visit(struct cl_cursor c, struct cl_cursor parent, void *user)
{
    struct build *b = user;
    uint32_t begin, end;
    bool here = range_of(b, c, &begin, &end);

    (void)parent;
    if (b->rc < 0)
        return 0; /* ends the visit */
    if (c.kind >= 400 && c.kind < 500)
        take_attribute(b, c.kind);
    else if (c.kind == CL_Cursor_MacroExpansion && here)
        add_macro(b, begin, end);
    else if (c.kind >= CL_Cursor_FirstRef &&
             c.kind < CL_Cursor_OverloadedDeclRef)
        return CL_CONTINUE; /* a type's name */
    else if (here && is_operator_name(b, c, begin))
        return CL_CONTINUE;
    else if (c.kind < 500 && is_wrapper(b, c, here, end) &&
             !(here && swizzle(b, c, begin, end)))
        descend(b, c, b->parent);
    else if (c.kind < 400 && here)
        visit_node(b, c, begin, end);
    return CL_CONTINUE;
}

/* --- the whole ------------------------------------------------------------ */

static void link_nodes(struct ws__ast *t)
{
    for (int32_t i = t->n; i-- > 0;) {
        int32_t p = t->node[i].parent;

        if (p < 0)
            continue;
        t->node[i].next = t->node[p].first;
        t->node[p].first = i;
    }
    for (int32_t i = 0; i < t->n; i++) { /* -h of a class */
        struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_BINARY && n->first >= 0 &&
            t->node[n->first].next < 0) {
            n->kind =
                n->op == CL_BinaryOperator_Sub ? WS__AST_UNARY : WS__AST_OTHER;
            n->op = CL_UnaryOperator_Minus;
        }
    }
}

/* Where the nodes below each end. */
static void mark_after(struct ws__ast *t)
{
    int32_t top = t->n;

    for (int32_t i = t->n; i-- > 0;)
        if (t->node[i].parent < 0) {
            t->node[i].after = top;
            top = i;
        }
    for (int32_t i = 0; i < t->n; i++) {
        struct ws__ast_node *n = &t->node[i];

        if (n->parent >= 0)
            n->after = n->next >= 0 ? n->next : t->node[n->parent].after;
    }
}

static bool is_use(const struct ws__ast *t, int32_t i)
{
    return t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0;
}

/* The uses of each declaration, in a row, and whether one changes it: a source
 * may have thousands, and is asked for each. */
static void list_uses(struct ws__ast *t)
{
    int32_t at = 0;

    for (int32_t i = 0; i < t->n; i++)
        if (is_use(t, i))
            t->node[t->node[i].decl].nuse++;
    for (int32_t i = 0; i < t->n; i++) {
        t->node[i].use = at;
        at += t->node[i].nuse;
        t->node[i].nuse = 0;
    }
    for (int32_t i = 0; i < t->n; i++)
        if (is_use(t, i)) {
            struct ws__ast_node *d = &t->node[t->node[i].decl];

            t->use[d->use + d->nuse++] = i;
            d->is_changed = d->is_changed || ws__ast_is_changed_at(t, i, 0);
        }
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Ranges in order, without those inside of others: what cuts one cuts the
 * other. So ends are in order, too. */
static void sort_macros(struct ws__ast *t)
{
    size_t n = 0;

    if (t->nmacro)
        qsort(t->macro, t->nmacro, sizeof(*t->macro), by_place);
    for (size_t i = 0; i < t->nmacro; i++)
        if (!n || (uint32_t)t->macro[i] > (uint32_t)t->macro[n - 1])
            t->macro[n++] = t->macro[i];
    t->nmacro = n;
}

/* The first macro that begins behind a place. */
static size_t first_behind(const struct ws__ast *t, uint32_t at)
{
    size_t lo = 0, hi = t->nmacro;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if ((uint32_t)(t->macro[mid] >> 32) <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void mark_macros(struct ws__ast *t)
{
    sort_macros(t);
    for (int32_t i = 0; i < t->n; i++) {
        struct ws__ast_node *n = &t->node[i];
        size_t k = first_behind(t, n->begin);

        n->macro = (k && (uint32_t)t->macro[k - 1] > n->begin) ||
                   (k < t->nmacro && (uint32_t)(t->macro[k] >> 32) < n->end);
    }
}

/* Moves what grew into the arena. */
static int settle(struct build *b)
{
    struct ws__ast *t = b->out;
    struct ws__ast_node *n =
        ws__arena_alloc(b->arena, (size_t)t->n + 1, sizeof(*n));
    uint64_t *m = ws__arena_alloc(b->arena, t->nmacro + 1, sizeof(*m));

    t->use = ws__arena_alloc(b->arena, (size_t)t->n + 1, sizeof(*t->use));
    if (!n || !m || !t->use)
        return WS_ENOMEM;
    if (t->n)
        memcpy(n, t->node, (size_t)t->n * sizeof(*n));
    if (t->nmacro)
        memcpy(m, t->macro, t->nmacro * sizeof(*m));
    ws__free(b->ctx, t->node);
    ws__free(b->ctx, t->macro);
    t->node = n;
    t->macro = m;
    link_nodes(t);
    mark_after(t);
    list_uses(t);
    mark_macros(t);
    return 0;
}

/* The first error of clang's, at its place. */
static int check_words(struct build *b)
{
    unsigned n = b->api.getNumDiagnostics(b->unit);
    int rc = 0;

    for (unsigned i = 0; i < n && !rc; i++) {
        cl_diagnostic d = b->api.getDiagnostic(b->unit, i);

        if (b->api.getDiagnosticSeverity(d) >= CL_ERROR) {
            struct cl_string s = b->api.getDiagnosticSpelling(d);
            struct ws__loc at = {b->out->path, 0, 0};
            cl_file f;

            b->api.getFileLocation(b->api.getDiagnosticLocation(d), &f,
                                   &at.line, &at.column, NULL);
            if (f != b->file)
                at.line = at.column = 0;
            rc = ws__fail_at(b->ctx, WS_ESPEC, &at, "clang: %s",
                             b->api.getCString(s));
            b->api.disposeString(s);
        }
        b->api.disposeDiagnostic(d);
    }
    return rc;
}

static const char *const opencl_args[] = {"-xcl",
                                          "-cl-no-stdinc",
                                          "-cl-std=CL1.2",
                                          "-Xclang",
                                          "-fdeclare-opencl-builtins",
                                          "--target=spir64",
                                          "-nostdinc",
                                          "-include",
                                          "ws_opencl_parse.h"};
static const char *const cuda_args[] = {"-xcuda",     "-std=c++17",
                                        "-nocudainc", "--cuda-device-only",
                                        "-nocudalib", "--cuda-gpu-arch=sm_90",
                                        "-nostdinc",  "-nostdinc++",
                                        "-include",   "ws_cuda_parse.h"};

static int arguments(struct build *b, const struct ws__ast_source *s,
                     const char **arg)
{
    bool cl = s->dialect != WS__DIALECT_CUDA;
    const char *const *list = cl ? opencl_args : cuda_args;
    size_t n = 0, fixed = cl ? WS_COUNT(opencl_args) : WS_COUNT(cuda_args);

    for (size_t i = 0; i < fixed; i++)
        arg[n++] = list[i];
    arg[n++] = "-ferror-limit=1";
    arg[n++] = "-w";
    arg[n++] = "-fbracket-depth=200";
    arg[n++] = "-include";
    arg[n++] = "/ws/prologue.h";
    arg[n++] = "-I";
    arg[n++] = s->headers;
    for (size_t i = 0; s->include && s->include[i]; i++) {
        if (n + 2 > MAX_ARGS)
            return ws__fail(b->ctx, WS_ELIMIT, "too many include folders");
        arg[n++] = "-I";
        arg[n++] = s->include[i];
    }
    return (int)n;
}

static int parse(struct build *b, const struct ws__ast_source *s)
{
    struct cl_unsaved file[] = {{s->path, b->out->text, b->out->len},
                                {"/ws/prologue.h",
                                 s->prologue ? s->prologue : "",
                                 s->prologue ? strlen(s->prologue) : 0}};
    const char *arg[MAX_ARGS];
    cl_index index;
    int n = arguments(b, s, arg), rc;

    WS_TRY(n);
    index = b->api.createIndex(0, 0);
    rc = b->api.parseTranslationUnit2(index, s->path, arg, n, file,
                                      WS_COUNT(file), CL_DETAILED, &b->unit);
    if (rc || !b->unit) {
        rc = ws__fail(b->ctx, WS_ESPEC, "clang cannot read '%s'", s->path);
    } else {
        b->file = b->api.getFile(b->unit, s->path);
        rc = check_words(b);
        if (!rc)
            b->api.visitChildren(b->api.getTranslationUnitCursor(b->unit),
                                 visit, b);
        b->api.disposeTranslationUnit(b->unit);
    }
    b->api.disposeIndex(index);
    return rc < 0 ? rc : b->rc;
}

struct parsing {
    struct build *b;
    const struct ws__ast_source *s;
    int rc;
};

static void *parse_main(void *user)
{
    struct parsing *p = user;

    p->rc = parse(p->b, p->s);
    return NULL;
}

/* clang goes down as deep as a source is nested, and a stack of the usual size
 * ends at some thousands of "else if". It is run on a large one, of which only
 * what is used takes memory, if the program has set LIBCLANG_NOTHREADS; else
 * libclang takes a thread of its own. */
static int parse_deep(struct build *b, const struct ws__ast_source *s)
{
    struct parsing p = {.b = b, .s = s};
    size_t stack = MIN_STACK + strlen(s->text) * STACK_A_BYTE;
    pthread_attr_t attr;
    pthread_t thread;
    int rc = pthread_attr_init(&attr);

    if (stack > MAX_STACK)
        stack = MAX_STACK;
    if (!rc) {
        rc = pthread_attr_setstacksize(&attr, stack);
        if (!rc)
            rc = pthread_create(&thread, &attr, parse_main, &p);
        pthread_attr_destroy(&attr);
    }
    if (rc)
        return ws__fail(b->ctx, WS_ENOMEM,
                        "no memory for a stack of %zu MB to read '%s' on",
                        stack >> 20, s->path);
    pthread_join(thread, NULL);
    return p.rc;
}

static size_t count_crlf(const char *s, size_t *lines)
{
    size_t n = 0;

    *lines = 0;
    for (; *s; s++) {
        *lines += *s == '\n';
        n += s[0] == '\r' && s[1] == '\n';
    }
    return n;
}

/* Lines end in LF here; which were CR LF is noted. */
static int copy_text(struct ws__arena *a, const char *text, struct ws__ast *out)
{
    size_t lines, ncr = count_crlf(text, &lines);
    char *s = ws__arena_alloc(a, strlen(text) + 1, 1);

    out->cr = ws__arena_alloc(a, ncr + 1, sizeof(*out->cr));
    if (!s || !out->cr)
        return WS_ENOMEM;
    out->crlf = 2 * ncr > lines;
    out->text = s;
    for (; *text; text++) {
        if (text[0] == '\r' && text[1] == '\n')
            out->cr[out->ncr++] = (uint32_t)(s - out->text);
        else
            *s++ = *text;
    }
    *s = '\0';
    out->len = (size_t)(s - out->text);
    return 0;
}

int ws__ast_build(struct ws_ctx *ctx, struct ws__arena *a,
                  const struct ws__ast_source *s, struct ws__ast *out)
{
    struct build b = {.ctx = ctx, .arena = a, .out = out, .parent = -1};
    int rc;

    memset(out, 0, sizeof(*out));
    out->path = ws__arena_strdup(a, s->path);
    out->dialect = s->dialect;
    if (!out->path)
        return WS_ENOMEM;
    WS_TRY(copy_text(a, s->text, out));
    WS_TRY(ws__clang_open(ctx, s->library, &b.api));
    rc = parse_deep(&b, s);
    if (rc >= 0)
        rc = settle(&b);
    if (rc < 0) {
        ws__free(ctx, out->node);
        ws__free(ctx, out->macro);
        memset(out, 0, sizeof(*out));
    }
    ws__free(ctx, b.decl);
    ws__clang_close(&b.api);
    return rc;
}
