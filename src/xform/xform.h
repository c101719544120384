/*
 * xform.h: source transformations of CUDA C and OpenCL C.
 *
 * A transformation is src/xform/<name>/xform_<name>.c with one const ops struct
 * ws__xform_<name>. `find` looks at a kernel's tree and reports sites: places
 * where it applies, with arguments, and places that look alike but where it
 * must not be applied, with the reason. `apply` says what a site changes: edits
 * of the text and changes of the kernel file. It edits nothing else, and what
 * comes out is parsed again.
 *
 * What a transformation checks it proves on the code; what it cannot prove it
 * says in the site's `trust`, and the verdict decides. It has no state, and
 * reads what it is given alone: same source, same sites, in the same order.
 */
#ifndef WS_XFORM_H
#define WS_XFORM_H

#include "core/change.h"
#include "xform/ast.h"

#define WS__XFORM_ABI 1u
#define WS__XFORM_MAX_SITES 64
#define WS__XFORM_MAX_EDITS 256
#define WS__XFORM_MAX_CHANGES 32

/* What is transformed: one launch's function of one kernel. */
struct ws__xform_in {
    struct ws_ctx *ctx;
    struct ws__arena *arena; /* of all that find and apply hand out */
    const struct ws__ast *ast;
    const struct ws__kernel *kernel;
    size_t launch;
    int32_t func; /* the FUNCTION node of its entry */
    int32_t body; /* its BLOCK */
};

struct ws__site {
    const char *words;   /* what would be done, where: "loop over k, line 12" */
    const char *refused; /* why not, NULL: it applies */
    const char *trust;   /* what is left to the verdict; NULL: nothing */
    struct ws__loc loc;
    int32_t node[4]; /* for apply; -1 where unused */
    int64_t arg[4];
    size_t launch;
    const struct ws__site *part; /* those that are made together as this one */
    size_t npart;                /* 0: it is one of its own */
};
struct ws__sites {
    struct ws__site site[WS__XFORM_MAX_SITES];
    size_t n;
};

struct ws__edit {
    uint32_t at, len; /* bytes of the text, replaced by */
    const char *text;
};
struct ws__rewrite {
    const struct ws__xform_in *in;
    struct ws__edit edit[WS__XFORM_MAX_EDITS];
    size_t nedit;
    struct ws__change change[WS__XFORM_MAX_CHANGES];
    size_t nchange;
    int failed; /* the first failure of the functions below */
};

/* A fact of the diagnosis (profile.h) and the factor by which it should move.
 */
struct ws__xform_delta {
    const char *fact;
    double low, high;
};

/* Which sites are made at once, as one: each costs a trial. */
enum ws__xform_join { WS__JOIN_NONE, WS__JOIN_FUNCTION, WS__JOIN_ALL };

struct ws__xform_ops {
    uint32_t abi;
    const char *name, *about;
    const char *needs;          /* what must hold, in a sentence */
    const char *const *finding; /* ids of the rules that suggest it, NULL at the
                                   end */
    const struct ws__xform_delta *delta; /* fact NULL at the end */
    unsigned gates; /* WS__WANT_* bits that the judge must add */
    bool rounding;  /* results may differ in rounding */
    bool cuda, opencl;
    enum ws__xform_join join;
    double gain; /* expected factor of the time, before anything is learnt */
    /* Appends. 0, or WS_ENOMEM; a full list is no error. */
    int (*find)(const struct ws__xform_in *in, struct ws__sites *out);
    int (*apply)(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out);
    /* It writes no variable's name where another one could have it. Others are
     * refused in functions where an inner declaration hides an outer one. */
    bool keeps_names;
};
extern const struct ws__xform_ops *const ws__xform_table[];
const struct ws__xform_ops *ws__xform_lookup(const char *name);

/* The launches' functions; WS_ESPEC: an entry has no body in the file. */
int ws__xform_open(struct ws_ctx *ctx, struct ws__arena *a,
                   const struct ws__ast *t, const struct ws__kernel *k,
                   size_t launch, struct ws__xform_in *out);
