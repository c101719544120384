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
#include "xform/product_emit.h"

#include "base/banned.h"

#define MAX_TEXT (1 << 18)
#define MAX_PIECES 64

static void line(struct ws__product_emit *e, int depth, const char *fmt, ...)
    WS_PRINTF(3, 4);

static void line(struct ws__product_emit *e, int depth, const char *fmt, ...)
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

const char *ws__product_sure(struct ws__product_emit *e, const char *s)
{
    if (!s)
        e->out->failed = WS_ENOMEM;
    return s ? s : "";
}

static const char *text_of(struct ws__product_emit *e, int32_t node)
{
    return ws__product_sure(e, ws__xform_text(e->in, node));
}

/* --- pieces of the original ----------------------------------------------- */

static const char *patched(struct ws__product_emit *e, uint32_t begin,
                           uint32_t end, const struct ws__piece *piece,
                           size_t n)
{
    return ws__product_sure(e, ws__pieces_text(e->in, begin, end, piece, n));
}

static void put_statement(struct ws__product_emit *e, int depth, int32_t i)
{
    ws__pieces_lines(&e->b, e->indent, depth,
                     patched(e, e->t->node[i].begin, ws__xform_end(e->t, i),
                             NULL, 0),
                     ws__pieces_blanks(e->t, e->t->node[i].begin));
}

/* As the right side of a comparison. */
static const char *operand(struct ws__product_emit *e, int32_t i)
{
    const struct ws__ast_node *n = &e->t->node[i];
    const char *s = text_of(e, i);
    bool loose = n->kind == WS__AST_CHOICE ||
                 (n->kind == WS__AST_BINARY && n->op > CL_BinaryOperator_Sub);

    return loose
               ? ws__product_sure(e, ws__arena_printf(e->in->arena, "(%s)", s))
               : s;
}

/* --- names ---------------------------------------------------------------- */

static const char *numbered(struct ws__product_emit *e, const char *base,
                            size_t nth)
{
    const char *s =
        nth ? ws__arena_printf(e->in->arena, "%s%zu", base, nth + 1) : base;

    return s ? ws__xform_name(e->in, s) : NULL;
}

static int name_loads(struct ws__product_emit *e)
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

static const char *name_sum(struct ws__product_emit *e, size_t i)
{
    const struct ws__product_sum *s = &e->p->sum[i];
    const char *base = s->var < 0 ? "sum" : e->t->node[s->var].name;

    if (!e->registers)
        return s->var < 0 ? numbered(e, base, i) : base;
    base = ws__arena_printf(e->in->arena, "%s_part", base);
    return base ? numbered(e, base, s->var < 0 ? i : 0) : NULL;
}

static int name_all(struct ws__product_emit *e)
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

static const char *block_index(const struct ws__product_emit *e, int side)
{
    static const char *const cuda[] = {"blockIdx.x", "blockIdx.y",
                                       "blockIdx.z"};
    static const char *const opencl[] = {"get_group_id(0)", "get_group_id(1)",
                                         "get_group_id(2)"};
    int dim = e->p->side[side].dim;

    return e->cuda ? cuda[dim] : opencl[dim];
}

static const char *thread_index(const struct ws__product_emit *e, int dim)
{
    if (e->cuda)
        return dim ? "threadIdx.y" : "threadIdx.x";
    return dim ? "get_local_id(1)" : "get_local_id(0)";
}

static void put_barrier(struct ws__product_emit *e, int depth)
{
    line(e, depth, "%s",
         e->cuda ? "__syncthreads();" : "barrier(CLK_LOCAL_MEM_FENCE);");
}

/* What a whole block leaves by stays where it was. */
static void put_leave(struct ws__product_emit *e, int32_t guard)
{
    for (size_t i = 0; i < e->p->nuniform; i++) {
        const char *cond = text_of(e, e->p->uniform[i].cond);

        if (e->p->uniform[i].at != guard)
            continue;
        line(e, 0, e->p->uniform[i].negated ? "if (%s)" : "if (!(%s))", cond);
        line(e, 1, "return;");
    }
}

static void put_tiles(struct ws__product_emit *e)
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

static void put_places(struct ws__product_emit *e)
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

static const char *zero_of(struct ws__product_emit *e, const char *type)
{
    if (!strcmp(type, "float"))
        return "0.0f";
    if (!strcmp(type, "double"))
        return "0.0";
    if (!strcmp(type, "int") || !strcmp(type, "unsigned"))
        return "0";
    return ws__product_sure(e, ws__arena_printf(e->in->arena, "(%s)0", type));
}

