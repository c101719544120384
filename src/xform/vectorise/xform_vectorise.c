/*
 * xform_vectorise.c: four neighbouring elements at once, by loads and stores of
 * 16 bytes.
 *
 * The first form is a kernel whose thread i makes element i of its outputs of
 * elements i of its inputs. A thread gets four of them: it loads them as
 * vectors, does what it did for each of the four, and stores vectors; the last
 * ones, fewer than four, are done as before. All loads come first then and all
 * stores last, so nobody else may touch those elements: an array that is
 * written is touched at i alone, and no other parameter names the same array.
 *
 * The second form is in vectorise_loop.c.
 */
#include "xform/vectorise/vectorise.h"

#include "xform/clang_api.h"

#include "base/banned.h"

static const char *const findings[] = {"wait_memory",       "wait_lg",
                                       "mostly_dram",       "near_memory_floor",
                                       "uncoalesced_loads", NULL};
static const struct ws__xform_delta deltas[] = {{"lg_throttle", 0.2, 1},
                                                {"long_scoreboard", 0.6, 1.1},
                                                {NULL, 0, 0}};

/* --- what both forms share ------------------------------------------------ */

static const char *element_of(const struct ws__ast_type *y)
{
    if (y->bits != 32 || y->width != 1 || y->pointers != 1)
        return NULL;
    if (y->class == WS__AT_FLOAT)
        return "float";
    if (y->class != WS__AT_INT)
        return NULL;
    return y->is_unsigned ? "uint" : "int";
}

bool ws__vec_name(const struct ws__xform_in *in, int32_t decl,
                  struct ws__vec *out, int *rc)
{
    const struct ws__ast_node *n = &in->ast->node[decl];
    char *four, *each;

    *out = (struct ws__vec){.name = n->name,
                            .element = element_of(&n->type),
                            .decl = decl,
                            .node = -1};
    if (!out->element || !n->name ||
        (n->spelled && strstr(n->spelled, "volatile")))
        return false;
    four = ws__arena_printf(in->arena, "%s4", n->name);
    each = ws__arena_printf(in->arena, "%s_each", n->name);
    out->four = four ? ws__xform_name(in, four) : NULL;
    out->each = each ? ws__xform_name(in, each) : NULL;
    if (!out->four || !out->each)
        *rc = WS_ENOMEM;
    return *rc >= 0;
}

void ws__vec_load(const struct ws__xform_in *in, struct ws__buf *b,
                  const struct ws__vec *v, const char *place,
                  const char *indent)
{
    const char *e = v->element;

    if (in->kernel->dialect == WS__DIALECT_CUDA)
        ws__buf_printf(b, "%sconst %s4 %s = *(const %s4 *)(%s);\n", indent, e,
                       v->four, e, place);
    else
        ws__buf_printf(b, "%sconst %s4 %s = vload4(0, %s);\n", indent, e,
                       v->four, place);
    ws__buf_printf(b, "%s%s%s %s[4] = {%s.x, %s.y, %s.z, %s.w};\n", indent,
                   v->write ? "" : "const ",
                   strcmp(e, "uint") != 0 ? e : "unsigned int", v->each,
                   v->four, v->four, v->four, v->four);
}

void ws__vec_store(const struct ws__xform_in *in, struct ws__buf *b,
                   const struct ws__vec *v, const char *place,
                   const char *indent)
{
    const char *e = v->element, *s = v->each;

    if (in->kernel->dialect == WS__DIALECT_CUDA)
        ws__buf_printf(b,
                       "%s*(%s4 *)(%s) = make_%s4(%s[0], %s[1], %s[2], "
                       "%s[3]);\n",
                       indent, e, place, e, s, s, s, s);
    else
        ws__buf_printf(b,
                       "%svstore4((%s4)(%s[0], %s[1], %s[2], %s[3]), 0, "
                       "%s);\n",
                       indent, e, s, s, s, s, place);
}

/* --- elements ------------------------------------------------------------- */

/* A kernel of elements. */
struct elements {
    struct ws__elements k;
    struct ws__vec vec[WS__VEC_MAX];
    size_t nvec;
    struct ws__access access[WS__VEC_ACCESSES];
    size_t naccess;
};

