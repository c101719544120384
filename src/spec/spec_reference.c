/*
 * spec_reference.c: the key `reference` of an op.
 *
 * Three kinds: a native one by its name, a trusted kernel of the same op, and
 * a function in Python. What lies in files is read here and becomes part of
 * the op, of its hash too: a reference that changes makes another op, so old
 * verdicts are never taken for new ones. Files lie inside of the op's folder,
 * links followed.
 *
 * A pack carries the op as text without its files. For that the reference may
 * hold its content itself, under `text`: ws__reference_inline makes that form.
 */
#include "base/fs.h"
#include "spec/parts.h"

#include "base/banned.h"

#define MAX_PYTHON ((size_t)1 << 20)
#define REFERENCE_KEYS "native kernel config python text function framework"

/* The file `n` names, inside of the op's folder: as it is called, and as it
 * really is (ws__free). */
static int find_file(struct ws__load *l, const struct ws__op *op,
                     const struct ws__node *n, const char **path, char **real)
{
    *real = NULL;
    WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "a file"));
    if (l->no_files) {
        ws__node_fail(l->ctx, n, "reference '%s' is a file", n->text);
        return ws__hint(l->ctx, "here it must be given as 'text'");
    }
    *path = ws__load_join(l, op->dir, n->text);
    if (!*path)
        return WS_ENOMEM;
    if (!ws__fs_exists(*path)) {
        ws__fail_at(l->ctx, WS_ENOENT, &n->loc, "reference '%s' is not found",
                    n->text);
        return ws__hint(l->ctx, "it is looked for beside the op, in '%s'",
                        op->dir);
    }
    if (ws__path_inside(l->ctx, op->dir, *path, real) < 0)
        return ws__error_locate(l->ctx, &n->loc);
    return 0;
}

/* ---- Python ------------------------------------------------------------- */

static int read_text(struct ws__load *l, const struct ws__op *op,
                     const struct ws__node *n, struct ws__python *p)
{
    char *real, *text;
    size_t len;
    int rc;

    WS_TRY(find_file(l, op, n, &p->file, &real));
    rc = ws__fs_read(l->ctx, real, MAX_PYTHON, &text, &len);
    ws__free(l->ctx, real);
    if (rc < 0)
        return ws__error_locate(l->ctx, &n->loc);
    p->text = strlen(text) == len ? ws__arena_strdup(l->arena, text) : NULL;
    ws__free(l->ctx, text);
    if (p->text)
        return 0;
    if (l->ctx->err.code == WS_ENOMEM)
        return WS_ENOMEM;
    return ws__node_fail(l->ctx, n, "'%s' contains a NUL character", n->text);
}

static int read_python(struct ws__load *l, const struct ws__node *n,
                       struct ws__op *op)
{
    const struct ws__node *file = ws__node_get(n, "python");
    const struct ws__node *text = ws__node_get(n, "text"), *c;
    struct ws__python *p = &op->python;
    int word;

    WS_TRY(ws__node_keys(l->ctx, n, "python text function framework",
                         "a reference in Python"));
    if (file && text) {
        ws__node_fail(l->ctx, text, "the reference is there twice");
        return ws__hint(l->ctx, "give 'python: FILE', or the text itself");
    }
    p->function = "run";
    p->file = "reference";
    if ((c = ws__node_get(n, "function"))) {
        WS_TRY(ws__node_str(l->ctx, c, "a function", &p->function));
        WS_TRY(ws__node_identifier(l->ctx, p->function, &c->loc, "a function"));
    }
    if ((c = ws__node_get(n, "framework"))) {
        WS_TRY(ws__node_word(l->ctx, c, "a framework", "numpy torch", &word));
        p->arrays = word ? WS__PY_TORCH : WS__PY_NUMPY;
    }
    if (file)
        return read_text(l, op, file, p);
    return ws__node_str(l->ctx, text, "a text in Python", &p->text);
}

/* ---- a trusted kernel --------------------------------------------------- */

