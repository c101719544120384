/*
 * xform_private_histogram.c: a block counts in shared memory, and adds what it
 * has counted to global memory once.
 *
 * Threads that add to few counters wait for each other. Each block gets
 * counters of its own, zeroed before and added behind; integers do not mind the
 * order. What a block adds up at the end pays only if it has counted more than
 * there are counters: so a block takes the work of PARTS blocks, where the
 * function says itself where its work ends.
 */
#include <stdlib.h>

#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/pieces.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_ATOMICS 16
#define MAX_PIECES 64
#define MAX_BINS 12288 /* 48 KiB, what a block has without being asked for */

static const char *const findings[] = {"atomics", "wait_lg", "wait_memory",
                                       NULL};
static const struct ws__xform_delta deltas[] = {{"atomic_share", 0.02, 0.5},
                                                {NULL, 0, 0}};
static const char what[] = "count in shared memory";

struct counting {
    int32_t array;              /* the PARAM */
    int32_t call[MAX_ATOMICS];  /* the CALLs that add to it, */
    int32_t place[MAX_ATOMICS]; /* REFs of the array in them */
    size_t n;
    const char *bins; /* how many, in C; */
    uint32_t axes;    /* axes that this names and that are no macros yet */
    bool parts;       /* blocks may take more work */
    const char *why;
};

static bool no(struct counting *c, const char *why)
{
    if (!c->why)
        c->why = why;
    return false;
}

/* --- what is counted ------------------------------------------------------ */

static bool is_atomic_add(const struct ws__ast_node *n)
{
    static const char *const names[] = {"atomicAdd", "atomic_add", "atomic_inc",
                                        "atom_add", "atom_inc"};

    if (n->kind != WS__AST_CALL || !n->name)
        return false;
    for (size_t i = 0; i < WS_COUNT(names); i++)
        if (!strcmp(names[i], n->name))
            return true;
    return false;
}

/* The REF of the array in &a[i] or a + i; -1: something else. */
static int32_t target_of(const struct ws__ast *t, int32_t call)
{
    int32_t a = ws__ast_bare(t, ws__ast_child(t, call, 1));

    if (ws__ast_is(t, a, WS__AST_UNARY) &&
        t->node[a].op == CL_UnaryOperator_AddrOf) {
        a = ws__ast_bare(t, ws__ast_child(t, a, 0));
        if (!ws__ast_is(t, a, WS__AST_INDEX))
            return -1;
    } else if (!ws__ast_is(t, a, WS__AST_BINARY) ||
               t->node[a].op != CL_BinaryOperator_Add) {
        return -1;
    }
    a = ws__ast_bare(t, ws__ast_child(t, a, 0));
    return ws__ast_is(t, a, WS__AST_REF) ? a : -1;
}

static bool is_statement(const struct ws__ast *t, int32_t i)
{
    int32_t p = t->node[i].parent;
    struct ws__ast_for f;

    switch (t->node[p].kind) {
    case WS__AST_BLOCK:
        return true;
    case WS__AST_IF: /* no condition */
    case WS__AST_WHILE:
        return ws__ast_child(t, p, 0) != i;
    case WS__AST_FOR:
        ws__ast_for(t, p, &f);
        return f.body == i;
    default:
        return false;
    }
}

static bool find_atomics(const struct ws__xform_in *in, struct counting *c)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    c->array = -1;
    for (int32_t i = in->body; i < end; i++) {
        int32_t a, decl;

        if (!is_atomic_add(&t->node[i]))
            continue;
        a = target_of(t, i);
        decl = a < 0 ? -1 : t->node[a].decl;
        if (decl < 0 || t->node[decl].kind != WS__AST_PARAM ||
            (c->array >= 0 && c->array != decl))
            continue;
        c->array = decl;
        if (c->n == MAX_ATOMICS)
            return no(c, "too many places add to the array");
        if (!is_statement(t, i))
            return no(c, "what the array held before is used");
        c->place[c->n] = a;
        c->call[c->n++] = i;
    }
    return c->n > 0;
}

