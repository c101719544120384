/*
 * expr_emit.c: checked scalar nodes to bytecode.
 *
 * Every byte remembers the place in the text it stands for. Right operands
 * that are slots or small constants are fused into their operator, constants
 * on the left are moved to the right where the operator allows it; a
 * constraint such as 32 <= a * b <= 1024 becomes seven instructions.
 *
 * Jumps to a label that is not there yet form a list through their distance
 * fields; `patch` puts the label here.
 */
#include "expr/expr_ast.h"

#include "base/banned.h"

#define NO_JUMP UINT32_MAX
#define CODE_MAX ((size_t)1 << 20)

static int reserve(struct ws__ec *c, uint32_t at, size_t n)
{
    size_t cap = c->cap ? c->cap * 2 : 256;
    uint32_t *place;
    uint8_t *code;

    if (c->n + n <= c->cap)
        return 0;
    if (cap > CODE_MAX) {
        ws__expr_fail(c, at, "expression is too long");
        return ws__hint(c->ctx, "split it into several conditions");
    }
    code = ws__resize(c->ctx, c->code, cap, sizeof(*code));
    if (!code)
        return WS_ENOMEM;
    c->code = code;
    place = ws__resize(c->ctx, c->place, cap, sizeof(*place));
    if (!place)
        return WS_ENOMEM;
    c->place = place;
    c->cap = cap;
    return 0;
}

static int put(struct ws__ec *c, uint32_t at, unsigned op, uint64_t imm)
{
    size_t n = wsrt_imm_bytes[wsrt_op_info[op].imm];

    /* One byte is kept free for the END. */
    WS_TRY(reserve(c, at, n + 2));
    for (size_t i = 0; i <= n; i++)
        c->place[c->n + i] = at;
    c->place[c->n + n + 1] = at;
    c->code[c->n++] = (uint8_t)op;
    for (size_t i = 0; i < n; i++)
        c->code[c->n++] = (uint8_t)(imm >> 8 * i);
    return 0;
}

