/* vectorise_loop.c: four turns of a loop over elements that follow each other.
 *
 * A loop that counts by one and reads a[... + j] reads four neighbours in four
 * turns. They are loaded at once before the four turns, which stay as they are
 * and in their order, so no result changes. In CUDA C that needs a place that
 * is a multiple of 16 bytes, which is asked where the loop begins; what is left
 * over, or all, is done by the loop as it was.
 */
#include "xform/vectorise/vectorise.h"

#include "xform/clang_api.h"

#include "base/banned.h"

struct row {
    struct ws__ast_for f;
    struct ws__vec vec[WS__VEC_MAX];
    struct ws__affine at[WS__VEC_MAX];
    size_t nvec;
    struct ws__access access[WS__VEC_ACCESSES];
    int vec_of[WS__VEC_ACCESSES]; /* -1: stays */
    size_t naccess;
};

/* Are all variables of a sum but j the same in every turn? */
static bool is_steady(const struct ws__ast *t, const struct row *r,
                      const struct ws__affine *a)
{
    for (size_t i = 0; i < a->n; i++)
        for (int s = 0; s < a->term[i].n; s++) {
            int32_t y = a->term[i].sym[s];

            if (y >= 0 && y != r->f.var &&
                (ws__ast_changes(t, r->f.loop, y) ||
                 ws__ast_below(t, y, r->f.loop)))
                return false;
        }
    return true;
}

static bool is_stored(const struct row *r, int32_t decl)
{
    for (size_t i = 0; i < r->naccess; i++)
        if (r->access[i].decl == decl && r->access[i].write)
            return true;
    return false;
}

static bool any_stored(const struct row *r)
{
    for (size_t i = 0; i < r->naccess; i++)
        if (r->access[i].write)
            return true;
    return false;
}

static bool same_sum(const struct ws__affine *a, const struct ws__affine *b)
{
    size_t hits = 0;

    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            hits +=
                a->term[i].times == b->term[k].times &&
                a->term[i].n == b->term[k].n &&
                !memcmp(a->term[i].sym, b->term[k].sym, sizeof(a->term[i].sym));
    return a->n == b->n && hits == a->n;
}

/* Counts an access among those of which four are loaded, if it can be. */
static int take(const struct ws__xform_in *in, struct row *r, size_t k)
{
    const struct ws__ast *t = in->ast;
    const struct ws__access *a = &r->access[k];
    struct ws__affine step;
    struct ws__vec v;
    size_t i;
    int rc = 0;

    r->vec_of[k] = -1;
    if (a->write || !a->affine || t->node[a->node].macro ||
        !ws__affine_part(&a->at, r->f.var, &step) || !ws__affine_is(&step, 1) ||
        !is_steady(t, r, &a->at) || is_stored(r, a->decl) ||
        !ws__xform_is_whole(t, a->node) || !ws__ast_is_pure(t, a->index) ||
        !ws__xform_only_indexed(in, a->decl) ||
        (any_stored(r) && !ws__xform_is_alone(in, a->decl)))
        return 0;
    for (i = 0; i < r->nvec; i++)
        if (r->vec[i].decl == a->decl && same_sum(&r->at[i], &a->at))
            break;
    if (i == r->nvec) {
        if (i == WS__VEC_MAX || !ws__xform_is_certain(t, a->node, r->f.body) ||
            !ws__vec_name(in, a->decl, &v, &rc))
            return rc;
        for (size_t o = 0; o < i; o++)
            if (r->vec[o].decl == a->decl)
                return 0; /* one name, one row */
        v.node = a->node;
        r->at[i] = a->at;
        r->vec[r->nvec++] = v;
    }
    r->vec_of[k] = (int)i;
    return 0;
}

static bool has_pragma(const struct ws__ast *t, int32_t i)
{
    uint32_t b = t->node[i].begin;

    while (b && t->text[b - 1] != '\n')
        b--;
    if (!b)
        return false;
    for (b--; b && t->text[b - 1] != '\n';)
        b--;
    b += (uint32_t)strspn(t->text + b, " \t");
    return t->text[b] == '#';
}