static bool is_below_body(const struct ws__ast *t, const struct elements *e,
                          int32_t i)
{
    return i >= e->k.first && i < ws__ast_after(t, e->k.last);
}

/* Does the node happen for each element, whatever the data? */
static bool is_certain(const struct ws__xform_in *in, const struct elements *e,
                       int32_t i)
{
    return ws__xform_is_certain(in->ast, i, e->k.early ? in->body : e->k.first);
}

/* Is it stored for certain before anything is read of it? */
static bool is_made(const struct ws__xform_in *in, const struct elements *e,
                    int32_t decl)
{
    const struct ws__ast *t = in->ast;

    for (size_t i = 0; i < e->naccess; i++) {
        const struct ws__access *a = &e->access[i];
        int32_t p = t->node[a->node].parent, end = ws__ast_after(t, p);

        if (a->decl != decl)
            continue;
        if (a->read || t->node[p].kind != WS__AST_ASSIGN ||
            !is_certain(in, e, p))
            return false;
        for (size_t k = 0; k < e->naccess; k++)
            if (e->access[k].decl == decl && e->access[k].read &&
                e->access[k].node < end)
                return false;
        return true; /* accesses are in the order of the text */
    }
    return false;
}

/* One array: four at once, left as it is, or a reason against it all. */
static const char *take_array(const struct ws__xform_in *in, struct elements *e,
                              int32_t param, int *rc)
{
    const struct ws__ast *t = in->ast;
    struct ws__vec v;
    bool certain = false, write = false, macro = false;

    for (size_t i = 0; i < e->naccess; i++) {
        const struct ws__access *a = &e->access[i];
        bool here = a->decl == param && a->affine &&
                    ws__xform_is_place(&a->at) && is_below_body(t, e, a->node);

        if (a->decl != param)
            continue;
        write = write || a->write;
        certain = certain || (here && is_certain(in, e, a->node));
        macro = macro || (here && t->node[a->node].macro);
    }
    for (size_t i = 0; write && i < e->naccess; i++)
        if (e->access[i].decl == param &&
            (!e->access[i].affine || !ws__xform_is_place(&e->access[i].at) ||
             !is_below_body(t, e, e->access[i].node)))
            return "an array that is stored to is used elsewhere, too";
    if (!ws__xform_only_indexed(in, param) && !t->node[param].type.is_const)
        return "a pointer is used for more than its elements";
    if (write && !ws__xform_is_alone(in, param))
        return "an array that is stored to has two names";
    if (macro)
        return "a macro has an access in it";
    if (!certain || e->nvec == WS__VEC_MAX)
        return NULL;
    if (!ws__vec_name(in, param, &v, rc))
        return NULL;
    v.write = write;
    v.read = !write || !is_made(in, e, param);
    e->vec[e->nvec++] = v;
    return NULL;
}

/* Why not; NULL: it applies, with what is needed in e. "": no site. */
static const char *look(const struct ws__xform_in *in, struct elements *e,
                        int *rc)
{
    const struct ws__ast *t = in->ast;
    const char *why;

    memset(e, 0, sizeof(*e));
    if (!ws__elements_find(in, &e->k))
        return "";
    e->naccess = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, e->access,
                                    WS__VEC_ACCESSES);
    if (e->naccess > WS__VEC_ACCESSES)
        return "it has too many accesses";
    why = ws__elements_refusal(in, &e->k, false);
    for (int32_t c = t->node[in->func].first; !why && c >= 0;
         c = t->node[c].next)
        if (t->node[c].kind == WS__AST_PARAM && t->node[c].type.pointers)
            why = take_array(in, e, c, rc);
    if (!why && !e->nvec)
        why = "no array of 32-bit elements is used at its thread's place "
              "for certain";
    return why;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct elements *e = ws__arena_alloc(in->arena, 1, sizeof(*e));
    struct ws__site *s;
    const char *why;
    int rc = 0;

    if (!e)
        return WS_ENOMEM;
    why = look(in, e, &rc);
    WS_TRY(rc);
    if (why && *why)
        WS_TRY(
            ws__site_refuse(in, out, e->k.decl, "four elements a thread", why));
    if (!why) {
        s = ws__site_add(in, out, e->k.decl, &rc,
                         "a thread of '%s' does four neighbouring elements",
                         in->kernel->launch[in->launch].entry);
        if (s && in->ast->node[e->k.var].type.bits == 32)
            s->trust = "places are counted in 32 bits";
        WS_TRY(rc);
    }
    return ws__vec_loop_find(in, out);
}

