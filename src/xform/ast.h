/*
 * ast.h: the tree of a kernel's source, as transformations read it.
 *
 * clang parses (ast_build.c); what transformations need of its tree is copied
 * into an array of nodes in the order of the text, and clang is done. So
 * transformations are plain functions of data. Offsets are bytes of the file
 * that the user wrote; nodes of other files (headers, and the #defines of the
 * parameters) are not there. A node that comes from a macro has the place where
 * the macro is used.
 *
 * Everything lives in the arena given and is constant once built.
 */
#ifndef WS_XFORM_AST_H
#define WS_XFORM_AST_H

#include "core/kernel.h"

enum ws__ast_kind {
    WS__AST_FUNCTION, /* first: PARAMs, then a BLOCK */
    WS__AST_PARAM,
    WS__AST_VAR,   /* first: its initial value, if it has one */
    WS__AST_DECL,  /* a statement of VARs */
    WS__AST_BLOCK, /* { } */
    WS__AST_FOR,   /* for its parts see ws__ast_for */
    WS__AST_WHILE, /* condition, body */
    WS__AST_DO,    /* body, condition */
    WS__AST_IF,    /* condition, then, else */
    WS__AST_RETURN,
    WS__AST_BREAK,
    WS__AST_CONTINUE,
    WS__AST_EMPTY, /* ; */
    WS__AST_JUMP,  /* goto, labels, switch, assembly: nothing is proven of it */
    WS__AST_BINARY,
    WS__AST_ASSIGN, /* op: ASSIGN, or that of the compound */
    WS__AST_UNARY,
    WS__AST_CHOICE, /* a ? b : c */
    WS__AST_CALL,   /* name; first: the function (a REF), then the arguments */
    WS__AST_REF,    /* to decl, or to something elsewhere by name */
    WS__AST_MEMBER, /* first: the object; name */
    WS__AST_INDEX,  /* first: what is indexed, then the index */
    WS__AST_INT,    /* value */
    WS__AST_FLOAT,
    WS__AST_PAREN,
    WS__AST_CAST,
    WS__AST_LIST, /* { a, b } */
    WS__AST_OTHER /* nothing is known of it but its children */
};

/* clang's numbers, CL_BinaryOperator_* and CL_UnaryOperator_*. */

enum ws__ast_class { WS__AT_OTHER, WS__AT_VOID, WS__AT_INT, WS__AT_FLOAT };
enum ws__ast_space {
    WS__AS_NONE, /* a thread's own, or not known */
    WS__AS_GLOBAL,
    WS__AS_SHARED,
    WS__AS_CONSTANT
};

struct ws__ast_type {
    enum ws__ast_class class; /* of a number; of what a pointer or an array is
                                 to, at the bottom */
    uint16_t bits;            /* of one such number */
    uint16_t width;           /* of a vector: how many; else 1 */
    bool is_unsigned;
    bool is_const;    /* the number; behind a pointer: what it points to */
    bool is_restrict; /* the pointer */
    uint8_t pointers; /* 0: no pointer; 1: to numbers */
    uint8_t ndim;     /* of an array */
    int64_t dim[4];   /* -1: not known here */
    enum ws__ast_space space; /* of a variable, or behind a pointer */
};

struct ws__ast_node {
    enum ws__ast_kind kind;
    uint32_t begin, end;  /* bytes of the file, `end` behind the last */
    int32_t parent, next; /* -1: none */
    int32_t first;        /* child; -1: none */
    int32_t after;        /* the next node that is not below it */
    int32_t use, nuse;    /* of a declaration: its REFs, from t->use[use] on */
    int32_t decl;         /* REF: the VAR, PARAM or FUNCTION; -1: elsewhere */
    uint16_t op;          /* BINARY, ASSIGN, UNARY */
    bool macro;           /* part of it is a macro */
    bool known;           /* value is one */
    bool is_kernel;       /* FUNCTION: a host can launch it */
    bool is_static;       /* VAR: not one a thread: file, shared */
    bool is_changed;      /* of a declaration: behind it, somewhere */
    int64_t value;        /* INT, or a variable that is constant */
    const char *name;     /* or NULL */
    const char *spelled;  /* the type, as clang tells it */
    struct ws__ast_type type;
};

struct ws__ast {
    const char *text; /* of the file; lines end in LF */
    size_t len;
    uint32_t *cr; /* places of LFs that are CR LF in the file, in order */
    size_t ncr;
    bool crlf; /* most are */
    const char *path;
    enum ws__dialect dialect;
    struct ws__ast_node *node;
    int32_t n;
    int32_t *use;    /* REFs, those of a declaration in a row and in order */
    uint64_t *macro; /* ranges of macros in use: begin << 32 | end, sorted */
    size_t nmacro;
};

struct ws__ast_source {
    const char *path, *text; /* of the main file */
    enum ws__dialect dialect;
    const char *prologue;       /* text before it: the parameters' #defines */
    const char *const *include; /* folders; NULL-terminated, may be NULL */
    const char *headers;        /* the folder of our own ones, by which those of
                                   CUDA are stood in for */
    const char *library;        /* libclang's file; NULL: the usual one */
};

/* WS_ENODRIVER: there is no libclang. WS_ESPEC: clang does not understand it;
 * file, line and its words. */