/* Does the body have what cannot be done four times in a loop of its own? */
static const char *refusal(const struct ws__xform_in *in, const struct row *r)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, r->f.loop);

    if (ws__xform_has_directive(t, r->f.body))
        return "the loop has directives";
    if (ws__xform_leaves(t, r->f.body))
        return "the loop can be left early";
    for (int32_t i = r->f.body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (ws__ast_is_barrier(t, i))
            return "there is a barrier in the loop";
        if (n->kind == WS__AST_OTHER && n->type.class == WS__AT_OTHER)
            return "not everything in the loop is understood";
        if (n->kind == WS__AST_REF && n->decl == r->f.var && n->macro)
            return "a macro has the loop's variable in it";
    }
    if (!ws__xform_calls_known(t, r->f.body, 0))
        return "it calls what may have effects";
    if (!ws__xform_stays(t, r->f.to, r->f.loop) ||
        !ws__xform_is_whole(t, r->f.to))
        return "the loop's bound may change";
    return NULL;
}

/* NULL: it applies; "": no site. */
static const char *look(const struct ws__xform_in *in, int32_t loop,
                        struct row *r, int *rc)
{
    const struct ws__ast *t = in->ast;
    int64_t by = 1, to;

    memset(r, 0, sizeof(*r));
    ws__ast_for(t, loop, &r->f);
    if (!r->f.counts || r->f.inclusive ||
        (r->f.by >= 0 && (!ws__ast_const(t, r->f.by, &by) || by != 1)) ||
        has_pragma(t, loop) || !ws__xform_is_whole(t, loop) ||
        (ws__ast_const(t, r->f.to, &to) && to < 16))
        return "";
    r->naccess = ws__xform_accesses(in, r->f.body, WS__AS_GLOBAL, r->access,
                                    WS__VEC_ACCESSES);
    if (r->naccess > WS__VEC_ACCESSES ||
        ws__xform_hides_stores(in->ast, r->f.body))
        return "";
    for (size_t i = 0; i < r->naccess && *rc >= 0; i++)
        *rc = take(in, r, i);
    if (!r->nvec)
        return "";
    return refusal(in, r);
}

int ws__vec_loop_find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    struct row *r = ws__arena_alloc(in->arena, 1, sizeof(*r));
    int32_t end = ws__ast_after(t, in->body);

    if (!r)
        return WS_ENOMEM;
    for (int32_t i = in->body; i < end; i++) {
        const char *why;
        int rc = 0;

        if (t->node[i].kind != WS__AST_FOR)
            continue;
        why = look(in, i, r, &rc);
        WS_TRY(rc);
        if (why && *why) {
            WS_TRY(ws__site_refuse(in, out, i, "four turns at once", why));
        } else if (!why) {
            ws__site_add(in, out, i, &rc,
                         "load four elements at once in the loop over %s",
                         t->node[r->f.var].name);
            WS_TRY(rc);
        }
    }
    return 0;
}

/* --- writing it ----------------------------------------------------------- */

static const char *lane_text(const struct ws__xform_in *in, const struct row *r,
                             const char *lane)
{
    const struct ws__ast *t = in->ast;
    struct ws__edit edit[4 * WS__VEC_ACCESSES];
    const struct ws__ast_node *body = &t->node[r->f.body];
    uint32_t begin = body->begin, end = ws__xform_end(t, r->f.body);
    size_t n = 0;

    for (int32_t i = r->f.body; i < ws__ast_after(t, r->f.body); i++) {
        const struct ws__ast_node *d = &t->node[i];
        struct ws__edit e = {d->begin, d->end - d->begin, NULL};

        for (size_t k = 0; k < r->naccess; k++)
            if (r->access[k].node == i && r->vec_of[k] >= 0)
                e.text = ws__arena_printf(in->arena, "%s[%s]",
                                          r->vec[r->vec_of[k]].each, lane);
        if (d->kind == WS__AST_REF && d->decl == r->f.var)
            e.text = ws__arena_printf(in->arena, "(%s + %s)", d->name, lane);
        if (e.text && n < WS_COUNT(edit))
            edit[n++] = e;
    }
    if (n == WS_COUNT(edit))
        return NULL;
    if (body->kind == WS__AST_BLOCK) {
        begin++;
        end--;
    }
    return ws__xform_edited(in, begin, end, edit, n);
}

