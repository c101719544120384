/*
 * spec_match.c: the shipped op that computes what a Definition describes.
 *
 * The reference of a Definition is Python. A shipped op says in its file which
 * Definitions it computes (`definitions`: names, or patterns with '*', and the
 * constants that go with them); its native reference, its rules for inputs and
 * its kernels then serve the Definition. A name is a claim, so it is compared
 * with the facts: number, roles, shapes and types of all tensors, in their
 * order. A tensor that both have must stand at the same place. One map of axes
 * must explain every shape; a difference means no match, with a warning.
 *
 * The result is the tree of the shipped op written in the Definition's names,
 * with constants where the Definition has them. It needs no further thought
 * anywhere else: whoever reads it sees an op. Kernels of the shipped op are
 * bound by their keys `names` and `variable`.
 */
#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>

#include "base/fs.h"
#include "spec/parts.h"

#include "base/banned.h"

#define MAX_OPS 256

struct matching {
    struct ws__load *l;
    const struct ws__op *ours, *theirs;  /* shipped, Definition */
    const struct ws__node *root, *entry; /* of ours; of `definitions` */
    int axis[WS__MAX_AXES];              /* of ours: index in theirs, or -1 */
    enum ws__dtype type[WS__MAX_AXES];   /* of ours, a type axis: its value */
    bool hit[WS__MAX_AXES];              /* of theirs: explained */
};

static int differs(struct matching *m, const char *what, const char *name)
{
    ws__log(m->l->ctx, WS_LOG_WARN,
            "'%s' is declared by the shipped op '%s' but differs in %s '%s': "
            "not used",
            m->theirs->name, m->ours->name, what, name);
    return 0;
}

/* --- comparing ------------------------------------------------------------ */

/* 1: the axis of ours may be that of theirs. */
static int match_axis(struct matching *m, size_t a, int b)
{
    const struct ws__axis *x = &m->ours->axis[a], *y = &m->theirs->axis[b];

    if (m->axis[a] >= 0)
        return m->axis[a] == b;
    if (m->hit[b] || x->kind == WS__AXIS_TYPE)
        return 0;
    if (x->kind == WS__AXIS_CONST &&
        (y->kind != WS__AXIS_CONST || x->value != y->value))
        return 0;
    if (x->kind == WS__AXIS_VAR && x->hi && y->kind == WS__AXIS_CONST &&
        (y->value < x->lo || y->value > x->hi))
        return 0;
    m->axis[a] = b;
    m->hit[b] = true;
    return 1;
}

static int match_type(struct matching *m, const struct ws__tensor *x,
                      enum ws__dtype want)
{
    const struct ws__axis *a;

    if (x->dtype != WS__DT_NONE)
        return x->dtype == want;
    a = &m->ours->axis[x->type_axis];
    if (m->type[x->type_axis])
        return m->type[x->type_axis] == want;
    for (size_t i = 0; i < a->ntypes; i++)
        if (a->types[i] == want) {
            m->type[x->type_axis] = want;
            return 1;
        }
    return 0;
}

static int match_tensor(struct matching *m, size_t i)
{
    const struct ws__tensor *x = &m->ours->tensor[i];
    const struct ws__tensor *y = &m->theirs->tensor[i];
    int same = ws__op_tensor(m->ours, y->name);

    if (x->role != y->role || x->ndim != y->ndim ||
        (same >= 0 && same != (int)i) || !match_type(m, x, y->dtype))
        return 0;
    for (size_t d = 0; d < x->ndim; d++) {
        int a = ws__op_axis(m->ours, x->dim[d]->text);
        int b = ws__op_axis(m->theirs, y->dim[d]->text);

        if (a < 0 || b < 0 || !match_axis(m, (size_t)a, b))
            return 0;
    }
    return 1;
}

/* 1: all of it fits. */
static int match_all(struct matching *m)
{
    const struct ws__op *x = m->ours, *y = m->theirs;

    for (size_t i = 0; i < WS__MAX_AXES; i++)
        m->axis[i] = -1;
    if (x->ntensor != y->ntensor)
        return differs(m, "the number of tensors of", y->name);
    for (size_t i = 0; i < x->ntensor; i++)
        if (!match_tensor(m, i))
            return differs(m, "tensor", y->tensor[i].name);
    for (size_t i = 0; i < x->naxis; i++) {
        bool type = x->axis[i].kind == WS__AXIS_TYPE;

        if (type ? !m->type[i] : m->axis[i] < 0)
            return differs(m, "axis", x->axis[i].name);
        /* A type axis keeps its name, which must be free. */
        if (type && (ws__op_axis(y, x->axis[i].name) >= 0 ||
                     ws__op_tensor(y, x->axis[i].name) >= 0))
            return differs(m, "axis", x->axis[i].name);
    }
    for (size_t i = 0; i < y->naxis; i++)
        if (!m->hit[i])
            return differs(m, "axis", y->axis[i].name);
    return 1;
}

