/*
 * xform_async_copy.c: the next tile is copied while this one is used.
 *
 * A loop over tiles loads, waits, uses, waits. With two buffers a tile, and
 * copies that go from global to shared memory past the registers (sm_80 and
 * newer), the loads of the next turn are under way during this one. The loop
 * begins a turn early, in which it only loads. Where a tile is ragged zeros are
 * stored as before: they and the copies are seen after the same barrier.
 */
#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/pieces.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_TILES 4
#define MAX_STORES 8
#define MAX_PIECES 96

static const char *const findings[] = {"wait_memory", "wait_barrier", NULL};
static const struct ws__xform_delta deltas[] = {{"long_scoreboard", 0.1, 0.8},
                                                {NULL, 0, 0}};
static const char what[] = "copy the next tile while this one is used";

struct copying {
    struct ws__ast_for loop;
    int32_t barrier[2];
    int32_t tile[MAX_TILES]; /* shared VARs */
    size_t ntile;
    int32_t store[MAX_STORES]; /* ASSIGNs that become copies */
    size_t nstore;
    const char *why;
};

static bool no(struct copying *c, const char *why)
{
    if (!c->why)
        c->why = why;
    return false;
}

/* --- what the loop does --------------------------------------------------- */

/* The shared VAR that is indexed; -1: something else. */
static int32_t tile_of(const struct ws__ast *t, int32_t i)
{
    while (ws__ast_is(t, i, WS__AST_INDEX) || ws__ast_is(t, i, WS__AST_PAREN))
        i = ws__ast_child(t, i, 0);
    if (!ws__ast_is(t, i, WS__AST_REF) || t->node[i].decl < 0 ||
        t->node[t->node[i].decl].type.space != WS__AS_SHARED)
        return -1;
    return t->node[i].decl;
}

static bool has_tile(const struct copying *c, int32_t var)
{
    for (size_t i = 0; i < c->ntile; i++)
        if (c->tile[i] == var)
            return true;
    return false;
}

/* Loads, a barrier, uses, a barrier at the end. */
static bool find_barriers(const struct ws__ast *t, struct copying *c)
{
    int n = 0;
    int32_t last = -1, end = ws__ast_after(t, c->loop.body);

    for (int32_t i = t->node[c->loop.body].first; i >= 0; i = t->node[i].next) {
        if (ws__ast_is_barrier(t, i) && n < 2)
            c->barrier[n++] = i;
        last = i;
    }
    if (n != 2 || last != c->barrier[1])
        return false;
    n = 0;
    for (int32_t i = c->loop.body; i < end; i++)
        n += ws__ast_is_barrier(t, i);
    return n == 2;
}

static bool is_plain_load(const struct ws__ast *t, int32_t i, int32_t tile)
{
    const struct ws__ast_type *to = &t->node[tile].type;
    int32_t base;

    if (!ws__ast_is(t, i, WS__AST_INDEX) || t->text[t->node[i].end - 1] != ']')
        return false;
    base = ws__ast_bare(t, ws__ast_child(t, i, 0));
    if (!ws__ast_is(t, base, WS__AST_REF) || t->node[base].decl < 0 ||
        t->node[t->node[base].decl].type.pointers != 1)
        return false;
    return t->node[i].type.class == to->class &&
           t->node[i].type.bits == to->bits && t->node[i].type.width == 1 &&
           to->width == 1;
}

