/*
 * expr.h: the expression language of constraints, grids, shapes and values.
 *
 * Python-like text, statically typed, compiled to the bytecode that the
 * runtime evaluates (runtime/wsrt.h): offline and at run time the same code
 * computes the same bits. Types: int (64 bit, overflow is an error with the
 * place), float, bool, str. Strings live in slots as ids of an intern table,
 * so that evaluation never touches text and never allocates.
 *
 *   literals   1  0x10  1.5  1e3  'a'  "b"  True/true  False/false
 *   operators  + - * / (true division) // % (floor, as Python) ** and the
 *              comparisons (chained as Python), and or not && || !, in,
 *              not in, a if c else b, & | ^ << >> ~ on ints
 *   functions  min max abs ceil_div(a, b) round_up(a, b) is_pow2 log2_floor
 *              clamp(x, lo, hi) int float bool len range list sum any all
 *   lists      [1, 2], [f(i) for i in range(n) if c], list + list, tuples;
 *              only at load time and on the right of `in`
 *
 * What is compiled lives in the arena given and is constant: any number of
 * threads may evaluate it at once (with a context of their own). Scopes and
 * string tables belong to the thread that loads.
 */
#ifndef WS_EXPR_H
#define WS_EXPR_H

#include "base/mem.h"
#include "wsrt_eval.h"

enum ws__type { WS__INT, WS__FLOAT, WS__BOOL, WS__STR };

const char *ws__type_name(enum ws__type t);

/* A value as found in a specification. */
struct ws__value {
    enum ws__type type;
    union {
        int64_t i; /* int, bool (0 or 1) */
        double f;
        const char *s;
    } u;
};

bool ws__value_eq(const struct ws__value *a, const struct ws__value *b);
/* Text that parses back to the same value (strings unquoted if bare). */
int ws__value_print(struct ws__buf *b, const struct ws__value *v);

/* Interned strings: equal text, equal id. Lives in an arena. */
struct ws__strtab {
    struct ws__arena *arena;
    const char **text;
    size_t n, cap;
};
int ws__strtab_id(struct ws__strtab *t, const char *s, int64_t *id);

/* The slot form of a value: strings become ids of `t`. */
int ws__value_slot(struct ws__strtab *t, const struct ws__value *v,
                   union wsrt_value *out);

#define WS__MAX_SLOTS 128

/* A word that stands for a number, as the element types do. */
struct ws__word {
    const char *name;
    int64_t value;
};

/* The same for the constants of an op: an int or a float. */
struct ws__constant {
    const char *name;
    struct ws__value value;
    struct ws__loc loc;
};

/* The names an expression may use. Slot i is variable i at evaluation. A name
 * of the scope goes before a constant, and that before a word. */
struct ws__scope {
    struct ws__scope_name {
        const char *name;
        enum ws__type type;
    } names[WS__MAX_SLOTS];
    size_t n;
    struct ws__strtab *strings;
    const struct ws__word *word; /* array; constant */
    size_t nword;
    const struct ws__constant *constant; /* the same */
    size_t nconstant;
};

/* WS_ESPEC if full or taken; *slot may be NULL. `name` is kept, not copied. */
int ws__scope_add(struct ws_ctx *ctx, struct ws__scope *s, const char *name,
                  enum ws__type type, size_t *slot);
int ws__scope_find(const struct ws__scope *s, const char *name); /* or -1 */

struct ws__expr {
    const char *text;
    struct ws__loc loc; /* of the first character of text */
    enum ws__type type;
    const uint8_t *code; /* wsrt bytecode */
    size_t code_bytes;
    const uint32_t *place; /* per code byte: offset into text, for errors */
    uint64_t uses[WS__MAX_SLOTS / 64]; /* slots read */
    bool integer_only; /* uses no float: may be part of a pack's decisions */
};

/* A bool that is meant as one: `BM % 4` and `5` are refused, while a number
 * beside a comparison (`STAGE or BM == 64`) counts as its truth. */
#define WS__CONDITION (-2)

/* Parses, checks types, compiles into the arena. `want`: result type that is
 * required, WS__CONDITION, or -1 for any; int is converted to float, int/bool
 * to bool (its truth) where wanted. Errors: WS_EEXPR with line and column
 * inside the file of `loc`, the offending text quoted, and a hint (nearest
 * known name). */
int ws__expr_compile(struct ws_ctx *ctx, struct ws__arena *arena,
                     const char *text, const struct ws__loc *loc,
                     const struct ws__scope *scope, int want,
                     struct ws__expr **out);
/* The expression in C++, over int64_t and double, for code that leaves us:
 * `name` prints what a slot is. Functions begin with "wsl_" (wsl_floor_div,
 * wsl_mod, wsl_pow, wsl_min, ...). Sums that overflow are not caught there.
 * WS_ENOTSUP at the place: lists that only we can build, and text that is
 * asked whether it is empty. */
int ws__expr_print_c(struct ws_ctx *ctx, const struct ws__expr *e,
                     const struct ws__scope *scope,
                     int (*name)(void *user, size_t slot, struct ws__buf *out),
                     void *user, struct ws__buf *out);
/* Evaluates; vars has a slot for every name of the scope. On failure
 * (overflow, division by zero) the error names the place in the text. */
int ws__expr_eval(struct ws_ctx *ctx, const struct ws__expr *e,
                  const union wsrt_value *vars, union wsrt_value *out);
int ws__expr_eval_int(struct ws_ctx *ctx, const struct ws__expr *e,
                      const union wsrt_value *vars, int64_t *out);
/* No context, no text, no allocation: 1, 0, or a negative code. */
int ws__expr_test(const struct ws__expr *e, const union wsrt_value *vars);
bool ws__expr_uses(const struct ws__expr *e, size_t slot);

/* How a condition turns while `slot` (no float) rises from lo to hi and every
 * other slot stays at some value within its own lo and hi: not at all, only
 * from false to true, or only from true to false. Then it can be evaluated for
 * all of these values; otherwise nothing is known. */
enum ws__trend {
    WS__TREND_UNKNOWN,
    WS__TREND_NONE,
    WS__TREND_UP,
    WS__TREND_DOWN
};
enum ws__trend ws__expr_trend(const struct ws__expr *e,
                              const union wsrt_value *lo,
                              const union wsrt_value *hi, size_t slot);

/* A value list, built now: "[2**i for i in range(4)]", "[1, 2] + [8]". Names
 * of `consts` (may be NULL) are usable. At most `max` values, else
 * WS_ELIMIT. All values get one type (ints become floats where mixed; other
 * mixes are WS_EEXPR). */
int ws__expr_list(struct ws_ctx *ctx, struct ws__arena *arena, const char *text,
                  const struct ws__loc *loc, const struct ws__scope *consts,
                  const union wsrt_value *const_vars, size_t max,
                  struct ws__value **values, size_t *n);

#endif
