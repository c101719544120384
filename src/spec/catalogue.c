/*
 * catalogue.c: reads strategies.yaml, the ideas for kernels of an op.
 *
 * Axes have choices; a choice names the values that parameters of kernels may
 * have where it is made, or a kernel. Choices may be named (`needs`,
 * `conflicts`) before they are described, so those are read last.
 */
#include <math.h>

#include "base/fs.h"
#include "spec/parts.h"

#include "base/banned.h"

#define FILE_NAME "strategies.yaml"
#define TEXT_MAX ((size_t)1 << 20)
#define KEYS "strategies about regimes axes"
#define AXIS_KEYS "axis about choices"
#define CHOICE_KEYS                                                            \
    "choice about kernel set needs conflicts regimes factor spread "           \
    "difficulty bandwidth registers compute"
#define SPREAD 0.3

struct reader {
    struct ws__load l;
    struct ws__spec *s;
    struct ws__catalogue *c;
    const struct ws__node **node; /* of every idea, for the second reading */
};

static struct ws_ctx *ctx_of(const struct reader *r)
{
    return r->s->ctx;
}

/* --- regimes -------------------------------------------------------------- */

static int find_regime(const struct reader *r, const char *name)
{
    for (size_t i = 0; i < r->c->nregime; i++)
        if (!strcmp(r->c->regime[i].name, name))
            return (int)i;
    return -1;
}

static int read_regime(struct reader *r, const struct ws__node *n,
                       const struct ws__scope *scope)
{
    struct ws__regime *out = &r->c->regime[r->c->nregime];
    const struct ws__node *c;

    WS_TRY(ws__node_keys(ctx_of(r), n, "name about when", "a regime"));
    WS_TRY(ws__node_need(ctx_of(r), n, "name", "a regime", &c));
    WS_TRY(ws__node_printable(ctx_of(r), c, "a regime's name", &out->name));
    if (find_regime(r, out->name) >= 0)
        return ws__node_fail(ctx_of(r), c, "regime '%s' is there twice",
                             out->name);
    c = ws__node_get(n, "about");
    if (c)
        WS_TRY(ws__node_printable(ctx_of(r), c, "'about'", &out->about));
    c = ws__node_get(n, "when");
    if (c)
        WS_TRY(ws__node_expr(ctx_of(r), r->l.arena, c, scope, WS__CONDITION,
                             &out->when));
    r->c->nregime++;
    return 0;
}

static int read_regimes(struct reader *r, const struct ws__node *list)
{
    struct ws__scope scope;

    WS_TRY(ws__node_want(ctx_of(r), list, WS__LIST, "a list of regimes"));
    WS_TRY(ws__load_op_scope(&r->l, r->s->op, &scope));
    if (list->n > WS__MAX_REGIMES) {
        ws__node_fail(ctx_of(r), list, "%zu regimes", list->n);
        return ws__hint(ctx_of(r), "at most %d", WS__MAX_REGIMES);
    }
    for (const struct ws__node *n = list->first; n; n = n->next)
        WS_TRY(read_regime(r, n, &scope));
    return 0;
}

/* Where an idea makes sense: one name or a list. */
static int read_places(struct reader *r, const struct ws__node *n,
                       uint32_t *out)
{
    const struct ws__node *c = n->kind == WS__LIST ? n->first : n;

    for (; c; c = n->kind == WS__LIST ? c->next : NULL) {
        const char *name;
        int at;

        WS_TRY(ws__node_str(ctx_of(r), c, "a regime's name", &name));
        at = find_regime(r, name);
        if (at < 0)
            return ws__node_fail(ctx_of(r), c, "there is no regime '%s'", name);
        *out |= 1u << at;
    }
    return 0;
}

/* --- what a choice sets --------------------------------------------------- */

static int find_kernel(const struct reader *r, const char *name)
{
    for (size_t k = 0; k < r->s->nkernel; k++)
        if (!strcmp(r->s->kernel[k].name, name))
            return (int)k;
    return -1;
}

static int allow(struct reader *r, const struct ws__node *n,
                 const struct ws__param *p, bool *allowed)
{
    struct ws__value v;

    WS_TRY(ws__node_value(ctx_of(r), n, &v));
    if (p->type == WS__FLOAT && v.type == WS__INT) {
        v.type = WS__FLOAT;
        v.u.f = (double)v.u.i;
    }
    for (size_t i = 0; i < p->nvalue; i++)
        if (ws__value_eq(&p->value[i], &v)) {
            allowed[i] = true;
            return 0;
        }
    return ws__node_fail(ctx_of(r), n, "parameter '%s' has no value '%s'",
                         p->name, n->text);
}