/* tile[..] = cond ? a[..] : 0, tile[..] = a[..], or a constant. */
static bool read_store(const struct ws__ast *t, struct copying *c, int32_t i)
{
    int32_t tile = tile_of(t, ws__ast_child(t, i, 0)), value, load;
    enum ws__ast_kind up = t->node[t->node[i].parent].kind;
    uint16_t bits = t->node[tile].type.bits;

    value = load = ws__ast_bare(t, ws__ast_child(t, i, 1));
    if (t->node[i].op != CL_BinaryOperator_Assign)
        return no(c, "a tile is added to while it is loaded");
    if (!has_tile(c, tile)) {
        if (c->ntile == MAX_TILES)
            return no(c, "more tiles than there is room for");
        c->tile[c->ntile++] = tile;
    }
    if (value >= 0 && (t->node[value].kind == WS__AST_FLOAT ||
                       t->node[value].kind == WS__AST_INT))
        return true;
    if (ws__ast_is(t, value, WS__AST_CHOICE)) {
        if (up == WS__AST_IF)
            return no(c, "a choice stands in a branch without braces");
        load = ws__ast_bare(t, ws__ast_child(t, value, 1));
    }
    if (bits != 32 && bits != 64)
        return no(c, "elements of a tile have not 4 or 8 bytes");
    if (!is_plain_load(t, load, tile))
        return no(c, "what is stored in a tile is no plain load of its type");
    if (c->nstore == MAX_STORES)
        return no(c, "a tile is written in too many places");
    c->store[c->nstore++] = i;
    return true;
}

static bool is_written(const struct ws__xform_in *in, int32_t decl)
{
    struct ws__access a[64];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, 64);

    for (size_t i = 0; i < n && i < 64; i++)
        if (a[i].write && a[i].decl == decl)
            return true;
    return n > 64;
}

static bool is_target(const struct ws__ast *t, int32_t i)
{
    int32_t up = ws__ast_up(t, i, WS__AST_ASSIGN);

    return up >= 0 && ws__ast_below(t, i, ws__ast_child(t, up, 0));
}

/* What a load reads must be the same a turn earlier. */
static bool check_read(const struct ws__xform_in *in, struct copying *c,
                       int32_t i)
{
    const struct ws__ast *t = in->ast;
    int32_t decl = t->node[i].decl;

    if (decl < 0 || decl == c->loop.var || ws__ast_below(t, decl, c->loop.body))
        return true;
    if (has_tile(c, decl))
        return is_target(t, i) || no(c, "loading reads a tile");
    if (t->node[decl].kind != WS__AST_VAR &&
        t->node[decl].kind != WS__AST_PARAM)
        return true;
    if (ws__ast_changes(t, c->loop.loop, decl) || is_written(in, decl))
        return no(c, "what is loaded depends on what a turn changes");
    if (t->node[decl].type.ndim)
        return no(c, "an array of one's own takes part in loading");
    return true;
}

static bool check_loads(const struct ws__xform_in *in, struct copying *c)
{
    const struct ws__ast *t = in->ast;

    for (int32_t i = c->loop.body + 1; i < c->barrier[0]; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t to = ws__ast_bare(t, ws__ast_child(t, i, 0));

        if (n->kind == WS__AST_CALL && n->name &&
            !strncmp(n->name, "operator", 8) && tile_of(t, to) >= 0)
            return no(c, "elements of a tile have not 4 or 8 bytes");
        if (n->kind == WS__AST_RETURN || n->kind == WS__AST_BREAK ||
            n->kind == WS__AST_CONTINUE || n->kind == WS__AST_JUMP ||
            (n->kind == WS__AST_CALL && !ws__ast_is_pure(t, i)))
            return no(c, "loading does something else");
        if (n->kind != WS__AST_ASSIGN)
            continue;
        if (tile_of(t, to) >= 0 ? !read_store(t, c, i)
                                : !ws__ast_is(t, to, WS__AST_REF) ||
                                      t->node[to].decl < c->loop.body)
            return no(c, "loading changes something else than tiles");
    }
    for (int32_t i = c->loop.body + 1; i < c->barrier[0]; i++)
        if (t->node[i].kind == WS__AST_REF && !check_read(in, c, i))
            return false;
    return c->nstore > 0;
}

/* Tiles are written above the barrier, read below it, and used nowhere else;
 * nor is anything that loading declares. */
