/*
 * spec_vary.c: kernels made from others: moves.
 *
 * The kernel's tree is copied, changed at the paths that the changes name, and
 * read as a kernel file is, with all its checks; its source may be another
 * text. What comes out is one more kernel of the specification and can be
 * written as a file.
 */
#include "core/change.h"
#include "spec/parts.h"

#include "base/banned.h"

#define MAX_TEXT ((size_t)16 << 20)
#define MAX_STEP 64

static struct ws__spec_full *full(struct ws__spec *s)
{
    return (struct ws__spec_full *)s;
}

static struct ws__node *copy_tree(struct ws__load *l, const struct ws__node *n)
{
    struct ws__node *c = ws__arena_alloc(l->arena, 1, sizeof(*c));

    if (!c)
        return NULL;
    *c = *n;
    c->first = c->last = c->next = NULL;
    c->n = 0;
    for (const struct ws__node *m = n->first; m; m = m->next) {
        struct ws__node *below = copy_tree(l, m);

        if (!below)
            return NULL;
        ws__tree_append(c, below);
    }
    return c;
}

/* --- paths ---------------------------------------------------------------- */

/* One step of a path: a key, or a number of a list (-1: one more). */
struct step {
    char key[MAX_STEP];
    long index;
    bool is_index;
};

static int bad_path(struct ws__load *l, const char *path)
{
    return ws__fail(l->ctx, WS_ESPEC, "'%s' is no path of a kernel file", path);
}

static int next_step(struct ws__load *l, const char *path, const char **p,
                     struct step *s)
{
    size_t n;

    memset(s, 0, sizeof(*s));
    if (**p == '.')
        ++*p;
    s->is_index = **p == '[';
    if (s->is_index) {
        char *end;

        if ((*p)[1] == '+' && (*p)[2] == ']') {
            s->index = -1;
            *p += 3;
            return 0;
        }
        s->index = strtol(*p + 1, &end, 10);
        if (end == *p + 1 || *end != ']' || s->index < 0)
            return bad_path(l, path);
        *p = end + 1;
        return 0;
    }
    n = strcspn(*p, ".[");
    if (!n || n >= MAX_STEP)
        return bad_path(l, path);
    memcpy(s->key, *p, n);
    *p += n;
    return 0;
}

/* What is there becomes a list, a scalar one of itself. */
static int as_list(struct ws__load *l, struct ws__node *n)
{
    struct ws__node *one;

    if (n->kind == WS__LIST)
        return 0;
    if (n->kind == WS__MAP && n->n)
        return ws__node_fail(l->ctx, n, "a list is wanted, not a map");
    one = n->text ? copy_tree(l, n) : NULL;
    if (n->text && !one)
        return WS_ENOMEM;
    n->kind = WS__LIST;
    n->text = NULL;
    n->first = n->last = NULL;
    n->n = 0;
    if (one) {
        one->key = NULL;
        ws__tree_append(n, one);
    }
    return 0;
}

static struct ws__node *add_member(struct ws__load *l, struct ws__node *to,
                                   const char *key)
{
    const char *k = key ? ws__arena_strdup(l->arena, key) : NULL;
    struct ws__node *n;

    if (key && !k)
        return NULL;
    n = ws__tree_new(l, WS__MAP, k, NULL, to);
    if (n)
        ws__tree_append(to, n);
    return n;
}

/* Member number `index` of a list, which gets so many: what is left out of a
 * grid is 1. */
static int nth(struct ws__load *l, struct ws__node *list, long index,
               struct ws__node **out)
{
    WS_TRY(as_list(l, list));
    if (index < 0)
        index = (long)list->n;
    while ((long)list->n <= index) {
        struct ws__node *n = add_member(l, list, NULL);

        if (!n)
            return WS_ENOMEM;
        n->kind = WS__SCALAR;
        n->text = "1";
    }
    *out = list->first;
    while (index-- > 0)
        *out = (*out)->next;
    return 0;
}

static int go(struct ws__load *l, struct ws__node *from, const struct step *s,
              struct ws__node **out)
{
    struct ws__node *n;

    if (s->is_index)
        return nth(l, from, s->index, out);
    if (from->kind != WS__MAP)
        return ws__node_fail(l->ctx, from, "a map is wanted");
    for (n = from->first; n && strcmp(n->key, s->key);)
        n = n->next;
    *out = n ? n : add_member(l, from, s->key);
    return *out ? 0 : WS_ENOMEM;
}