/* --- rewriting ------------------------------------------------------------ */

static bool word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The Definition's name of an axis of ours; the same text if it has none. */
static const char *axis_name(const struct matching *m, const char *name)
{
    int a = ws__op_axis(m->ours, name);

    if (a < 0 || m->axis[a] < 0)
        return name;
    return m->theirs->axis[m->axis[a]].name;
}

/* An expression in the Definition's names; in the arena. */
static const char *rewrite(const struct matching *m, const char *text)
{
    struct ws__buf b;
    char *out;

    ws__buf_init(&b, m->l->ctx, WS__SPEC_TEXT_MAX);
    while (*text) {
        size_t n = 0;

        while (word_part(text[n]))
            n++;
        if (n && !isdigit((unsigned char)*text)) {
            char *word = ws__arena_strndup(m->l->arena, text, n);

            ws__buf_puts(&b, word ? axis_name(m, word) : "");
            b.failed = word ? b.failed : WS_ENOMEM;
        } else {
            n = n ? n : 1;
            ws__buf_add(&b, text, n);
        }
        text += n;
    }
    out = b.failed ? NULL : ws__arena_strdup(m->l->arena, b.data ? b.data : "");
    ws__buf_free(&b);
    return out;
}

/* A copy in the Definition's names. */
static struct ws__node *copy(const struct matching *m,
                             const struct ws__node *from, const char *key)
{
    struct ws__node *n = ws__tree_new(m->l, from->kind, key, from->text, from);
    bool words = from->key && !strcmp(from->key, "about");

    if (n && from->kind == WS__SCALAR && !words) {
        n->text = rewrite(m, from->text);
        if (!n->text)
            return NULL;
    }
    if (n)
        n->quoted = from->quoted;
    for (const struct ws__node *c = from->first; n && c; c = c->next) {
        struct ws__node *kid = copy(m, c, c->key);

        if (!kid)
            return NULL;
        ws__tree_append(n, kid);
    }
    return n;
}

static int add_copy(const struct matching *m, const struct ws__node *from,
                    const char *key, struct ws__node *to)
{
    struct ws__node *n = copy(m, from, key);

    if (!n)
        return WS_ENOMEM;
    ws__tree_append(to, n);
    return 0;
}

static int add_number(const struct matching *m, struct ws__node *to,
                      const char *key, int64_t v, const struct ws__node *at)
{
    char *text = ws__arena_printf(m->l->arena, "%lld", (long long)v);

    return text && ws__tree_add(m->l, to, WS__SCALAR, key, text, at)
               ? 0
               : WS_ENOMEM;
}

static int add_axes(const struct matching *m, const struct ws__node *from,
                    struct ws__node *to)
{
    to = ws__tree_add(m->l, to, WS__MAP, "axes", NULL, from);
    for (const struct ws__node *c = from->first; to && c; c = c->next) {
        int a = ws__op_axis(m->ours, c->key);
        const struct ws__axis *theirs;
        struct ws__node *n;

        if (m->ours->axis[a].kind == WS__AXIS_TYPE) {
            n = ws__tree_add(m->l, to, WS__MAP, c->key, NULL, c);
            n = ws__tree_add(m->l, n, WS__LIST, "types", NULL, c);
            if (!ws__tree_add(m->l, n, WS__SCALAR, NULL,
                              ws__dtype_name(m->type[a]), c))
                return WS_ENOMEM;
            continue;
        }
        theirs = &m->theirs->axis[m->axis[a]];
        WS_TRY(theirs->kind == WS__AXIS_CONST
                   ? add_number(m, to, theirs->name, theirs->value, c)
                   : add_copy(m, c, theirs->name, to));
    }
    return to ? 0 : WS_ENOMEM;
}