static bool check_uses(const struct ws__xform_in *in, struct copying *c)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    int32_t close = ws__ast_after(t, c->loop.body);

    for (int32_t i = in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        bool loading = i > c->loop.body && i < c->barrier[0];
        bool using = i > c->barrier[0] && i < close;

        if (using && (n->kind == WS__AST_RETURN || n->kind == WS__AST_JUMP ||
                      (n->kind == WS__AST_ASSIGN &&
                       tile_of(t, ws__ast_child(t, i, 0)) >= 0)))
            return no(c, "a turn leaves, or writes tiles behind the barrier");
        if ((n->kind == WS__AST_BREAK || n->kind == WS__AST_CONTINUE) &&
            using && ws__ast_up(t, i, WS__AST_FOR) == c->loop.loop)
            return no(c, "a turn leaves, or writes tiles behind the barrier");
        if (n->kind != WS__AST_REF || n->decl < 0)
            continue;
        if (has_tile(c, n->decl) &&
            ((!loading && !using) || !ws__ast_is(t, n->parent, WS__AST_INDEX)))
            return no(c, "a tile is used otherwise, too");
        if (using && n->decl > c->loop.body && n->decl < c->barrier[0])
            return no(c, "what loading declares is used later");
        if ((has_tile(c, n->decl) || n->decl == c->loop.var) && n->macro &&
            strncmp(t->text + n->begin, n->name, n->end - n->begin))
            return no(c, "a macro hides a tile");
    }
    return true;
}

static bool check_loop(const struct ws__ast *t, struct copying *c)
{
    const struct ws__ast_for *f = &c->loop;
    const struct ws__ast_type *type = &t->node[f->var].type;

    if (f->inclusive || !ws__ast_is(t, f->init, WS__AST_DECL) ||
        type->is_unsigned || type->class != WS__AT_INT)
        return no(c, "the counter of tiles cannot begin a turn early");
    return ws__ast_is_pure(t, f->from) && ws__ast_is_pure(t, f->to);
}

/* The loop's bounds are asked for a turn early, too. */
static bool check_bounds(const struct ws__xform_in *in, struct copying *c)
{
    const int32_t part[] = {c->loop.from, c->loop.to, c->loop.by};

    for (size_t k = 0; k < WS_COUNT(part); k++) {
        int32_t end = part[k] < 0 ? -1 : ws__ast_after(in->ast, part[k]);

        for (int32_t i = part[k]; i < end; i++)
            if (in->ast->node[i].kind == WS__AST_REF && !check_read(in, c, i))
                return false;
    }
    return true;
}

static bool look(const struct ws__xform_in *in, int32_t loop, struct copying *c)
{
    const struct ws__ast *t = in->ast;

    memset(c, 0, sizeof(*c));
    ws__ast_for(t, loop, &c->loop);
    return c->loop.counts && ws__ast_is(t, c->loop.body, WS__AST_BLOCK) &&
           find_barriers(t, c) && check_loop(t, c) && check_loads(in, c) &&
           check_bounds(in, c) && check_uses(in, c);
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);
    struct copying c;
    struct ws__site *s;
    int rc = 0;

    if (strstr(in->ast->text, "__pipeline_"))
        return 0;
    for (int32_t i = in->body; i < end && rc >= 0; i++) {
        if (in->ast->node[i].kind != WS__AST_FOR)
            continue;
        if (look(in, i, &c)) {
            s = ws__site_add(in, out, i, &rc, "%s: %zu tiles", what, c.ntile);
            if (s)
                s->trust = "the arrays that are read are not those that are "
                           "written";
        } else if (c.why) {
            rc = ws__site_refuse(in, out, i, what, c.why);
        }
    }
    return rc;
}

/* --- the new text --------------------------------------------------------- */

struct names {
    const char *next, *buffer;
    const char *k, *type, *from, *to, *by;
};

static const char *operand(const struct ws__xform_in *in, int32_t i)
{
    enum ws__ast_kind k = in->ast->node[i].kind;
    const char *s = ws__xform_text(in, i);

    return s && (k == WS__AST_BINARY || k == WS__AST_CHOICE)
               ? ws__arena_printf(in->arena, "(%s)", s)
               : s;
}