/* Nobody else may see the array before all is added. */
static bool check_uses(const struct ws__xform_in *in, struct counting *c)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    const struct ws__ast_type *type = &t->node[c->array].type;
    size_t uses = 0;

    for (int32_t i = in->body; i < end; i++)
        uses += t->node[i].kind == WS__AST_REF && t->node[i].decl == c->array;
    if (uses != c->n)
        return no(c, "the array is used otherwise, too");
    if (type->class != WS__AT_INT)
        return no(c, "sums of floats would be added in another order");
    if (type->bits != 32 || type->width != 1 || type->pointers != 1)
        return no(c, "the counters have not 32 bits");
    for (size_t i = 0; i < c->n; i++)
        if (t->node[c->place[i]].macro)
            return no(c, "a macro hides where is counted");
    return true;
}

/* --- how many counters ---------------------------------------------------- */

static bool in_source(const struct ws__xform_in *in, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = strstr(in->ast->text, word); p;
         p = strstr(p + 1, word))
        if ((p == in->ast->text || !ws__is_word(p[-1])) && !ws__is_word(p[n]))
            return true;
    return false;
}

/* Axes that an expression names have to be macros; no more than + - *. */
static bool check_words(const struct ws__xform_in *in, struct counting *c,
                        const char *text)
{
    const struct ws__op *op = in->kernel->op;

    if (text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                          "0123456789_ +-*()")])
        return no(c, "how many counters there are is no sum of products");
    while (*text) {
        size_t n = 0;

        while (ws__is_word(text[n]))
            n++;
        for (size_t a = 0; n && a < op->naxis; a++) {
            if (strlen(op->axis[a].name) != n ||
                strncmp(op->axis[a].name, text, n) ||
                op->axis[a].kind == WS__AXIS_CONST ||
                (in->kernel->specialize & 1u << a))
                continue;
            if (in_source(in, op->axis[a].name))
                return no(c, "the source uses the name of the axis that says "
                             "how many counters there are");
            c->axes |= 1u << a;
        }
        text += n ? n : 1;
    }
    return true;
}

/* Do all launches of the function give it the same array? */
static bool one_array(const struct ws__xform_in *in, const struct counting *c)
{
    const struct ws__kernel *k = in->kernel;
    const struct ws__arg *arg = ws__xform_arg(in, c->array);

    for (size_t i = 0; i < k->nlaunch; i++) {
        struct ws__xform_in l = *in;
        const struct ws__arg *other;

        if (strcmp(k->launch[i].entry, k->launch[in->launch].entry))
            continue;
        l.launch = i;
        other = ws__xform_arg(&l, c->array);
        if (!other || other->kind != arg->kind || other->index != arg->index)
            return false;
    }
    return true;
}

static bool find_bins(const struct ws__xform_in *in, struct counting *c,
                      int *rc)
{
    const struct ws__arg *arg = ws__xform_arg(in, c->array);
    const struct ws__tensor *x;
    const char *text = NULL;

    if (!arg || arg->kind != WS__ARG_TENSOR)
        return no(c, "the kernel file does not say how many counters there "
                     "are");
    if (!one_array(in, c))
        return no(c, "launches count in different arrays");
    x = &in->kernel->op->tensor[arg->index];
    for (size_t d = 0; d < x->ndim; d++) {
        const char *one = x->dim[d]->text;

        if (!check_words(in, c, one))
            return false;
        if (x->stride[d])
            return no(c, "the counters do not lie side by side");
        text = text ? ws__arena_printf(in->arena, "%s * (%s)", text, one)
               : x->ndim > 1 ? ws__arena_printf(in->arena, "(%s)", one)
                             : one;
        if (!text) {
            *rc = WS_ENOMEM;
            return false;
        }
    }
    c->bins = text;
    if (!text ||
        (strspn(text, "0123456789") == strlen(text) && atol(text) > MAX_BINS))
        return no(c, "there are more counters than shared memory holds");
    return true;
}

/* --- where work ends ------------------------------------------------------ */

/* Block and thread, as a place along the launch. */
static bool is_place(const struct ws__ast *t, int32_t i)
{
    struct ws__affine a, thread, block;

    return ws__affine_of(t, i, &a) &&
           ws__affine_part(&a, WS__SYM(WS__AL_THREAD, 0), &thread) &&
           ws__affine_is(&thread, 1) &&
           ws__affine_part(&a, WS__SYM(WS__AL_BLOCK, 0), &block) && block.n;
}

static bool same_for_all(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);
    int dim;

    for (int32_t i = root; i < end; i++)
        if (ws__ast_launch_value(t, i, &dim) != WS__AL_NONE ||
            (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
             t->node[t->node[i].decl].kind != WS__AST_PARAM))
            return false;
    return true;
}

