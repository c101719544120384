/*
 * expr_ast.h: what the stages of the expression compiler share. Private.
 *
 * text -> (lex, parse) -> nodes -> (check: names, types, constants) -> nodes
 * that know type and dependencies -> (emit) -> bytecode. Lists never reach
 * bytecode: they are taken apart by the check, or built by a small evaluator
 * (expr_list.c) that walks the same nodes and runs their scalar parts as
 * bytecode, so that both worlds compute the same values.
 *
 * Nodes live in a scratch arena and hold offsets into the text, from which
 * every message gets its line, column and quotation.
 */
#ifndef WS_EXPR_AST_H
#define WS_EXPR_AST_H

#include "expr/expr.h"
#include "wsrt_code.h"

#define WS__TEXT_MAX ((size_t)65536)
#define WS__NESTING_MAX 200 /* of the parser: parentheses, not, **, ... */
#define WS__HEIGHT_MAX 600  /* of the tree: also long chains of + */
#define WS__LOOPS_MAX 16    /* loop variables in scope at once */
#define WS__INLINE_MAX ((size_t)4096)    /* values right of `in` */
#define WS__LIST_STEPS ((size_t)4000000) /* elements made and loop turns */

/* --- tokens --- */

enum ws__tok_kind {
    WS__T_END,
    WS__T_INT,
    WS__T_FLOAT,
    WS__T_STR,
    WS__T_NAME,
    WS__T_LPAR,
    WS__T_RPAR,
    WS__T_LBRACKET,
    WS__T_RBRACKET,
    WS__T_COMMA,
    WS__T_OR,
    WS__T_AND,
    WS__T_NOT,
    WS__T_IN,
    WS__T_IF,
    WS__T_ELSE,
    WS__T_FOR,
    WS__T_TRUE,
    WS__T_FALSE,
    WS__T_OROR,
    WS__T_ANDAND,
    WS__T_BANG,
    WS__T_EQ,
    WS__T_NE,
    WS__T_LT,
    WS__T_LE,
    WS__T_GT,
    WS__T_GE,
    WS__T_PLUS,
    WS__T_MINUS,
    WS__T_STAR,
    WS__T_SLASH,
    WS__T_FLOOR,
    WS__T_PERCENT,
    WS__T_POWER,
    WS__T_PIPE,
    WS__T_CARET,
    WS__T_AMP,
    WS__T_SHL,
    WS__T_SHR,
    WS__T_TILDE
};

struct ws__tok {
    enum ws__tok_kind kind;
    uint32_t at, end;
    bool min_int; /* 2**63: only right after a unary minus */
    union wsrt_value v;
    const char *s;
};

/* --- nodes --- */

enum ws__node_kind {
    WS__N_LIT,
    WS__N_STR, /* a literal whose id is not known yet */
    WS__N_NAME,
    WS__N_SLOT,
    WS__N_UNARY,
    WS__N_BINARY,
    WS__N_COMPARE, /* kid[0] op[0] kid[1] op[1] kid[2] ... */
    WS__N_IN,      /* kid[0] in kid[1] (a list) */
    WS__N_AND,
    WS__N_OR,
    WS__N_COND, /* kid[0] if kid[1] else kid[2] */
    WS__N_CALL,
    WS__N_CONVERT, /* kid[0] as `type` */
    WS__N_LIST,
    WS__N_COMP /* kid[0]: the element; then one kid a clause */
};

enum ws__fn {
    WS__FN_MIN,
    WS__FN_MAX,
    WS__FN_ABS,
    WS__FN_CEIL_DIV,
    WS__FN_ROUND_UP,
    WS__FN_IS_POW2,
    WS__FN_LOG2_FLOOR,
    WS__FN_CLAMP,
    WS__FN_INT,
    WS__FN_FLOAT,
    WS__FN_BOOL,
    WS__FN_LEN,
    WS__FN_SUM,
    WS__FN_ANY,
    WS__FN_ALL,
    WS__FN_RANGE,
    WS__FN_LIST,
    WS__NFN
};

struct ws__clause {
    const char *var; /* NULL: an `if` */
    uint32_t at;
    unsigned slot;
};

struct ws__code {
    uint8_t *code;
    uint32_t *place;
    size_t n;
};

struct ws__node {
    enum ws__node_kind kind;
    uint8_t op;     /* enum ws__tok_kind, or enum ws__fn of a call */
    bool c_style;   /* && ||: a truth value, whatever the sides are */
    bool negated;   /* not in */
    bool ranged;    /* in range(...), compiled to comparisons */
    bool is_list;   /* `type` is the type of its elements */
    bool untyped;   /* a list that is empty for sure */
    bool checked;   /* types and dependencies below are valid */
    bool reads;     /* depends on a slot of the scope */
    bool walks;     /* holds a list that only the evaluator can build */
    uint32_t loops; /* loop variables from outside that it depends on */
    enum ws__type type;
    uint32_t at;         /* where an error of this node points to */
    uint32_t begin, end; /* its text */
    unsigned height;
    unsigned slot;
    union wsrt_value v;
    const char *s; /* name or text */
    struct ws__node **kid;
    size_t nkid;
    uint8_t *ops;     /* COMPARE */
    uint32_t *ops_at; /* COMPARE */
    struct ws__clause *clause;
    size_t nclause;
    /* Caches of the list evaluator. */
    struct ws__code *compiled;
    struct ws__node *shadow;
};

