/*
 * wsrt_eval.c: runs checked bytecode. See wsrt_eval.h and wsrt_code.h.
 *
 * The value on top of the stack lives in a local, the rest in a fixed array;
 * there is no check that wsrt_code_check has done already. Arithmetic follows
 * Python: // and % round towards minus infinity, / of integers is the
 * correctly rounded quotient, and where Python would grow an integer or
 * answer with infinity this machine stops with a status. No operation is
 * undefined for any bits in the slots, so that a program that mixes up
 * integers and floats is wrong but harmless.
 *
 * An instruction that fails leaves the stack as it found it: the operands
 * can then be reported (wsrt_eval_explain).
 */
#include <math.h>
#include <string.h>

#include "wsrt_code.h"

__extension__ typedef unsigned __int128 wide;

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t m = b == -1 ? 0 : a % b;

    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static int ceil_div(int64_t a, int64_t b, int64_t *r)
{
    if (b == 0)
        return WSRT_EVAL_DIV_ZERO;
    if (a == INT64_MIN && b == -1)
        return WSRT_EVAL_OVERFLOW;
    *r = a / b + (a % b != 0 && (a < 0) == (b < 0));
    return WSRT_EVAL_OK;
}

static int round_up(int64_t a, int64_t b, int64_t *r)
{
    int rc = ceil_div(a, b, r);

    if (rc == WSRT_EVAL_OK && __builtin_mul_overflow(*r, b, r))
        rc = WSRT_EVAL_OVERFLOW;
    return rc;
}

static int int_pow(int64_t x, int64_t n, int64_t *r)
{
    int64_t y = 1;

    if (n < 0)
        return WSRT_EVAL_DOMAIN;
    for (;;) {
        if ((n & 1) && __builtin_mul_overflow(y, x, &y))
            return WSRT_EVAL_OVERFLOW;
        n >>= 1;
        if (!n)
            break;
        /* The square is a factor of the result: its overflow counts. */
        if (__builtin_mul_overflow(x, x, &x))
            return WSRT_EVAL_OVERFLOW;
    }
    *r = y;
    return WSRT_EVAL_OK;
}

static int shift_left(int64_t x, int64_t n, int64_t *r)
{
    if (n < 0)
        return WSRT_EVAL_DOMAIN;
    if (n > 63) {
        *r = 0;
        return x ? WSRT_EVAL_OVERFLOW : WSRT_EVAL_OK;
    }
    *r = (int64_t)((uint64_t)x << n);
    return *r >> n == x ? WSRT_EVAL_OK : WSRT_EVAL_OVERFLOW;
}

static uint64_t magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

/* b != 0. Rounded once, also where an operand is no exact double: a quotient
 * of at least 63 bits with a sticky last bit, then one conversion. */
static double true_div(int64_t a, int64_t b)
{
    uint64_t ua = magnitude(a), ub = magnitude(b);
    const uint64_t exact = (uint64_t)1 << 53;
    wide n, q;
    int shift;
    double r;

    if ((ua <= exact && ub <= exact) || a == 0)
        return (double)a / (double)b;
    shift = __builtin_clzll(ua) + 62;
    n = (wide)ua << shift;
    q = n / ub;
    if (q * ub != n)
        q |= 1;
    r = ldexp((double)q, -shift);
    return (a < 0) != (b < 0) ? -r : r;
}

static double float_mod(double a, double b)
{
    double m = fmod(a, b);

    if (m == 0)
        return copysign(0.0, b);
    return (m < 0) != (b < 0) ? m + b : m;
}

static double float_floor_div(double a, double b)
{
    double m = fmod(a, b), d = (a - m) / b, q;

    if (m != 0 && (m < 0) != (b < 0))
        d -= 1;
    if (d == 0)
        return copysign(0.0, a / b);
    /* d is whole but for the rounding of the division: snap it. */
    q = floor(d);
    return d - q > 0.5 ? q + 1 : q;
}