/* The kernel's tree: a file's, or the map that stands here. */
static int kernel_tree(struct ws__load *l, const struct ws__node *n,
                       const struct ws__op *op, const char **file,
                       const struct ws__node **out)
{
    char *real;
    int rc;

    *file = op->file;
    *out = n;
    if (n->kind == WS__MAP)
        return 0;
    WS_TRY(find_file(l, op, n, file, &real));
    ws__free(l->ctx, real);
    rc = ws__load_tree(l, *file, out);
    return rc < 0 ? ws__error_locate(l->ctx, &n->loc) : 0;
}

static int check_kernel(struct ws__load *l, const struct ws__node *tree,
                        const struct ws__op *op)
{
    const struct ws__node *n;

    WS_TRY(ws__node_want(l->ctx, tree, WS__MAP, "a kernel"));
    n = ws__node_get(tree, "op");
    if (!n || n->kind != WS__SCALAR || strpbrk(n->text, "./") ||
        !strcmp(n->text, op->name))
        return 0;
    ws__node_fail(l->ctx, n, "the trusted kernel is for op '%s'", n->text);
    return ws__hint(l->ctx, "the op here is '%s'", op->name);
}

static int read_kernel(struct ws__load *l, const struct ws__node *n,
                       struct ws__op *op)
{
    const struct ws__node *at = ws__node_get(n, "kernel"), *tree, *c;
    const char *file, *dir, *source = NULL;
    struct ws__config config;
    struct ws__kernel *k;

    WS_TRY(ws__node_keys(l->ctx, n, "kernel text config", "a trusted kernel"));
    WS_TRY(kernel_tree(l, at, op, &file, &tree));
    WS_TRY(check_kernel(l, tree, op));
    if (at->kind == WS__MAP) {
        WS_TRY(ws__node_need(l->ctx, n, "text", "the reference", &c));
        WS_TRY(ws__node_str(l->ctx, c, "the kernel's source", &source));
    }
    k = ws__arena_alloc(l->arena, 1, sizeof(*k));
    dir = ws__load_dir(l, file);
    if (!k || !dir)
        return WS_ENOMEM;
    WS_TRY(ws__load_kernel(l, tree, op, file, dir, source, k));
    if (ws__dialect_is_ready(k->dialect)) {
        ws__node_fail(l->ctx, at, "the trusted kernel '%s' is ready-made",
                      k->name);
        return ws__hint(l->ctx, "what is trusted must be there to read: give "
                                "a kernel with a source");
    }
    if ((c = ws__node_get(n, "config"))) {
        WS_TRY(ws__node_str(l->ctx, c, "a config", &op->trusted.config));
        if (ws__config_parse(l->ctx, k, op->trusted.config, &config) < 0)
            return ws__error_locate(l->ctx, &c->loc);
    }
    op->trusted.kernel = k;
    l->trusted_tree = tree;
    return 0;
}

int ws__load_is_trusted(struct ws__load *l, const struct ws__op *op,
                        const char *file)
{
    char *a = NULL, *b = NULL;
    int rc;

    if (!op->trusted.kernel || op->trusted.kernel->file == op->file)
        return 0;
    rc = ws__path_inside(l->ctx, op->dir, op->trusted.kernel->file, &a);
    if (rc >= 0)
        rc = ws__path_inside(l->ctx, op->dir, file, &b);
    if (rc >= 0)
        rc = !strcmp(a, b);
    ws__free(l->ctx, a);
    ws__free(l->ctx, b);
    return rc;
}

/* ---- all kinds ---------------------------------------------------------- */

/* Only a native reference has a generator of inputs. */
static int check_fills(struct ws__load *l, const struct ws__node *n,
                       const struct ws__op *op)
{
    for (size_t i = 0; i < op->ntensor; i++)
        if (op->tensor[i].fill.kind == WS__FILL_NATIVE) {
            ws__node_fail(l->ctx, n, "the reference cannot fill '%s'",
                          op->tensor[i].name);
            return ws__hint(l->ctx, "'fill: native' needs a native reference; "
                                    "give it another fill");
        }
    return 0;
}

int ws__load_reference(struct ws__load *l, const struct ws__node *n,
                       struct ws__op *op)
{
    const struct ws__node *c;
    int word;