/* --- writing it ----------------------------------------------------------- */

/* The body with its accesses replaced; *uses: it asks for the place, too. */
static const char *lane_text(const struct ws__xform_in *in,
                             const struct elements *e, const char *lane,
                             bool *uses)
{
    const struct ws__ast *t = in->ast;
    struct ws__edit edit[WS__VEC_ACCESSES];
    uint32_t covered = 0;
    size_t n = 0;

    *uses = false;
    for (int32_t i = e->k.first; i < ws__ast_after(t, e->k.last); i++) {
        const struct ws__ast_node *d = &t->node[i];

        for (size_t k = 0; k < e->naccess; k++) {
            const struct ws__access *a = &e->access[k];

            if (a->node != i || !a->affine || !ws__xform_is_place(&a->at))
                continue;
            for (size_t v = 0; v < e->nvec; v++)
                if (e->vec[v].decl == a->decl) {
                    edit[n++] =
                        (struct ws__edit){d->begin, d->end - d->begin,
                                          ws__arena_printf(in->arena, "%s[%s]",
                                                           e->vec[v].each,
                                                           lane)};
                    if (!edit[n - 1].text)
                        return NULL;
                    covered = d->end;
                }
        }
        if (d->kind == WS__AST_REF && d->decl == e->k.var &&
            d->begin >= covered)
            *uses = true;
    }
    return ws__elements_body(in, &e->k, edit, n);
}

static void put_condition(const struct ws__xform_in *in,
                          const struct elements *e, const char *first,
                          const char *bound, struct ws__buf *b)
{
    bool any = false;

    ws__buf_printf(b, "if (%s < %s && %s - %s >= 4", first, bound, bound,
                   first);
    for (size_t i = 0; in->kernel->dialect == WS__DIALECT_CUDA && i < e->nvec;
         i++) {
        if (ws__xform_aligned(in, e->vec[i].decl, 16))
            continue;
        ws__buf_printf(b, any ? " | (size_t)%s" : " &&\n    ((size_t)%s",
                       e->vec[i].name);
        any = true;
    }
    ws__buf_puts(b, any ? ") % 16 == 0) {\n" : ") {\n");
}

/* The texts that the result is made of. */
struct pieces {
    const char *type, *first, *lane, *bound, *lane_body, *body, *name;
    bool uses;
};

static bool get_pieces(const struct ws__xform_in *in, const struct elements *e,
                       struct pieces *p)
{
    const struct ws__ast *t = in->ast;
    int32_t n = ws__ast_bare(t, e->k.bound);

    p->type = ws__elements_type(in, &e->k);
    p->first = ws__xform_name(in, "first");
    p->lane = ws__xform_name(in, "lane");
    p->bound = ws__xform_text(in, e->k.bound);
    if (p->bound && t->node[n].kind != WS__AST_REF &&
        t->node[n].kind != WS__AST_INT)
        p->bound = ws__arena_printf(in->arena, "(%s)", p->bound);
    p->name = t->node[e->k.var].name;
    p->lane_body = p->lane ? lane_text(in, e, p->lane, &p->uses) : NULL;
    p->body = ws__elements_body(in, &e->k, NULL, 0);
    if (p->lane_body)
        p->lane_body = ws__xform_indented(in, p->lane_body, -1, "        ");
    if (p->body)
        p->body = ws__xform_indented(in, p->body, -1, "        ");
    return p->type && p->first && p->bound && p->name && p->lane_body &&
           p->body;
}

static const char *c_type(const struct ws__vec *v)
{
    return strcmp(v->element, "uint") != 0 ? v->element : "unsigned int";
}