static bool bounds(const struct ws__ast *t, int32_t cond, bool leaves)
{
    int32_t c = ws__ast_bare(t, cond);
    int32_t a = ws__ast_child(t, c, 0), b = ws__ast_child(t, c, 1);
    int op = ws__ast_is(t, c, WS__AST_BINARY) ? t->node[c].op : 0;

    if (op == (leaves ? CL_BinaryOperator_LOr : CL_BinaryOperator_LAnd))
        return bounds(t, a, leaves); /* what is tested first */
    if (op == (leaves ? CL_BinaryOperator_LE : CL_BinaryOperator_GT)) {
        int32_t swap = a;

        a = b;
        b = swap;
    } else if (op != (leaves ? CL_BinaryOperator_GE : CL_BinaryOperator_LT)) {
        return false;
    }
    return is_place(t, a) && same_for_all(t, b);
}

static bool touches_memory(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++)
        if (t->node[i].kind == WS__AST_INDEX ||
            (t->node[i].kind == WS__AST_UNARY &&
             t->node[i].op == CL_UnaryOperator_Deref))
            return true;
    return !ws__ast_is_pure(t, root);
}

static bool is_return(const struct ws__ast *t, int32_t i)
{
    if (ws__ast_is(t, i, WS__AST_BLOCK) && ws__ast_nchild(t, i) == 1)
        i = ws__ast_child(t, i, 0);
    return ws__ast_is(t, i, WS__AST_RETURN);
}

/* Nothing is touched before the function has seen that there is work: then
 * blocks that the launch did not have before do no harm. */
static bool is_guarded(const struct ws__ast *t, int32_t body)
{
    for (int32_t i = t->node[body].first; i >= 0; i = t->node[i].next) {
        int32_t cond = ws__ast_child(t, i, 0), then = ws__ast_child(t, i, 1);

        if (t->node[i].kind == WS__AST_IF && ws__ast_nchild(t, i) == 2) {
            bool leaves = is_return(t, then);

            return bounds(t, cond, leaves) && (leaves || t->node[i].next < 0);
        }
        if (t->node[i].kind != WS__AST_DECL || touches_memory(t, i))
            return false;
    }
    return false;
}

/* Names of the launch in macros cannot be replaced alone. */
static bool in_macro(const struct ws__xform_in *in)
{
    int32_t end = ws__ast_after(in->ast, in->body);
    int dim;

    for (int32_t i = in->body; i < end; i++) {
        enum ws__ast_launch v = ws__ast_launch_value(in->ast, i, &dim);

        if ((v == WS__AL_BLOCK || v == WS__AL_GLOBAL ||
             in->ast->node[i].kind == WS__AST_RETURN) &&
            in->ast->node[i].macro)
            return true;
    }
    return false;
}

static bool strides(const struct ws__xform_in *in)
{
    int32_t end = ws__ast_after(in->ast, in->body);
    int dim;

    for (int32_t i = in->body; i < end; i++) {
        enum ws__ast_launch v = ws__ast_launch_value(in->ast, i, &dim);

        if (v == WS__AL_GRID_DIM || v == WS__AL_GLOBAL_DIM)
            return true;
    }
    return false;
}

/* Threads must all come to the end. */
static bool check_flow(const struct ws__xform_in *in, struct counting *c)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (ws__ast_is_barrier(t, i) || n->kind == WS__AST_JUMP ||
            (n->kind == WS__AST_CALL && n->name && strstr(n->name, "_sync")))
            return no(c, "threads wait for each other already");
        if (n->kind != WS__AST_RETURN)
            continue;
        if (ws__ast_up(t, i, WS__AST_FOR) >= 0 ||
            ws__ast_up(t, i, WS__AST_WHILE) >= 0 ||
            ws__ast_up(t, i, WS__AST_DO) >= 0)
            return no(c, "a thread leaves from within a loop");
        if (!c->parts)
            return no(c, "a thread leaves before the end");
    }
    return true;
}

static bool one_direction(const struct ws__xform_in *in)
{
    struct ws__xform_in l = *in;

    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1))
        if (strcmp(ws__xform_block(&l, 1), "1") != 0 ||
            strcmp(ws__xform_block(&l, 2), "1") != 0)
            return false;
    return true;
}

