/*
 * pack_factor.c: takes a coordinate apart where it is a product.
 *
 * Blocks of a tile, and the steps of all of them, are products of the same few
 * quotients rounded up: ceil_div(M, 64) is in dozens of coordinates. Kept as
 * products of coordinates they cost a look-up some multiplications, and each
 * quotient one division, or a shift, for all candidates.
 *
 * Factors are variable axes and quotients of them by constants above 0: these
 * cannot fail and are at least 1, so that a product has the same value in any
 * order, and is as much too large in any. All else stays a program.
 */
#include "pack/pack_build.h"

#include "wsrt_code.h"

#include "base/banned.h"

#define STACK 8

/* A constant has no factors; a lone quotient is one factor, value 1. */
static bool multiply(struct ws__pack_product *to,
                     const struct ws__pack_product *by)
{
    if (to->n + by->n > WSRT_FACTORS || by->value < 1 ||
        __builtin_mul_overflow(to->value, by->value, &to->value) ||
        to->value > WSRT_MAX_COORD)
        return false;
    memcpy(to->factor + to->n, by->factor, by->n * sizeof(*by->factor));
    to->n += by->n;
    return true;
}

/* ceil(ceil(x / a) / b) = ceil(x / (a b)) */
static bool divide(struct ws__pack_product *p,
                   const struct ws__pack_product *by)
{
    int64_t *divisor = &p->factor[0].divisor;

    return !by->n && by->value > 0 && p->value == 1 && p->n == 1 &&
           !__builtin_mul_overflow(*divisor, by->value, divisor) &&
           *divisor <= WSRT_MAX_COORD;
}

static struct ws__pack_product number(int64_t v)
{
    return (struct ws__pack_product){.value = v};
}

/* What an instruction reads. */
static struct ws__pack_product operand(const uint8_t *pc)
{
    if (*pc == WSRT_OP_PUSH8)
        return number((int8_t)pc[1]);
    if (*pc == WSRT_OP_PUSH32 || *pc == WSRT_OP_MULK)
        return number((int32_t)wsrt_get32(pc + 1));
    return (struct ws__pack_product){
        .value = 1,
        .n = 1,
        .factor = {{.axis = (uint16_t)wsrt_get16(pc + 1), .divisor = 1}}};
}

/* One instruction; false: not part of a product. */
static bool step(const uint8_t *pc, struct ws__pack_product *stack, size_t *n)
{
    struct ws__pack_product right;

    switch (*pc) {
    case WSRT_OP_VAR:
    case WSRT_OP_PUSH8:
    case WSRT_OP_PUSH32:
        stack[(*n)++] = operand(pc);
        return true;
    case WSRT_OP_MULV:
    case WSRT_OP_MULK:
        right = operand(pc);
        return multiply(&stack[*n - 1], &right);
    case WSRT_OP_MUL:
        (*n)--;
        return stack[*n - 1].value > 0 && multiply(&stack[*n - 1], &stack[*n]);
    case WSRT_OP_CEIL_DIV:
        (*n)--;
        return divide(&stack[*n - 1], &stack[*n]);
    default:
        return false;
    }
}

bool ws__pack_product(const struct ws__op *op, const uint8_t *code,
                      struct ws__pack_product *out)
{
    struct ws__pack_product stack[STACK];
    size_t n = 0;

    for (const uint8_t *pc = code; *pc != WSRT_OP_END;
         pc += 1 + wsrt_imm_bytes[wsrt_op_info[*pc].imm])
        if (n == STACK || !step(pc, stack, &n))
            return false;
    *out = stack[0];
    for (size_t i = 0; i < out->n; i++)
        if (op->axis[out->factor[i].axis].kind != WS__AXIS_VAR)
            return false;
    return true;
}