static void unlink_node(struct ws__node *from, struct ws__node *n)
{
    struct ws__node *before = NULL;

    for (struct ws__node *m = from->first; m && m != n; m = m->next)
        before = m;
    if (before)
        before->next = n->next;
    else
        from->first = n->next;
    if (from->last == n)
        from->last = before;
    from->n--;
}

static int change_one(struct ws__load *l, struct ws__node *root,
                      const struct ws__change *c)
{
    struct ws__node *at = root, *above = root, *value;
    const char *p = c->path, *key;

    do {
        struct step s;

        WS_TRY(next_step(l, c->path, &p, &s));
        above = at;
        WS_TRY(go(l, above, &s, &at));
    } while (*p);
    if (!*c->yaml) {
        unlink_node(above, at);
        return 0;
    }
    WS_TRY(ws__node_parse(l->ctx, l->arena, c->yaml, strlen(c->yaml), c->path,
                          1, &value));
    key = at->key;
    value->next = at->next;
    value->key = key;
    value->key_loc = at->key_loc;
    *at = *value;
    return 0;
}

/* --- the kernel ----------------------------------------------------------- */

int ws__spec_reserve(struct ws__spec *s, size_t more)
{
    size_t n = s->nkernel + more;
    struct ws__kernel *k = ws__arena_alloc(&s->arena, n, sizeof(*k));
    const struct ws__node **tree = ws__arena_alloc(&s->arena, n, sizeof(*tree));

    if (!k || !tree)
        return WS_ENOMEM;
    memcpy(k, s->kernel, s->nkernel * sizeof(*k));
    memcpy(tree, full(s)->kernel_tree, s->nkernel * sizeof(*tree));
    s->kernel = k;
    full(s)->kernel_tree = tree;
    full(s)->room = n;
    return 0;
}

/* A kernel read from a tree, with another text of the base's source (NULL: the
 * same). */
static int add_kernel(struct ws__load *l, struct ws__spec *s,
                      const struct ws__kernel *base, struct ws__node *root,
                      const char *text, size_t *out)
{
    if (s->nkernel >= full(s)->room)
        return ws__fail(s->ctx, WS_ELIMIT, "no room for more kernels");
    memset(&s->kernel[s->nkernel], 0, sizeof(*s->kernel));
    l->kernel = s->nkernel;
    l->varied = text != NULL;
    l->uncompiled = true; /* what was compiled, was of the old kernel */
    WS_TRY(ws__load_kernel(l, root, s->op, base->file, base->dir, text,
                           &s->kernel[s->nkernel]));
    full(s)->kernel_tree[s->nkernel] = root;
    *out = s->nkernel++;
    return 0;
}

int ws__spec_vary(struct ws__spec *s, size_t of, const char *name,
                  const struct ws__change *change, size_t nchange,
                  const char *text, size_t *out)
{
    struct ws__load l = {.ctx = s->ctx, .arena = &s->arena};
    const struct ws__change rename = {"kernel", name};
    struct ws__node *root;

    if (of >= s->nkernel || !s->op)
        return ws__fail(s->ctx, WS_EINVAL, "no kernel %zu of an op", of);
    root = copy_tree(&l, full(s)->kernel_tree[of]);
    if (!root)
        return WS_ENOMEM;
    WS_TRY(change_one(&l, root, &rename));
    for (size_t i = 0; i < nchange; i++)
        WS_TRY(change_one(&l, root, &change[i]));
    return add_kernel(&l, s, &s->kernel[of], root, text, out);
}

/* --- two kernels in one --------------------------------------------------- */

static struct ws__node *member(struct ws__node *map, const char *key)
{
    return (struct ws__node *)ws__node_get(map, key); /* a copy, ours */
}

/* A launch that happens under one more condition. */
static int add_condition(struct ws__load *l, struct ws__node *launch,
                         const char *negated, const char *when)
{
    struct ws__node *old = member(launch, "when");
    const char *text =
        old ? ws__arena_printf(l->arena, "(%s) and %s(%s)", old->text, negated,
                               when)
            : ws__arena_printf(l->arena, "%s(%s)", negated, when);

    if (!text)
        return WS_ENOMEM;
    if (old) {
        old->text = text;
        return 0;
    }
    return ws__tree_add(l, launch, WS__SCALAR, "when", text, launch)
               ? 0
               : WS_ENOMEM;
}

static void rename_entry(struct ws__node *launch, const struct ws__renamed *r,
                         size_t n)
{
    struct ws__node *entry = member(launch, "entry");

    for (size_t i = 0; entry && i < n; i++)
        if (!strcmp(entry->text, r[i].from)) {
            entry->text = r[i].to;
            return;
        }
}