static bool look(const struct ws__xform_in *in, struct counting *c, int *rc)
{
    memset(c, 0, sizeof(*c));
    if (!find_atomics(in, c) || !check_uses(in, c) || !find_bins(in, c, rc))
        return false;
    if (!one_direction(in))
        return no(c, "a block has more than one row of threads");
    c->parts = !strides(in) && !in_macro(in) && is_guarded(in->ast, in->body);
    return check_flow(in, c);
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct counting c;
    struct ws__site *s;
    int rc = 0;

    if (!look(in, &c, &rc))
        return rc < 0 || !c.why
                   ? rc
                   : ws__site_refuse(in, out, c.call[0], what, c.why);
    s = ws__site_add(in, out, c.call[0], &rc, "%s: %s counters of '%s'", what,
                     c.bins, in->ast->node[c.array].name);
    if (s && c.parts)
        s->trust = "the places of the last block's parts fit in their type";
    return rc;
}

/* --- the new text --------------------------------------------------------- */

struct names {
    const char *own, *bin, *part, *parts;
    const char *thread, *size, *type, *barrier;
};

static int name_all(const struct ws__xform_in *in, const struct counting *c,
                    struct names *n)
{
    bool cuda = in->ast->dialect == WS__DIALECT_CUDA;
    bool is_unsigned = in->ast->node[c->array].type.is_unsigned;
    const char *own = ws__arena_printf(in->arena, "%s_of_block",
                                       in->ast->node[c->array].name);

    n->thread = cuda ? "threadIdx.x" : "get_local_id(0)";
    n->size = cuda ? "blockDim.x" : "get_local_size(0)";
    n->type = !is_unsigned ? "int" : cuda ? "unsigned int" : "uint";
    n->barrier = cuda ? "__syncthreads();" : "barrier(CLK_LOCAL_MEM_FENCE);";
    n->own = own ? ws__xform_name(in, own) : NULL;
    n->bin = ws__xform_name(in, "bin");
    n->part = ws__xform_name(in, "part");
    n->parts = ws__xform_name(in, "PARTS");
    return n->own && n->bin && n->part && n->parts ? 0 : WS_ENOMEM;
}

/* The block that does the part's work, where the original says its own. */
static const char *other_block(const struct ws__xform_in *in,
                               const struct names *n, int32_t i)
{
    int dim;
    enum ws__ast_launch v = ws__ast_launch_value(in->ast, i, &dim);
    bool cuda = in->ast->dialect == WS__DIALECT_CUDA;

    if (dim || ws__ast_bare(in->ast, i) != i)
        return NULL;
    if (v == WS__AL_BLOCK)
        return ws__arena_printf(in->arena, "(%s * %s + %s)",
                                cuda ? "blockIdx.x" : "get_group_id(0)",
                                n->parts, n->part);
    if (v == WS__AL_GLOBAL)
        return ws__arena_printf(
            in->arena,
            ws__ast_is(in->ast, in->ast->node[i].parent, WS__AST_VAR)
                ? "(get_group_id(0) * %s + %s) * get_local_size(0) +\n"
                  "        get_local_id(0)"
                : "((get_group_id(0) * %s + %s) * get_local_size(0) + "
                  "get_local_id(0))",
            n->parts, n->part);
    return NULL;
}

static int find_pieces(const struct ws__xform_in *in, const struct counting *c,
                       const struct names *n, struct ws__piece *out,
                       size_t *count)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    size_t k = 0;

    for (size_t i = 0; i < c->n; i++)
        out[k++] = (struct ws__piece){t->node[c->place[i]].begin,
                                      t->node[c->place[i]].end, n->own};
    for (int32_t i = in->body; c->parts && i < end; i++) {
        const char *text = t->node[i].kind == WS__AST_RETURN
                               ? "continue"
                               : other_block(in, n, i);

        if (text && k == MAX_PIECES)
            return ws__fail(in->ctx, WS_ELIMIT, "too much to change");
        if (text)
            out[k++] =
                (struct ws__piece){t->node[i].begin, t->node[i].end, text};
    }
    *count = k;
    return 0;
}

static void put_loop(struct ws__buf *b, const struct counting *c,
                     const struct names *n)
{
    ws__buf_printf(b, "    for (int %s = %s; %s < %s; %s += %s)", n->bin,
                   n->thread, n->bin, c->bins, n->bin, n->size);
}