/* All sites of a transformation, over all launches, each function once. */
int ws__xform_find(struct ws_ctx *ctx, struct ws__arena *a,
                   const struct ws__ast *t, const struct ws__kernel *k,
                   const struct ws__xform_ops *x, struct ws__sites *out);
/* join.c: the sites from that one on that are not refused become one. */
int ws__sites_join(const struct ws__xform_in *in, struct ws__sites *s,
                   size_t from);
/* Functions that the kernel launches and that no transformation looks at, as
 * refused sites: a template's, or one of another file. */
int ws__xform_left_alone(struct ws_ctx *ctx, struct ws__arena *a,
                         const struct ws__ast *t, const struct ws__kernel *k,
                         struct ws__sites *out);
/* The new text and the changes, in the arena. WS_EBUG: the transformation's
 * edits overlap or cut a macro. The caller parses the text again. */
int ws__xform_apply(struct ws_ctx *ctx, struct ws__arena *a,
                    const struct ws__ast *t, const struct ws__kernel *k,
                    const struct ws__xform_ops *x, const struct ws__site *s,
                    char **text, struct ws__rewrite *out);

/* --- for find: sites ------------------------------------------------------ */

/* A site at a node, with words; NULL: the list is full or there is no memory
 * (then *rc is WS_ENOMEM). */
struct ws__site *ws__site_add(const struct ws__xform_in *in,
                              struct ws__sites *out, int32_t at, int *rc,
                              const char *fmt, ...) WS_PRINTF(5, 6);
/* The same for a place that looks alike but is refused. */
int ws__site_refuse(const struct ws__xform_in *in, struct ws__sites *out,
                    int32_t at, const char *words, const char *why);

/* --- for apply: edits ----------------------------------------------------- */

void ws__rewrite_at(struct ws__rewrite *w, uint32_t at, uint32_t len,
                    const char *fmt, ...) WS_PRINTF(4, 5);
/* Instead of a node; before its line, with its indentation; behind it. */
void ws__rewrite_node(struct ws__rewrite *w, int32_t node, const char *fmt, ...)
    WS_PRINTF(3, 4);
void ws__rewrite_before(struct ws__rewrite *w, int32_t node, const char *fmt,
                        ...) WS_PRINTF(3, 4);
void ws__rewrite_behind(struct ws__rewrite *w, int32_t node, const char *fmt,
                        ...) WS_PRINTF(3, 4);
void ws__rewrite_change(struct ws__rewrite *w, const char *yaml,
                        const char *path, ...) WS_PRINTF(3, 4);
/* A new parameter: "[1, 2, 4]", the default, what it is. */
void ws__rewrite_param(struct ws__rewrite *w, const char *name,
                       const char *values, const char *dflt, const char *about);
/* `base`, or base2, base3...: no name of the source, op or kernel. */
const char *ws__xform_name(const struct ws__xform_in *in, const char *base);
/* Blanks at the beginning of the node's line. */
const char *ws__xform_indent(const struct ws__xform_in *in, int32_t node);
const char *ws__xform_text(const struct ws__xform_in *in, int32_t node);
/* Text of an expression of the launch; "1" where there is none. */
const char *ws__xform_grid(const struct ws__xform_in *in, int dim);
const char *ws__xform_block(const struct ws__xform_in *in, int dim);
/* The expression of the file that argument `param` (a PARAM node) gets, and
 * what kind it is; NULL: no value. */
const struct ws__arg *ws__xform_arg(const struct ws__xform_in *in,
                                    int32_t param);

/* The launch at `from` or behind it that launches in's function; the number of
 * launches: there is none. */
size_t ws__xform_next_launch(const struct ws__xform_in *in, size_t from);
/* Have all launches of in's function the same block, by its text? */
bool ws__xform_same_blocks(const struct ws__xform_in *in);
/* The functions that the kernel launches and whose bodies are in the file, each
 * once: opens the next, of launch *from or one behind it. False: there are no
 * more. */