static int read_values(struct reader *r, const struct ws__node *n,
                       size_t kernel, struct ws__idea_set *out)
{
    const struct ws__kernel *k = &r->s->kernel[kernel];
    const struct ws__param *p = NULL;

    for (size_t i = 0; i < k->nparam; i++)
        if (!strcmp(k->param[i].name, n->key)) {
            p = &k->param[i];
            out->param = (uint32_t)i;
        }
    if (!p) {
        struct ws__loc at = n->key_loc;

        return ws__fail_at(ctx_of(r), WS_ESPEC, &at,
                           "kernel '%s' has no parameter '%s'", k->name,
                           n->key);
    }
    out->kernel = (uint32_t)kernel;
    out->allowed = ws__arena_alloc(r->l.arena, p->nvalue, sizeof(bool));
    if (!out->allowed)
        return WS_ENOMEM;
    if (n->kind != WS__LIST)
        return allow(r, n, p, out->allowed);
    for (const struct ws__node *c = n->first; c; c = c->next)
        WS_TRY(allow(r, c, p, out->allowed));
    return 0;
}

static int read_sets(struct reader *r, const struct ws__node *map,
                     struct ws__idea *idea)
{
    size_t room = 0;

    WS_TRY(ws__node_want(ctx_of(r), map, WS__MAP,
                         "a map {kernel: {PARAMETER: [values]}}"));
    for (const struct ws__node *n = map->first; n; n = n->next) {
        WS_TRY(ws__node_want(ctx_of(r), n, WS__MAP,
                             "a map {PARAMETER: [values]} of a kernel"));
        room += n->n;
    }
    idea->set =
        ws__arena_alloc(r->l.arena, room ? room : 1, sizeof(*idea->set));
    if (!idea->set)
        return WS_ENOMEM;
    for (const struct ws__node *n = map->first; n; n = n->next) {
        int k = find_kernel(r, n->key);

        for (const struct ws__node *c = n->first; c && k >= 0; c = c->next)
            WS_TRY(read_values(r, c, (size_t)k, &idea->set[idea->nset++]));
    }
    return 0;
}

/* --- a choice ------------------------------------------------------------- */

static int read_rating(struct reader *r, const struct ws__node *map,
                       const char *key, int64_t lo, int64_t hi, unsigned *out)
{
    const struct ws__node *n = ws__node_get(map, key);
    int64_t v;

    if (!n)
        return 0;
    WS_TRY(ws__node_int(ctx_of(r), n, key, lo, hi, &v));
    *out = (unsigned)v;
    return 0;
}

static int read_expected(struct reader *r, const struct ws__node *map,
                         const char *key, double lo, double hi, double *out)
{
    const struct ws__node *n = ws__node_get(map, key);

    if (!n)
        return 0;
    WS_TRY(ws__node_float(ctx_of(r), n, key, out));
    if (*out >= lo && *out <= hi)
        return 0;
    ws__node_fail(ctx_of(r), n, "'%s' is %g", key, *out);
    return ws__hint(ctx_of(r), "from %g to %g", lo, hi);
}

/* A choice of kernels that are not there is none. */
static int read_what(struct reader *r, const struct ws__node *map,
                     struct ws__idea *idea, bool *there)
{
    const struct ws__node *kernel = ws__node_get(map, "kernel");
    const struct ws__node *set = ws__node_get(map, "set");
    const char *name;

    if (!kernel == !set) {
        ws__node_fail(ctx_of(r), map, "a choice with %s",
                      set ? "both 'kernel' and 'set'"
                          : "neither 'kernel' nor 'set'");
        return ws__hint(ctx_of(r), "a choice is a kernel, or says which values "
                                   "parameters may have");
    }
    idea->kernel = -1;
    if (set) {
        WS_TRY(read_sets(r, set, idea));
        *there = idea->nset > 0;
        return 0;
    }
    WS_TRY(ws__node_str(ctx_of(r), kernel, "a kernel's name", &name));
    idea->kernel = find_kernel(r, name);
    *there = idea->kernel >= 0;
    return 0;
}