static void put_all(const struct ws__xform_in *in, const struct counting *c,
                    const struct names *n, const char *text, size_t was,
                    struct ws__buf *b)
{
    const char *name = in->ast->node[c->array].name;
    bool cuda = in->ast->dialect == WS__DIALECT_CUDA;

    ws__buf_printf(b, "\n    %s %s %s[%s];\n\n",
                   cuda ? "__shared__" : "__local", n->type, n->own, c->bins);
    put_loop(b, c, n);
    ws__buf_printf(b, "\n        %s[%s] = 0;\n    %s\n\n", n->own, n->bin,
                   n->barrier);
    if (c->parts)
        ws__buf_printf(b, "    for (int %s = 0; %s < %s; %s++) {\n", n->part,
                       n->part, n->parts, n->part);
    ws__pieces_lines(b, "    ", c->parts, text, was);
    if (c->parts)
        ws__buf_puts(b, "    }\n");
    ws__buf_printf(b, "\n    /* what the block has counted */\n    %s\n",
                   n->barrier);
    put_loop(b, c, n);
    ws__buf_printf(b,
                   "\n        if (%s[%s])\n            %s(&%s[%s], %s[%s]);\n",
                   n->own, n->bin, cuda ? "atomicAdd" : "atomic_add", name,
                   n->bin, n->own, n->bin);
}

static void change_plan(const struct ws__xform_in *in, const struct counting *c,
                        const struct names *n, struct ws__rewrite *out)
{
    const struct ws__kernel *k = in->kernel;
    const char *fits = ws__arena_printf(
        in->arena,
        "{require: \"%s <= %d\", about: \"counters fit in shared memory\"}",
        c->bins, MAX_BINS);

    if (!fits)
        out->failed = WS_ENOMEM;
    else if (c->axes)
        ws__rewrite_change(out, fits, "constraints[+]");
    for (size_t a = 0; a < k->op->naxis; a++)
        if (c->axes & 1u << a)
            ws__rewrite_change(out, k->op->axis[a].name, "specialize[+]");
    if (!c->parts)
        return;
    for (size_t i = 0; i < k->nlaunch; i++) {
        struct ws__xform_in l = *in;
        const char *grid;

        if (strcmp(k->launch[i].entry, k->launch[in->launch].entry))
            continue;
        l.launch = i;
        grid = ws__arena_printf(in->arena, "\"ceil_div(%s, %s)\"",
                                ws__xform_grid(&l, 0), n->parts);
        if (!grid)
            out->failed = WS_ENOMEM;
        else
            ws__rewrite_change(out, grid, "launches[%zu].grid[0]", i);
    }
    ws__rewrite_param(out, n->parts, "[1, 4, 8, 16, 32, 64, 128]", "32",
                      "parts of the work a block");
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    uint32_t begin = t->node[in->body].begin + 1;
    uint32_t end = t->node[in->body].end - 1, from = begin, to = end;
    struct ws__piece piece[MAX_PIECES];
    struct counting c;
    struct names n;
    struct ws__buf b;
    const char *text;
    size_t npiece = 0;
    int rc = 0;

    (void)s;
    if (!look(in, &c, &rc))
        return rc < 0 ? rc : ws__fail(in->ctx, WS_EBUG, "nothing is counted");
    WS_TRY(name_all(in, &c, &n));
    ws__pieces_trim(t, &from, &to);
    WS_TRY(find_pieces(in, &c, &n, piece, &npiece));
    text = ws__pieces_text(in, from, to, piece, npiece);
    if (!text)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 18);
    put_all(in, &c, &n, text, ws__pieces_blanks(t, from), &b);
    if (b.failed)
        out->failed = WS_ENOMEM;
    else
        ws__rewrite_at(out, begin, end - begin, "%s", b.data);
    ws__buf_free(&b);
    change_plan(in, &c, &n, out);
    return 0;
}

const struct ws__xform_ops ws__xform_private_histogram = {
    .abi = WS__XFORM_ABI,
    .name = "private_histogram",
    .about = "counters of a block's own in shared memory, added once",
    .needs = "integers that are added by atomics alone to an array whose size "
             "is known, and all threads at the end",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .cuda = true,
    .opencl = true,
    .gain = 4,
    .find = find,
    .apply = apply,
};