static int float_pow(double x, double y, double *r)
{
    if (x == 0 && y < 0)
        return WSRT_EVAL_DIV_ZERO;
    *r = pow(x, y);
    return isfinite(*r) ? WSRT_EVAL_OK : WSRT_EVAL_DOMAIN;
}

static int to_int(double f, int64_t *r)
{
    if (f != f)
        return WSRT_EVAL_DOMAIN;
    if (!(f >= -0x1p63 && f < 0x1p63))
        return WSRT_EVAL_OVERFLOW;
    *r = (int64_t)f;
    return WSRT_EVAL_OK;
}

static void report(const uint8_t *code, const uint8_t *pc,
                   const union wsrt_value *sp, union wsrt_value t,
                   const union wsrt_value *vars, uint32_t *where,
                   struct wsrt_operands *o)
{
    const struct wsrt_op_info *info = &wsrt_op_info[*pc];

    if (where)
        *where = (uint32_t)(pc - code);
    if (!o)
        return;
    o->n = info->pops;
    /* TRUE_DIV is a float operation that takes integers. */
    o->is_float = info->is_float && *pc != WSRT_OP_TRUE_DIV;
    for (unsigned i = 0; i + 1 < o->n; i++)
        o->v[i] = sp[(int)i + 2 - (int)o->n];
    o->v[o->n - 1] = t;
    if (info->imm == WSRT_IMM_SLOT)
        o->v[o->n++] = vars[wsrt_get16(pc + 1)];
    else if (info->imm == WSRT_IMM_I32)
        o->v[o->n++].i = (int32_t)wsrt_get32(pc + 1);
}

#define NEXT(n)                                                                \
    pc += (n);                                                                 \
    break
#define SLOT (vars[wsrt_get16(pc + 1)].i)
#define CONST ((int32_t)wsrt_get32(pc + 1))

/* An operation in its three forms: right operand on the stack, in a slot,
 * constant. */
#define FORMS(name, MACRO, arg)                                                \
    case WSRT_OP_##name:                                                       \
        MACRO(arg, sp->i, t.i);                                                \
        sp--;                                                                  \
        NEXT(1);                                                               \
    case WSRT_OP_##name##V:                                                    \
        MACRO(arg, t.i, SLOT);                                                 \
        NEXT(3);                                                               \
    case WSRT_OP_##name##K:                                                    \
        MACRO(arg, t.i, CONST);                                                \
        NEXT(5);
#define CHECKED(builtin, a, b)                                                 \
    if (builtin(a, b, &r))                                                     \
        goto overflow;                                                         \
    t.i = r
#define DIVIDE(unused, a, b)                                                   \
    r = (b);                                                                   \
    if (r == 0)                                                                \
        goto div_zero;                                                         \
    if (r == -1 && (a) == INT64_MIN)                                           \
        goto overflow;                                                         \
    t.i = floor_div(a, r)
#define MODULO(unused, a, b)                                                   \
    r = (b);                                                                   \
    if (r == 0)                                                                \
        goto div_zero;                                                         \
    t.i = floor_mod(a, r)
#define COMPARE(op, a, b) t.i = (a)op(b)
/* Operations of the stack alone. */
#define BINARY(name, value)                                                    \
    case WSRT_OP_##name:                                                       \
        t.i = (value);                                                         \
        sp--;                                                                  \
        NEXT(1);
#define UNARY(name, value)                                                     \
    case WSRT_OP_##name:                                                       \
        t.i = (value);                                                         \
        NEXT(1);
#define FALLIBLE(name, call)                                                   \
    case WSRT_OP_##name:                                                       \
        rc = (call);                                                           \
        if (rc != WSRT_EVAL_OK)                                                \
            goto fail;                                                         \
        t.i = r;                                                               \
        sp--;                                                                  \
        NEXT(1);
#define FLOAT2(name, value)                                                    \
    case WSRT_OP_##name:                                                       \
        f = (value);                                                           \
        if (!isfinite(f))                                                      \
            goto domain;                                                       \
        t.f = f;                                                               \
        sp--;                                                                  \
        NEXT(1);
