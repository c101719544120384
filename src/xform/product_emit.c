/* product_emit.c: writes a product by tiles. See product.h.
 *
 * The block's rows and columns of BK terms each go to shared memory, zeros
 * where the arrays end; all threads take part, so that bounds are checked where
 * something is loaded and where something is stored, and every thread reaches
 * every barrier. Tiles lie k by k: then a thread's rows and columns of one k
 * are neighbours. The order of additions is that of the original.
 */
#include "xform/product.h"

#include "xform/clang_api.h"
#include "xform/pieces.h"

#include "base/banned.h"

#define MAX_TEXT (1 << 18)
#define MAX_PIECES 64

struct emit {
    const struct ws__xform_in *in;
    const struct ws__ast *t;
    struct ws__product *p;
    struct ws__rewrite *out;
    struct ws__buf b;
    bool registers, cuda;
    const char *indent;  /* of the function's statements */
    const char *size[3]; /* BM, BN, BK */
    const char *part[2]; /* TM, TN */
    const char *from[2], *k0, *tid, *thread[2], *loop[2], *kk, *each, *at;
    const char *threads, *group;
    uint32_t dropped; /* behind what was dropped last, if nothing is above */
};

static void line(struct emit *e, int depth, const char *fmt, ...)
    WS_PRINTF(3, 4);

static void line(struct emit *e, int depth, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    if ((size_t)vsnprintf(text, sizeof(text), fmt, ap) >= sizeof(text))
        e->out->failed = ws__fail(e->in->ctx, WS_ELIMIT,
                                  "a line of more than "
                                  "%zu bytes",
                                  sizeof(text));
    va_end(ap);
    ws__buf_printf(&e->b, "%s%*s%s\n", e->indent, depth * 4, "", text);
}

/* No text: there was no memory. */
static const char *sure(struct emit *e, const char *s)
{
    if (!s)
        e->out->failed = WS_ENOMEM;
    return s ? s : "";
}

static const char *text_of(struct emit *e, int32_t node)
{
    return sure(e, ws__xform_text(e->in, node));
}

/* --- pieces of the original ----------------------------------------------- */

static const char *patched(struct emit *e, uint32_t begin, uint32_t end,
                           const struct ws__piece *piece, size_t n)
{
    return sure(e, ws__pieces_text(e->in, begin, end, piece, n));
}

static void put_statement(struct emit *e, int depth, int32_t i)
{
    ws__pieces_lines(&e->b, e->indent, depth,
                     patched(e, e->t->node[i].begin, ws__pieces_end(e->t, i),
                             NULL, 0),
                     ws__pieces_blanks(e->t, e->t->node[i].begin));
}

/* As the right side of a comparison. */
static const char *operand(struct emit *e, int32_t i)
{
    const struct ws__ast_node *n = &e->t->node[i];
    const char *s = text_of(e, i);
    bool loose = n->kind == WS__AST_CHOICE ||
                 (n->kind == WS__AST_BINARY && n->op > CL_BinaryOperator_Sub);

    return loose ? sure(e, ws__arena_printf(e->in->arena, "(%s)", s)) : s;
}

/* --- names ---------------------------------------------------------------- */

static const char *numbered(struct emit *e, const char *base, size_t nth)
{
    const char *s =
        nth ? ws__arena_printf(e->in->arena, "%s%zu", base, nth + 1) : base;

    return s ? ws__xform_name(e->in, s) : NULL;
}

static int name_loads(struct emit *e)
{
    for (size_t i = 0; i < e->p->nload; i++) {
        struct ws__product_load *x = &e->p->load[i];
        const char *tile, *part;
        size_t nth = 0;

        for (size_t k = 0; k < i; k++)
            nth += !strcmp(e->p->load[k].name, x->name);
        tile = ws__arena_printf(e->in->arena, "%s_tile", x->name);
        part = ws__arena_printf(e->in->arena, "%s_part", x->name);
        if (!tile || !part)
            return WS_ENOMEM;
        x->tile =
            x->same >= 0 ? e->p->load[x->same].tile : numbered(e, tile, nth);
        x->part = numbered(e, part, nth);
        if (!x->tile || !x->part)
            return WS_ENOMEM;
    }
    return 0;
}

