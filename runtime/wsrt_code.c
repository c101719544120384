/*
 * wsrt_code.c: the static check of bytecode, done once when a program is
 * loaded so that the evaluator need not look again. See wsrt_code.h.
 *
 * Jumps go forward only, so one pass in order of addresses is enough: the
 * targets that lie ahead wait in a small stack sorted by address, nearest on
 * top, each with the stack depth with which it was reached. Where a target
 * is passed over without being the start of an instruction, two depths
 * disagree, or an instruction cannot be reached at all, the program is
 * refused. Works on any bytes, allocates nothing.
 */
#include "wsrt_code.h"

const struct wsrt_op_info wsrt_op_info[WSRT_NOPS] = {
#define WSRT_X(name, imm, pops, pushes, is_float)                              \
    {WSRT_IMM_##imm, pops, pushes, is_float},
    WSRT_OPS(WSRT_X)
#undef WSRT_X
};

const uint8_t wsrt_imm_bytes[WSRT_NIMM] = {
    [WSRT_IMM_NONE] = 0, [WSRT_IMM_I8] = 1,   [WSRT_IMM_I32] = 4,
    [WSRT_IMM_W64] = 8,  [WSRT_IMM_SLOT] = 2, [WSRT_IMM_JUMP] = 4,
};

struct join {
    uint32_t target, depth;
};

struct check {
    struct join join[WSRT_JOINS_MAX]; /* farthest first */
    size_t njoin;
    uint32_t depth;
    int live; /* the instruction is reached by falling through */
};

static int add_join(struct check *c, uint32_t target, uint32_t depth)
{
    size_t i = c->njoin;

    while (i > 0 && c->join[i - 1].target < target)
        i--;
    if (i > 0 && c->join[i - 1].target == target)
        return c->join[i - 1].depth == depth ? 0 : -1;
    if (c->njoin == WSRT_JOINS_MAX)
        return -1;
    for (size_t k = c->njoin++; k > i; k--)
        c->join[k] = c->join[k - 1];
    c->join[i] = (struct join){target, depth};
    return 0;
}

/* Comes to address `at`: jumps that lead here must agree. */
static int arrive(struct check *c, uint32_t at)
{
    if (c->njoin && c->join[c->njoin - 1].target <= at) {
        struct join j = c->join[--c->njoin];

        if (j.target != at || (c->live && c->depth != j.depth))
            return -1;
        c->depth = j.depth;
        c->live = 1;
    }
    return c->live ? 0 : -1;
}

static int check_jump(struct check *c, unsigned op, uint32_t distance,
                      size_t next, size_t bytes)
{
    int keeps = op == WSRT_OP_JF_KEEP || op == WSRT_OP_JT_KEEP;

    if (distance >= bytes - next)
        return -1;
    if (op == WSRT_OP_JUMP)
        c->live = 0;
    return add_join(c, (uint32_t)next + distance, c->depth + (keeps ? 1U : 0U));
}

int wsrt_code_check(const uint8_t *code, size_t bytes, size_t nvars,
                    int integer_only)
{
    struct check c;
    size_t at = 0;

    if (!code || !bytes || bytes > WSRT_CODE_BYTES_MAX)
        return WSRT_EVAL_BAD_CODE;
    c.njoin = 0;
    c.depth = 0;
    c.live = 1;
    while (at < bytes) {
        const uint8_t *imm = code + at + 1;
        unsigned op = code[at];
        const struct wsrt_op_info *o;

        if (op >= WSRT_NOPS || arrive(&c, (uint32_t)at) != 0)
            return WSRT_EVAL_BAD_CODE;
        o = &wsrt_op_info[op];
        if (wsrt_imm_bytes[o->imm] > bytes - at - 1 ||
            (integer_only && o->is_float) || c.depth < o->pops)
            return WSRT_EVAL_BAD_CODE;
        c.depth = c.depth - o->pops + o->pushes;
        if (c.depth > WSRT_STACK_MAX)
            return WSRT_EVAL_BAD_CODE;
        at += 1U + wsrt_imm_bytes[o->imm];
        if (op == WSRT_OP_END)
            return at == bytes && !c.depth && !c.njoin ? WSRT_EVAL_OK
                                                       : WSRT_EVAL_BAD_CODE;
        if (o->imm == WSRT_IMM_SLOT && wsrt_get16(imm) >= nvars)
            return WSRT_EVAL_BAD_CODE;
        if (o->imm == WSRT_IMM_JUMP &&
            check_jump(&c, op, wsrt_get32(imm), at, bytes) != 0)
            return WSRT_EVAL_BAD_CODE;
    }
    return WSRT_EVAL_BAD_CODE;
}
