/*
 * infer_shape.c: dimensions of arrays, from the strides of all indices.
 *
 * In x[(a * H + b) * W + c] variables stand with H * W, W and 1. Each stride
 * divides the one before; the quotients are the inner lengths, and the first
 * length is the largest that stands with the largest stride, plus one. A block
 * number that nothing bounds makes an axis of its own, or has the length of the
 * dimension that it goes along.
 */
#include "xform/infer_int.h"

#include <ctype.h>

#include "base/banned.h"

struct chain {
    struct ws__ip_term stride[WS__INFER_STRIDES];
    int n;
};

static struct ws__ip of_term(const struct ws__ip_term *t)
{
    struct ws__ip a = ws__ip_number(0);

    a.n = 1;
    a.term[0] = *t;
    return a;
}

static struct ws__ip_term without(const struct ws__ip_term *t, int atom)
{
    struct ws__ip_term one = {.times = 1, .n = 1}, rest;

    one.atom[0] = (uint16_t)atom;
    ws__ip_term_divides(&one, t, &rest);
    return rest;
}

struct ws__ip ws__infer_settled(struct ws__infer *x, size_t launch,
                                const struct ws__ip *a)
{
    struct ws__ip out = ws__ip_number(0);

    for (int i = 0; i < a->n; i++) {
        struct ws__ip f = ws__ip_number(a->term[i].times);

        for (int k = 0; k < a->term[i].n; k++) {
            size_t at = a->term[i].atom[k];
            struct ws__ip one = x->atom[at].kind == WS__ATOM_BLOCK
                                    ? x->block[launch][x->atom[at].key]
                                    : ws__ip_atom(at);

            f = ws__ip_multiply(&f, &one);
        }
        out = ws__ip_add(&out, &f, 1);
    }
    return a->n < 0 ? *a : out;
}

static void add_stride(struct chain *c, struct ws__ip_term t)
{
    t.times = t.times < 0 ? -t.times : t.times;
    for (int i = 0; i < c->n; i++)
        if (c->stride[i].times == t.times && c->stride[i].n == t.n &&
            !memcmp(c->stride[i].atom, t.atom, t.n * sizeof(t.atom[0])))
            return;
    if (c->n == WS__INFER_STRIDES)
        return;
    c->stride[c->n++] = t;
    for (int i = c->n - 1; i > 0; i--) {
        struct ws__ip_term *a = &c->stride[i - 1], *b = &c->stride[i], swap;

        if (a->n > b->n || (a->n == b->n && a->times >= b->times))
            break;
        swap = *a;
        *a = *b;
        *b = swap;
    }
}

/* The strides that divide each other, the largest first, 1 at the end. */
static struct chain chain_of(struct ws__infer *x, size_t fact)
{
    struct chain all = {.n = 0}, out = {.n = 0};
    struct ws__ip_term one = {.times = 1}, rest;

    for (size_t i = 0; i < x->naccess; i++) {
        const struct ws__infer_access *a = &x->access[i];

        if (a->shared || a->fact != fact)
            continue;
        for (int k = 0; k < a->at.n; k++) {
            int v = ws__ip_variable(x, &a->at.term[k]);

            if (v >= 0)
                add_stride(&all, without(&a->at.term[k], v));
        }
    }
    for (int i = 0; i < all.n; i++)
        if (!out.n ||
            ws__ip_term_divides(&all.stride[i], &out.stride[out.n - 1], &rest))
            out.stride[out.n++] = all.stride[i];
    if (out.n == WS__FACT_DIMS)
        out.n--;
    if (out.n && (out.stride[out.n - 1].n || out.stride[out.n - 1].times != 1))
        out.stride[out.n++] = one;
    return out;
}

/* The part of an index that stands with the largest stride, without it. */
static struct ws__ip lead_of(const struct chain *c,
                             const struct ws__infer_access *a)
{
    struct ws__ip out = ws__ip_number(0);

    if (c->n <= 1)
        return a->at;
    for (int i = 0; i < a->at.n; i++) {
        struct ws__ip t;
        struct ws__ip_term rest;

        if (!ws__ip_term_divides(&c->stride[0], &a->at.term[i], &rest))
            continue;
        t = of_term(&rest);
        out = ws__ip_add(&out, &t, 1);
    }
    return a->at.n < 0 ? a->at : out;
}

