/*
 * wsrt_code.h: the instruction set of expression bytecode. Private to the
 * runtime and to the compiler in src/expr.
 *
 * Programs are stored in pack files, so the numbers are fixed: opcodes are
 * only ever appended. An instruction is one opcode byte and an immediate of
 * a size that the opcode fixes, little-endian and unaligned. A jump holds the
 * distance from the next instruction: it cannot go backwards, so every
 * program ends. A program is one END at its very end.
 *
 * Integers and floats have opcodes of their own (F...), truth values are the
 * integers 0 and 1. Opcodes that end in V take their right operand from a
 * slot, those in K from a 32-bit constant: the pairs that constraints are
 * made of, at one dispatch instead of two.
 */
#ifndef WSRT_CODE_H
#define WSRT_CODE_H

#include "wsrt_eval.h"

enum wsrt_imm {
    WSRT_IMM_NONE,
    WSRT_IMM_I8,
    WSRT_IMM_I32,
    WSRT_IMM_W64, /* integer or the bits of a double */
    WSRT_IMM_SLOT,
    WSRT_IMM_JUMP,
    WSRT_NIMM
};

/* name, immediate, values taken, values left, works on floats. The stack
 * effect of the jumps is the one of falling through. */
#define WSRT_OPS(X)                                                            \
    X(END, NONE, 1, 0, 0)                                                      \
    X(PUSH8, I8, 0, 1, 0)                                                      \
    X(PUSH32, I32, 0, 1, 0)                                                    \
    X(PUSH64, W64, 0, 1, 0)                                                    \
    X(PUSHF, W64, 0, 1, 1)                                                     \
    X(VAR, SLOT, 0, 1, 0)                                                      \
    X(POP, NONE, 1, 0, 0)                                                      \
    X(DUP, NONE, 1, 2, 0)                                                      \
    X(NIP, NONE, 2, 1, 0)  /* a b -> b */                                      \
    X(TUCK, NONE, 2, 3, 0) /* a b -> b a b */                                  \
    X(JUMP, JUMP, 0, 0, 0)                                                     \
    X(JF, JUMP, 1, 0, 0)                                                       \
    X(JT, JUMP, 1, 0, 0)                                                       \
    X(JF_KEEP, JUMP, 1, 0, 0) /* keeps the value where it jumps */             \
    X(JT_KEEP, JUMP, 1, 0, 0)                                                  \
    X(ADD, NONE, 2, 1, 0)                                                      \
    X(SUB, NONE, 2, 1, 0)                                                      \
    X(MUL, NONE, 2, 1, 0)                                                      \
    X(TRUE_DIV, NONE, 2, 1, 1) /* integers in, float out */                    \
    X(FLOOR_DIV, NONE, 2, 1, 0)                                                \
    X(MOD, NONE, 2, 1, 0)                                                      \
    X(POW, NONE, 2, 1, 0)                                                      \
    X(NEG, NONE, 1, 1, 0)                                                      \
    X(ABS, NONE, 1, 1, 0)                                                      \
    X(MIN, NONE, 2, 1, 0)                                                      \
    X(MAX, NONE, 2, 1, 0)                                                      \
    X(CEIL_DIV, NONE, 2, 1, 0)                                                 \
    X(ROUND_UP, NONE, 2, 1, 0)                                                 \
    X(IS_POW2, NONE, 1, 1, 0)                                                  \
    X(LOG2_FLOOR, NONE, 1, 1, 0)                                               \
    X(CLAMP, NONE, 3, 1, 0)                                                    \
    X(AND, NONE, 2, 1, 0)                                                      \
    X(OR, NONE, 2, 1, 0)                                                       \
    X(XOR, NONE, 2, 1, 0)                                                      \
    X(NOT, NONE, 1, 1, 0)                                                      \
    X(SHL, NONE, 2, 1, 0)                                                      \
    X(SHR, NONE, 2, 1, 0)                                                      \
    X(EQ, NONE, 2, 1, 0)                                                       \
    X(NE, NONE, 2, 1, 0)                                                       \
    X(LT, NONE, 2, 1, 0)                                                       \
    X(LE, NONE, 2, 1, 0)                                                       \
    X(GT, NONE, 2, 1, 0)                                                       \
    X(GE, NONE, 2, 1, 0)                                                       \
    X(TRUTH, NONE, 1, 1, 0)                                                    \
    X(LNOT, NONE, 1, 1, 0)                                                     \
    X(FADD, NONE, 2, 1, 1)                                                     \
    X(FSUB, NONE, 2, 1, 1)                                                     \
    X(FMUL, NONE, 2, 1, 1)                                                     \
    X(FDIV, NONE, 2, 1, 1)                                                     \
    X(FFLOOR_DIV, NONE, 2, 1, 1)                                               \
    X(FMOD, NONE, 2, 1, 1)                                                     \
    X(FPOW, NONE, 2, 1, 1)                                                     \
    X(FNEG, NONE, 1, 1, 1)                                                     \
    X(FABS, NONE, 1, 1, 1)                                                     \
    X(FMIN, NONE, 2, 1, 1)                                                     \
    X(FMAX, NONE, 2, 1, 1)                                                     \
    X(FCLAMP, NONE, 3, 1, 1)                                                   \
    X(FEQ, NONE, 2, 1, 1)                                                      \
    X(FNE, NONE, 2, 1, 1)                                                      \
    X(FLT, NONE, 2, 1, 1)                                                      \
    X(FLE, NONE, 2, 1, 1)                                                      \
    X(FGT, NONE, 2, 1, 1)                                                      \
    X(FGE, NONE, 2, 1, 1)                                                      \
    X(FTRUTH, NONE, 1, 1, 1)                                                   \
    X(TO_FLOAT, NONE, 1, 1, 1)                                                 \
    X(TO_INT, NONE, 1, 1, 1)                                                   \
    X(ADDV, SLOT, 1, 1, 0)                                                     \
    X(SUBV, SLOT, 1, 1, 0)                                                     \
    X(MULV, SLOT, 1, 1, 0)                                                     \
    X(FLOOR_DIVV, SLOT, 1, 1, 0)                                               \
    X(MODV, SLOT, 1, 1, 0)                                                     \
    X(EQV, SLOT, 1, 1, 0)                                                      \
    X(NEV, SLOT, 1, 1, 0)                                                      \
    X(LTV, SLOT, 1, 1, 0)                                                      \
    X(LEV, SLOT, 1, 1, 0)                                                      \
    X(GTV, SLOT, 1, 1, 0)                                                      \
    X(GEV, SLOT, 1, 1, 0)                                                      \
    X(ADDK, I32, 1, 1, 0)                                                      \
    X(SUBK, I32, 1, 1, 0)                                                      \
    X(MULK, I32, 1, 1, 0)                                                      \
    X(FLOOR_DIVK, I32, 1, 1, 0)                                                \
    X(MODK, I32, 1, 1, 0)                                                      \
    X(EQK, I32, 1, 1, 0)                                                       \
    X(NEK, I32, 1, 1, 0)                                                       \
    X(LTK, I32, 1, 1, 0)                                                       \
    X(LEK, I32, 1, 1, 0)                                                       \
    X(GTK, I32, 1, 1, 0)                                                       \
    X(GEK, I32, 1, 1, 0)

