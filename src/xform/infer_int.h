/* infer_int.h: private to the files of infer.c. See infer.h. */
#ifndef WS_XFORM_INFER_INT_H
#define WS_XFORM_INFER_INT_H

#include "xform/infer.h"

#define WS__IP_TERMS 16
#define WS__IP_ATOMS 5
#define WS__INFER_ATOMS 400
#define WS__INFER_ACCESSES 160
#define WS__INFER_KNOWN 40
#define WS__INFER_STRIDES 12

/* --- infer_poly.c: sums of products ----------------------------------------
 */

struct ws__ip_term {
    int64_t times;
    uint16_t atom[WS__IP_ATOMS]; /* sorted */
    uint8_t n;
};
/* n < 0: not known. */
struct ws__ip {
    int n;
    struct ws__ip_term term[WS__IP_TERMS];
};

enum ws__atom_kind {
    WS__ATOM_SIZE,  /* an axis; key: its fact */
    WS__ATOM_NAME,  /* a name that nobody defines; key: which */
    WS__ATOM_BLOCK, /* threads a block; key: dimension */
    WS__ATOM_QUOT,  /* a quotient of the above */
    WS__ATOM_THREAD,
    WS__ATOM_GROUP,
    WS__ATOM_VAR,  /* a variable; key: its declaration */
    WS__ATOM_LOAD, /* an element of whole numbers; key: the array's fact */
    WS__ATOM_DIV,  /* of one by the other */
    WS__ATOM_MOD,
    WS__ATOM_VALUE /* anything else */
};

struct ws__atom {
    enum ws__atom_kind kind;
    int32_t key, def; /* def: the assignment or VAR that made it; -1 */
    int env;
    struct ws__ip *num, *den; /* QUOT, DIV, MOD */
    struct ws__ip *most;      /* VALUE, VAR of a loop: known above */
    struct ws__ip *step;      /* VAR of a loop: what it counts by */
    bool loop, busy, many;
};

/* A call on the way from a kernel to where we are. */
struct ws__infer_env {
    int up;       /* -1: the kernel itself */
    int32_t call; /* in `up` */
    int32_t func;
};

/* What is known where something happens: sum <= most, or sum != most. */
struct ws__known {
    struct ws__ip sum, most;
    bool differs;
};
struct ws__knowledge {
    struct ws__known *at; /* WS__INFER_KNOWN */
    size_t n;
};

struct ws__infer_access {
    size_t launch, fact;
    int32_t node;
    int env;
    struct ws__ip at;
    int width;
    bool read, write, atomic, settled; /* settled: written before, by itself */
    bool shared;
    int32_t decl; /* of a shared array */
    struct ws__knowledge known;
};

struct ws__infer {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    const struct ws__infer_in *in;
    const struct ws__ast *t;
    struct ws__facts *out;
    size_t launch; /* that is looked at */
    struct ws__atom atom[WS__INFER_ATOMS];
    size_t natom;
    struct ws__infer_env env[64];
    int nenv;
    struct ws__infer_access access[WS__INFER_ACCESSES];
    size_t naccess;
    /* Of each launch and dimension. */
    struct ws__ip block[WS__MAX_LAUNCHES][3], grid[WS__MAX_LAUNCHES][3];
    bool uses[WS__MAX_LAUNCHES][3], uses_thread[WS__MAX_LAUNCHES][3];
    int64_t most_of[WS__FACT_MAX]; /* of arrays of whole numbers; -1: open */
    bool is_place[WS__FACT_MAX];   /* their elements say places */
    bool positive[WS__FACT_MAX];
    bool strides[WS__MAX_LAUNCHES][3]; /* loops step by the whole grid */
    bool numbers;                      /* texts are for the op */
    int depth, rc;
};

struct ws__ip ws__ip_unknown(void);
struct ws__ip ws__ip_number(int64_t v);
struct ws__ip ws__ip_atom(size_t atom);
struct ws__ip ws__ip_add(const struct ws__ip *a, const struct ws__ip *b,
                         int64_t times);
struct ws__ip ws__ip_multiply(const struct ws__ip *a, const struct ws__ip *b);
bool ws__ip_is_number(const struct ws__ip *a, int64_t *v);
bool ws__ip_equal(const struct ws__ip *a, const struct ws__ip *b);
/* a / b where it leaves nothing; false: it does. */
bool ws__ip_divide(const struct ws__ip *a, const struct ws__ip_term *b,
                   struct ws__ip *out);
bool ws__ip_term_divides(const struct ws__ip_term *a,
                         const struct ws__ip_term *b, struct ws__ip_term *out);