static struct ws__ip extent_of(struct ws__infer *x, const struct chain *c,
                               struct ws__infer_access *a)
{
    struct ws__ip lead = lead_of(c, a), one;
    int past = c->n <= 1 ? a->width : 1;

    x->launch = a->launch;
    lead = ws__infer_most(x, &lead, &a->known);
    one = ws__ip_number(past);
    return ws__ip_add(&lead, &one, 1);
}

/* --- blocks that nothing bounds ---------------------------------------------
 */

/* The variable that is given a number of blocks, for a name. */
static const char *name_of_group(const struct ws__infer *x, size_t launch,
                                 int dim)
{
    const struct ws__ast *t = x->t;
    int32_t f = x->in->func[launch];

    for (int32_t i = f; i < ws__ast_after(t, f); i++) {
        int d;

        if (t->node[i].kind == WS__AST_VAR &&
            ws__ast_launch_value(t, ws__infer_init(t, i), &d) == WS__AL_BLOCK &&
            d == dim)
            return t->node[i].name;
    }
    return NULL;
}

/* An inner length that whole blocks cover, with no guard. */
static struct ws__ip blocks_along(struct ws__infer *x, size_t launch, int dim,
                                  const struct chain *c, int d,
                                  const struct ws__ip_term *with)
{
    struct ws__ip_term by, rest;
    struct ws__ip length, threads = ws__ip_number(0);
    struct ws__fact *f;
    int64_t n;

    if (!ws__ip_is_number(&x->block[launch][dim], &n) || n < 2 ||
        !ws__ip_term_divides(&c->stride[d], with, &by) || by.n ||
        by.times != n ||
        !ws__ip_term_divides(&c->stride[d], &c->stride[d - 1], &rest) ||
        rest.n != 1 || rest.times != 1 ||
        x->atom[rest.atom[0]].kind != WS__ATOM_SIZE)
        return ws__ip_unknown();
    f = &x->out->fact[x->atom[rest.atom[0]].key];
    if (f->multiple % n)
        f->multiple *= n;
    length = of_term(&rest);
    threads = ws__ip_number(n);
    return ws__ip_quotient(x, &length, &threads);
}

/* The dimension that a block number goes along; unknown: the first one. */
static struct ws__ip length_along(struct ws__infer *x, size_t launch, int dim)
{
    struct ws__ip out = ws__ip_unknown();

    for (size_t i = 0; i < x->naccess && out.n < 0; i++) {
        struct ws__infer_access *a = &x->access[i];
        struct chain c;

        if (a->shared || a->launch != launch)
            continue;
        c = chain_of(x, a->fact);
        for (int k = 0; k < a->at.n; k++) {
            int v = ws__ip_variable(x, &a->at.term[k]);
            struct ws__ip_term s, rest;

            if (v < 0 || x->atom[v].kind != WS__ATOM_GROUP ||
                x->atom[v].key != dim || x->atom[v].env != (int)launch)
                continue;
            s = without(&a->at.term[k], v);
            for (int d = 1; d < c.n; d++)
                if (ws__ip_term_divides(&s, &c.stride[d], &rest) &&
                    ws__ip_term_divides(&c.stride[d], &c.stride[d - 1],
                                        &rest) &&
                    s.times == c.stride[d].times && s.n == c.stride[d].n &&
                    rest.n)
                    out = of_term(&rest);
                else if (out.n < 0)
                    out = blocks_along(x, launch, dim, &c, d, &s);
        }
    }
    return out;
}

/* The first length of an array by other accesses, where the block number alone
 * goes along its first dimension. */