#define FLOAT2_DIV(name, value)                                                \
    case WSRT_OP_##name:                                                       \
        if (t.f == 0)                                                          \
            goto div_zero;                                                     \
        f = (value);                                                           \
        if (!isfinite(f))                                                      \
            goto domain;                                                       \
        t.f = f;                                                               \
        sp--;                                                                  \
        NEXT(1);
#define JUMP_IF(name, condition, kept)                                         \
    case WSRT_OP_##name:                                                       \
        if (condition) {                                                       \
            pc += 5 + wsrt_get32(pc + 1);                                      \
            if (kept)                                                          \
                break;                                                         \
        } else {                                                               \
            pc += 5;                                                           \
        }                                                                      \
        t = *sp--;                                                             \
        break;
#define PUSH(value, n)                                                         \
    *++sp = t;                                                                 \
    t.i = (value);                                                             \
    NEXT(n)

static inline int run(const uint8_t *code, const union wsrt_value *vars,
                      union wsrt_value *out, uint32_t *where,
                      struct wsrt_operands *operands)
{
    /* One place more: pushing the first value spills the unused top. */
    union wsrt_value stack[WSRT_STACK_MAX + 1], *sp = stack, t = {0};
    const uint8_t *pc = code;
    int64_t r = 0;
    double f;
    int rc;