static const char *name_sum(struct emit *e, size_t i)
{
    const struct ws__product_sum *s = &e->p->sum[i];
    const char *base = s->var < 0 ? "sum" : e->t->node[s->var].name;

    if (!e->registers)
        return s->var < 0 ? numbered(e, base, i) : base;
    base = ws__arena_printf(e->in->arena, "%s_part", base);
    return base ? numbered(e, base, s->var < 0 ? i : 0) : NULL;
}

static int name_all(struct emit *e)
{
    static const char *const size[] = {"BM", "BN", "BK"};
    const struct {
        const char **to, *base;
    } n[] = {{&e->part[0], "TM"},      {&e->part[1], "TN"},
             {&e->tid, "tid"},         {&e->thread[0], "ty"},
             {&e->thread[1], "tx"},    {&e->loop[0], "r"},
             {&e->loop[1], "c"},       {&e->kk, "kk"},
             {&e->each, "e"},          {&e->at, "at"},
             {&e->threads, "THREADS"}, {&e->group, "GROUP"}};
    const char *k0 = ws__arena_printf(e->in->arena, "%s0", e->p->k);

    for (int i = 0; i < 3; i++)
        if (!(e->size[i] = ws__xform_name(e->in, size[i])))
            return WS_ENOMEM;
    for (size_t i = 0; i < WS_COUNT(n); i++)
        if (!(*n[i].to = ws__xform_name(e->in, n[i].base)))
            return WS_ENOMEM;
    if (!k0 || !(e->k0 = ws__xform_name(e->in, k0)))
        return WS_ENOMEM;
    for (int s = 0; s < 2; s++) {
        const char *from =
            ws__arena_printf(e->in->arena, "%s0", e->p->side[s].name);

        if (!from || !(e->from[s] = ws__xform_name(e->in, from)))
            return WS_ENOMEM;
    }
    for (size_t i = 0; i < e->p->nsum; i++)
        if (!(e->p->sum[i].array = name_sum(e, i)))
            return WS_ENOMEM;
    return name_loads(e);
}

/* --- the parts of the new kernel ------------------------------------------ */

static const char *block_index(const struct emit *e, int side)
{
    static const char *const cuda[] = {"blockIdx.x", "blockIdx.y",
                                       "blockIdx.z"};
    static const char *const opencl[] = {"get_group_id(0)", "get_group_id(1)",
                                         "get_group_id(2)"};
    int dim = e->p->side[side].dim;

    return e->cuda ? cuda[dim] : opencl[dim];
}

static const char *thread_index(const struct emit *e, int dim)
{
    if (e->cuda)
        return dim ? "threadIdx.y" : "threadIdx.x";
    return dim ? "get_local_id(1)" : "get_local_id(0)";
}

static void put_barrier(struct emit *e, int depth)
{
    line(e, depth, "%s",
         e->cuda ? "__syncthreads();" : "barrier(CLK_LOCAL_MEM_FENCE);");
}

/* What a whole block leaves by stays where it was. */
static void put_leave(struct emit *e, int32_t guard)
{
    for (size_t i = 0; i < e->p->nuniform; i++) {
        const char *cond = text_of(e, e->p->uniform[i].cond);

        if (e->p->uniform[i].at != guard)
            continue;
        line(e, 0, e->p->uniform[i].negated ? "if (%s)" : "if (!(%s))", cond);
        line(e, 1, "return;");
    }
}

static void put_tiles(struct emit *e)
{
    const char *shared = e->cuda ? "__shared__ __align__(16)" : "__local";
    const char *align = e->cuda ? "" : " __attribute__((aligned(16)))";

    for (size_t i = 0; i < e->p->nload; i++) {
        const struct ws__product_load *x = &e->p->load[i];

        if (x->same < 0)
            line(e, 0, "%s %s %s[%s][%s + %d]%s;", shared, x->type, x->tile,
                 e->size[2], e->size[x->side], e->registers ? 4 : 1, align);
    }
}