static void set32(uint8_t *p, uint32_t v)
{
    for (size_t i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static int jump(struct ws__ec *c, uint32_t at, unsigned op, uint32_t *list)
{
    uint32_t here = (uint32_t)c->n;

    WS_TRY(put(c, at, op, *list));
    *list = here;
    return 0;
}

static void patch(struct ws__ec *c, uint32_t list)
{
    while (list != NO_JUMP) {
        uint8_t *field = c->code + list + 1;
        uint32_t distance = (uint32_t)c->n - (list + 5);

        list = wsrt_get32(field);
        set32(field, distance);
    }
}

/* --- operators --- */

/* The opcode for ints, its forms for slot and constant, for floats. END:
 * there is none. */
struct forms {
    uint8_t plain, slot, constant, flt;
};

#define FUSED(op)                                                              \
    {                                                                          \
        WSRT_OP_##op, WSRT_OP_##op##V, WSRT_OP_##op##K, WSRT_OP_F##op          \
    }
#define PLAIN(op)                                                              \
    {                                                                          \
        WSRT_OP_##op, 0, 0, 0                                                  \
    }

static const struct forms forms_of[] = {
    [WS__T_EQ] = FUSED(EQ),
    [WS__T_NE] = FUSED(NE),
    [WS__T_LT] = FUSED(LT),
    [WS__T_LE] = FUSED(LE),
    [WS__T_GT] = FUSED(GT),
    [WS__T_GE] = FUSED(GE),
    [WS__T_PLUS] = FUSED(ADD),
    [WS__T_MINUS] = FUSED(SUB),
    [WS__T_STAR] = FUSED(MUL),
    [WS__T_SLASH] = {WSRT_OP_TRUE_DIV, 0, 0, WSRT_OP_FDIV},
    [WS__T_FLOOR] = FUSED(FLOOR_DIV),
    [WS__T_PERCENT] = FUSED(MOD),
    [WS__T_POWER] = {WSRT_OP_POW, 0, 0, WSRT_OP_FPOW},
    [WS__T_PIPE] = PLAIN(OR),
    [WS__T_CARET] = PLAIN(XOR),
    [WS__T_AMP] = PLAIN(AND),
    [WS__T_SHL] = PLAIN(SHL),
    [WS__T_SHR] = PLAIN(SHR),
};

/* b op a instead of a op b, or END. */
static enum ws__tok_kind mirrored(enum ws__tok_kind op)
{
    switch (op) {
    case WS__T_EQ:
    case WS__T_NE:
    case WS__T_PLUS:
    case WS__T_STAR:
        return op;
    case WS__T_LT:
        return WS__T_GT;
    case WS__T_LE:
        return WS__T_GE;
    case WS__T_GT:
        return WS__T_LT;
    case WS__T_GE:
        return WS__T_LE;
    default:
        return WS__T_END;
    }
}

/* bool to int is a matter of types only. */
static const struct ws__node *bare(const struct ws__node *n)
{
    while (n->kind == WS__N_CONVERT && n->type == WS__INT &&
           n->kid[0]->type == WS__BOOL)
        n = n->kid[0];
    return n;
}

static bool is_small(const struct ws__node *n)
{
    return n->kind == WS__N_LIT && n->type != WS__FLOAT &&
           n->v.i == (int32_t)n->v.i;
}

/* Left operand on the stack: `op right`. */
static int emit_right(struct ws__ec *c, enum ws__tok_kind op, uint32_t at,
                      const struct ws__node *right)
{
    const struct forms *f = &forms_of[op];
    const struct ws__node *r = bare(right);

    if (right->type == WS__FLOAT) {
        WS_TRY(ws__expr_emit(c, right));
        return put(c, at, f->flt, 0);
    }
    if (f->slot && r->kind == WS__N_SLOT)
        return put(c, at, f->slot, r->slot);
    if (f->constant && is_small(r))
        return put(c, at, f->constant, (uint32_t)(int32_t)r->v.i);
    WS_TRY(ws__expr_emit(c, right));
    return put(c, at, f->plain, 0);
}

static int emit_pair(struct ws__ec *c, enum ws__tok_kind op, uint32_t at,
                     const struct ws__node *left, const struct ws__node *right)
{
    if (is_small(bare(left)) && mirrored(op) && !is_small(bare(right))) {
        WS_TRY(ws__expr_emit(c, right));
        return emit_right(c, mirrored(op), at, left);
    }
    WS_TRY(ws__expr_emit(c, left));
    return emit_right(c, op, at, right);
}

static int emit_literal(struct ws__ec *c, const struct ws__node *n)
{
    uint64_t bits = (uint64_t)n->v.i;

    if (n->type == WS__FLOAT)
        return put(c, n->at, WSRT_OP_PUSHF, bits);
    if (n->v.i == (int8_t)n->v.i)
        return put(c, n->at, WSRT_OP_PUSH8, bits);
    return put(c, n->at, is_small(n) ? WSRT_OP_PUSH32 : WSRT_OP_PUSH64, bits);
}

static int emit_truth(struct ws__ec *c, uint32_t at, enum ws__type t)
{
    union wsrt_value empty = {.i = c->empty_id};
    struct ws__node id;

    if (t == WS__BOOL)
        return 0;
    if (t != WS__STR)
        return put(c, at, t == WS__INT ? WSRT_OP_TRUTH : WSRT_OP_FTRUTH, 0);
    memset(&id, 0, sizeof(id));
    ws__node_lit(&id, WS__STR, empty);
    return emit_right(c, WS__T_NE, at, &id);
}

static int emit_unary(struct ws__ec *c, const struct ws__node *n)
{
    bool is_float = n->type == WS__FLOAT;
    unsigned op = n->op == WS__T_BANG    ? WSRT_OP_LNOT
                  : n->op == WS__T_TILDE ? WSRT_OP_NOT
                  : is_float             ? WSRT_OP_FNEG
                                         : WSRT_OP_NEG;

    WS_TRY(ws__expr_emit(c, n->kid[0]));
    return put(c, n->at, op, 0);
}

static int emit_convert(struct ws__ec *c, const struct ws__node *n)
{
    enum ws__type from = n->kid[0]->type;

    WS_TRY(ws__expr_emit(c, n->kid[0]));
    if (n->type == WS__BOOL)
        return emit_truth(c, n->at, from);
    if (n->type == WS__FLOAT)
        return put(c, n->at, WSRT_OP_TO_FLOAT, 0);
    return from == WS__FLOAT ? put(c, n->at, WSRT_OP_TO_INT, 0) : 0;
}

/* --- comparisons --- */

/* a op b op c ...: the middle is computed once and kept under the result of
 * its first comparison, unless it is at hand anyway. */
static int emit_compare(struct ws__ec *c, const struct ws__node *n)
{
    uint32_t end = NO_JUMP, drop = NO_JUMP;
    size_t last = n->nkid - 2, i = 0;

    if (!last)
        return emit_pair(c, (enum ws__tok_kind)n->ops[0], n->ops_at[0],
                         n->kid[0], n->kid[1]);
    if (is_small(bare(n->kid[0])) && bare(n->kid[1])->kind != WS__N_SLOT) {
        WS_TRY(ws__expr_emit(c, n->kid[1]));
        WS_TRY(put(c, n->ops_at[0], WSRT_OP_DUP, 0));
        WS_TRY(emit_right(c, mirrored((enum ws__tok_kind)n->ops[0]),
                          n->ops_at[0], n->kid[0]));
        WS_TRY(jump(c, n->ops_at[0], WSRT_OP_JF_KEEP, &drop));
        i = 1;
    } else {
        WS_TRY(ws__expr_emit(c, n->kid[0]));
    }
    for (; i < last; i++) {
        const struct ws__node *b = n->kid[i + 1];
        enum ws__tok_kind op = (enum ws__tok_kind)n->ops[i];
        uint32_t at = n->ops_at[i];

        if (b->kind == WS__N_LIT || bare(b)->kind == WS__N_SLOT) {
            WS_TRY(emit_right(c, op, at, b));
            WS_TRY(jump(c, at, WSRT_OP_JF_KEEP, &end));
            WS_TRY(ws__expr_emit(c, b));
            continue;
        }
        WS_TRY(ws__expr_emit(c, b));
        WS_TRY(put(c, at, WSRT_OP_TUCK, 0));
        WS_TRY(put(c, at,
                   b->type == WS__FLOAT ? forms_of[op].flt : forms_of[op].plain,
                   0));
        WS_TRY(jump(c, at, WSRT_OP_JF_KEEP, &drop));
    }
    WS_TRY(emit_right(c, (enum ws__tok_kind)n->ops[last], n->ops_at[last],
                      n->kid[last + 1]));
    if (drop != NO_JUMP) {
        WS_TRY(jump(c, n->at, WSRT_OP_JUMP, &end));
        patch(c, drop);
        WS_TRY(put(c, n->at, WSRT_OP_NIP, 0));
    }
    patch(c, end);
    return 0;
}

/* With x on the stack, under the result where `drop` leads. */
static int emit_in_list(struct ws__ec *c, const struct ws__node *n,
                        uint32_t *drop)
{
    const struct ws__node *list = n->kid[1];

    for (size_t i = 0; i + 1 < list->nkid; i++) {
        WS_TRY(put(c, n->at, WSRT_OP_DUP, 0));
        WS_TRY(emit_right(c, WS__T_EQ, n->at, list->kid[i]));
        WS_TRY(jump(c, n->at, WSRT_OP_JT_KEEP, drop));
    }
    return emit_right(c, WS__T_EQ, n->at, list->kid[list->nkid - 1]);
}

/* begin <= x < end and x % step == begin % step, or the mirror image where
 * the step is negative. */
static int emit_in_range(struct ws__ec *c, const struct ws__node *n,
                         uint32_t *drop)
{
    const struct ws__node *range = n->kid[1], *end = range->kid[0];
    struct ws__node begin, step;
    union wsrt_value zero = {.i = 0}, one = {.i = 1};
    bool down, is_float = range->type == WS__FLOAT;

    memset(&begin, 0, sizeof(begin));
    begin.at = begin.begin = range->at;
    step = begin;
    if (is_float) {
        zero.f = 0;
        one.f = 1;
    }
    ws__node_lit(&begin, range->type, zero);
    ws__node_lit(&step, range->type, one);
    if (range->nkid > 1) {
        begin = *range->kid[0];
        end = range->kid[1];
    }
    if (range->nkid > 2)
        step = *range->kid[2];
    down = is_float ? step.v.f < 0 : step.v.i < 0;
    if (down && is_float)
        step.v.f = -step.v.f;
    else if (down)
        step.v.i = -step.v.i;
    WS_TRY(put(c, n->at, WSRT_OP_DUP, 0));
    WS_TRY(emit_right(c, down ? WS__T_LE : WS__T_GE, n->at, &begin));
    WS_TRY(jump(c, n->at, WSRT_OP_JF_KEEP, drop));
    if (!is_float && step.v.i == 1)
        return emit_right(c, down ? WS__T_GT : WS__T_LT, n->at, end);
    WS_TRY(put(c, n->at, WSRT_OP_DUP, 0));
    WS_TRY(emit_right(c, down ? WS__T_GT : WS__T_LT, n->at, end));
    WS_TRY(jump(c, n->at, WSRT_OP_JF_KEEP, drop));
    WS_TRY(emit_right(c, WS__T_PERCENT, n->at, &step));
    WS_TRY(ws__expr_emit(c, &begin));
    WS_TRY(emit_right(c, WS__T_PERCENT, n->at, &step));
    return put(c, n->at, is_float ? WSRT_OP_FEQ : WSRT_OP_EQ, 0);
}

static int emit_in(struct ws__ec *c, const struct ws__node *n)
{
    uint32_t drop = NO_JUMP, end = NO_JUMP;

    WS_TRY(ws__expr_emit(c, n->kid[0]));
    if (n->ranged) {
        WS_TRY(emit_in_range(c, n, &drop));
    } else if (n->kid[1]->nkid) {
        WS_TRY(emit_in_list(c, n, &drop));
    } else {
        WS_TRY(put(c, n->at, WSRT_OP_POP, 0));
        WS_TRY(put(c, n->at, WSRT_OP_PUSH8, 0));
    }
    if (drop != NO_JUMP) {
        WS_TRY(jump(c, n->at, WSRT_OP_JUMP, &end));
        patch(c, drop);
        WS_TRY(put(c, n->at, WSRT_OP_NIP, 0));
        patch(c, end);
    }
    return n->negated ? put(c, n->at, WSRT_OP_LNOT, 0) : 0;
}

/* --- control flow --- */

static int emit_logic(struct ws__ec *c, const struct ws__node *n)
{
    bool is_and = n->kind == WS__N_AND;
    bool plain = n->type == WS__INT || n->type == WS__BOOL;
    uint32_t end = NO_JUMP;

    for (size_t i = 0; i + 1 < n->nkid; i++) {
        WS_TRY(ws__expr_emit(c, n->kid[i]));
        if (plain) {
            WS_TRY(jump(c, n->at, is_and ? WSRT_OP_JF_KEEP : WSRT_OP_JT_KEEP,
                        &end));
            continue;
        }
        WS_TRY(put(c, n->at, WSRT_OP_DUP, 0));
        WS_TRY(emit_truth(c, n->at, n->type));
        WS_TRY(jump(c, n->at, is_and ? WSRT_OP_JF : WSRT_OP_JT, &end));
        WS_TRY(put(c, n->at, WSRT_OP_POP, 0));
    }
    WS_TRY(ws__expr_emit(c, n->kid[n->nkid - 1]));
    patch(c, end);
    return 0;
}

static int emit_cond(struct ws__ec *c, const struct ws__node *n)
{
    uint32_t other = NO_JUMP, end = NO_JUMP;

    WS_TRY(ws__expr_emit(c, n->kid[1]));
    WS_TRY(jump(c, n->at, WSRT_OP_JF, &other));
    WS_TRY(ws__expr_emit(c, n->kid[0]));
    WS_TRY(jump(c, n->at, WSRT_OP_JUMP, &end));
    patch(c, other);
    WS_TRY(ws__expr_emit(c, n->kid[2]));
    patch(c, end);
    return 0;
}

static int emit_call(struct ws__ec *c, const struct ws__node *n)
{
    static const struct {
        uint8_t plain, flt;
    } op[WS__NFN] = {
        [WS__FN_MIN] = {WSRT_OP_MIN, WSRT_OP_FMIN},
        [WS__FN_MAX] = {WSRT_OP_MAX, WSRT_OP_FMAX},
        [WS__FN_ABS] = {WSRT_OP_ABS, WSRT_OP_FABS},
        [WS__FN_CEIL_DIV] = {WSRT_OP_CEIL_DIV, 0},
        [WS__FN_ROUND_UP] = {WSRT_OP_ROUND_UP, 0},
        [WS__FN_IS_POW2] = {WSRT_OP_IS_POW2, 0},
        [WS__FN_LOG2_FLOOR] = {WSRT_OP_LOG2_FLOOR, 0},
        [WS__FN_CLAMP] = {WSRT_OP_CLAMP, WSRT_OP_FCLAMP},
        [WS__FN_SUM] = {WSRT_OP_ADD, WSRT_OP_FADD},
        [WS__FN_ANY] = {WSRT_OP_OR, 0},
        [WS__FN_ALL] = {WSRT_OP_AND, 0},
    };
    unsigned o = n->type == WS__FLOAT ? op[n->op].flt : op[n->op].plain;

    /* What takes two values takes any number of them, one after another. */
    for (size_t i = 0; i < n->nkid; i++) {
        WS_TRY(ws__expr_emit(c, n->kid[i]));
        if (wsrt_op_info[o].pops == 2 && i)
            WS_TRY(put(c, n->at, o, 0));
    }
    return wsrt_op_info[o].pops == 2 ? 0 : put(c, n->at, o, 0);
}

int ws__expr_emit(struct ws__ec *c, const struct ws__node *n)
{
    switch (n->kind) {
    case WS__N_LIT:
        return emit_literal(c, n);
    case WS__N_SLOT:
        return put(c, n->at, WSRT_OP_VAR, n->slot);
    case WS__N_UNARY:
        return emit_unary(c, n);
    case WS__N_BINARY:
        return emit_pair(c, (enum ws__tok_kind)n->op, n->at, n->kid[0],
                         n->kid[1]);
    case WS__N_COMPARE:
        return emit_compare(c, n);
    case WS__N_IN:
        return emit_in(c, n);
    case WS__N_AND:
    case WS__N_OR:
        return emit_logic(c, n);
    case WS__N_COND:
        return emit_cond(c, n);
    case WS__N_CALL:
        return emit_call(c, n);
    case WS__N_CONVERT:
        return emit_convert(c, n);
    case WS__N_STR:
    case WS__N_NAME:
    case WS__N_LIST:
    case WS__N_COMP:
        break;
    }
    return ws__expr_fail(c, n->at, "a list cannot be used here");
}

int ws__expr_program(struct ws__ec *c, struct ws__arena *a,
                     const struct ws__node *n, size_t nslots,
                     struct ws__code *out)
{
    c->n = 0;
    WS_TRY(ws__expr_emit(c, n));
    WS_TRY(put(c, n->at, WSRT_OP_END, 0));
    if (wsrt_code_check(c->code, c->n, nslots, 0) != 0) {
        /* The emitter is right by construction but for the limits. */
        ws__expr_fail(c, n->begin,
                      "expression keeps more than %d "
                      "intermediate values",
                      WSRT_STACK_MAX);
        return ws__hint(c->ctx, "nest it less deeply: a + (b + (c + ...)) "
                                "is a + b + c + ...");
    }
    out->n = c->n;
    out->code = ws__arena_alloc(a, c->n, sizeof(*out->code));
    out->place = ws__arena_alloc(a, c->n, sizeof(*out->place));
    if (!out->code || !out->place)
        return WS_ENOMEM;
    memcpy(out->code, c->code, c->n);
    memcpy(out->place, c->place, c->n * sizeof(*c->place));
    return 0;
}