/* Is it at least 0 for all sizes from 1? */
bool ws__ip_is_natural(const struct ws__ip *a);
size_t ws__atom_get(struct ws__infer *x, enum ws__atom_kind kind, int32_t key,
                    int32_t def, int env);
bool ws__atom_varies(const struct ws__infer *x, size_t atom);
bool ws__ip_varies(const struct ws__infer *x, const struct ws__ip *a);
/* The one variable of a term; -1: none; -2: several. */
int ws__ip_variable(const struct ws__infer *x, const struct ws__ip_term *t);
/* A quotient, rounded down, of what does not vary. */
struct ws__ip ws__ip_quotient(struct ws__infer *x, const struct ws__ip *num,
                              const struct ws__ip *den);
struct ws__ip ws__ip_ceil(struct ws__infer *x, const struct ws__ip *num,
                          const struct ws__ip *den);
/* The larger one, as far as can be told. */
struct ws__ip ws__ip_larger(const struct ws__infer *x, const struct ws__ip *a,
                            const struct ws__ip *b);
/* A value for typical sizes. */
double ws__ip_typical(const struct ws__infer *x, const struct ws__ip *a);
/* As an expression of the files; NULL: it cannot be. */
const char *ws__ip_text(struct ws__infer *x, const struct ws__ip *a);

/* --- infer_eval.c, infer_known.c -------------------------------------------
 */

struct ws__ip ws__infer_value(struct ws__infer *x, int32_t expr, int env);
/* What is known at a node. */
void ws__infer_known(struct ws__infer *x, int32_t node, int env,
                     struct ws__knowledge *k);
/* Variables of which nothing is known by what they were given. */
struct ws__ip ws__infer_resolve(struct ws__infer *x, const struct ws__ip *a,
                                const struct ws__knowledge *k, bool all);
/* The largest value. */
struct ws__ip ws__infer_most(struct ws__infer *x, const struct ws__ip *a,
                             const struct ws__knowledge *k);
int ws__infer_enter(struct ws__infer *x, int32_t call, int32_t func, int up);
/* The argument that a parameter of env's function gets; -1: none. */
int32_t ws__infer_argument(const struct ws__infer *x, int32_t param, int env);
int32_t ws__infer_definition(const struct ws__infer *x, int32_t decl,
                             int32_t use);
int32_t ws__infer_init(const struct ws__ast *t, int32_t var);
/* The value that a VAR or an assignment gives. */
int32_t ws__infer_given(const struct ws__ast *t, int32_t def);
/* The largest value of a node where it stands. */
struct ws__ip ws__infer_most_here(struct ws__infer *x, int32_t i, int env);
/* The larger of two bounds; unknown if one is. first: it is b. */
struct ws__ip ws__infer_join(const struct ws__infer *x, const struct ws__ip *a,
                             const struct ws__ip *b, bool first);
/* Elements of whole numbers that stand beside others in a bound. */
void ws__infer_see_loads(struct ws__infer *x, const struct ws__ip *a);

/* --- infer_known.c ----------------------------------------------------------
 */

struct ws__knowledge ws__infer_nothing(struct ws__infer *x);

/* --- infer_access.c ---------------------------------------------------------
 */

void ws__infer_accesses(struct ws__infer *x, size_t launch);
/* The fact of a pointer expression's array, and the offset; -1: none. */
int ws__infer_array(struct ws__infer *x, int32_t expr, int env,
                    struct ws__ip *offset, int *width);
void ws__infer_roles(struct ws__infer *x);
/* Elements that should be positive, and sums (infer_use.c). */
void ws__infer_uses(struct ws__infer *x, size_t launch);

/* --- infer_launch.c, infer_shape.c ------------------------------------------
 */

void ws__infer_block(struct ws__infer *x, size_t launch);
void ws__infer_grid(struct ws__infer *x, size_t launch);
void ws__infer_shapes(struct ws__infer *x);
/* A new axis; -1: no room. */
int ws__infer_axis(struct ws__infer *x, const char *base, const char *guess);
/* A sum with the threads a block in place of their atom. */
struct ws__ip ws__infer_settled(struct ws__infer *x, size_t launch,
                                const struct ws__ip *a);
/* infer_whole.c: does an access, whose index is the sum of n parts times the
 * strides of an array of these lengths, come to every element in every run? */
bool ws__infer_whole(struct ws__infer *x, const struct ws__infer_access *a,
                     const struct ws__ip *part, const struct ws__ip *length,
                     int n);
void ws__infer_note(struct ws__infer *x, int32_t node, const char *fmt, ...)
    WS_PRINTF(3, 4);
const char *ws__infer_words(struct ws__infer *x, const char *fmt, ...)
    WS_PRINTF(2, 3);

#endif