enum wsrt_op {
#define WSRT_X(name, imm, pops, pushes, is_float) WSRT_OP_##name,
    WSRT_OPS(WSRT_X)
#undef WSRT_X
        WSRT_NOPS
};

struct wsrt_op_info {
    uint8_t imm, pops, pushes, is_float;
};

extern const struct wsrt_op_info wsrt_op_info[WSRT_NOPS];
extern const uint8_t wsrt_imm_bytes[WSRT_NIMM];

#define WSRT_CODE_BYTES_MAX ((size_t)1 << 24)
/* Different targets that may be open at one place: one a nesting level. */
#define WSRT_JOINS_MAX 512

static inline uint32_t wsrt_get16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t wsrt_get32(const uint8_t *p)
{
    return wsrt_get16(p) | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t wsrt_get64(const uint8_t *p)
{
    return wsrt_get32(p) | (uint64_t)wsrt_get32(p + 4) << 32;
}

/* What a failing instruction was given. */
struct wsrt_operands {
    unsigned n;
    int is_float;
    union wsrt_value v[3]; /* left to right */
};

/* As wsrt_eval; on failure *operands is filled in too. */
int wsrt_eval_explain(const uint8_t *code, const union wsrt_value *vars,
                      union wsrt_value *out, uint32_t *where,
                      struct wsrt_operands *operands);

#endif