static struct ws__ip length_of_first(struct ws__infer *x, size_t launch,
                                     int dim)
{
    for (size_t i = 0; i < x->naccess; i++) {
        struct ws__infer_access *a = &x->access[i];
        struct chain c;
        struct ws__ip lead, e;
        int v;

        if (a->shared || a->launch != launch)
            continue;
        c = chain_of(x, a->fact);
        lead = lead_of(&c, a);
        v = lead.n == 1 && lead.term[0].n == 1 && lead.term[0].times == 1
                ? lead.term[0].atom[0]
                : -1;
        if (v < 0 || x->atom[v].kind != WS__ATOM_GROUP ||
            x->atom[v].key != dim || x->atom[v].env != (int)launch)
            continue;
        for (size_t k = 0; k < x->naccess; k++) {
            if (x->access[k].shared || x->access[k].fact != a->fact ||
                (x->strides[launch][dim] && x->access[k].launch == launch))
                continue;
            e = extent_of(x, &c, &x->access[k]);
            if (e.n > 0)
                return e;
        }
    }
    return ws__ip_unknown();
}

/* Does anything hang on the number of the block? */
static bool is_used(struct ws__infer *x, size_t launch, int dim)
{
    size_t atom = ws__atom_get(x, WS__ATOM_GROUP, dim, -1, (int)launch);

    for (size_t i = 0; i < x->naccess; i++) {
        struct ws__ip all;

        if (x->access[i].launch != launch || x->access[i].shared)
            continue;
        all = ws__infer_resolve(x, &x->access[i].at, NULL, true);
        for (int t = 0; t < all.n; t++)
            for (int k = 0; k < all.term[t].n; k++)
                if (all.term[t].atom[k] == atom ||
                    x->atom[all.term[t].atom[k]].kind == WS__ATOM_DIV ||
                    x->atom[all.term[t].atom[k]].kind == WS__ATOM_MOD)
                    return true;
        if (all.n < 0)
            return true;
    }
    return false;
}

static void bound_groups(struct ws__infer *x, size_t launch)
{
    for (int d = 0; d < 3; d++) {
        struct ws__ip *g = &x->grid[launch][d], first;
        const char *own;
        char name[64];
        int axis = -1;

        if (x->strides[launch][d] && x->uses[launch][d]) {
            first = length_of_first(x, launch, d);
            if (first.n > 0)
                *g = first;
        }
        if (g->n >= 0 || x->rc < 0)
            continue;
        if (!is_used(x, launch, d)) {
            *g = ws__ip_number(1);
            x->out->launch[launch].grid_note =
                "a guess: nothing hangs on the number of the block";
            continue;
        }
        *g = length_along(x, launch, d);
        if (g->n < 0)
            *g = length_of_first(x, launch, d);
        if (g->n >= 0)
            continue;
        own = name_of_group(x, launch, d);
        if (own)
            snprintf(name, sizeof(name), "%.50s%s", own,
                     strlen(own) > 2 ? "s" : "_blocks");
        else
            snprintf(name, sizeof(name), "blocks%s",
                     d ? d > 1 ? "_z" : "_y" : "");
        for (size_t i = 0; i < x->out->nfact; i++)
            if (x->out->fact[i].is_block_count &&
                !strcmp(x->out->fact[i].name, name))
                axis = (int)i;
        if (axis < 0)
            axis = ws__infer_axis(x, name,
                                  ws__infer_words(x, "how many blocks work: no "
                                                     "parameter says it"));
        if (axis < 0)
            continue;
        x->out->fact[axis].is_block_count = true;
        *g = ws__ip_atom(ws__atom_get(x, WS__ATOM_SIZE, axis, -1, 0));
    }
}

/* --- places by elements ------------------------------------------------------
 */

/* Which element of whole numbers stands alone with the first dimension. */
static int place_of_lead(const struct ws__infer *x, const struct ws__ip *lead)
{
    int v;

    if (lead->n != 1)
        return -1;
    v = ws__ip_variable(x, &lead->term[0]);
    return v >= 0 && x->atom[v].kind == WS__ATOM_LOAD && lead->term[0].n == 1 &&
                   lead->term[0].times == 1 &&
                   ws__dtype_bytes(x->out->fact[x->atom[v].key].dtype) >= 4
               ? x->atom[v].key
               : -1;
}

