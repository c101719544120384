/*
 * expr_trend.c: does a condition turn only one way while one slot rises?
 *
 * "x * y <= 1024" can only become false as x grows, whatever y is. A space
 * that knows it finds the values of x that are left by halving instead of by
 * testing each. The bytecode runs once on intervals of values: each carries
 * its bounds and whether it may rise or fall with the slot, all other slots
 * being fixed anywhere inside of their bounds.
 *
 * The answer is "unknown" for whatever is not modelled (floats, powers,
 * shifts) and whatever could fail somewhere (an overflow at a corner, a
 * divisor whose bounds hold zero): so a trend also says that evaluation cannot
 * fail. It is never wrong, but may miss.
 *
 * A conditional jump on an undecided value follows both ways and asks whether
 * the results fit together. Jumps only go forward; a budget of instructions
 * bounds the doubling.
 */
#include "expr/expr.h"
#include "wsrt_code.h"

#include "base/banned.h"

/* Instructions, all ways together: a few times what constraints have. */
#define BUDGET 256

struct range {
    int64_t lo, hi;
    bool rises, falls; /* may, as the slot rises */
};

struct machine {
    const union wsrt_value *lo, *hi;
    size_t slot;
    int budget;
};

/* The operation of an opcode whose right operand is a slot or a constant. */
static const uint8_t plain_of[WSRT_NOPS] = {
#define FORMS(op)                                                              \
    [WSRT_OP_##op##V] = WSRT_OP_##op, [WSRT_OP_##op##K] = WSRT_OP_##op
    FORMS(ADD), FORMS(SUB), FORMS(MUL), FORMS(FLOOR_DIV), FORMS(MOD), FORMS(EQ),
    FORMS(NE),  FORMS(LT),  FORMS(LE),  FORMS(GT),        FORMS(GE),
#undef FORMS
};

static struct range constant(int64_t v)
{
    return (struct range){v, v, false, false};
}

static struct range of_slot(const struct machine *m, size_t slot)
{
    return (struct range){m->lo[slot].i, m->hi[slot].i, slot == m->slot, false};
}

static bool is_truth(struct range r)
{
    return r.lo >= 0 && r.hi <= 1;
}

static bool varies(struct range r)
{
    return r.rises || r.falls;
}

static struct range flipped(struct range r)
{
    return (struct range){r.lo, r.hi, r.falls, r.rises};
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Bounds at the corners, for what is monotone in each operand while the other
 * is fixed. */
static bool corners(unsigned op, struct range a, struct range b,
                    struct range *out)
{
    const int64_t x[2] = {a.lo, a.hi}, y[2] = {b.lo, b.hi};

    for (int i = 0; i < 4; i++) {
        int64_t r;

        if (op == WSRT_OP_FLOOR_DIV)
            r = floor_div(x[i & 1], y[i >> 1]);
        else if (__builtin_mul_overflow(x[i & 1], y[i >> 1], &r))
            return false;
        out->lo = !i || r < out->lo ? r : out->lo;
        out->hi = !i || r > out->hi ? r : out->hi;
    }
    return true;
}

static bool multiply(struct range a, struct range b, struct range *out)
{
    if (!corners(WSRT_OP_MUL, a, b, out))
        return false;
    if ((a.lo >= 0 && b.lo >= 0) || (a.lo >= 0 && !varies(a)) ||
        (b.lo >= 0 && !varies(b))) {
        out->rises = a.rises || b.rises;
        out->falls = a.falls || b.falls;
    } else {
        out->rises = out->falls = varies(a) || varies(b);
    }
    return true;
}

static bool divide(unsigned op, struct range a, struct range b,
                   struct range *out)
{
    bool inside = a.lo >= 0 && a.hi < b.lo;

    if (b.lo <= 0 || a.lo == INT64_MIN)
        return false;
    if (op == WSRT_OP_FLOOR_DIV) {
        if (!corners(op, a, b, out))
            return false;
        out->rises = a.rises || b.falls || (a.lo < 0 && varies(b));
        out->falls = a.falls || b.rises || (a.lo < 0 && varies(b));
    } else if (inside) {
        *out = a;
    } else {
        out->lo = 0;
        out->hi = b.hi - 1;
        out->rises = out->falls = varies(a) || varies(b);
    }
    return true;
}

/* a < b or a <= b. */
static struct range less(struct range a, struct range b, bool or_equal)
{
    bool never = or_equal ? a.lo > b.hi : a.lo >= b.hi;
    bool always = or_equal ? a.hi <= b.lo : a.hi < b.lo;

    return (struct range){always, !never, a.falls || b.rises,
                          a.rises || b.falls};
}

static struct range equal(struct range a, struct range b)
{
    bool apart = a.hi < b.lo || b.hi < a.lo;
    bool same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    bool moves = varies(a) || varies(b);

    return (struct range){same, !apart, moves, moves};
}

static struct range negated(struct range t)
{
    return flipped((struct range){!t.hi, !t.lo, t.rises, t.falls});
}

static bool compare(unsigned op, struct range a, struct range b,
                    struct range *out)
{
    switch (op) {
    case WSRT_OP_EQ:
        *out = equal(a, b);
        return true;
    case WSRT_OP_NE:
        *out = negated(equal(a, b));
        return true;
    case WSRT_OP_LT:
        *out = less(a, b, false);
        return true;
    case WSRT_OP_LE:
        *out = less(a, b, true);
        return true;
    case WSRT_OP_GT:
        *out = less(b, a, false);
        return true;
    case WSRT_OP_GE:
        *out = less(b, a, true);
        return true;
    default:
        return false;
    }
}

/* What neither operand can undo: sums, and the lesser or greater of two. */
static bool gather(struct range a, struct range b, struct range *out,
                   int64_t lo, int64_t hi)
{
    *out = (struct range){lo, hi, a.rises || b.rises, a.falls || b.falls};
    return true;
}

/* False if it could fail or is not modelled. */
static bool binary(unsigned op, struct range a, struct range b,
                   struct range *out)
{
    int64_t lo, hi;

    switch (op) {
    case WSRT_OP_SUB:
        return !__builtin_sub_overflow(a.lo, b.hi, &lo) &&
               !__builtin_sub_overflow(a.hi, b.lo, &hi) &&
               gather(a, flipped(b), out, lo, hi);
    case WSRT_OP_ADD:
        return !__builtin_add_overflow(a.lo, b.lo, &lo) &&
               !__builtin_add_overflow(a.hi, b.hi, &hi) &&
               gather(a, b, out, lo, hi);
    case WSRT_OP_MUL:
        return multiply(a, b, out);
    case WSRT_OP_FLOOR_DIV:
    case WSRT_OP_MOD:
        return divide(op, a, b, out);
    case WSRT_OP_MIN:
        return gather(a, b, out, a.lo < b.lo ? a.lo : b.lo,
                      a.hi < b.hi ? a.hi : b.hi);
    case WSRT_OP_MAX:
        return gather(a, b, out, a.lo > b.lo ? a.lo : b.lo,
                      a.hi > b.hi ? a.hi : b.hi);
    case WSRT_OP_AND:
        return is_truth(a) && is_truth(b) &&
               gather(a, b, out, a.lo & b.lo, a.hi & b.hi);
    case WSRT_OP_OR:
        return is_truth(a) && is_truth(b) &&
               gather(a, b, out, a.lo | b.lo, a.hi | b.hi);
    default:
        return compare(op, a, b, out);
    }
}

/* Whether a value is other than zero. */
static struct range truth(struct range t)
{
    bool can_zero = t.lo <= 0 && t.hi >= 0, can_other = t.lo || t.hi;
    struct range r = {!can_zero, can_other, t.rises, t.falls};

    if (t.hi <= 0)
        return flipped(r);
    if (t.lo < 0)
        r.rises = r.falls = varies(t);
    return r;
}

static bool unary(unsigned op, struct range *t)
{
    switch (op) {
    case WSRT_OP_TRUTH:
        *t = truth(*t);
        return true;
    case WSRT_OP_LNOT:
        *t = negated(truth(*t));
        return true;
    case WSRT_OP_NEG:
        if (t->lo == INT64_MIN)
            return false;
        *t = (struct range){-t->hi, -t->lo, t->falls, t->rises};
        return true;
    default:
        return false;
    }
}

/* Opcodes that move values: true if it was one. */
static bool move(const struct machine *m, const uint8_t *pc,
                 struct range *stack, size_t *n)
{
    struct range *top = stack + *n, t;

    switch (*pc) {
    case WSRT_OP_PUSH8:
        *top = constant((int8_t)pc[1]);
        break;
    case WSRT_OP_PUSH32:
        *top = constant((int32_t)wsrt_get32(pc + 1));
        break;
    case WSRT_OP_PUSH64:
        *top = constant((int64_t)wsrt_get64(pc + 1));
        break;
    case WSRT_OP_VAR:
        *top = of_slot(m, wsrt_get16(pc + 1));
        break;
    case WSRT_OP_DUP:
        *top = top[-1];
        break;
    case WSRT_OP_TUCK:
        t = top[-1];
        top[-1] = top[-2];
        top[-2] = *top = t;
        break;
    case WSRT_OP_NIP:
        top[-2] = top[-1];
        --*n;
        return true;
    case WSRT_OP_POP:
        --*n;
        return true;
    default:
        return false;
    }
    ++*n;
    return true;
}

/* An opcode that does not jump: false if it could fail or is not modelled. */
static bool straight(const struct machine *m, const uint8_t *pc,
                     struct range *stack, size_t *n)
{
    const struct wsrt_op_info *info = &wsrt_op_info[*pc];
    struct range *t = stack + *n - 1, right;

    if (move(m, pc, stack, n))
        return true;
    if (plain_of[*pc]) {
        right = info->imm == WSRT_IMM_SLOT
                    ? of_slot(m, wsrt_get16(pc + 1))
                    : constant((int32_t)wsrt_get32(pc + 1));
        return binary(plain_of[*pc], *t, right, t);
    }
    if (info->pops == 1 && info->pushes == 1)
        return unary(*pc, t);
    if (info->pops != 2 || info->pushes != 1)
        return false;
    --*n;
    return binary(*pc, t[-1], *t, t - 1);
}

static bool follow(struct machine *m, const uint8_t *pc,
                   const struct range *from, size_t n, struct range *out);

/* The result of a value that is `no` where t is zero and `yes` elsewhere. */
static struct range choose(struct range t, struct range no, struct range yes)
{
    struct range r = {no.lo < yes.lo ? no.lo : yes.lo,
                      no.hi > yes.hi ? no.hi : yes.hi, no.rises || yes.rises,
                      no.falls || yes.falls};

    /* Passing from one to the other is a step up, a step down, or either. */
    if (t.rises) {
        r.rises |= no.lo < yes.hi;
        r.falls |= no.hi > yes.lo;
    }
    if (t.falls) {
        r.falls |= no.lo < yes.hi;
        r.rises |= no.hi > yes.lo;
    }
    return r;
}

/* A conditional jump with t on top. Where it keeps t, t is what made it jump.
 */
static bool branch(struct machine *m, const uint8_t *pc, struct range *stack,
                   size_t n, struct range *out)
{
    bool on_true = *pc == WSRT_OP_JT || *pc == WSRT_OP_JT_KEEP;
    bool keeps = *pc == WSRT_OP_JF_KEEP || *pc == WSRT_OP_JT_KEEP;
    struct range was = stack[n - 1], t = truth(was), go = t, stay = t;
    const uint8_t *there = pc + 5 + wsrt_get32(pc + 1);
    bool can_go = on_true ? t.hi : !t.lo, can_stay = on_true ? !t.lo : t.hi;

    if (can_stay && !follow(m, pc + 5, stack, n - 1, &stay))
        return false;
    if (!on_true)
        stack[n - 1] = constant(0);
    else if (is_truth(was))
        stack[n - 1] = constant(1);
    if (can_go && !follow(m, there, stack, keeps ? n : n - 1, &go))
        return false;
    if (!can_go || !can_stay)
        *out = can_go ? go : stay;
    else
        *out = choose(t, on_true ? stay : go, on_true ? go : stay);
    return true;
}

static bool follow(struct machine *m, const uint8_t *pc,
                   const struct range *from, size_t n, struct range *out)
{
    struct range stack[WSRT_STACK_MAX + 1];

    memcpy(stack, from, n * sizeof(*stack));
    while (m->budget-- > 0) {
        switch (*pc) {
        case WSRT_OP_END:
            *out = truth(stack[n - 1]);
            return true;
        case WSRT_OP_JUMP:
            pc += 5 + wsrt_get32(pc + 1);
            break;
        case WSRT_OP_JF:
        case WSRT_OP_JT:
        case WSRT_OP_JF_KEEP:
        case WSRT_OP_JT_KEEP:
            return branch(m, pc, stack, n, out);
        default:
            if (!straight(m, pc, stack, &n))
                return false;
            pc += 1U + wsrt_imm_bytes[wsrt_op_info[*pc].imm];
        }
    }
    return false;
}

enum ws__trend ws__expr_trend(const struct ws__expr *e,
                              const union wsrt_value *lo,
                              const union wsrt_value *hi, size_t slot)
{
    struct machine m = {lo, hi, slot, BUDGET};
    struct range r = {0, 0, false, false};

    if (e->type == WS__FLOAT || !follow(&m, e->code, &r, 0, &r))
        return WS__TREND_UNKNOWN;
    if (r.lo == r.hi || !varies(r))
        return WS__TREND_NONE;
    if (r.rises && r.falls)
        return WS__TREND_UNKNOWN;
    return r.rises ? WS__TREND_UP : WS__TREND_DOWN;
}