static void put_places(struct emit *e)
{
    const char *const *s = e->size, *const *q = e->part;

    if (e->registers) {
        line(e, 0, "const int %s = %s / %s * (%s / %s);", e->threads, s[0],
             q[0], s[1], q[1]);
        line(e, 0, "const int %s = %s < 4 ? %s : 4; /* neighbours a thread */",
             e->group, q[1], q[1]);
        line(e, 0, "const int %s = %s;", e->tid, thread_index(e, 0));
        line(e, 0, "const int %s = %s / (%s / %s), %s = %s %% (%s / %s);",
             e->thread[0], e->tid, s[1], q[1], e->thread[1], e->tid, s[1],
             q[1]);
    } else {
        line(e, 0, "const int %s = %s, %s = %s;", e->thread[0],
             thread_index(e, 1), e->thread[1], thread_index(e, 0));
        line(e, 0, "const int %s = %s * %s + %s;", e->tid, e->thread[0], s[1],
             e->thread[1]);
    }
    for (int i = 0; i < 2; i++)
        line(e, 0, "const %s %s = %s * %s;", e->p->side[i].type, e->from[i],
             block_index(e, i), s[i]);
}

static void put_sums(struct emit *e)
{
    for (size_t i = 0; i < e->p->nsum; i++) {
        const struct ws__product_sum *s = &e->p->sum[i];

        if (e->registers)
            line(e, 0, "%s %s[%s][%s];", s->type, s->array, e->part[0],
                 e->part[1]);
        else
            line(e, 0, "%s %s = %s;", s->type, s->array, s->init);
    }
}

/* Loops over a thread's outputs; a brace behind the second. */
static void put_outputs(struct emit *e, int depth, bool open)
{
    for (int i = 0; i < 2; i++) {
        line(e, depth + i, "#pragma unroll");
        line(e, depth + i, "for (int %s = 0; %s < %s; %s++)%s", e->loop[i],
             e->loop[i], e->part[i], e->loop[i], open && i ? " {" : "");
    }
}

static void put_first_values(struct emit *e)
{
    for (size_t i = 0; e->registers && i < e->p->nsum; i++) {
        ws__buf_puts(&e->b, "\n");
        put_outputs(e, 0, false);
        line(e, 2, "%s[%s][%s] = %s;", e->p->sum[i].array, e->loop[0],
             e->loop[1], e->p->sum[i].init);
    }
}

/* --- loading a tile ------------------------------------------------------- */

static const char *zero_of(struct emit *e, const char *type)
{
    if (!strcmp(type, "float"))
        return "0.0f";
    if (!strcmp(type, "double"))
        return "0.0";
    if (!strcmp(type, "int") || !strcmp(type, "unsigned"))
        return "0";
    return ws__arena_printf(e->in->arena, "(%s)0", type);
}

/* Is a variable of the declaration needed below root, or by another needed
 * declaration? */
static bool is_needed(const struct emit *e, int32_t decl, uint32_t begin,
                      uint32_t end)
{
    for (int32_t i = e->in->body; i < e->t->n; i++) {
        const struct ws__ast_node *n = &e->t->node[i];

        if (n->kind != WS__AST_REF || n->decl < 0 ||
            !ws__ast_below(e->t, n->decl, decl))
            continue;
        if (n->begin >= begin && n->end <= end)
            return true;
        for (size_t k = 0; k < e->p->nderived; k++)
            if (e->p->derived[k] > decl &&
                ws__ast_below(e->t, i, e->p->derived[k]) &&
                is_needed(e, e->p->derived[k], begin, end))
                return true;
    }
    return false;
}

static bool put_derived(struct emit *e, int depth, uint32_t begin, uint32_t end)
{
    bool any = false;

    for (size_t i = 0; i < e->p->nderived; i++)
        if (is_needed(e, e->p->derived[i], begin, end)) {
            if (depth >= 0)
                put_statement(e, depth, e->p->derived[i]);
            any = true;
        }
    return any;
}