/* The name in the text of its declaration. */
static const char *name_in(const struct ws__ast *t, int32_t var)
{
    const struct ws__ast_node *v = &t->node[var];
    size_t n = strlen(v->name);

    for (uint32_t at = v->begin; at + n <= v->end; at++)
        if (!strncmp(t->text + at, v->name, n) &&
            !ws__is_word(t->text[at + n]) &&
            (!at || !ws__is_word(t->text[at - 1])))
            return t->text + at;
    return NULL;
}

static int name_all(const struct ws__xform_in *in, const struct copying *c,
                    struct names *n)
{
    const struct ws__ast_node *v = &in->ast->node[c->loop.var];
    const char *decl = in->ast->text + v->begin;
    const char *name = name_in(in->ast, c->loop.var);

    if (!name)
        return ws__fail(in->ctx, WS_EBUG, "no name in a declaration");
    n->next = ws__xform_name(in, "next");
    n->buffer = ws__xform_name(in, "buffer");
    n->k = v->name;
    n->type = ws__arena_strndup(in->arena, decl, (size_t)(name - decl));
    n->from = operand(in, c->loop.from);
    n->to = operand(in, c->loop.to);
    n->by = c->loop.by < 0 ? "1" : operand(in, c->loop.by);
    return n->next && n->buffer && n->type && n->from && n->to && n->by
               ? 0
               : WS_ENOMEM;
}

/* References to tiles and the counter. */
static int put_pieces(const struct ws__xform_in *in, const struct copying *c,
                      const struct names *n, int32_t from, int32_t to,
                      bool loading, struct ws__piece *out, size_t *count)
{
    const struct ws__ast *t = in->ast;

    *count = 0;
    for (int32_t i = from; i < to; i++) {
        const struct ws__ast_node *x = &t->node[i];
        const char *text;

        if (x->kind != WS__AST_REF || x->decl < 0)
            continue;
        if (has_tile(c, x->decl))
            text = ws__arena_printf(in->arena, "%s[%s%s]", x->name, n->buffer,
                                    loading ? " ^ 1" : "");
        else if (loading && x->decl == c->loop.var)
            text = n->next;
        else
            continue;
        if (!text)
            return WS_ENOMEM;
        if (*count == MAX_PIECES - MAX_STORES)
            return ws__fail(in->ctx, WS_ELIMIT, "too much to change");
        out[(*count)++] = (struct ws__piece){x->begin, x->end, text};
    }
    return 0;
}

static const char *part(const struct ws__xform_in *in, int32_t i,
                        const struct ws__piece *piece, size_t n)
{
    const struct ws__ast_node *x = &in->ast->node[i];

    return ws__pieces_text(in, x->begin, x->end, piece, n);
}

/* The copy instead of the assignment. */
static const char *copy_of(const struct ws__xform_in *in, int32_t store,
                           const struct ws__piece *piece, size_t n)
{
    const struct ws__ast *t = in->ast;
    int32_t value = ws__ast_bare(t, ws__ast_child(t, store, 1));
    bool choice = ws__ast_is(t, value, WS__AST_CHOICE);
    int32_t load = choice ? ws__ast_bare(t, ws__ast_child(t, value, 1)) : value;
    const char *to = part(in, ws__ast_child(t, store, 0), piece, n);
    const char *from = part(in, load, piece, n), *cond, *other;
    int bytes = t->node[load].type.bits / 8;
    int blanks = (int)ws__pieces_blanks(t, t->node[store].begin);

    if (!to || !from)
        return NULL;
    if (!choice)
        return ws__arena_printf(in->arena,
                                "__pipeline_memcpy_async(&%s, &%s, %d)", to,
                                from, bytes);
    cond = part(in, ws__ast_child(t, value, 0), piece, n);
    other = part(in, ws__ast_child(t, value, 2), piece, n);
    if (!cond || !other)
        return NULL;
    return ws__arena_printf(in->arena,
                            "if (%s)\n%*s__pipeline_memcpy_async(&%s, &%s, "
                            "%d);\n%*selse\n%*s%s = %s",
                            cond, blanks + 4, "", to, from, bytes, blanks, "",
                            blanks + 4, "", to, other);
}