static int read_choice(struct reader *r, const struct ws__node *map,
                       const char *axis, struct ws__idea *idea, bool *there)
{
    const struct ws__node *n;

    WS_TRY(ws__node_keys(ctx_of(r), map, CHOICE_KEYS, "a choice"));
    *idea = (struct ws__idea){.axis = axis,
                              .axis_id = (uint32_t)r->c->naxis,
                              .loc = map->loc,
                              .factor = 1,
                              .spread = SPREAD,
                              .difficulty = 1};
    WS_TRY(ws__node_need(ctx_of(r), map, "choice", "a choice", &n));
    WS_TRY(ws__node_printable(ctx_of(r), n, "a choice's name", &idea->choice));
    n = ws__node_get(map, "about");
    if (n)
        WS_TRY(ws__node_printable(ctx_of(r), n, "'about'", &idea->about));
    n = ws__node_get(map, "regimes");
    if (n)
        WS_TRY(read_places(r, n, &idea->regimes));
    WS_TRY(read_what(r, map, idea, there));
    WS_TRY(read_expected(r, map, "factor", .01, 100, &idea->factor));
    WS_TRY(read_expected(r, map, "spread", .01, 3, &idea->spread));
    WS_TRY(read_rating(r, map, "difficulty", 1, 5, &idea->difficulty));
    WS_TRY(read_rating(r, map, "bandwidth", 0, 10, &idea->bandwidth));
    WS_TRY(read_rating(r, map, "registers", 0, 10, &idea->registers));
    return read_rating(r, map, "compute", 0, 10, &idea->compute);
}

static int find_idea(const struct reader *r, const char *axis,
                     const char *choice)
{
    for (size_t i = 0; i < r->c->nidea; i++)
        if (!strcmp(r->c->idea[i].axis, axis) &&
            !strcmp(r->c->idea[i].choice, choice))
            return (int)i;
    return -1;
}

static int read_axis(struct reader *r, const struct ws__node *map)
{
    const struct ws__node *n;
    const char *axis;
    size_t before = r->c->nidea;

    WS_TRY(ws__node_keys(ctx_of(r), map, AXIS_KEYS, "an axis"));
    WS_TRY(ws__node_need(ctx_of(r), map, "axis", "an axis", &n));
    WS_TRY(ws__node_printable(ctx_of(r), n, "an axis' name", &axis));
    for (size_t i = 0; i < before; i++)
        if (!strcmp(r->c->idea[i].axis, axis))
            return ws__node_fail(ctx_of(r), n, "axis '%s' is there twice",
                                 axis);
    WS_TRY(ws__node_need(ctx_of(r), map, "choices", "an axis", &n));
    WS_TRY(ws__node_want(ctx_of(r), n, WS__LIST, "a list of choices"));
    for (const struct ws__node *c = n->first; c; c = c->next) {
        struct ws__idea *idea = &r->c->idea[r->c->nidea];
        bool there = false;

        WS_TRY(read_choice(r, c, axis, idea, &there));
        if (find_idea(r, axis, idea->choice) >= 0)
            return ws__node_fail(ctx_of(r), c, "choice '%s' is there twice",
                                 idea->choice);
        r->node[r->c->nidea] = c;
        r->c->nidea += there;
    }
    r->c->naxis += r->c->nidea > before;
    return 0;
}

/* --- references ----------------------------------------------------------- */

static bool is_named(const struct ws__node *axes, const char *axis,
                     const char *choice)
{
    for (const struct ws__node *a = axes->first; a; a = a->next) {
        const struct ws__node *name = ws__node_get(a, "axis");

        if (strcmp(name->text, axis) != 0)
            continue;
        for (const struct ws__node *c = ws__node_get(a, "choices")->first; c;
             c = c->next)
            if (!strcmp(ws__node_get(c, "choice")->text, choice))
                return true;
    }
    return false;
}

/* One choice on another axis; one of an absent kernel holds nowhere. */
static int refer(struct reader *r, const struct ws__node *axes,
                 const struct ws__node *n, const char *axis, uint32_t *out,
                 size_t *count)
{
    const char *choice;
    int at;

    WS_TRY(ws__node_str(ctx_of(r), n, "a choice's name", &choice));
    at = find_idea(r, axis, choice);
    if (at >= 0)
        out[(*count)++] = (uint32_t)at;
    if (at >= 0 || is_named(axes, axis, choice))
        return 0;
    return ws__node_fail(ctx_of(r), n, "axis '%s' has no choice '%s'", axis,
                         choice);
}

static int read_references(struct reader *r, const struct ws__node *axes,
                           const struct ws__node *map, const uint32_t **out,
                           size_t *count)
{
    uint32_t *list;

    if (!map)
        return 0;
    WS_TRY(ws__node_want(ctx_of(r), map, WS__MAP, "a map {axis: choice}"));
    list = ws__arena_alloc(r->l.arena, WS__MAX_IDEAS, sizeof(*list));
    if (!list)
        return WS_ENOMEM;
    for (const struct ws__node *n = map->first; n; n = n->next) {
        const struct ws__node *c = n->kind == WS__LIST ? n->first : n;

        for (; c; c = n->kind == WS__LIST ? c->next : NULL) {
            if (*count == WS__MAX_IDEAS)
                return ws__node_fail(ctx_of(r), c, "too many choices");
            WS_TRY(refer(r, axes, c, n->key, list, count));
        }
    }
    *out = list;
    return 0;
}