static void put_element(struct emit *e, const struct ws__product_load *x)
{
    const struct ws__product_side *s = &e->p->side[x->side];
    const struct ws__ast_node *n = &e->t->node[x->node];
    const char *zero = sure(e, zero_of(e, x->type));
    const char *inside =
        sure(e, ws__arena_printf(e->in->arena, "%s < %s && %s < %s", s->name,
                                 operand(e, s->bound), e->p->k,
                                 operand(e, e->p->loop.to)));
    const char *to =
        sure(e, ws__arena_printf(e->in->arena, "%s[%s - %s][%s - %s]", x->tile,
                                 e->p->k, e->k0, s->name, e->from[x->side]));

    if (!put_derived(e, -1, n->begin, n->end)) {
        line(e, 2, "%s =", to);
        line(e, 3, "%s ? %s : %s;", inside, x->text, zero);
        return;
    }
    line(e, 2, "%s = %s;", to, zero);
    line(e, 2, "if (%s) {", inside);
    put_derived(e, 3, n->begin, n->end);
    line(e, 3, "%s = %s;", to, x->text);
    line(e, 2, "}");
}

static void put_load(struct emit *e, const struct ws__product_load *x)
{
    const struct ws__product_side *s = &e->p->side[x->side];
    const char *by = x->k_fast ? e->size[2] : e->size[x->side];
    const char *tile = e->size[x->side], *at = e->each;

    line(e, 1, "#pragma unroll");
    if (e->registers) {
        line(e, 1, "for (int %s = 0; %s < %s * %s / %s; %s++) {", e->each,
             e->each, tile, e->size[2], e->threads, e->each);
        line(e, 2, "const int %s = %s * %s + %s;", e->at, e->each, e->threads,
             e->tid);
        at = e->at;
    } else {
        line(e, 1, "for (int %s = %s; %s < %s * %s; %s += %s * %s) {", e->each,
             e->tid, e->each, tile, e->size[2], e->each, e->size[0],
             e->size[1]);
    }
    line(e, 2, "const %s %s = %s + %s %s %s;", s->type, s->name,
         e->from[x->side], at, x->k_fast ? "/" : "%", by);
    line(e, 2, "const %s %s = %s + %s %s %s;", e->p->k_type, e->p->k, e->k0, at,
         x->k_fast ? "%" : "/", by);
    ws__buf_puts(&e->b, "\n");
    put_element(e, x);
    line(e, 1, "}");
}

/* --- adding up ------------------------------------------------------------ */

static const char *place(struct emit *e, int side)
{
    if (!e->registers)
        return e->thread[side];
    if (!side)
        return sure(e, ws__arena_printf(e->in->arena, "%s * %s + %s",
                                        e->thread[0], e->part[0], e->loop[0]));
    return sure(e,
                ws__arena_printf(e->in->arena,
                                 "(%s / %s * (%s / %s) + %s) * %s + %s %% %s",
                                 e->loop[1], e->group, e->size[1], e->part[1],
                                 e->thread[1], e->group, e->loop[1], e->group));
}

static void put_part(struct emit *e, const struct ws__product_load *x)
{
    const struct ws__ast_node *n = &e->t->node[x->node];
    const struct ws__ast_node *o = &e->t->node[x->outer];
    struct ws__piece piece = {n->begin, n->end, NULL};
    const char *value;
    int s = x->side;

    piece.text = ws__arena_printf(e->in->arena, "%s[%s][%s]", x->tile, e->kk,
                                  place(e, s));
    piece.text = sure(e, piece.text);
    line(e, 2, "#pragma unroll");
    line(e, 2, "for (int %s = 0; %s < %s; %s++)", e->loop[s], e->loop[s],
         e->part[s], e->loop[s]);
    value = patched(e, o->begin, o->end, &piece, 1);
    if (strlen(value) + strlen(e->indent) < 48) {
        line(e, 3, "%s[%s] = %s;", x->part, e->loop[s], value);
    } else {
        line(e, 3, "%s[%s] =", x->part, e->loop[s]);
        line(e, 4, "%s;", value);
    }
}

static void add_piece(const struct emit *e, struct ws__piece *piece, size_t *n,
                      int32_t node, const char *text)
{
    if (!text || *n == MAX_PIECES) {
        e->out->failed = WS_ENOMEM;
        return;
    }
    piece[(*n)++] =
        (struct ws__piece){e->t->node[node].begin, e->t->node[node].end, text};
}