bool ws__xform_next_entry(const struct ws__xform_in *in, size_t *from,
                          struct ws__xform_in *out);
/* Is it the first of them? What changes all at once has its sites there. */
bool ws__xform_is_first(const struct ws__xform_in *in);
/* The first node behind i, -1 at first, that lies in a function that the kernel
 * runs; the number of nodes: there is none. */
int32_t ws__xform_next_run(const struct ws__xform_in *in, int32_t i);
/* Is a name of the launch here: of its threads, blocks and their numbers? */
bool ws__xform_asks(const struct ws__ast *t, int32_t i);
/* Does another function that the kernel may call ask which thread or block it
 * is, or what the launch is, perhaps by assembly? One of an included file is
 * taken to. */
bool ws__xform_others_ask(const struct ws__xform_in *in);
/* May function `from` come to call `to`, by the names of calls? */
bool ws__xform_reaches(const struct ws__ast *t, int32_t from, int32_t to);
/* Is there a call (anywhere in the file) whose name has one of these words?
 * NULL-terminated. */
bool ws__xform_calls_like(const struct ws__ast *t, const char *const *words);
/* Can the node's text be moved: what it opens it closes, no macro is cut? */
bool ws__xform_is_whole(const struct ws__ast *t, int32_t node);
/* A line of its own in front of a statement that may stand behind others on its
 * line: for pragmas. */
void ws__rewrite_line(struct ws__rewrite *w, int32_t node, const char *fmt, ...)
    WS_PRINTF(3, 4);

/* --- shape.c: pieces of text, pointers, calls ----------------------------- */

/* The text from begin to end with edits (sorted by place) made; edits that lie
 * outside, or inside of one before, are left out. NULL: no memory. */
const char *ws__xform_edited(const struct ws__xform_in *in, uint32_t begin,
                             uint32_t end, const struct ws__edit *e, size_t n);
/* Lines with the given indentation instead of `common` blanks (negative: what
 * the lines behind the first have in common); blank ends are cut. NULL: no
 * memory. */
const char *ws__xform_indented(const struct ws__xform_in *in, const char *text,
                               int common, const char *indent);
/* The beginning of the source, behind a byte order mark. */
uint32_t ws__xform_top(const struct ws__ast *t);
/* Where a new function can stand in front of a function: behind what is before
 * it, in front of the comment that belongs to it. */
uint32_t ws__xform_before_function(const struct ws__ast *t, int32_t func);
/* Does a node's text have a directive other than a pragma, or does the file
 * undefine macros? A copy of it could mean something else. */
bool ws__xform_has_directive(const struct ws__ast *t, int32_t node);
/* Behind a statement, its semicolon included, in front of which there may be
 * comments. */
uint32_t ws__xform_end(const struct ws__ast *t, int32_t node);
/* Is the pointer used for nothing but p[...], whose address is not taken? Then
 * ws__xform_accesses tells all that happens through it. */
bool ws__xform_only_indexed(const struct ws__xform_in *in, int32_t param);
/* Does every launch give it an array that no other parameter gets? */
bool ws__xform_is_alone(const struct ws__xform_in *in, int32_t param);
/* Does the op say that the array begins at a multiple of so many bytes? */
bool ws__xform_aligned(const struct ws__xform_in *in, int32_t param,
                       size_t bytes);
/* Does every launch give the parameter an axis of which the op says that it is
 * 1 at least, and is it kept? */
bool ws__xform_is_positive(const struct ws__xform_in *in, int32_t param);
/* Are all calls below root pure, or of functions in the file that change only
 * what is theirs? depth: 0. */
bool ws__xform_calls_known(const struct ws__ast *t, int32_t root, int depth);
/* Can root be left by return, a jump, or a break or continue of a loop around
 * it? Of a loop's body: of that loop. */