    for (;;) {
        switch ((enum wsrt_op) * pc) {
        case WSRT_OP_END:
            *out = t;
            return WSRT_EVAL_OK;
        case WSRT_OP_PUSH8:
            PUSH((int8_t)pc[1], 2);
        case WSRT_OP_PUSH32:
            PUSH(CONST, 5);
        case WSRT_OP_PUSH64:
        case WSRT_OP_PUSHF:
            PUSH((int64_t)wsrt_get64(pc + 1), 9);
        case WSRT_OP_VAR:
            PUSH(SLOT, 3);
        case WSRT_OP_POP:
            t = *sp--;
            NEXT(1);
        case WSRT_OP_DUP:
            *++sp = t;
            NEXT(1);
        case WSRT_OP_NIP:
            sp--;
            NEXT(1);
        case WSRT_OP_TUCK:
            sp[1] = sp[0];
            sp[0] = t;
            sp++;
            NEXT(1);
        case WSRT_OP_JUMP:
            pc += 5 + wsrt_get32(pc + 1);
            break;
            JUMP_IF(JF, t.i == 0, 0)
            JUMP_IF(JT, t.i != 0, 0)
            JUMP_IF(JF_KEEP, t.i == 0, 1)
            JUMP_IF(JT_KEEP, t.i != 0, 1)

            FORMS(ADD, CHECKED, __builtin_add_overflow)
            FORMS(SUB, CHECKED, __builtin_sub_overflow)
            FORMS(MUL, CHECKED, __builtin_mul_overflow)
            FORMS(FLOOR_DIV, DIVIDE, )
            FORMS(MOD, MODULO, )
            FORMS(EQ, COMPARE, ==)
            FORMS(NE, COMPARE, !=)
            FORMS(LT, COMPARE, <)
            FORMS(LE, COMPARE, <=)
            FORMS(GT, COMPARE, >)
            FORMS(GE, COMPARE, >=)

            FALLIBLE(POW, int_pow(sp->i, t.i, &r))
            FALLIBLE(CEIL_DIV, ceil_div(sp->i, t.i, &r))
            FALLIBLE(ROUND_UP, round_up(sp->i, t.i, &r))
            FALLIBLE(SHL, shift_left(sp->i, t.i, &r))
        case WSRT_OP_SHR:
            if (t.i < 0)
                goto domain;
            t.i = sp->i >> (t.i > 63 ? 63 : t.i);
            sp--;
            NEXT(1);
        case WSRT_OP_NEG:
            if (t.i == INT64_MIN)
                goto overflow;
            t.i = -t.i;
            NEXT(1);
        case WSRT_OP_ABS:
            if (t.i == INT64_MIN)
                goto overflow;
            t.i = t.i < 0 ? -t.i : t.i;
            NEXT(1);
        case WSRT_OP_LOG2_FLOOR:
            if (t.i <= 0)
                goto domain;
            t.i = 63 - __builtin_clzll((uint64_t)t.i);
            NEXT(1);
        case WSRT_OP_CLAMP:
            r = sp[-1].i < sp[0].i ? sp[0].i : sp[-1].i;
            t.i = r > t.i ? t.i : r;
            sp -= 2;
            NEXT(1);
            BINARY(MIN, t.i < sp->i ? t.i : sp->i)
            BINARY(MAX, t.i > sp->i ? t.i : sp->i)
            BINARY(AND, sp->i & t.i)
            BINARY(OR, sp->i | t.i)
            BINARY(XOR, sp->i ^ t.i)
            UNARY(NOT, ~t.i)
            UNARY(TRUTH, t.i != 0)
            UNARY(LNOT, t.i == 0)
            UNARY(IS_POW2, t.i > 0 && !((uint64_t)t.i & ((uint64_t)t.i - 1)))

        case WSRT_OP_TRUE_DIV:
            if (t.i == 0)
                goto div_zero;
            t.f = true_div(sp->i, t.i);
            sp--;
            NEXT(1);
            FLOAT2(FADD, sp->f + t.f)
            FLOAT2(FSUB, sp->f - t.f)
            FLOAT2(FMUL, sp->f * t.f)
            FLOAT2_DIV(FDIV, sp->f / t.f)
            FLOAT2_DIV(FFLOOR_DIV, float_floor_div(sp->f, t.f))
            FLOAT2_DIV(FMOD, float_mod(sp->f, t.f))
        case WSRT_OP_FPOW:
            rc = float_pow(sp->f, t.f, &f);
            if (rc != WSRT_EVAL_OK)
                goto fail;
            t.f = f;
            sp--;
            NEXT(1);
        case WSRT_OP_FNEG:
            t.f = -t.f;
            NEXT(1);
        case WSRT_OP_FABS:
            t.f = fabs(t.f);
            NEXT(1);
        case WSRT_OP_FMIN:
            t.f = t.f < sp->f ? t.f : sp->f;
            sp--;
            NEXT(1);
        case WSRT_OP_FMAX:
            t.f = t.f > sp->f ? t.f : sp->f;
            sp--;
            NEXT(1);
        case WSRT_OP_FCLAMP:
            f = sp[-1].f < sp[0].f ? sp[0].f : sp[-1].f;
            t.f = f > t.f ? t.f : f;
            sp -= 2;
            NEXT(1);
            BINARY(FEQ, sp->f == t.f)
            BINARY(FNE, sp->f != t.f)
            BINARY(FLT, sp->f < t.f)
            BINARY(FLE, sp->f <= t.f)
            BINARY(FGT, sp->f > t.f)
            BINARY(FGE, sp->f >= t.f)
            UNARY(FTRUTH, t.f != 0)
        case WSRT_OP_TO_FLOAT:
            t.f = (double)t.i;
            NEXT(1);
        case WSRT_OP_TO_INT:
            rc = to_int(t.f, &r);
            if (rc != WSRT_EVAL_OK)
                goto fail;
            t.i = r;
            NEXT(1);
        case WSRT_NOPS:
        default:
            __builtin_unreachable();
        }
    }
overflow:
    rc = WSRT_EVAL_OVERFLOW;
    goto fail;
div_zero:
    rc = WSRT_EVAL_DIV_ZERO;
    goto fail;
domain:
    rc = WSRT_EVAL_DOMAIN;
fail:
    report(code, pc, sp, t, vars, where, operands);
    return rc;
}

int wsrt_eval(const uint8_t *code, size_t bytes, const union wsrt_value *vars,
              union wsrt_value *out, uint32_t *where)
{
    /* The check has made sure of the END that stops the machine. */
    (void)bytes;
    return run(code, vars, out, where, NULL);
}

int wsrt_eval_explain(const uint8_t *code, const union wsrt_value *vars,
                      union wsrt_value *out, uint32_t *where,
                      struct wsrt_operands *operands)
{
    return run(code, vars, out, where, operands);
}