static void sum_pieces(struct emit *e, struct ws__piece *piece, size_t *n)
{
    int32_t end = ws__ast_after(e->t, e->p->term);

    for (size_t k = 0; k < e->p->nsum; k++) {
        const struct ws__product_sum *s = &e->p->sum[k];
        const char *text =
            e->registers ? ws__arena_printf(e->in->arena, "%s[%s][%s]",
                                            s->array, e->loop[0], e->loop[1])
                         : s->array;

        for (int32_t i = e->p->term; i < end; i++)
            if (s->var >= 0 ? e->t->node[i].kind == WS__AST_REF &&
                                  e->t->node[i].decl == s->var
                            : e->t->node[i].kind == WS__AST_INDEX &&
                                  ws__ast_same(e->t, i, s->node))
                add_piece(e, piece, n, i, text);
    }
}

static bool is_block(const struct emit *e)
{
    return e->t->node[e->p->term].kind == WS__AST_BLOCK;
}

/* The term of the original, by the tiles or by what a thread holds of them. */
static void put_term(struct emit *e, int depth)
{
    bool block = is_block(e);
    uint32_t begin = e->t->node[e->p->term].begin + block;
    uint32_t end = ws__pieces_end(e->t, e->p->term) - block;
    struct ws__piece piece[MAX_PIECES];
    size_t n = 0;

    for (size_t i = 0; i < e->p->nload; i++) {
        const struct ws__product_load *x = &e->p->load[i];

        add_piece(e, piece, &n, e->registers ? x->outer : x->node,
                  e->registers
                      ? ws__arena_printf(e->in->arena, "%s[%s]", x->part,
                                         e->loop[x->side])
                      : ws__arena_printf(e->in->arena, "%s[%s][%s]", x->tile,
                                         e->kk, e->thread[x->side]));
    }
    sum_pieces(e, piece, &n);
    if (e->out->failed)
        return;
    ws__pieces_trim(e->t, &begin, &end);
    ws__pieces_lines(&e->b, e->indent, depth, patched(e, begin, end, piece, n),
                     ws__pieces_blanks(e->t, begin));
}

static void put_adding(struct emit *e)
{
    line(e, 1, "#pragma unroll 8");
    line(e, 1, "for (int %s = 0; %s < %s; %s++)%s", e->kk, e->kk, e->size[2],
         e->kk, e->registers || is_block(e) ? " {" : "");
    if (!e->registers) {
        put_term(e, 2);
        if (is_block(e))
            line(e, 1, "}");
        return;
    }
    for (size_t i = 0; i < e->p->nload; i++)
        line(e, 2, "%s %s[%s];", e->p->load[i].value_type, e->p->load[i].part,
             e->part[e->p->load[i].side]);
    ws__buf_puts(&e->b, "\n");
    for (size_t i = 0; i < e->p->nload; i++)
        put_part(e, &e->p->load[i]);
    put_outputs(e, 2, is_block(e));
    put_term(e, 4);
    if (is_block(e))
        line(e, 3, "}");
    line(e, 1, "}");
}

static void put_loop(struct emit *e)
{
    ws__buf_puts(&e->b, "\n");
    line(e, 0, "for (%s %s = %s; %s < %s; %s += %s) {", e->p->k_type, e->k0,
         e->p->k_from, e->k0, operand(e, e->p->loop.to), e->k0, e->size[2]);
    for (size_t i = 0; i < e->p->nload; i++)
        if (e->p->load[i].same < 0) {
            line(e, 1, "/* %s, zeros where it ends */", e->p->load[i].name);
            put_load(e, &e->p->load[i]);
        }
    put_barrier(e, 1);
    ws__buf_puts(&e->b, "\n");
    put_adding(e);
    put_barrier(e, 1);
    line(e, 0, "}");
}

/* --- what follows --------------------------------------------------------- */

/* The sums by their old names. */
static void put_totals(struct emit *e, int depth)
{
    for (size_t i = 0; i < e->p->nsum; i++) {
        const struct ws__product_sum *s = &e->p->sum[i];
        const char *value =
            e->registers
                ? sure(e, ws__arena_printf(e->in->arena, "%s[%s][%s]", s->array,
                                           e->loop[0], e->loop[1]))
                : s->array;

        if (s->var < 0)
            line(e, depth, "%s = %s;", text_of(e, s->node), value);
        else if (e->registers)
            line(e, depth, "%s %s = %s;", s->type, e->t->node[s->var].name,
                 value);
    }
}