static const char *place(struct ws__product_emit *e, int side)
{
    if (!e->registers)
        return e->thread[side];
    if (!side)
        return ws__product_sure(e,
                                ws__arena_printf(e->in->arena, "%s * %s + %s",
                                                 e->thread[0], e->part[0],
                                                 e->loop[0]));
    return ws__product_sure(
        e, ws__arena_printf(e->in->arena,
                            "(%s / %s * (%s / %s) + %s) * %s + %s %% %s",
                            e->loop[1], e->group, e->size[1], e->part[1],
                            e->thread[1], e->group, e->loop[1], e->group));
}

/* Is a variable of the declaration needed below root, or by another needed
 * declaration? */
static bool is_needed(const struct ws__product_emit *e, int32_t decl,
                      uint32_t begin, uint32_t end)
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

static bool put_derived(struct ws__product_emit *e, int depth, uint32_t begin,
                        uint32_t end)
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

/* Row and column of an output; the condition that there is one, and a brace. */
static void put_output_place(struct ws__product_emit *e, int depth)
{
    const struct ws__product_side *side = e->p->side;

    for (int s = 0; s < 2; s++)
        line(e, depth, "%s %s = %s + %s;", side[s].type, side[s].name,
             e->from[s], place(e, s));
    ws__buf_puts(&e->b, "\n");
}

static void put_output_guard(struct ws__product_emit *e, int depth)
{
    const struct ws__product_side *side = e->p->side;

    line(e, depth, "if (%s < %s && %s < %s) {", side[0].name,
         operand(e, side[0].bound), side[1].name, operand(e, side[1].bound));
}

static const char *sum_text(struct ws__product_emit *e,
                            const struct ws__product_sum *s)
{
    return e->registers
               ? ws__product_sure(e, ws__arena_printf(e->in->arena,
                                                      "%s[%s][%s]", s->array,
                                                      e->loop[0], e->loop[1]))
               : s->array;
}

/* Does a sum begin with something that depends on its row or column? */
static bool begins_apart(const struct ws__product_emit *e,
                         const struct ws__product_sum *s)
{
    return ws__product_depends(e->in, e->p, s->first) != 0;
}

static void put_sums(struct ws__product_emit *e)
{
    for (size_t i = 0; i < e->p->nsum; i++) {
        const struct ws__product_sum *s = &e->p->sum[i];

        if (e->registers)
            line(e, 0, "%s %s[%s][%s];", s->type, s->array, e->part[0],
                 e->part[1]);
        else
            line(e, 0, "%s %s = %s;", s->type, s->array,
                 begins_apart(e, s) ? zero_of(e, s->type) : s->init);
    }
}

/* Loops over a thread's outputs; a brace behind the second. */
static void put_outputs(struct ws__product_emit *e, int depth, bool open)
{
    for (int i = 0; i < 2; i++) {
        line(e, depth + i, "#pragma unroll");
        line(e, depth + i, "for (int %s = 0; %s < %s; %s++)%s", e->loop[i],
             e->loop[i], e->part[i], e->loop[i], open && i ? " {" : "");
    }
}

/* The first value of a sum, where its place is one. */
static void put_first_apart(struct ws__product_emit *e, int depth,
                            const struct ws__product_sum *s)
{
    const struct ws__ast_node *n = &e->t->node[s->first];

    put_output_place(e, depth);
    if (e->registers)
        line(e, depth, "%s = %s;", sum_text(e, s), zero_of(e, s->type));
    put_output_guard(e, depth);
    put_derived(e, depth + 1, n->begin, n->end);
    line(e, depth + 1, "%s = %s;", sum_text(e, s), s->init);
    line(e, depth, "}");
}

static void put_first_values(struct ws__product_emit *e)
{
    for (size_t i = 0; i < e->p->nsum; i++) {
        const struct ws__product_sum *s = &e->p->sum[i];
        bool apart = begins_apart(e, s);

        if (!e->registers && !apart)
            continue;
        ws__buf_puts(&e->b, "\n");
        if (e->registers)
            put_outputs(e, 0, apart);
        else
            line(e, 0, "{");
        if (apart)
            put_first_apart(e, e->registers ? 2 : 1, s);
        else
            line(e, 2, "%s = %s;", sum_text(e, s), s->init);
        if (apart)
            line(e, e->registers ? 1 : 0, "}");
    }
}

/* --- loading a tile ------------------------------------------------------- */

