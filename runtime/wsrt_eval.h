/*
 * wsrt_eval.h: the one evaluator of expression bytecode.
 *
 * A stack machine over 64-bit slots. Programs are typed when compiled, so the
 * machine never looks at types; it checks stack depth, jump targets and slot
 * numbers once, in wsrt_code_check, and arithmetic for overflow always.
 */
#ifndef WSRT_EVAL_H
#define WSRT_EVAL_H

#include <stddef.h>
#include <stdint.h>

union wsrt_value {
    int64_t i;
    double f;
};

#define WSRT_STACK_MAX 64

enum wsrt_eval_status {
    WSRT_EVAL_OK = 0,
    WSRT_EVAL_OVERFLOW = -1,
    WSRT_EVAL_DIV_ZERO = -2,
    WSRT_EVAL_DOMAIN = -3, /* negative shift or exponent, float not finite */
    WSRT_EVAL_BAD_CODE = -4
};

/* 0 if the program is well formed for `nvars` slots (and, if integer_only,
 * has no float operation); else WSRT_EVAL_BAD_CODE. */
int wsrt_code_check(const uint8_t *code, size_t bytes, size_t nvars,
                    int integer_only);

/* Runs a checked program. *where (may be NULL) gets the offset of the failing
 * instruction. No allocation, no locks, any thread. */
int wsrt_eval(const uint8_t *code, size_t bytes, const union wsrt_value *vars,
              union wsrt_value *out, uint32_t *where);

#endif