static void put_rest(struct emit *e)
{
    const struct ws__product *p = e->p;
    int deep = e->registers ? 2 : 0;
    uint32_t begin = p->rest, end = p->rest_end;

    if (e->registers)
        put_outputs(e, 0, true);
    for (int s = 0; s < 2; s++)
        line(e, deep, "%s %s = %s + %s;", p->side[s].type, p->side[s].name,
             e->from[s], place(e, s));
    ws__buf_puts(&e->b, "\n");
    line(e, deep, "if (%s < %s && %s < %s) {", p->side[0].name,
         operand(e, p->side[0].bound), p->side[1].name,
         operand(e, p->side[1].bound));
    put_derived(e, deep + 1, begin, end);
    put_totals(e, deep + 1);
    if (begin < end) {
        ws__pieces_lines(&e->b, e->indent, deep + 1,
                         patched(e, begin, end, NULL, 0),
                         ws__pieces_blanks(e->t, begin));
    }
    line(e, deep, "}");
    if (e->registers)
        line(e, 1, "}");
}

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
static const char *bare_plan(struct emit *e, const struct ws__xform_in *in,
                             int32_t i)
{
    const char *s = in_plan(in, i, 0);
    size_t n = s ? strlen(s) : 0;

    if (!s || s[0] != '(' || strcspn(s, ")") != n - 1)
        return sure(e, s);
    return sure(e, ws__arena_strndup(in->arena, s + 1, n - 2));
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

static const char *tile_bytes(struct emit *e)
{
    const char *sum = NULL;

    for (size_t i = 0; i < e->p->nload; i++) {
        const struct ws__product_load *x = &e->p->load[i];

        if (x->same >= 0)
            continue;
        sum = sure(e, ws__arena_printf(e->in->arena, "%s%s(%s + %d) * %u",
                                       sum ? sum : "", sum ? " + " : "",
                                       e->size[x->side], e->registers ? 4 : 1,
                                       x->bytes));
    }
    return sum;
}

static void change_launches(struct emit *e)
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
            x = sure(e,
                     ws__arena_printf(e->in->arena, "(%s // %s) * (%s // %s)",
                                      s[0], q[0], s[1], q[1]));
            y = "1";
        }
        for (int d = 0; d < 2; d++)
            ws__rewrite_change(
                e->out,
                sure(e, ws__arena_printf(e->in->arena, "\"ceil_div(%s, %s)\"",
                                         bare_plan(e, &l, e->p->side[d].bound),
                                         s[d])),
                "launches[%zu].grid[%d]", i, e->p->side[d].dim);
        if (k->launch[i].shared)
            ws__rewrite_change(
                e->out,
                sure(e, ws__arena_printf(e->in->arena, "\"(%s) * %s\"",
                                         tile_bytes(e), e->size[2])),
                "launches[%zu].shared", i);
        ws__rewrite_change(e->out, x, "launches[%zu].block[0]", i);
        ws__rewrite_change(e->out, y, "launches[%zu].block[1]", i);
    }
}

static void require(struct emit *e, const char *what, const char *about)
{
    ws__rewrite_change(e->out,
                       sure(e,
                            ws__arena_printf(e->in->arena,
                                             "{require: \"%s\", about: \"%s\"}",
                                             what, about)),
                       "constraints[+]");
}

static void add_parameters(struct emit *e)
{
    const char *const *s = e->size, *const *q = e->part;
    struct ws__arena *a = e->in->arena;
    const char *values = e->registers ? "[16, 32, 64, 128]" : "[8, 16, 32]";
    const char *dflt = e->registers ? "64" : "32";
    const char *threads =
        e->registers ? sure(e, ws__arena_printf(a, "(%s // %s) * (%s // %s)",
                                                s[0], q[0], s[1], q[1]))
                     : sure(e, ws__arena_printf(a, "%s * %s", s[0], s[1]));

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
                    sure(e, ws__arena_printf(a, "%s * %s %% (%s) == 0", s[i],
                                             s[2], threads)),
                    "threads load a tile evenly");
    }
    require(e,
            sure(e, ws__arena_printf(a, "%s <= min(device_max_threads, 1024)",
                                     threads)),
            "threads of a block");
    require(e,
            sure(e, ws__arena_printf(
                        a, "(%s) * %s <= min(device_shared_bytes, 49152)",
                        tile_bytes(e), s[2])),
            "tiles fit in shared memory");
    ws__rewrite_change(
        e->out,
        sure(e, ws__arena_printf(
                    a,
                    "{prune: \"device_is_cpu or %s >= 32\", about: \"at "
                    "least a warp\"}",
                    threads)),
        "constraints[+]");
}