static void put_aligned(const struct row *r, const char *const *place,
                        struct ws__buf *b)
{
    for (size_t i = 0; i < r->nvec; i++)
        ws__buf_printf(b, i ? " | (size_t)&%s" : "if (((size_t)&%s", place[i]);
    ws__buf_puts(b, ") % 16 == 0) {\n");
}

/* The four turns, with the loop that does them, at no indentation. */
static void put_fours(const struct ws__xform_in *in, const struct row *r,
                      const char *lane, const char *body,
                      const char *const *place, struct ws__buf *b)
{
    const struct ws__ast *t = in->ast;
    const char *j = t->node[r->f.var].name, *to = ws__xform_text(in, r->f.to);
    bool cuda = in->kernel->dialect == WS__DIALECT_CUDA;
    const char *tab = cuda ? "    " : "";
    const char *inner = cuda ? "        " : "    ";

    body = ws__xform_indented(in, body, -1, cuda ? "            " : "        ");
    if (!to || !body) {
        b->failed = WS_ENOMEM;
        return;
    }
    if (cuda)
        put_aligned(r, place, b);
    ws__buf_printf(b, "%sfor (; %s + 3 < %s; %s += 4) {\n", tab, j, to, j);
    for (size_t i = 0; i < r->nvec; i++) {
        const char *at = ws__arena_printf(in->arena, "&%s", place[i]);

        if (!at)
            b->failed = WS_ENOMEM;
        else
            ws__vec_load(in, b, &r->vec[i], at, inner);
    }
    ws__buf_printf(b,
                   "\n%s#pragma unroll\n%sfor (int %s = 0; %s < 4; %s++) "
                   "{\n%s\n%s}\n%s}\n",
                   inner, inner, lane, lane, lane, body, inner, tab);
    if (cuda)
        ws__buf_puts(b, "}\n");
}

/* for (; k < K; k++) body, at the indentation given. */
static const char *rest_text(const struct ws__xform_in *in, const struct row *r,
                             const char *outer, const char *inner)
{
    const struct ws__ast *t = in->ast;
    const char *s = ws__xform_edited(in, t->node[r->f.cond].begin,
                                     ws__xform_end(t, r->f.body), NULL, 0);

    s = s ? ws__arena_printf(in->arena, "for (; %s", s) : NULL;
    return s ? ws__xform_indented(in, s, (int)strlen(outer), inner) : NULL;
}

int ws__vec_loop_apply(const struct ws__xform_in *in, const struct ws__site *s,
                       struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    struct row *r = ws__arena_alloc(in->arena, 1, sizeof(*r));
    const char *lane = ws__xform_name(in, "lane");
    const char *outer = ws__xform_indent(in, s->node[0]);
    const char *inner =
        outer ? ws__arena_printf(in->arena, "%s    ", outer) : NULL;
    const char *place[WS__VEC_MAX], *body, *rest, *init, *fours;
    uint32_t begin = t->node[s->node[0]].begin;
    struct ws__buf b;
    int rc = 0;

    if (!r || !lane || !inner)
        return WS_ENOMEM;
    if (look(in, s->node[0], r, &rc))
        return rc < 0 ? rc : ws__fail(in->ctx, WS_EBUG, "no such site");
    WS_TRY(rc);
    for (size_t i = 0; i < r->nvec; i++) {
        place[i] = ws__xform_text(in, r->vec[i].node);
        if (!place[i])
            return WS_ENOMEM;
    }
    body = lane_text(in, r, lane);
    rest = rest_text(in, r, outer, inner);
    init = ws__xform_text(in, r->f.init);
    if (!body || !rest || !init)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 20);
    put_fours(in, r, lane, body, place, &b);
    fours = b.failed ? NULL : ws__xform_indented(in, b.data, 0, inner);
    ws__buf_free(&b);
    if (!fours)
        return WS_ENOMEM;
    ws__rewrite_at(out, begin, ws__xform_end(t, r->f.body) - begin,
                   "{\n%s%s%s\n\n%s\n%s\n%s}", inner, init,
                   init[strlen(init) - 1] == ';' ? "" : ";", fours, rest,
                   outer);
    return 0;
}