    if (n->kind == WS__SCALAR) {
        WS_TRY(ws__node_word(l->ctx, n, "a reference", "native", &word));
        op->reference = op->name;
        return 0;
    }
    WS_TRY(ws__node_keys(l->ctx, n, REFERENCE_KEYS, "a reference"));
    if ((c = ws__node_get(n, "native"))) {
        WS_TRY(ws__node_keys(l->ctx, n, "native", "a native reference"));
        WS_TRY(ws__node_str(l->ctx, c, "the name of an op", &op->reference));
        return ws__node_title(l->ctx, c->text, &c->loc, "an op");
    }
    if (ws__node_get(n, "kernel")) {
        WS_TRY(read_kernel(l, n, op));
    } else if (ws__node_get(n, "python") || ws__node_get(n, "text")) {
        WS_TRY(read_python(l, n, op));
    } else {
        ws__node_fail(l->ctx, n, "the reference is of no kind");
        return ws__hint(l->ctx, "give one of 'native', 'kernel' and 'python'");
    }
    return check_fills(l, n, op);
}

/* ---- the form without files --------------------------------------------- */

/* Appends a copy of `from` (its children shared) to `to`. */
static struct ws__node *append(struct ws__load *l, struct ws__node *to,
                               const struct ws__node *from)
{
    struct ws__node *c = ws__arena_alloc(l->arena, 1, sizeof(*c));

    if (!c)
        return NULL;
    *c = *from;
    c->next = NULL;
    if (to->last)
        to->last->next = c;
    else
        to->first = c;
    to->last = c;
    to->n++;
    return c;
}

static int append_text(struct ws__load *l, struct ws__node *to,
                       const char *text)
{
    struct ws__node n = {.kind = WS__SCALAR,
                         .loc = to->loc,
                         .text = text,
                         .quoted = true,
                         .key = "text",
                         .key_loc = to->loc};

    return append(l, to, &n) ? 0 : WS_ENOMEM;
}

/* The kernel's tree as a member, without what names other files. */
static int append_kernel(struct ws__load *l, struct ws__node *to,
                         const struct ws__node *at)
{
    struct ws__node *k, empty = *at;

    empty.kind = WS__MAP;
    empty.first = empty.last = NULL;
    empty.n = 0;
    k = append(l, to, &empty);
    if (!k)
        return WS_ENOMEM;
    for (const struct ws__node *c = l->trusted_tree->first; c; c = c->next)
        if (strcmp(c->key, "op") && strcmp(c->key, "include") &&
            !append(l, k, c))
            return WS_ENOMEM;
    return 0;
}

static int inline_reference(struct ws__load *l, const struct ws__op *op,
                            const struct ws__node *from, struct ws__node *to)
{
    for (const struct ws__node *c = from->first; c; c = c->next) {
        if (!strcmp(c->key, "python") || !strcmp(c->key, "text"))
            continue;
        if (!strcmp(c->key, "kernel"))
            WS_TRY(append_kernel(l, to, c));
        else if (!append(l, to, c))
            return WS_ENOMEM;
    }
    return append_text(l, to,
                       op->python.text ? op->python.text
                                       : op->trusted.kernel->source);
}

int ws__reference_inline(struct ws__load *l, const struct ws__op *op,
                         const struct ws__node *root,
                         const struct ws__node **out)
{
    struct ws__node *copy;

    *out = root;
    if (!op->python.text && !op->trusted.kernel)
        return 0;
    copy = ws__arena_alloc(l->arena, 1, sizeof(*copy));
    if (!copy)
        return WS_ENOMEM;
    *copy = *root;
    copy->first = copy->last = NULL;
    copy->n = 0;
    for (const struct ws__node *c = root->first; c; c = c->next) {
        struct ws__node empty = *c, *to;
        bool here = !strcmp(c->key, "reference");

        if (here) {
            empty.first = empty.last = NULL;
            empty.n = 0;
        }
        to = append(l, copy, &empty);
        if (!to)
            return WS_ENOMEM;
        if (here)
            WS_TRY(inline_reference(l, op, c, to));
    }
    *out = copy;
    return 0;
}