bool ws__xform_leaves(const struct ws__ast *t, int32_t root);
/* Does the node happen whenever root does: under no condition, in no loop? */
bool ws__xform_is_certain(const struct ws__ast *t, int32_t node, int32_t root);
/* Are there stores below root that no access tells of: through *p, a pointer
 * variable, or an address that is taken? */
bool ws__xform_hides_stores(const struct ws__ast *t, int32_t root);
/* A line above a statement, and above the pragmas of it. */
void ws__rewrite_above(struct ws__rewrite *w, int32_t node, const char *line);
/* Has an expression of variables (no arrays) the same value all through root?
 */
bool ws__xform_stays(const struct ws__ast *t, int32_t expr, int32_t root);

/* --- indices as sums ------------------------------------------------------ */

#define WS__AFFINE_TERMS 24
#define WS__AFFINE_SYMBOLS 4

/* A symbol: a declaration's node, or a launch value. */
#define WS__SYM(value, dim) (-10 - 3 * (int32_t)(value) - (dim))

struct ws__affine {
    struct ws__affine_term {
        int64_t times;
        int32_t sym[WS__AFFINE_SYMBOLS]; /* a product, sorted */
        uint8_t n;
    } term[WS__AFFINE_TERMS];
    size_t n;
};
/* An integer expression as a sum of products. Variables that get one value and
 * keep it are replaced by it; get_global_id is block times size plus thread.
 * False: it is no such sum. */
bool ws__affine_of(const struct ws__ast *t, int32_t expr,
                   struct ws__affine *out);
/* The part that is multiplied by sym, without it. False: sym occurs in a
 * power. */
bool ws__affine_part(const struct ws__affine *a, int32_t sym,
                     struct ws__affine *out);
/* out = a + times * b; out = a * b. False: it has too many terms or symbols. */
bool ws__affine_plus(const struct ws__affine *a, int64_t times,
                     const struct ws__affine *b, struct ws__affine *out);
bool ws__affine_product(const struct ws__affine *a, const struct ws__affine *b,
                        struct ws__affine *out);
bool ws__affine_is(const struct ws__affine *a, int64_t constant);
bool ws__affine_uses(const struct ws__affine *a, int32_t sym);

/* An access to an array through a parameter or a shared array. */
struct ws__access {
    int32_t node;  /* the INDEX */
    int32_t decl;  /* PARAM or VAR */
    int32_t index; /* expression; of the last dimension */
    bool write, read;
    bool affine;
    struct ws__affine at;
};
/* All accesses below root to arrays of this space (WS__AS_GLOBAL: through
 * pointer parameters). At most max; the number there are. */
size_t ws__xform_accesses(const struct ws__xform_in *in, int32_t root,
                          enum ws__ast_space space, struct ws__access *out,
                          size_t max);

/* --- elements.c: a thread an element -------------------------------------- */

/* int i = <place in the grid>; if (i < n) {...}, or if (i >= n) return; ... */
struct ws__elements {
    int32_t var, decl;   /* i, and its statement */
    int32_t guard;       /* the IF */
    int32_t bound;       /* n */
    int32_t first, last; /* statements of the body */
    bool early;          /* if (i >= n) return; */
};
/* Does a kernel look so? */
bool ws__elements_find(const struct ws__xform_in *in, struct ws__elements *out);
/* Is a sum block times size plus thread, in x? */
bool ws__xform_is_place(const struct ws__affine *a);
/* Why its body may not be done for several elements by one thread; NULL: it
 * may. effects: in any order, one after the other; else stores may be put off
 * and loads be made before. */
const char *ws__elements_refusal(const struct ws__xform_in *in,
                                 const struct ws__elements *e, bool effects);
/* The type of i as it is written, without const; the body's text, with edits.
 * NULL: no memory. */
const char *ws__elements_type(const struct ws__xform_in *in,
                              const struct ws__elements *e);
const char *ws__elements_body(const struct ws__xform_in *in,
                              const struct ws__elements *e,
                              const struct ws__edit *edit, size_t n);

#endif