struct ws__loop {
    const char *name;
    enum ws__type type;
};

/* One text being compiled. */
struct ws__ec {
    struct ws_ctx *ctx;
    struct ws__arena *scratch;
    const char *text;
    size_t len;
    struct ws__loc loc;
    const struct ws__scope *scope;      /* never NULL */
    const union wsrt_value *const_vars; /* names are these constants */
    struct ws__strtab *strings;         /* may be NULL */
    int64_t empty_id;                   /* of "" */
    /* parser */
    struct ws__tok tok;
    uint32_t pos, prev_end;
    unsigned nesting;
    /* check */
    struct ws__loop loop[WS__LOOPS_MAX];
    size_t nloop;
    /* emitter */
    uint8_t *code;
    uint32_t *place;
    size_t n, cap;
    /* list evaluator: slots of loop variables and parts of scalars */
    union wsrt_value *slot;
    size_t nslot, slot_cap;
    size_t steps;
};

/* Slots past those of any scope belong to loop variables, then to parts. */
#define WS__LOOP_SLOT WS__MAX_SLOTS
#define WS__PART_SLOT (WS__MAX_SLOTS + WS__LOOPS_MAX)
#define WS__SLOTS_LIMIT 60000

/* A list that exists: at load time, in the scratch arena. */
struct ws__list {
    enum ws__type type;
    bool untyped;
    union wsrt_value *v;
    size_t n, cap;
};

/* expr_error.c */
struct ws__quote {
    char s[56];
};
struct ws__quote ws__expr_quote(const char *text, size_t begin, size_t end);
struct ws__loc ws__expr_loc(const struct ws__loc *loc, const char *text,
                            size_t at);
int ws__expr_fail(struct ws__ec *c, uint32_t at, const char *fmt, ...)
    WS_PRINTF(3, 4);
int ws__expr_unknown(struct ws__ec *c, const struct ws__node *n);
int ws__expr_unknown_fn(struct ws__ec *c, const struct ws__tok *name);
int ws__expr_run_fail(struct ws_ctx *ctx, const struct ws__loc *loc,
                      const char *text, uint32_t at, int status,
                      const struct wsrt_operands *o);

/* expr_lex.c */
int ws__lex(struct ws__ec *c); /* next token into c->tok */
bool ws__lex_is_keyword(const char *s, size_t n);
const char *ws__fn_name(enum ws__fn fn);
int ws__fn_find(const char *s, size_t n); /* or -1 */

/* expr_parse.c */
int ws__expr_parse(struct ws__ec *c, bool list, struct ws__node **out);
int ws__node_new(struct ws__ec *c, enum ws__node_kind kind, uint32_t at,
                 struct ws__node *const *kid, size_t nkid,
                 struct ws__node **out);

/* expr_check.c, expr_check_list.c */
int ws__expr_check(struct ws__ec *c, struct ws__node **n);
int ws__expr_check_scalar(struct ws__ec *c, struct ws__node **n);
int ws__expr_check_in(struct ws__ec *c, struct ws__node **n);
int ws__expr_check_list(struct ws__ec *c, struct ws__node **n);
int ws__expr_check_comp(struct ws__ec *c, struct ws__node *n);
int ws__expr_coerce(struct ws__ec *c, struct ws__node **n, enum ws__type t);
int ws__expr_need_number(struct ws__ec *c, const struct ws__node *n);
enum ws__type ws__expr_join(enum ws__type a, enum ws__type b);
void ws__expr_inherit(struct ws__node *n);
void ws__node_lit(struct ws__node *n, enum ws__type type, union wsrt_value v);

/* expr_emit.c */
int ws__expr_emit(struct ws__ec *c, const struct ws__node *n);
/* The whole program of a scalar node, checked; in the given arena. */
int ws__expr_program(struct ws__ec *c, struct ws__arena *a,
                     const struct ws__node *n, size_t nslots,
                     struct ws__code *out);

/* expr_list.c */
int ws__list_eval(struct ws__ec *c, struct ws__node *n, struct ws__list *out);
int ws__list_scalar(struct ws__ec *c, struct ws__node *n,
                    union wsrt_value *out);

/* value.c */
int ws__number_parse(const char *s, size_t n, double *out);

/* expr.c */
int ws__ec_open(struct ws__ec *c, struct ws_ctx *ctx, struct ws__arena *scratch,
                const char *text, const struct ws__loc *loc,
                const struct ws__scope *scope);
void ws__ec_close(struct ws__ec *c);

#endif