/* The values of the entry go before the op's own. */
static int add_constants(const struct matching *m, const struct ws__node *from,
                         struct ws__node *to)
{
    to = ws__tree_add(m->l, to, WS__MAP, "constants", NULL, from);
    for (const struct ws__node *c = from->first; to && c; c = c->next) {
        const struct ws__node *own =
            m->entry->kind == WS__MAP ? ws__node_get(m->entry, c->key) : NULL;

        WS_TRY(add_copy(m, own ? own : c, c->key, to));
    }
    return to ? 0 : WS_ENOMEM;
}

/* With the op's own rules for inputs: its mistakes-that-must-show were tried
 * with them, and "random" of a Definition leaves the choice. */
static int add_tensors(const struct matching *m, const struct ws__node *from,
                       struct ws__node *to)
{
    to = ws__tree_add(m->l, to, WS__MAP, from->key, NULL, from);
    for (const struct ws__node *c = from->first; to && c; c = c->next) {
        int i = ws__op_tensor(m->ours, c->key);
        struct ws__node *n =
            ws__tree_add(m->l, to, WS__MAP, m->theirs->tensor[i].name, NULL, c);

        for (const struct ws__node *k = c->first; n && k; k = k->next)
            WS_TRY(add_copy(m, k, k->key, n));
        if (!n)
            return WS_ENOMEM;
    }
    return to ? 0 : WS_ENOMEM;
}

static int add_require(const struct matching *m, const struct ws__node *from,
                       struct ws__node *to)
{
    const struct ws__op *d = m->theirs;

    to = ws__tree_add(m->l, to, WS__LIST, "require", NULL,
                      from ? from : m->root);
    for (const struct ws__node *c = from ? from->first : NULL; to && c;
         c = c->next)
        WS_TRY(add_copy(m, c, NULL, to));
    for (size_t i = 0; to && i < d->nrequire; i++) {
        struct ws__node *n = ws__tree_add(m->l, to, WS__SCALAR, NULL,
                                          d->require[i]->text, m->root);

        if (!n)
            return WS_ENOMEM;
        n->loc = d->require[i]->loc;
    }
    return to ? 0 : WS_ENOMEM;
}

static int add_head(const struct matching *m, struct ws__node *to)
{
    const struct ws__op *d = m->theirs;
    struct ws__node *n =
        ws__tree_add(m->l, to, WS__SCALAR, "op", d->name, m->root);

    if (n)
        n->loc = (struct ws__loc){d->file, 1, 1};
    if (!n || (d->about &&
               !ws__tree_add(m->l, to, WS__SCALAR, "about", d->about, m->root)))
        return WS_ENOMEM;
    n = ws__tree_add(m->l, to, WS__MAP, "reference", NULL, m->root);
    return ws__tree_add(m->l, n, WS__SCALAR, "native", m->ours->reference,
                        m->root)
               ? 0
               : WS_ENOMEM;
}

static int add_member(const struct matching *m, const struct ws__node *c,
                      struct ws__node *to)
{
    static const char *const plain[] = {"tolerance", "values", "floor",
                                        "cache"};

    if (!strcmp(c->key, "axes"))
        return add_axes(m, c, to);
    if (!strcmp(c->key, "constants"))
        return add_constants(m, c, to);
    if (!strcmp(c->key, "inputs") || !strcmp(c->key, "inouts") ||
        !strcmp(c->key, "outputs"))
        return add_tensors(m, c, to);
    for (size_t i = 0; i < WS_COUNT(plain); i++)
        if (!strcmp(c->key, plain[i]))
            return add_copy(m, c, c->key, to);
    return 0;
}

static int make_tree(const struct matching *m, const struct ws__node **out)
{
    struct ws__node *to = ws__tree_new(m->l, WS__MAP, NULL, NULL, m->root);

    if (!to)
        return WS_ENOMEM;
    WS_TRY(add_head(m, to));
    for (const struct ws__node *c = m->root->first; c; c = c->next)
        WS_TRY(add_member(m, c, to));
    *out = to;
    return add_require(m, ws__node_get(m->root, "require"), to);
}

/* {our name: theirs} of all that is called differently. */
static int make_names(const struct matching *m, const struct ws__node **out)
{
    struct ws__node *map = ws__tree_new(m->l, WS__MAP, "names", NULL, m->root);

    for (size_t i = 0; i < m->ours->naxis; i++) {
        const char *name = m->ours->axis[i].name, *to = axis_name(m, name);

        if (strcmp(name, to) &&
            !ws__tree_add(m->l, map, WS__SCALAR, name, to, m->root))
            return WS_ENOMEM;
    }
    for (size_t i = 0; i < m->ours->ntensor; i++) {
        const char *name = m->ours->tensor[i].name;
        const char *to = m->theirs->tensor[i].name;

        if (strcmp(name, to) &&
            !ws__tree_add(m->l, map, WS__SCALAR, name, to, m->root))
            return WS_ENOMEM;
    }
    *out = map && map->n ? map : NULL;
    return map ? 0 : WS_ENOMEM;
}