static int put_loads(const struct ws__xform_in *in, const struct copying *c,
                     const struct names *n, const char *indent,
                     struct ws__buf *b)
{
    const struct ws__ast *t = in->ast;
    struct ws__piece basic[MAX_PIECES], all[MAX_PIECES];
    uint32_t begin = t->node[c->loop.body].begin + 1;
    uint32_t end = t->node[c->barrier[0]].begin;
    const char *text;
    size_t k, m = 0;

    WS_TRY(put_pieces(in, c, n, c->loop.body, c->barrier[0], true, basic, &k));
    for (size_t i = 0; i < c->nstore; i++) {
        const struct ws__ast_node *x = &t->node[c->store[i]];

        text = copy_of(in, c->store[i], basic, k);
        if (!text)
            return WS_ENOMEM;
        all[m++] = (struct ws__piece){x->begin, x->end, text};
    }
    memcpy(all + m, basic, k * sizeof(*basic));
    ws__pieces_trim(t, &begin, &end);
    text = ws__pieces_text(in, begin, end, all, m + k);
    if (!text)
        return WS_ENOMEM;
    ws__pieces_lines(b, indent, 2, text, ws__pieces_blanks(t, begin));
    return 0;
}

static int put_turn(const struct ws__xform_in *in, const struct copying *c,
                    const struct names *n, struct ws__buf *b)
{
    const char *indent = ws__xform_indent(in, c->loop.loop);
    int64_t from;
    bool zero = ws__ast_const(in->ast, c->loop.from, &from) && !from;

    if (!indent)
        return WS_ENOMEM;
    ws__buf_printf(
        b, "for (%s%s = %s%s%s, %s = 1; %s < %s; %s += %s, %s ^= 1) {\n",
        n->type, n->k, zero ? "" : n->from, zero ? "-" : " - ", n->by,
        n->buffer, n->k, n->to, n->k, n->by, n->buffer);
    ws__buf_printf(b, "%s    const %s%s = %s + %s;\n\n", indent, n->type,
                   n->next, n->k, n->by);
    ws__buf_printf(b,
                   "%s    /* the next tile, while this one is used */\n"
                   "%s    if (%s < %s) {\n",
                   indent, indent, n->next, n->to);
    WS_TRY(put_loads(in, c, n, indent, b));
    ws__buf_printf(b,
                   "%s    }\n%s    __pipeline_commit();\n%s    if (%s < %s)\n"
                   "%s        continue;\n%s    __pipeline_wait_prior(1);\n"
                   "%s    ",
                   indent, indent, indent, n->k, n->from, indent, indent,
                   indent);
    return 0;
}

static void widen(const struct ws__xform_in *in, int32_t var,
                  struct ws__rewrite *out)
{
    const char *name = name_in(in->ast, var);

    if (!name)
        out->failed = ws__fail(in->ctx, WS_EBUG, "no name in a declaration");
    else
        ws__rewrite_at(out,
                       (uint32_t)(name - in->ast->text +
                                  (ptrdiff_t)strlen(in->ast->node[var].name)),
                       0, "[2]");
}

/* --- shared memory -------------------------------------------------------- */

/* Are all words of the text known to the kernel file? */
static bool is_planned(const struct ws__xform_in *in, const char *text,
                       size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const char *word;
        size_t n = 0;

        while (i + n < len && ws__is_word(text[i + n]))
            n++;
        if (!n && !strchr(" +-*()", text[i]))
            return false;
        if (!n || (text[i] >= '0' && text[i] <= '9')) {
            i += n ? n - 1 : 0;
            continue;
        }
        word = ws__arena_strndup(in->arena, text + i, n);
        if (!word || ws__scope_find(&in->kernel->scope, word) < 0)
            return false;
        i += n - 1;
    }
    return true;
}

