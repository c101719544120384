/*
 * xform_warp_atomic.c: neighbouring threads that add to one place add up
 * first, one of them adds to global memory.
 *
 * Where keys are sorted, or often alike, threads of a warp wait for each other
 * at the same element. Lanes whose neighbours have the same place are a run; a
 * scan by shuffles, which does not reach over a run's begin, leaves the run's
 * sum in its last lane, and that one adds. Where keys are in no order, a place
 * has several runs, each with an atomic of its own: never more than before.
 *
 * All lanes must be there: a guard by which some leave becomes a condition
 * around the rest, and who has nothing to add has no place.
 */
#include "core/trial.h"
#include "xform/adding.h"
#include "xform/clang_api.h"
#include "xform/loop.h"

#include "base/banned.h"

static const char *const findings[] = {"atomics", "wait_lg", "wait_memory",
                                       NULL};
static const struct ws__xform_delta deltas[] = {{"atomic_share", 0.03, 0.5},
                                                {NULL, 0, 0}};
static const char what[] = "add up in the warp first";

struct run {
    struct ws__adding a;
    int32_t array; /* PARAM */
    int32_t index; /* expression */
};

/* a and i of &a[i] or a + i; false: it is something else. */
static bool reads_target(const struct ws__ast *t, int32_t target,
                         int32_t *array, int32_t *index)
{
    int32_t i = ws__ast_bare(t, target), of;

    if (ws__ast_is(t, i, WS__AST_UNARY) &&
        t->node[i].op == CL_UnaryOperator_AddrOf) {
        i = ws__ast_bare(t, ws__ast_child(t, i, 0));
        if (!ws__ast_is(t, i, WS__AST_INDEX))
            return false;
    } else if (!ws__ast_is_op(t, i, CL_BinaryOperator_Add)) {
        return false;
    }
    of = ws__ast_bare(t, ws__ast_child(t, i, 0));
    *index = ws__ast_child(t, i, 1);
    while (ws__ast_is(t, *index, WS__AST_PAREN))
        *index = ws__ast_child(t, *index, 0);
    *array = ws__ast_is(t, of, WS__AST_REF) ? t->node[of].decl : -1;
    return *array >= 0 && t->node[*array].kind == WS__AST_PARAM &&
           t->node[*index].type.class == WS__AT_INT;
}

/* May threads have different values of it: by their numbers, or because a
 * variable changes, perhaps not in all of them? */
static bool may_differ(const struct ws__xform_in *in, int32_t expr)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, expr);

    for (int32_t i = expr; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
            ws__ast_changes(t, in->body, t->node[i].decl))
            return true;
    return ws__loop_by_thread(in, expr);
}

/* The atomic whose place depends on the thread. */
static bool find_call(const struct ws__xform_in *in, struct run *r)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body), array, index;
    int n = 0;

    for (int32_t i = in->body; i < end; i++) {
        if (!ws__adding_is_call(t, i) ||
            !reads_target(t, ws__ast_child(t, i, 1), &array, &index) ||
            !may_differ(in, index))
            continue;
        r->a.call = i;
        r->array = array;
        r->index = index;
        n++;
    }
    return n == 1 ||
           (n && ws__adding_no(&r->a, "threads add in more than one place"));
}

static bool is_in_loop(const struct ws__ast *t, int32_t i)
{
    return ws__ast_up(t, i, WS__AST_FOR) >= 0 ||
           ws__ast_up(t, i, WS__AST_WHILE) >= 0 ||
           ws__ast_up(t, i, WS__AST_DO) >= 0;
}

/* Adding later is the same only if nobody looks before. */
static bool check_array(const struct ws__xform_in *in, struct run *r)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    int uses = 0;

    for (int32_t i = in->body; i < end; i++)
        uses += t->node[i].kind == WS__AST_REF && t->node[i].decl == r->array;
    if (uses > 1)
        return ws__adding_no(&r->a, "the array is used otherwise, too");
    if (!ws__xform_is_alone(in, r->array))
        return ws__adding_no(&r->a, "another parameter may lead to the array");
    return true;
}

static bool look(const struct ws__xform_in *in, struct run *r)
{
    memset(r, 0, sizeof(*r));
    if (!find_call(in, r))
        return false;
    if (is_in_loop(in->ast, r->a.call))
        return ws__adding_no(&r->a, "threads may add a different number of "
                                    "times");
    if (ws__ast_is_op(in->ast, ws__ast_bare(in->ast, r->index),
                      CL_BinaryOperator_Comma))
        return ws__adding_no(&r->a, "a comma is in the place");
    return ws__adding_check(in, &r->a) && check_array(in, r);
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct run r;
    int rc = 0;

    if (!look(in, &r))
        return r.a.why ? ws__site_refuse(in, out, r.a.call, what, r.a.why) : 0;
    ws__site_add(in, out, r.a.call, &rc,
                 "%s: one atomic to '%s' a run of "
                 "lanes with the same place",
                 what, in->ast->node[r.array].name);
    return rc;
}