static void put_element(struct ws__product_emit *e,
                        const struct ws__product_load *x)
{
    const struct ws__product_side *s = &e->p->side[x->side];
    const struct ws__ast_node *n = &e->t->node[x->node];
    const char *zero = zero_of(e, x->type);
    const char *inside =
        ws__product_sure(e,
                         ws__arena_printf(e->in->arena, "%s < %s && %s < %s",
                                          s->name, operand(e, s->bound),
                                          e->p->k, operand(e, e->p->loop.to)));
    const char *to =
        ws__product_sure(e,
                         ws__arena_printf(e->in->arena, "%s[%s - %s][%s - %s]",
                                          x->tile, e->p->k, e->k0, s->name,
                                          e->from[x->side]));

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

static void put_load(struct ws__product_emit *e,
                     const struct ws__product_load *x)
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

static void put_part(struct ws__product_emit *e,
                     const struct ws__product_load *x)
{
    const struct ws__ast_node *n = &e->t->node[x->node];
    const struct ws__ast_node *o = &e->t->node[x->outer];
    struct ws__piece piece = {n->begin, n->end, NULL};
    const char *value;
    int s = x->side;

    piece.text = ws__arena_printf(e->in->arena, "%s[%s][%s]", x->tile, e->kk,
                                  place(e, s));
    piece.text = ws__product_sure(e, piece.text);
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

static void add_piece(const struct ws__product_emit *e, struct ws__piece *piece,
                      size_t *n, int32_t node, const char *text)
{
    if (!text || *n == MAX_PIECES) {
        e->out->failed = WS_ENOMEM;
        return;
    }
    piece[(*n)++] =
        (struct ws__piece){e->t->node[node].begin, e->t->node[node].end, text};
}

static void sum_pieces(struct ws__product_emit *e, struct ws__piece *piece,
                       size_t *n)
{
    int32_t end = ws__ast_after(e->t, e->p->term);

    for (size_t k = 0; k < e->p->nsum; k++) {
        const struct ws__product_sum *s = &e->p->sum[k];
        const char *text = sum_text(e, s);

        for (int32_t i = e->p->term; i < end; i++)
            if (s->var >= 0 ? e->t->node[i].kind == WS__AST_REF &&
                                  e->t->node[i].decl == s->var
                            : e->t->node[i].kind == WS__AST_INDEX &&
                                  ws__ast_same(e->t, i, s->node))
                add_piece(e, piece, n, i, text);
    }
}

static bool is_block(const struct ws__product_emit *e)
{
    return e->t->node[e->p->term].kind == WS__AST_BLOCK;
}

/* The term of the original, by the tiles or by what a thread holds of them. */
static void put_term(struct ws__product_emit *e, int depth)
{
    bool block = is_block(e);
    uint32_t begin = e->t->node[e->p->term].begin + block;
    uint32_t end = ws__xform_end(e->t, e->p->term) - block;
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

static void put_adding(struct ws__product_emit *e)
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

static void put_loop(struct ws__product_emit *e)
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
static void put_totals(struct ws__product_emit *e, int depth)
{
    for (size_t i = 0; i < e->p->nsum; i++) {
        const struct ws__product_sum *s = &e->p->sum[i];
        const char *value = sum_text(e, s);

        if (s->var < 0)
            line(e, depth, "%s = %s;", text_of(e, s->node), value);
        else if (e->registers)
            line(e, depth, "%s %s = %s;", s->type, e->t->node[s->var].name,
                 value);
    }
}

static void put_rest(struct ws__product_emit *e)
{
    const struct ws__product *p = e->p;
    int deep = e->registers ? 2 : 0;
    uint32_t begin = p->rest, end = p->rest_end;

    if (e->registers)
        put_outputs(e, 0, true);
    put_output_place(e, deep);
    put_output_guard(e, deep);
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

/* --- all of it ------------------------------------------------------------ */

/* Takes a statement out; with its line, where nothing else is on it, and with
 * the line behind it, where blank ones would follow each other. */
static void drop(struct ws__product_emit *e, int32_t i)
{
    const char *s = e->t->text;
    uint32_t begin = e->t->node[i].begin, end = ws__xform_end(e->t, i), to, at;

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

static void put_all(struct ws__product_emit *e)
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
    struct ws__product_emit e = {.in = in,
                                 .t = in->ast,
                                 .p = p,
                                 .out = out,
                                 .registers = registers,
                                 .cuda = in->ast->dialect == WS__DIALECT_CUDA};
    uint32_t begin = in->ast->node[p->outermost].begin;
    uint32_t end = p->block == in->body ? in->ast->node[in->body].end - 1
                                        : ws__xform_end(in->ast, p->outermost);

    e.indent = ws__product_sure(&e, ws__xform_indent(in, p->outermost));
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
    ws__product_plan(&e);
    return 0;
}