/* Inner lengths that an element must stay below. */
static void bound_places(struct ws__infer *x, const struct chain *c,
                         const struct ws__infer_access *a)
{
    for (int k = 0; k < a->at.n; k++) {
        int v = ws__ip_variable(x, &a->at.term[k]);
        struct ws__ip_term s, rest;
        int64_t *most;

        if (v < 0 || x->atom[v].kind != WS__ATOM_LOAD)
            continue;
        s = without(&a->at.term[k], v);
        most = &x->most_of[x->atom[v].key];
        for (int d = 1; d < c->n && *most >= 0; d++) {
            if (s.n != c->stride[d].n || s.times != c->stride[d].times ||
                !ws__ip_term_divides(&c->stride[d], &c->stride[d - 1], &rest))
                continue;
            if (!rest.n && rest.times <= *most)
                *most = rest.times - 1;
            else if (rest.n == 1 && rest.times == 1 &&
                     x->atom[rest.atom[0]].kind == WS__ATOM_SIZE) {
                struct ws__fact *f = &x->out->fact[x->atom[rest.atom[0]].key];

                if (f->least <= *most)
                    f->least = *most + 1;
            }
        }
    }
}

/* --- the arrays -------------------------------------------------------------
 */

/* A number that must divide without rest, for lengths such as n // 2. */
static void see_multiples(struct ws__infer *x, const struct ws__ip *a)
{
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < a->term[i].n; k++) {
            const struct ws__atom *q = &x->atom[a->term[i].atom[k]];
            int64_t by;

            if (q->kind == WS__ATOM_QUOT && ws__ip_is_number(q->den, &by) &&
                q->num->n == 1 && q->num->term[0].n == 1 &&
                q->num->term[0].times == 1 &&
                x->atom[q->num->term[0].atom[0]].kind == WS__ATOM_SIZE) {
                struct ws__fact *f =
                    &x->out->fact[x->atom[q->num->term[0].atom[0]].key];

                if (f->multiple % by)
                    f->multiple *= by;
            }
        }
}

static void put_dim(struct ws__infer *x, struct ws__fact *f,
                    const struct ws__ip *d)
{
    const char *text;

    x->numbers = true;
    text = ws__ip_text(x, d);
    x->numbers = false;
    if (!text)
        f->check = "a length that has no name here";
    see_multiples(x, d);
    f->shape[f->ndim++] = text ? text : "1";
}

/* The first dimension over all accesses; those that tell nothing are counted.
 */
static struct ws__ip first_length(struct ws__infer *x, const struct chain *c,
                                  size_t fact, int *open, int32_t *where,
                                  int *place)
{
    struct ws__ip out = ws__ip_unknown();
    bool out_varies = false;

    *open = 0;
    *place = -1;
    for (size_t i = 0; i < x->naccess; i++) {
        struct ws__infer_access *a = &x->access[i];
        struct ws__ip e, lead;

        if (a->shared || a->fact != fact)
            continue;
        lead = lead_of(c, a);
        bound_places(x, c, a);
        if (place_of_lead(x, &lead) >= 0) {
            *place = place_of_lead(x, &lead);
            continue;
        }
        e = extent_of(x, c, a);
        if (e.n <= 0) {
            ++*open;
            *where = a->node;
            continue;
        }
        /* Of x[k] and x[i], i < n, the one that all threads share is inside. */
        if (out.n < 0 || (ws__ip_varies(x, &lead) && !out_varies))
            out = e;
        else if (ws__ip_varies(x, &lead) || !out_varies)
            out = ws__ip_larger(x, &out, &e);
        out_varies = out_varies || ws__ip_varies(x, &lead);
    }
    return out;
}

/* Rows that elements of another array name. */
static struct ws__ip length_by_place(struct ws__infer *x, const struct chain *c,
                                     size_t fact, int place)
{
    char name[64];
    int axis;

    snprintf(name, sizeof(name), "%.50s_%s", x->out->fact[fact].name,
             c->n > 1 ? "rows" : "length");
    axis = ws__infer_axis(x, name,
                          ws__infer_words(x,
                                          "a guess: '%.60s' says which is "
                                          "used, no parameter how many "
                                          "there are",
                                          x->out->fact[place].name));
    if (axis < 0)
        return ws__ip_unknown();
    x->out->fact[axis].least = x->most_of[place] + 1;
    return ws__ip_atom(ws__atom_get(x, WS__ATOM_SIZE, axis, -1, 0));
}

/* All elements that the launches write or the first axis: a stand-in. */
static struct ws__ip stand_in(struct ws__infer *x, size_t fact)
{
    struct ws__ip out = ws__ip_number(1);
    size_t launch = 0;
    int64_t n;