int ws__spec_guard(struct ws__spec *s, size_t with, size_t without,
                   const char *when, const struct ws__renamed *renamed,
                   size_t nrenamed, const char *name, const char *text,
                   size_t *out)
{
    struct ws__load l = {.ctx = s->ctx, .arena = &s->arena};
    const struct ws__change rename = {"kernel", name};
    struct ws__node *root = copy_tree(&l, full(s)->kernel_tree[with]);
    struct ws__node *old = copy_tree(&l, full(s)->kernel_tree[without]);
    struct ws__node *to, *launch, *next;

    if (!root || !old)
        return WS_ENOMEM;
    WS_TRY(change_one(&l, root, &rename));
    to = member(root, "launches");
    old = member(old, "launches");
    if (!to || !old)
        return ws__fail(s->ctx, WS_EINVAL, "kernels without launches");
    for (launch = to->first; launch; launch = launch->next)
        WS_TRY(add_condition(&l, launch, "", when));
    for (launch = old->first; launch; launch = next) {
        next = launch->next;
        rename_entry(launch, renamed, nrenamed);
        WS_TRY(add_condition(&l, launch, "not ", when));
        ws__tree_append(to, launch);
    }
    return add_kernel(&l, s, &s->kernel[with], root, text, out);
}

static bool is_deep(const struct ws__node *n)
{
    return n->n && n->kind == WS__MAP && n->key &&
           (!strcmp(n->key, "parameters") || !strcmp(n->key, "scratch"));
}

static int emit_value(struct ws__buf *b, const struct ws__node *n)
{
    return ws__node_emit(b, n, NULL);
}

/* A parameter whose default is what the config has. */
static void emit_param(struct ws__buf *b, const struct ws__node *n,
                       const struct ws__param *p, uint16_t at)
{
    bool map = n->kind == WS__MAP, first = true;

    ws__buf_puts(b, "{");
    for (const struct ws__node *m = n->first; map && m; m = m->next) {
        if (!strcmp(m->key, "default"))
            continue;
        ws__buf_printf(b, "%s\"%s\": ", first ? "" : ", ", m->key);
        emit_value(b, m);
        first = false;
    }
    if (!map) {
        ws__buf_puts(b, "\"values\": ");
        emit_value(b, n);
    }
    ws__buf_puts(b, ", \"default\": ");
    ws__value_print(b, &p->value[at]);
    ws__buf_puts(b, "}");
}

/* Its number among the kernel's, or -1. */
static long param_of(const struct ws__kernel *k, const char *name)
{
    for (size_t i = 0; i < k->nparam; i++)
        if (!strcmp(k->param[i].name, name))
            return (long)i;
    return -1;
}

static void emit_deep(struct ws__buf *b, const struct ws__node *n,
                      const struct ws__kernel *k, const struct ws__config *c)
{
    for (const struct ws__node *m = n->first; m; m = m->next) {
        long p = c && !strcmp(n->key, "parameters") ? param_of(k, m->key) : -1;

        ws__buf_printf(b, "\n  %s: ", m->key);
        if (p >= 0 && p < c->n)
            emit_param(b, m, &k->param[p], c->at[p]);
        else
            emit_value(b, m);
    }
}

int ws__spec_kernel_file(struct ws__spec *s, size_t kernel, const char *op,
                         const struct ws__config *c, char **out)
{
    const struct ws__node *root = full(s)->kernel_tree[kernel];
    struct ws__buf b;

    *out = NULL;
    ws__buf_init(&b, s->ctx, MAX_TEXT);
    if (op) {
        ws__buf_puts(&b, "op: ");
        ws__node_emit_text(&b, op);
        ws__buf_puts(&b, "\n");
    }
    for (const struct ws__node *n = root->first; n; n = n->next) {
        if (op && !strcmp(n->key, "op"))
            continue;
        ws__buf_printf(&b, "%s:", n->key);
        if (is_deep(n)) {
            emit_deep(&b, n, &s->kernel[kernel], c);
        } else if (n->kind == WS__LIST && n->n) {
            for (const struct ws__node *m = n->first; m; m = m->next) {
                ws__buf_puts(&b, "\n  - ");
                emit_value(&b, m);
            }
        } else {
            ws__buf_puts(&b, " ");
            emit_value(&b, n);
        }
        ws__buf_puts(&b, "\n");
    }
    if (b.failed) {
        int rc = b.failed;

        ws__buf_free(&b);
        return rc;
    }
    *out = ws__buf_take(&b);
    return *out ? 0 : WS_ENOMEM;
}