/* Our names of axes that vary for us and are constants for them. */
static int make_variable(const struct matching *m, const struct ws__node **out)
{
    struct ws__node *list =
        ws__tree_new(m->l, WS__LIST, "variable", NULL, m->root);

    for (size_t i = 0; i < m->ours->naxis; i++)
        if (m->ours->axis[i].kind == WS__AXIS_VAR &&
            m->theirs->axis[m->axis[i]].kind == WS__AXIS_CONST &&
            !ws__tree_add(m->l, list, WS__SCALAR, NULL, m->ours->axis[i].name,
                          m->root))
            return WS_ENOMEM;
    *out = list && list->n ? list : NULL;
    return list ? 0 : WS_ENOMEM;
}

/* --- looking -------------------------------------------------------------- */

static const struct ws__node *entry_of(const struct ws__node *root,
                                       const char *name, bool pattern)
{
    const struct ws__node *all =
        root->kind == WS__MAP ? ws__node_get(root, "definitions") : NULL;

    if (!all || all->kind != WS__MAP)
        return NULL;
    for (const struct ws__node *c = all->first; c; c = c->next)
        if (pattern ? !fnmatch(c->key, name, FNM_NOESCAPE)
                    : !strcmp(c->key, name))
            return c;
    return NULL;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The op files of the folder of shipped ops, sorted. */
static int list_ops(struct ws__load *l, const char *share, const char **list,
                    size_t *n)
{
    DIR *d = opendir(share);
    struct dirent *e;
    int rc = 0;

    *n = 0;
    while (d && *n < MAX_OPS && rc >= 0 && (e = readdir(d)) != NULL) {
        const char *dir, *file = NULL;

        if (*e->d_name == '.')
            continue;
        dir = ws__load_join(l, share, e->d_name);
        rc = dir ? ws__load_find_op(l, dir, &file) : WS_ENOMEM;
        if (file)
            list[(*n)++] = file;
    }
    if (d)
        closedir(d);
    qsort(list, *n, sizeof(*list), compare_texts);
    return rc;
}

/* The first op that declares the name itself, else the first whose pattern
 * fits; *root NULL: none. */
static int find(struct ws__load *l, const char *name, const char **file,
                const struct ws__node **root, const struct ws__node **entry)
{
    const char *share, **list;
    size_t n;

    *root = NULL;
    if (ws__load_share_dir(l, &share) < 0) {
        int rc = ws_ctx_error(l->ctx)->code;

        ws__error_clear(l->ctx);
        return rc == WS_ENOMEM ? ws__nomem(l->ctx) : 0;
    }
    list = ws__arena_alloc(l->arena, MAX_OPS, sizeof(*list));
    if (!list)
        return WS_ENOMEM;
    WS_TRY(list_ops(l, share, list, &n));
    for (size_t i = 0; i < 2 * n && !*root; i++) {
        const struct ws__node *tree;

        WS_TRY(ws__load_tree(l, list[i % n], &tree));
        *entry = entry_of(tree, name, i >= n);
        if (!*entry)
            continue;
        *file = list[i % n];
        *root = tree;
    }
    return 0;
}

int ws__load_match(struct ws__load *l, const struct ws__op *definition,
                   struct ws__match *out)
{
    struct matching m = {.l = l, .theirs = definition};
    struct ws__op *ours;
    const char *file = NULL;

    memset(out, 0, sizeof(*out));
    WS_TRY(find(l, definition->name, &file, &m.root, &m.entry));
    if (!m.root)
        return 0;
    out->dir = ws__load_dir(l, file);
    if (!out->dir)
        return WS_ENOMEM;
    WS_TRY(ws__load_op(l, m.root, file, out->dir, &ours));
    m.ours = ours;
    if (!ours->reference || !match_all(&m))
        return 0;
    WS_TRY(make_tree(&m, &out->tree));
    out->op = ours->name;
    WS_TRY(make_names(&m, &out->names));
    return make_variable(&m, &out->variable);
}