    for (size_t i = 0; i < x->naccess; i++)
        if (!x->access[i].shared && x->access[i].fact == fact)
            launch = x->access[i].launch;
    for (int d = 0; d < 3; d++)
        if (x->grid[launch][d].n > 0) {
            out = ws__ip_multiply(&out, &x->grid[launch][d]);
            if (x->block[launch][d].n > 0)
                out = ws__ip_multiply(&out, &x->block[launch][d]);
        }
    for (size_t i = 0; i < x->out->nfact && ws__ip_is_number(&out, &n); i++)
        if (x->out->fact[i].role == WS__FACT_AXIS)
            out =
                ws__ip_atom(ws__atom_get(x, WS__ATOM_SIZE, (int32_t)i, -1, 0));
    return out;
}

/* A product of sizes is a dimension each, in the order of parameters. */
static bool put_product(struct ws__infer *x, struct ws__fact *f,
                        const struct ws__ip *d, int more)
{
    const struct ws__ip_term *t = &d->term[0];

    if (d->n != 1 || t->times != 1 || t->n < 2 || t->n + more > WS__FACT_DIMS)
        return false;
    for (int i = 0; i < t->n; i++)
        if (x->atom[t->atom[i]].kind != WS__ATOM_SIZE)
            return false;
    for (int i = 0; i < t->n; i++) {
        struct ws__ip one = ws__ip_atom(t->atom[i]);

        put_dim(x, f, &one);
    }
    return true;
}

/* The part of an index that goes along a dimension: what stands with its stride
 * and with no larger one. */
static struct ws__ip part_of(const struct chain *c,
                             const struct ws__infer_access *a, int dim)
{
    struct ws__ip out = ws__ip_number(0);

    for (int i = 0; i < a->at.n; i++) {
        struct ws__ip_term rest;
        struct ws__ip t;
        int d = 0;

        while (d < c->n &&
               !ws__ip_term_divides(&c->stride[d], &a->at.term[i], &rest))
            d++;
        if (d != dim)
            continue;
        t = of_term(&rest);
        out = ws__ip_add(&out, &t, 1);
    }
    return out;
}

/* Which of reading and writing comes to all elements. */
static void see_whole(struct ws__infer *x, const struct chain *c, size_t fact,
                      const struct ws__ip *first)
{
    struct ws__fact *f = &x->out->fact[fact];
    struct ws__ip part[WS__INFER_STRIDES], length[WS__INFER_STRIDES];

    length[0] = *first;
    for (int d = 1; d < c->n; d++) {
        struct ws__ip_term rest;

        if (!ws__ip_term_divides(&c->stride[d], &c->stride[d - 1], &rest))
            return;
        length[d] = of_term(&rest);
    }
    for (size_t i = 0; i < x->naccess && c->n; i++) {
        const struct ws__infer_access *a = &x->access[i];

        if (a->shared || a->fact != fact || a->at.n < 0)
            continue;
        for (int d = 0; d < c->n; d++)
            part[d] = part_of(c, a, d);
        if (!ws__infer_whole(x, a, part, length, c->n))
            continue;
        f->read_whole = f->read_whole || (a->read && !a->settled);
        f->written_whole = f->written_whole || a->write;
    }
}

static void shape_of(struct ws__infer *x, size_t fact)
{
    struct ws__fact *f = &x->out->fact[fact];
    struct chain c = chain_of(x, fact);
    int open, place;
    int32_t where = -1;
    struct ws__ip first = first_length(x, &c, fact, &open, &where, &place);
    struct ws__loc loc = {0};
    int64_t n;

    if (place >= 0)
        first = length_by_place(x, &c, fact, place);
    if (where >= 0)
        ws__ast_line(x->t, x->t->node[where].begin, &loc);
    if (first.n <= 0) {
        first = stand_in(x, fact);
        if (!f->check)
            f->check =
                ws__infer_words(x,
                                "how long it is could not be derived (line %u)",
                                (unsigned)loc.line);
    } else if (open) {
        f->check = ws__infer_words(
            x, "from the other accesses: nothing bounds the one in line %u",
            (unsigned)loc.line);
    }
    f->ndim = 0;
    if ((c.n <= 1 || !ws__ip_is_number(&first, &n) || n != 1 || c.n == 2) &&
        !put_product(x, f, &first, c.n - 1))
        put_dim(x, f, &first);
    for (int d = 1; d < c.n; d++) {
        struct ws__ip_term rest;
        struct ws__ip q;

        ws__ip_term_divides(&c.stride[d], &c.stride[d - 1], &rest);
        q = of_term(&rest);
        put_dim(x, f, &q);
    }
    if (!f->check && place < 0)
        see_whole(x, &c, fact, &first);
}