/* Bytes of a tile, twice, in the words of the kernel file. */
static const char *tile_bytes(const struct ws__xform_in *in, int32_t var)
{
    const struct ws__ast_node *v = &in->ast->node[var];
    const char *at = name_in(in->ast, var), *sum;

    sum = ws__arena_printf(in->arena, "%d", v->type.bits / 4);
    for (int d = 0; d < v->type.ndim && at && sum; d++) {
        const char *open = strchr(at, '['), *close;

        close = open ? strchr(open, ']') : NULL;
        if (!close)
            return NULL;
        if (is_planned(in, open + 1, (size_t)(close - open - 1)))
            sum = ws__arena_printf(in->arena, "%s * (%.*s)", sum,
                                   (int)(close - open - 1), open + 1);
        else
            sum = ws__arena_printf(in->arena, "%s * %lld", sum,
                                   (long long)v->type.dim[d]);
        at = close;
    }
    return sum;
}

static void require_room(const struct ws__xform_in *in, const struct copying *c,
                         struct ws__rewrite *out)
{
    const char *sum = NULL, *yaml;

    for (size_t i = 0; i < c->ntile; i++) {
        const char *one = tile_bytes(in, c->tile[i]);

        if (one)
            sum = ws__arena_printf(in->arena, "%s%s%s", sum ? sum : "",
                                   sum ? " + " : "", one);
        if (!one || !sum) {
            out->failed = WS_ENOMEM;
            return;
        }
    }
    yaml = ws__arena_printf(in->arena,
                            "{require: \"%s <= min(device_shared_bytes, "
                            "49152)\", about: \"two of each tile fit in "
                            "shared memory\"}",
                            sum);
    if (!yaml)
        out->failed = WS_ENOMEM;
    else
        ws__rewrite_change(out, yaml, "constraints[+]");
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__piece piece[MAX_PIECES];
    uint32_t begin = t->node[s->node[0]].begin;
    struct copying c;
    struct names n;
    struct ws__buf b;
    size_t k;
    int rc;

    if (!look(in, s->node[0], &c))
        return ws__fail(in->ctx, WS_EBUG, "the loop is gone");
    WS_TRY(name_all(in, &c, &n));
    WS_TRY(put_pieces(in, &c, &n, c.barrier[0], ws__ast_after(t, c.loop.body),
                      false, piece, &k));
    ws__buf_init(&b, in->ctx, 1 << 18);
    rc = put_turn(in, &c, &n, &b);
    if (rc >= 0)
        rc = b.failed ? WS_ENOMEM : 0;
    if (rc >= 0)
        ws__rewrite_at(out, begin, t->node[c.barrier[0]].begin - begin, "%s",
                       b.data);
    ws__buf_free(&b);
    for (size_t i = 0; i < k; i++)
        ws__rewrite_at(out, piece[i].begin, piece[i].end - piece[i].begin, "%s",
                       piece[i].text);
    for (size_t i = 0; i < c.ntile; i++)
        widen(in, c.tile[i], out);
    require_room(in, &c, out);
    ws__rewrite_at(out, ws__xform_top(t), 0,
                   "#include <cuda_pipeline_primitives.h>\n\n");
    return rc;
}

const struct ws__xform_ops ws__xform_async_copy = {
    .abi = WS__XFORM_ABI,
    .name = "async_copy",
    .about = "two buffers a tile, filled by asynchronous copies",
    .needs = "a loop over tiles in shared memory, of elements of 4 or 8 bytes, "
             "that loads, waits, uses, and waits; sm_80 or newer",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .cuda = true,
    .gain = 1.15,
    .find = find,
    .apply = apply,
};