/* --- the file ------------------------------------------------------------- */

static int read_axes(struct reader *r, const struct ws__node *list)
{
    size_t n = 0;

    WS_TRY(ws__node_want(ctx_of(r), list, WS__LIST, "a list of axes"));
    for (const struct ws__node *a = list->first; a; a = a->next) {
        const struct ws__node *choices = ws__node_get(a, "choices");

        n += choices ? choices->n : 0;
    }
    if (n > WS__MAX_IDEAS) {
        ws__node_fail(ctx_of(r), list, "%zu choices", n);
        return ws__hint(ctx_of(r), "at most %d", WS__MAX_IDEAS);
    }
    /* One more: a choice that is left out is read, too. */
    r->c->idea = ws__arena_alloc(r->l.arena, n + 1, sizeof(*r->c->idea));
    r->node = ws__arena_alloc(r->l.arena, n + 1, sizeof(const void *));
    if (!r->c->idea || !r->node)
        return WS_ENOMEM;
    for (const struct ws__node *a = list->first; a; a = a->next)
        WS_TRY(read_axis(r, a));
    for (size_t i = 0; i < r->c->nidea; i++) {
        struct ws__idea *idea = &r->c->idea[i];

        WS_TRY(read_references(r, list, ws__node_get(r->node[i], "needs"),
                               &idea->needs, &idea->nneeds));
        WS_TRY(read_references(r, list, ws__node_get(r->node[i], "conflicts"),
                               &idea->conflicts, &idea->nconflicts));
    }
    return 0;
}

static int read_file(struct reader *r, const struct ws__node *root)
{
    const struct ws__node *n;
    const char *op;

    WS_TRY(ws__node_keys(ctx_of(r), root, KEYS, "strategies"));
    WS_TRY(ws__node_need(ctx_of(r), root, "strategies", "the file", &n));
    WS_TRY(ws__node_str(ctx_of(r), n, "the op's name", &op));
    if (strcmp(op, r->s->op->name) != 0 && !r->s->definition) {
        ws__node_fail(ctx_of(r), n, "strategies of op '%s', not of '%s'", op,
                      r->s->op->name);
        return ws__hint(ctx_of(r), "the file lies beside the op's");
    }
    n = ws__node_get(root, "regimes");
    if (n)
        WS_TRY(read_regimes(r, n));
    WS_TRY(ws__node_need(ctx_of(r), root, "axes", "the file", &n));
    return read_axes(r, n);
}

static int parse(struct reader *r, const char *text, size_t len,
                 const char *file, const struct ws__catalogue **out)
{
    struct ws__node *root;

    WS_TRY(ws__node_parse(ctx_of(r), r->l.arena, text, len, file, 1, &root));
    r->c = ws__arena_alloc(r->l.arena, 1, sizeof(*r->c));
    if (!r->c)
        return WS_ENOMEM;
    WS_TRY(read_file(r, root));
    r->c->hash = ws__hash_bytes(text, len);
    *out = r->c;
    return 0;
}

int ws__spec_catalogue(struct ws__spec *s, const char *text,
                       const struct ws__catalogue **out)
{
    struct reader r = {.l = {.ctx = s->ctx, .arena = &s->arena}, .s = s};
    const struct ws__spec_full *full = (const struct ws__spec_full *)s;
    const char *dir;
    char *path, *read;
    size_t len;
    int rc;

    *out = NULL;
    if (!s->op || full->match.names || full->match.variable)
        return 0; /* no op, or one whose axes have other names */
    if (text)
        return parse(&r, text, strlen(text), FILE_NAME, out);
    dir = full->match.dir ? full->match.dir : s->op->dir;
    path = dir ? ws__path_join(s->ctx, dir, FILE_NAME) : NULL;
    if (!path)
        return dir ? WS_ENOMEM : 0;
    rc = ws__fs_exists(path) ? ws__fs_read(s->ctx, path, TEXT_MAX, &read, &len)
                             : WS_ENOENT;
    if (rc >= 0) {
        const char *kept = ws__arena_strdup(&s->arena, path);

        rc = kept ? parse(&r, read, len, kept, out) : WS_ENOMEM;
        ws__free(s->ctx, read);
    } else if (rc == WS_ENOENT) {
        rc = 0;
    }
    ws__free(s->ctx, path);
    return rc;
}