/* Elements in all. */
static const char *count_of(struct ws__infer *x, const struct ws__fact *f)
{
    const char *out = NULL;

    for (size_t d = 0; d < f->ndim; d++) {
        bool sum = strpbrk(f->shape[d], "+-/ ") != NULL;

        out = ws__infer_words(x, "%s%s%s%s%s", out ? out : "", out ? " * " : "",
                              sum ? "(" : "", f->shape[d], sum ? ")" : "");
    }
    return out;
}

/* --- shared memory of the launch's -------------------------------------------
 */

static void shared_of(struct ws__infer *x, size_t launch)
{
    struct ws__fact_launch *l = &x->out->launch[launch];
    struct ws__ip most = ws__ip_unknown(), one = ws__ip_number(1);
    unsigned bytes = 0;
    bool wide = false, there = false;

    x->launch = launch;
    for (size_t i = 0; i < x->naccess; i++) {
        struct ws__infer_access *a = &x->access[i];
        const struct ws__ast_type *t;
        struct ws__ip e;

        if (!a->shared || a->launch != launch)
            continue;
        t = &x->t->node[a->decl].type;
        if (!(t->pointers == 1 && x->t->node[a->decl].kind == WS__AST_PARAM) &&
            !(t->ndim && t->dim[0] < 0))
            continue;
        there = true;
        bytes = t->bits * t->width / 8u;
        wide = t->class == WS__AT_FLOAT && t->bits == 32;
        e = ws__infer_most(x, &a->at, &a->known);
        e = ws__ip_add(&e, &one, 1);
        if (e.n <= 0)
            continue;
        most = most.n < 0 ? e : ws__ip_larger(x, &most, &e);
    }
    if (!there)
        return;
    l->shared_note = "a guess, by its indices";
    if (most.n <= 0 || !ws__ip_text(x, &most)) {
        most = ws__ip_number(1024);
        l->shared_note = "check: its size could not be derived";
    }
    one = ws__ip_number(bytes);
    one = ws__ip_multiply(&most, &one);
    l->shared = ws__ip_text(x, &one);
    one = ws__ip_number(wide ? 2 * bytes : bytes);
    one = ws__ip_multiply(&most, &one);
    l->shared_wide = ws__ip_text(x, &one);
}

static void launch_texts(struct ws__infer *x, size_t launch)
{
    struct ws__fact_launch *l = &x->out->launch[launch];

    x->launch = launch;
    for (int d = 0; d < 3; d++) {
        l->grid[d] = ws__ip_text(x, &x->grid[launch][d]);
        l->block[d] = ws__ip_text(x, &x->block[launch][d]);
        if (!l->grid[d]) {
            l->grid[d] = "1";
            l->grid_note = "check: how many blocks could not be derived";
        }
        if (!l->block[d])
            l->block[d] = "1";
    }
}

void ws__infer_shapes(struct ws__infer *x)
{
    for (size_t i = 0; i < x->naccess; i++)
        x->access[i].at =
            ws__infer_settled(x, x->access[i].launch, &x->access[i].at);
    for (size_t l = 0; l < x->in->nfunc; l++)
        bound_groups(x, l);
    for (size_t i = 0; i < x->out->nfact && x->rc >= 0; i++) {
        struct ws__fact *f = &x->out->fact[i];

        if (f->role > WS__FACT_SCRATCH)
            continue;
        shape_of(x, i);
        f->count = count_of(x, f);
    }
    for (size_t l = 0; l < x->in->nfunc && x->rc >= 0; l++) {
        launch_texts(x, l);
        shared_of(x, l);
    }
}