int ws__ast_build(struct ws_ctx *ctx, struct ws__arena *a,
                  const struct ws__ast_source *s, struct ws__ast *out);

/* --- ast.c: looking ------------------------------------------------------- */

static inline const struct ws__ast_node *ws__ast_at(const struct ws__ast *t,
                                                    int32_t i)
{
    return &t->node[i];
}
static inline bool ws__ast_is(const struct ws__ast *t, int32_t i,
                              enum ws__ast_kind k)
{
    return i >= 0 && t->node[i].kind == k;
}
int32_t ws__ast_child(const struct ws__ast *t, int32_t i, int nth); /* or -1 */
int ws__ast_nchild(const struct ws__ast *t, int32_t i);
/* Without parentheses and casts that change no type class. Those around a comma
 * stay: without them its text is another where it is moved. */
int32_t ws__ast_bare(const struct ws__ast *t, int32_t i);
/* The node behind i in the text that is not below it (n at the end): all below
 * i are i + 1 ... this - 1. */
static inline int32_t ws__ast_after(const struct ws__ast *t, int32_t i)
{
    return t->node[i].after;
}
bool ws__ast_below(const struct ws__ast *t, int32_t i, int32_t root);
/* The nearest above (or i itself) of that kind, or -1. */
int32_t ws__ast_up(const struct ws__ast *t, int32_t i, enum ws__ast_kind k);
/* The statement that i is part of: its parent is a BLOCK or a loop. */
int32_t ws__ast_statement(const struct ws__ast *t, int32_t i);
/* The function of that name, or -1. */
int32_t ws__ast_function(const struct ws__ast *t, const char *name);
/* Line and column of an offset, from 1. */
void ws__ast_line(const struct ws__ast *t, uint32_t at, struct ws__loc *out);
/* The text of a node, in the arena. */
const char *ws__ast_text(const struct ws__ast *t, struct ws__arena *a,
                         int32_t i);
/* Is it a reference to decl? */
bool ws__ast_refers(const struct ws__ast *t, int32_t i, int32_t decl);
/* The REFs to decl below root, in order; how many. */
size_t ws__ast_uses_of(const struct ws__ast *t, int32_t root, int32_t decl,
                       const int32_t **out);
/* Is decl read or written anywhere below root? */
bool ws__ast_uses(const struct ws__ast *t, int32_t root, int32_t decl);
/* Is the variable's value changed below root: assigned, ++, address taken? */
bool ws__ast_changes(const struct ws__ast *t, int32_t root, int32_t decl);
/* Does this REF change it, by what is below root? */
bool ws__ast_is_changed_at(const struct ws__ast *t, int32_t use, int32_t root);
/* Constants: literals, parameters' values, arithmetic on them. */
bool ws__ast_const(const struct ws__ast *t, int32_t i, int64_t *value);
/* Is it the binary operation or the assignment `op`? */
bool ws__ast_is_op(const struct ws__ast *t, int32_t i, int op);
/* Is it the constant v? */
bool ws__ast_is_value(const struct ws__ast *t, int32_t i, int64_t v);
/* Is it 0, an integer or a float, perhaps cast? */
bool ws__ast_is_zero(const struct ws__ast *t, int32_t i);
/* Same meaning: equal trees over equal declarations (no calls, no changes). */
bool ws__ast_same(const struct ws__ast *t, int32_t a, int32_t b);

struct ws__ast_for {
    int32_t loop, init, cond, step, body; /* -1: there is none */
    /* Where it counts: for (v = from; v < to; v += by), v being an integer of
     * at least 32 bits and changed nowhere else; `by` positive. */
    bool counts;
    int32_t var, from, to, by; /* by -1: 1 */
    bool inclusive;            /* v <= to */
};
void ws__ast_for(const struct ws__ast *t, int32_t loop,
                 struct ws__ast_for *out);

/* What a name of the launch is: which of x, y, z (0..2), or -1. */
enum ws__ast_launch {
    WS__AL_NONE,
    WS__AL_THREAD, /* threadIdx, get_local_id */
    WS__AL_BLOCK,  /* blockIdx, get_group_id */
    WS__AL_BLOCK_DIM,
    WS__AL_GRID_DIM,
    WS__AL_GLOBAL,    /* get_global_id */
    WS__AL_GLOBAL_DIM /* get_global_size */
};
enum ws__ast_launch ws__ast_launch_value(const struct ws__ast *t, int32_t i,
                                         int *dim);
/* A barrier of the whole block? */
bool ws__ast_is_barrier(const struct ws__ast *t, int32_t i);
/* May it have effects: assignments, calls that are not known to be pure? */
bool ws__ast_is_pure(const struct ws__ast *t, int32_t i);
/* Is it the name of a function of the language without effects? */
bool ws__ast_is_pure_name(const char *name);

/* Is a CALL one of a function of the language that has no effects? */
bool ws__ast_is_pure_call(const struct ws__ast *t, int32_t i);
/* Is the declaration a reference (C++)? */
bool ws__ast_is_reference(const struct ws__ast *t, int32_t decl);
/* Is a reference made to this expression, through which it may change: the
 * initial value of one, or an argument for one? */
bool ws__ast_is_bound(const struct ws__ast *t, int32_t i);

#endif