/* --- parameters that nobody uses any more --------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static int count_word(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    int hits = 0;

    for (size_t i = 0; i + n <= len; i++)
        hits += !strncmp(text + i, word, n) && (!i || !is_word(text[i - 1])) &&
                (i + n == len || !is_word(text[i + n]));
    return hits;
}

static int count_expr(const struct ws__expr *x, const char *word)
{
    return x ? count_word(x->text, strlen(x->text), word) : 0;
}

/* In what is left of source and launch plan. */
static int count_left(const struct emit *e, const char *word)
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

static void drop_parameters(struct emit *e)
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

/* --- all of it ------------------------------------------------------------ */

/* Takes a statement out; with its line, where nothing else is on it, and with
 * the line behind it, where blank ones would follow each other. */
static void drop(struct emit *e, int32_t i)
{
    const char *s = e->t->text;
    uint32_t begin = e->t->node[i].begin, end = ws__pieces_end(e->t, i), to, at;

    for (at = begin; at && (s[at - 1] == ' ' || s[at - 1] == '\t');)
        at--;
    for (to = end; s[to] == ' ' || s[to] == '\t';)
        to++;
    e->b.len = 0;
    put_leave(e, i);
    if (s[to] == '\n' && at && s[at - 1] == '\n') {
        begin = at;
        end = to + 1;
        if (at >= 2 && !e->b.len && s[end] == '\n' &&
            (at == e->dropped || s[at - 2] == '{' || s[at - 2] == '\n'))
            end++;
        if (at == e->dropped || s[at - 2] == '{' || s[at - 2] == '\n')
            e->dropped = end;
    }
    ws__rewrite_at(e->out, begin, end - begin, "%s", e->b.len ? e->b.data : "");
}

static void put_all(struct emit *e)
{
    put_leave(e, e->p->outermost);
    for (size_t i = 0; i < e->p->nmove; i++)
        put_statement(e, 0, e->p->move[i]);
    put_tiles(e);
    put_places(e);
    put_sums(e);
    put_first_values(e);
    put_loop(e);
    ws__buf_puts(&e->b, "\n");
    put_rest(e);
}

int ws__product_emit(const struct ws__xform_in *in, struct ws__product *p,
                     bool registers, struct ws__rewrite *out)
{
    struct emit e = {.in = in,
                     .t = in->ast,
                     .p = p,
                     .out = out,
                     .registers = registers,
                     .cuda = in->ast->dialect == WS__DIALECT_CUDA};
    uint32_t begin = in->ast->node[p->outermost].begin;
    uint32_t end = p->block == in->body ? in->ast->node[in->body].end - 1
                                        : ws__pieces_end(in->ast, p->outermost);

    e.indent = sure(&e, ws__xform_indent(in, p->outermost));
    WS_TRY(name_all(&e));
    ws__buf_init(&e.b, in->ctx, MAX_TEXT);
    put_all(&e);
    if (e.b.failed)
        out->failed = WS_ENOMEM;
    while (e.b.data && e.b.len && e.b.data[e.b.len - 1] == '\n')
        e.b.data[--e.b.len] = '\0';
    if (p->block == in->body)
        ws__buf_puts(&e.b, "\n");
    if (!out->failed && e.b.data)
        ws__rewrite_at(out, begin, end - begin, "%s",
                       e.b.data + strlen(e.indent));
    for (size_t i = 0; i < p->ndrop; i++)
        drop(&e, p->drop[i]);
    if (e.b.failed)
        out->failed = WS_ENOMEM;
    ws__buf_free(&e.b);
    drop_parameters(&e);
    change_launches(&e);
    add_parameters(&e);
    return 0;
}