static void put_all(const struct ws__xform_in *in, const struct elements *e,
                    const struct pieces *p, struct ws__buf *b)
{
    const char *place[WS__VEC_MAX];

    put_condition(in, e, p->first, p->bound, b);
    for (size_t i = 0; i < e->nvec; i++) {
        place[i] =
            ws__arena_printf(in->arena, "%s + %s", e->vec[i].name, p->first);
        if (!place[i]) {
            b->failed = WS_ENOMEM;
            return;
        }
        if (e->vec[i].read)
            ws__vec_load(in, b, &e->vec[i], place[i], "    ");
        else
            ws__buf_printf(b, "    %s %s[4];\n", c_type(&e->vec[i]),
                           e->vec[i].each);
    }
    ws__buf_printf(b,
                   "\n    #pragma unroll\n    for (int %s = 0; %s < 4; "
                   "%s++) {\n",
                   p->lane, p->lane, p->lane);
    if (p->uses)
        ws__buf_printf(b, "        const %s %s = %s + %s;\n", p->type, p->name,
                       p->first, p->lane);
    ws__buf_printf(b, "%s\n    }\n", p->lane_body);
    for (size_t i = 0; i < e->nvec; i++)
        if (e->vec[i].write)
            ws__vec_store(in, b, &e->vec[i], place[i], "    ");
    ws__buf_printf(b,
                   "} else {\n    for (%s %s = %s; %s < %s && %s < %s + 4; "
                   "%s++) {\n%s\n    }\n}",
                   p->type, p->name, p->first, p->name, p->bound, p->name,
                   p->first, p->name, p->body);
}

/* A grid of as many blocks as a quarter of the work needs. */
static int shrink(const struct ws__xform_in *in, struct ws__rewrite *out)
{
    const char *grid = ws__xform_grid(in, 0), *text;

    text = ws__arena_printf(in->arena, "ceil_div(%s, 4)", grid);
    if (!text)
        return WS_ENOMEM;
    ws__rewrite_change(out, text, "launches[%zu].grid[0]", in->launch);
    return 0;
}

static int apply_elements(const struct ws__xform_in *in,
                          const struct elements *e, struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    const char *init = ws__xform_text(in, ws__ast_child(t, e->k.var, 0));
    const char *outer = ws__xform_indent(in, e->k.guard), *all;
    uint32_t begin = t->node[e->k.guard].begin;
    uint32_t end =
        e->k.early ? t->node[in->body].end - 1 : ws__xform_end(t, e->k.last);
    struct pieces p;
    struct ws__buf b;

    if (!init || !outer || !get_pieces(in, e, &p))
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 20);
    put_all(in, e, &p, &b);
    all = b.failed ? NULL : ws__xform_indented(in, b.data, 0, outer);
    ws__buf_free(&b);
    if (!all)
        return WS_ENOMEM;
    ws__rewrite_node(out, e->k.decl, "const %s %s = 4 * (%s);", p.type, p.first,
                     init);
    ws__rewrite_at(out, begin, end - begin, "%s%s", all + strlen(outer),
                   e->k.early ? "\n" : "");
    return shrink(in, out);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct elements *e;
    int rc = 0;

    if (in->ast->node[s->node[0]].kind == WS__AST_FOR)
        return ws__vec_loop_apply(in, s, out);
    e = ws__arena_alloc(in->arena, 1, sizeof(*e));
    if (!e)
        return WS_ENOMEM;
    if (look(in, e, &rc))
        return rc < 0 ? rc : ws__fail(in->ctx, WS_EBUG, "no such site");
    WS_TRY(rc);
    return apply_elements(in, e, out);
}

const struct ws__xform_ops ws__xform_vectorise = {
    .abi = WS__XFORM_ABI,
    .name = "vectorise",
    .about = "four neighbouring elements at once, in loads and stores of 16 "
             "bytes",
    .needs = "a thread an element, guarded by i < n, arrays that are stored to "
             "used at i alone; or a loop of steps of one over elements that "
             "follow each other",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 1.2,
    .find = find,
    .apply = apply,
};