/* --- the new text --------------------------------------------------------- */

struct names {
    const char *mine, *place, *lane, *left, *heads, *begin, *step, *other;
    const char *type, *zero, *whole; /* whole: the type of a place */
};

static int name_all(const struct ws__xform_in *in, const struct run *r,
                    struct names *n)
{
    const struct ws__ast_type *y = &in->ast->node[r->index].type;

    n->mine = ws__xform_name(in, "mine");
    n->place = ws__xform_name(in, "place");
    n->lane = ws__xform_name(in, "lane");
    n->left = ws__xform_name(in, "left");
    n->heads = ws__xform_name(in, "heads");
    n->begin = ws__xform_name(in, "begin");
    n->step = ws__xform_name(in, "step");
    n->other = ws__xform_name(in, "other");
    n->type = ws__adding_type(in, &r->a);
    n->zero = ws__adding_zero(in, &r->a);
    n->whole =
        y->bits > 32 || (y->bits == 32 && y->is_unsigned) ? "long long" : "int";
    return n->mine && n->place && n->lane && n->left && n->heads && n->begin &&
                   n->step && n->other
               ? 0
               : WS_ENOMEM;
}

/* What is done instead of the atomic: two statements where there may be two. */
static const char *instead_of(const struct ws__xform_in *in,
                              const struct run *r, const struct names *n)
{
    const struct ws__ast *t = in->ast;
    const char *index = ws__xform_text(in, r->index);
    const char *value = ws__xform_text(in, r->a.value);
    const char *indent = ws__xform_indent(in, r->a.call);
    bool block = ws__ast_is(t, t->node[r->a.call].parent, WS__AST_BLOCK);

    if (!index || !value || !indent)
        return NULL;
    return ws__arena_printf(in->arena, "%s = %s%s%s%s = %s", n->place, index,
                            block ? ";\n" : ", ", block ? indent : "", n->mine,
                            value);
}

static void put_end(struct ws__buf *b, const struct names *n, const char *array)
{
    ws__buf_puts(b, "\n    /* lanes in a row with one place: the last adds for "
                    "all of them */\n");
    ws__buf_printf(b, "    const int %s = threadIdx.x %% 32;\n", n->lane);
    ws__buf_printf(b, "    const %s %s = __shfl_up_sync(0xffffffffu, %s, 1);\n",
                   n->whole, n->left, n->place);
    ws__buf_printf(b,
                   "    const unsigned int %s =\n"
                   "        __ballot_sync(0xffffffffu, %s == 0 || %s != %s);\n",
                   n->heads, n->lane, n->left, n->place);
    ws__buf_printf(b,
                   "    const int %s = 31 - __clz(%s & 0xffffffffu >> (31 - "
                   "%s));\n\n",
                   n->begin, n->heads, n->lane);
    ws__buf_printf(b, "    for (int %s = 1; %s < 32; %s *= 2) {\n", n->step,
                   n->step, n->step);
    ws__buf_printf(b,
                   "        const %s %s = __shfl_up_sync(0xffffffffu, %s, "
                   "%s);\n\n",
                   n->type, n->other, n->mine, n->step);
    ws__buf_printf(b,
                   "        if (%s - %s >= %s)\n            %s += %s;\n"
                   "    }\n",
                   n->lane, n->step, n->begin, n->mine, n->other);
    ws__buf_printf(b,
                   "    if (%s >= 0 && (%s == 31 || %s >> (%s + 1) & 1))\n"
                   "        atomicAdd(&%s[%s], %s);\n",
                   n->place, n->lane, n->heads, n->lane, array, n->place,
                   n->mine);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    uint32_t begin = t->node[in->body].begin + 1;
    uint32_t end = t->node[in->body].end - 1;
    const char *instead;
    struct run r;
    struct names n;
    struct ws__buf b;
    int rc;

    (void)s;
    if (!look(in, &r))
        return ws__fail(in->ctx, WS_EBUG, "nothing is added");
    WS_TRY(name_all(in, &r, &n));
    instead = instead_of(in, &r, &n);
    if (!instead)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 18);
    ws__buf_printf(&b, "\n    %s %s = %s;\n    %s %s = -1;\n", n.type, n.mine,
                   n.zero, n.whole, n.place);
    rc = ws__adding_body(in, &r.a, instead, &b);
    if (rc >= 0)
        put_end(&b, &n, t->node[r.array].name);
    if (b.failed)
        rc = WS_ENOMEM;
    if (rc >= 0)
        ws__rewrite_at(out, begin, end - begin, "%s", b.data);
    ws__buf_free(&b);
    return rc;
}

const struct ws__xform_ops ws__xform_warp_atomic = {
    .abi = WS__XFORM_ABI,
    .name = "warp_atomic",
    .about = "sums of neighbouring threads with the same place by shuffles, "
             "one atomic for them",
    .needs = "one atomicAdd a thread, to an element of an array that is used "
             "for nothing else; blocks of whole warps, at most one guard by "
             "which threads leave",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .gain = 3,
    .find = find,
    .apply = apply,
};
