/*
 * spec.c: loading a specification: which file is what, and what belongs
 * together.
 *
 * The kind of a file is seen from its keys, not from its name. A kernel finds
 * its op in the folder around it (ops/<op>/kernels/<kernel>.yaml), by a path,
 * or among the shipped operators. Everything that was read lives in the
 * arena of the specification and dies with it.
 *
 * The texts for packs are written from the trees, as JSON, with workloads
 * left out: small, free of comments, and read by the same code.
 */
#include "spec/spec.h"

#include <ctype.h>

#include "base/fs.h"
#include "base/names.h"
#include "spec/parts.h"

#include "base/banned.h"

#define SOME_NAMES 5
#define MAX_TEXT ((size_t)16 << 20)

static struct ws__spec_full *full(struct ws__spec *s)
{
    return (struct ws__spec_full *)s;
}

static int new_spec(struct ws_ctx *ctx, const char *path, struct ws__load *l,
                    struct ws__spec **out)
{
    struct ws__spec_full *f = ws__alloc(ctx, 1, sizeof(*f));
    struct ws__spec *s;

    if (!f)
        return WS_ENOMEM;
    s = &f->pub;
    s->ctx = ctx;
    ws__arena_init(&s->arena, ctx);
    l->ctx = ctx;
    l->arena = &s->arena;
    l->share_dir = NULL;
    l->trusted_tree = NULL;
    l->no_files = false;
    l->files = NULL;
    l->kernel = 0;
    s->path = ws__arena_strdup(&s->arena, path);
    if (!s->path) {
        ws__spec_free(s);
        return WS_ENOMEM;
    }
    *out = s;
    return 0;
}

void ws__spec_free(struct ws__spec *s)
{
    struct ws_ctx *ctx;

    if (!s)
        return;
    ctx = s->ctx;
    ws__arena_free(&s->arena);
    ws__free(ctx, s);
}

static int make_kernels(struct ws__load *l, struct ws__spec *s, size_t n)
{
    s->kernel = ws__arena_alloc(l->arena, n, sizeof(*s->kernel));
    full(s)->kernel_tree =
        ws__arena_alloc(l->arena, n, sizeof(*full(s)->kernel_tree));
    return s->kernel && full(s)->kernel_tree ? 0 : WS_ENOMEM;
}

static int load_op_tree(struct ws__load *l, struct ws__spec *s,
                        const struct ws__node *root, const char *path)
{
    char *dir = ws__load_dir(l, path);

    if (!dir)
        return WS_ENOMEM;
    WS_TRY(ws__load_op(l, root, path, dir, &s->op));
    return ws__reference_inline(l, s->op, root, &full(s)->op_tree);
}

static int load_op_file(struct ws__load *l, struct ws__spec *s,
                        const char *path)
{
    const struct ws__node *root;

    WS_TRY(ws__load_tree(l, path, &root));
    return load_op_tree(l, s, root, path);
}

/* The op's own workloads; without any the specification has none. */
static int load_op_workloads(struct ws__load *l, struct ws__spec *s)
{
    const struct ws__node *n = ws__node_get(full(s)->op_tree, "workloads");
    struct ws__op *op = s->op;

    if (!n)
        return 0;
    if (n->kind == WS__SCALAR && *n->text) {
        char *path = ws__load_join(l, op->dir, n->text);
        int rc = path ? ws__load_workload_file(l, op, op->dir, path,
                                               &op->workload, &op->nworkload)
                      : WS_ENOMEM;

        return rc < 0 ? ws__error_locate(l->ctx, &n->loc) : 0;
    }
    return ws__load_workload_list(l, op, n, &op->workload, &op->nworkload);
}

static int no_op(struct ws__load *l, const char *dir)
{
    ws__fail(l->ctx, WS_ENOENT, "no op in folder '%s'", dir);
    return ws__hint(l->ctx, "it needs a file op.yaml");
}

/* `op: path` of a kernel: a file, or a folder with one. */
static int op_by_path(struct ws__load *l, struct ws__spec *s,
                      const struct ws__node *n, const char *dir)
{
    const char *path = ws__load_join(l, dir, n->text), *file = path;

    if (!path)
        return WS_ENOMEM;
    if (ws__fs_is_dir(path)) {
        WS_TRY(ws__load_find_op(l, path, &file));
        if (!file) {
            no_op(l, path);
            return ws__error_locate(l->ctx, &n->loc);
        }
    }
    return load_op_file(l, s, file) < 0 ? ws__error_locate(l->ctx, &n->loc) : 0;
}

static int op_by_name(struct ws__load *l, struct ws__spec *s,
                      const struct ws__node *n)
{
    const char *share, *dir, *file;

    WS_TRY(ws__node_title(l->ctx, n->text, &n->loc, "an op"));
    if (ws__load_share_dir(l, &share) < 0)
        return ws__error_locate(l->ctx, &n->loc);
    dir = ws__load_join(l, share, n->text);
    if (!dir)
        return WS_ENOMEM;
    WS_TRY(ws__load_find_op(l, dir, &file));
    if (file)
        return load_op_file(l, s, file);
    ws__node_fail(l->ctx, n, "op '%s' is not known", n->text);
    return ws__hint(l->ctx,
                    "there is no '%s/op.yaml'; an own op is named by its "
                    "path, as in './%s.yaml'",
                    dir, n->text);
}

static bool is_path(const char *text)
{
    const char *dot = strrchr(text, '.');

    return strchr(text, '/') || *text == '.' ||
           (dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml") ||
                    !strcmp(dot, ".json")));
}

/* The op file of the folder around dir, if dir is a folder of kernels. */
static int op_around(struct ws__load *l, const char *dir, const char **file)
{
    const char *base = ws__path_base(dir);
    char *up;

    *file = NULL;
    if (strcmp(base, "kernels") && strcmp(dir, "."))
        return 0;
    up = strcmp(dir, ".") ? ws__load_dir(l, dir)
                          : ws__arena_strdup(l->arena, "..");
    if (!up)
        return WS_ENOMEM;
    return ws__load_find_op(l, up, file);
}

static int find_op(struct ws__load *l, struct ws__spec *s,
                   const struct ws__node *root, const char *dir)
{
    const struct ws__node *n = ws__node_get(root, "op");
    const char *file;

    if (n)
        WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "a name or a path"));
    if (n && is_path(n->text))
        return op_by_path(l, s, n, dir);
    WS_TRY(op_around(l, dir, &file));
    if (file) {
        WS_TRY(load_op_file(l, s, file));
        if (!n || !strcmp(n->text, s->op->name)) {
            /* Kernels of one op share its history. */
            s->dir = s->op->dir;
            return 0;
        }
    }
    if (n)
        return op_by_name(l, s, n);
    ws__node_fail(l->ctx, root, "the kernel names no op");
    return ws__hint(l->ctx, "add a line 'op: NAME' or 'op: path/op.yaml'");
}

static int load_kernel_spec(struct ws__load *l, struct ws__spec *s,
                            const struct ws__node *root)
{
    s->kind = WS__SPEC_KERNEL;
    s->dir = ws__load_dir(l, s->path);
    if (!s->dir)
        return WS_ENOMEM;
    WS_TRY(make_kernels(l, s, 1));
    full(s)->kernel_tree[0] = root;
    WS_TRY(find_op(l, s, root, s->dir));
    s->nkernel = 1;
    return ws__load_kernel(l, root, s->op, s->path, ws__load_dir(l, s->path),
                           NULL, &s->kernel[0]);
}

static int load_t1_spec(struct ws__load *l, struct ws__spec *s,
                        const struct ws__node *root)
{
    s->kind = WS__SPEC_T1;
    s->dir = ws__load_dir(l, s->path);
    if (!s->dir)
        return WS_ENOMEM;
    WS_TRY(make_kernels(l, s, 1));
    full(s)->kernel_tree[0] = root;
    s->nkernel = 1;
    return ws__load_t1(l, root, s->path, s->dir, &s->kernel[0]);
}

/* Is this the shipped op that computes the Definition? */
static bool is_match(struct ws__spec *s, const char *name)
{
    return full(s)->match.op && !strcmp(full(s)->match.op, name);
}

/* A kernel that names its op must mean this one; a path is left to who gave
 * the kernel. */
static int check_op(struct ws__load *l, struct ws__spec *s,
                    const struct ws__node *root)
{
    const struct ws__node *op = ws__node_get(root, "op");

    if (!s->op || !op || op->kind != WS__SCALAR || is_path(op->text) ||
        !strcmp(op->text, s->op->name) || is_match(s, op->text))
        return 0;
    ws__node_fail(l->ctx, op, "the kernel is for op '%s'", op->text);
    return ws__hint(l->ctx, "the op here is '%s'", s->op->name);
}

/* Counts in the kernel that was read last, if it belongs here. */
static int add_kernel(struct ws__load *l, struct ws__spec *s,
                      const struct ws__node *root)
{
    const struct ws__kernel *k = &s->kernel[s->nkernel];

    WS_TRY(check_op(l, s, root));
    for (size_t i = 0; i < s->nkernel; i++)
        if (!strcmp(s->kernel[i].name, k->name)) {
            ws__node_fail(l->ctx, root, "kernel '%s' is there twice", k->name);
            return ws__hint(l->ctx, "the first one is in '%s'",
                            s->kernel[i].file);
        }
    full(s)->kernel_tree[s->nkernel++] = root;
    return 0;
}

static int add_key(struct ws__load *l, const struct ws__node *key,
                   const struct ws__node **root)
{
    struct ws__node *copy, *member;

    if (!key || ws__node_get(*root, key->key))
        return 0;
    copy = ws__arena_alloc(l->arena, 1, sizeof(*copy));
    member = ws__arena_alloc(l->arena, 1, sizeof(*member));
    if (!copy || !member)
        return WS_ENOMEM;
    *copy = **root;
    *member = *key;
    ws__tree_append(copy, member);
    *root = copy;
    return 0;
}

/* A kernel that is written for the shipped op gets the keys that bind it to
 * the Definition, so that its text says it all. */
static int add_keys(struct ws__load *l, const struct ws__match *m,
                    const struct ws__node **root)
{
    WS_TRY(add_key(l, m->names, root));
    return add_key(l, m->variable, root);
}

static int not_a_kernel(struct ws__load *l, const struct ws__node *root,
                        const char *path)
{
    ws__node_fail(l->ctx, root, "'%s' is no kernel file", path);
    return ws__hint(l->ctx, "a kernel file has the key 'kernel'");
}

/* `ours`: from the folder of the shipped op. */
static int load_kernel_file(struct ws__load *l, struct ws__spec *s,
                            const char *path, bool ours)
{
    const struct ws__node *root, *op;
    char *dir = ws__load_dir(l, path), *kept = ws__arena_strdup(l->arena, path);

    if (!dir || !kept)
        return WS_ENOMEM;
    WS_TRY(ws__load_tree(l, kept, &root));
    if (root->kind != WS__MAP || !ws__node_get(root, "kernel"))
        return not_a_kernel(l, root, path);
    WS_TRY(check_op(l, s, root));
    op = ws__node_get(root, "op");
    if (ours || (op && op->kind == WS__SCALAR && is_match(s, op->text)))
        WS_TRY(add_keys(l, &full(s)->match, &root));
    WS_TRY(ws__load_kernel(l, root, s->op, kept, dir, NULL,
                           &s->kernel[s->nkernel]));
    return add_kernel(l, s, root);
}

/* Those that were asked for, else those in the folder (NULL: none) but the one
 * that candidates are compared with. */
static int load_kernels(struct ws__load *l, struct ws__spec *s,
                        const struct ws__spec_opts *o, const char *dir,
                        bool ours)
{
    bool asked = o && o->nkernels;
    const char *const *files = asked ? o->kernels : NULL;
    size_t n = asked ? o->nkernels : 0;

    if (!asked && dir) {
        const char **found;

        WS_TRY(ws__load_list_kernels(l, dir, &found, &n));
        files = found;
    }
    WS_TRY(make_kernels(l, s, n));
    for (size_t i = 0; i < n; i++) {
        int trusted = asked ? 0 : ws__load_is_trusted(l, s->op, files[i]);

        WS_TRY(trusted);
        if (!trusted)
            WS_TRY(load_kernel_file(l, s, files[i], ours && !asked));
    }
    return 0;
}

static int load_folder(struct ws__load *l, struct ws__spec *s,
                       const struct ws__spec_opts *o)
{
    const char *file;

    s->kind = WS__SPEC_OP;
    WS_TRY(ws__load_find_op(l, s->path, &file));
    if (!file)
        return no_op(l, s->path);
    WS_TRY(load_op_file(l, s, file));
    s->dir = s->op->dir;
    return load_kernels(l, s, o, s->dir, false);
}

/* A Definition: what a shipped op declares to compute it becomes that op in
 * the Definition's names; without one it has no reference. */
static int load_definition_spec(struct ws__load *l, struct ws__spec *s,
                                const struct ws__node *root,
                                const struct ws__spec_opts *o)
{
    struct ws__match *m = &full(s)->match;
    const struct ws__node *tree;

    s->kind = WS__SPEC_OP;
    s->definition = true;
    WS_TRY(ws__load_definition(l, root, &tree));
    WS_TRY(load_op_tree(l, s, tree, s->path));
    s->dir = s->op->dir;
    WS_TRY(ws__load_match(l, s->op, m));
    if (m->tree)
        WS_TRY(load_op_tree(l, s, m->tree, s->path));
    return load_kernels(l, s, o, m->tree ? m->dir : NULL, true);
}

/* A kernel or a T1 file is complete in itself. */
static int no_more_kernels(struct ws__load *l, const struct ws__spec *s,
                           const struct ws__spec_opts *o)
{
    if (!o || !o->nkernels)
        return 0;
    ws__fail(l->ctx, WS_EINVAL, "'%s' cannot take the kernel file '%s'",
             s->path, o->kernels[0]);
    return ws__hint(l->ctx, "give an op or a Definition, or one of the two "
                            "files alone");
}

static int unknown_kind(struct ws__load *l, const struct ws__node *root)
{
    ws__node_fail(l->ctx, root, "not a specification");
    return ws__hint(l->ctx, "a kernel has the key 'kernel', an op 'op', a T1 "
                            "file 'ConfigurationSpace', a Definition 'name', "
                            "'axes' and 'outputs'");
}

static int load_file(struct ws__load *l, struct ws__spec *s,
                     const struct ws__spec_opts *o)
{
    const struct ws__node *root;

    WS_TRY(ws__load_tree(l, s->path, &root));
    if (root->kind != WS__MAP)
        return unknown_kind(l, root);
    if (ws__load_is_definition(root))
        return load_definition_spec(l, s, root, o);
    if (ws__node_get(root, "kernel")) {
        WS_TRY(no_more_kernels(l, s, o));
        return load_kernel_spec(l, s, root);
    }
    if (ws__node_get(root, "ConfigurationSpace")) {
        WS_TRY(no_more_kernels(l, s, o));
        return load_t1_spec(l, s, root);
    }
    if (!ws__node_get(root, "op"))
        return unknown_kind(l, root);
    s->kind = WS__SPEC_OP;
    WS_TRY(load_op_tree(l, s, root, s->path));
    s->dir = s->op->dir;
    return load_kernels(l, s, o, NULL, false);
}

static int load_all(struct ws__load *l, struct ws__spec *s,
                    const struct ws__spec_opts *opts)
{
    WS_TRY(ws__fs_is_dir(s->path) ? load_folder(l, s, opts)
                                  : load_file(l, s, opts));
    if (s->op && !(opts && opts->workloads)) {
        WS_TRY(load_op_workloads(l, s));
        s->workload = s->op->workload;
        s->nworkload = s->op->nworkload;
    }
    s->hash = ws__spec_meaning(s);
    return opts && opts->workloads ? ws__spec_workloads(s, opts->workloads) : 0;
}

int ws__spec_load(struct ws_ctx *ctx, const char *path,
                  const struct ws__spec_opts *opts, struct ws__spec **out)
{
    struct ws__load l = {0};
    struct ws__spec *s;
    int rc;

    *out = NULL;
    WS_TRY(new_spec(ctx, path, &l, &s));
    l.share_dir = opts ? opts->share_dir : NULL;
    l.op_outline = opts && opts->op_outline;
    l.uncompiled = opts && opts->uncompiled;
    rc = load_all(&l, s, opts);
    if (rc < 0)
        ws__spec_free(s);
    else
        *out = s;
    return rc;
}

static int no_workloads(struct ws_ctx *ctx)
{
    ws__fail(ctx, WS_ESPEC, "a search space has no workloads");
    return ws__hint(ctx, "only specifications with an op have");
}

static bool begins_with_axis(const char *text)
{
    while (*text == ' ')
        text++;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    while (*text == ' ')
        text++;
    return *text == '=';
}

/* What is no AXIS=VALUE was meant as the name of a workload. */
static int no_workload(const struct ws__spec *s, const char *text)
{
    struct ws__nearest near;
    char some[300] = "";

    ws__nearest_begin(&near, text);
    for (size_t i = 0; i < s->nworkload; i++) {
        size_t at = strlen(some);

        ws__nearest_see(&near, s->workload[i].name);
        if (i < SOME_NAMES)
            snprintf(some + at, sizeof(some) - at, "%s'%s'", i ? ", " : "",
                     s->workload[i].name);
    }
    ws__fail(s->ctx, WS_ESPEC, "there is no workload '%s'", text);
    if (ws__nearest_name(&near))
        return ws__hint(s->ctx, "did you mean '%s'?", ws__nearest_name(&near));
    if (!s->nworkload)
        return ws__hint(s->ctx, "write AXIS=VALUE,AXIS=VALUE");
    return ws__hint(s->ctx, "there are %s%s; or write AXIS=VALUE,AXIS=VALUE",
                    some, s->nworkload > SOME_NAMES ? ", ..." : "");
}

int ws__spec_workload(struct ws__spec *s, const char *text,
                      struct ws__workload *out)
{
    struct ws__load l = {.ctx = s->ctx, .arena = &s->arena};

    if (!s->op)
        return no_workloads(s->ctx);
    if (*text && !begins_with_axis(text))
        return no_workload(s, text);
    return ws__load_workload_text(&l, s->op, text, out);
}

int ws__spec_workloads(struct ws__spec *s, const char *file)
{
    struct ws__load l = {.ctx = s->ctx, .arena = &s->arena};
    struct ws__workload *w;
    size_t n;

    if (!s->op)
        return no_workloads(s->ctx);
    WS_TRY(ws__load_workload_file(&l, s->op, NULL, file, &w, &n));
    s->workload = w;
    s->nworkload = n;
    s->hash = ws__spec_meaning(s);
    return 0;
}

static int emit(struct ws_ctx *ctx, const struct ws__node *tree,
                const char *const *skip, char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, ctx, MAX_TEXT);
    if (ws__node_emit(&b, tree, skip) < 0 || ws__buf_puts(&b, "\n") < 0) {
        int rc = b.failed;

        ws__buf_free(&b);
        return rc;
    }
    *out = ws__buf_take(&b);
    return 0;
}

int ws__spec_to_text(struct ws__spec *s, size_t kernel, char **op_text,
                     char **kernel_text)
{
    static const char *const no_work[] = {"workloads", NULL};
    static const char *const no_files[] = {"op", "include", NULL};
    int rc;

    *op_text = *kernel_text = NULL;
    if (kernel >= s->nkernel)
        return ws__fail(s->ctx, WS_EINVAL, "no kernel %zu", kernel);
    if (s->op)
        WS_TRY(emit(s->ctx, full(s)->op_tree, no_work, op_text));
    rc = emit(s->ctx, full(s)->kernel_tree[kernel], no_files, kernel_text);
    if (rc < 0) {
        ws__free(s->ctx, *op_text);
        *op_text = NULL;
    }
    return rc;
}

static int parse_text(struct ws__load *l, const char *text, const char *name,
                      const struct ws__node **out)
{
    struct ws__node *root;

    WS_TRY(
        ws__node_parse(l->ctx, l->arena, text, strlen(text), name, 1, &root));
    *out = root;
    return 0;
}

static int load_kernel_text(struct ws__load *l, struct ws__spec *s,
                            const char *text, const char *source)
{
    size_t i = l->kernel = s->nkernel;
    const char *name = ws__arena_printf(l->arena, "kernel:%zu", i);
    const struct ws__node *root;

    if (!name)
        return WS_ENOMEM;
    WS_TRY(parse_text(l, text, name, &root));
    WS_TRY(s->op ? ws__load_kernel(l, root, s->op, name, ".",
                                   source ? source : "", &s->kernel[i])
                 : ws__load_t1(l, root, name, ".", &s->kernel[i]));
    return add_kernel(l, s, root);
}

static int load_texts(struct ws__load *l, struct ws__spec *s,
                      const char *op_text, const char *const *kernel_text,
                      const char *const *source, size_t nkernel)
{
    s->dir = ".";
    l->no_files = true;
    s->kind = !op_text       ? WS__SPEC_T1
              : nkernel == 1 ? WS__SPEC_KERNEL
                             : WS__SPEC_OP;
    if (op_text) {
        WS_TRY(parse_text(l, op_text, "op", &full(s)->op_tree));
        WS_TRY(ws__load_op(l, full(s)->op_tree, "op", ".", &s->op));
    }
    WS_TRY(make_kernels(l, s, nkernel));
    for (size_t i = 0; i < nkernel; i++)
        WS_TRY(
            load_kernel_text(l, s, kernel_text[i], source ? source[i] : NULL));
    return 0;
}

int ws__spec_from_text(struct ws_ctx *ctx, const char *op_text,
                       const char *const *kernel_text,
                       const char *const *source, size_t nkernel,
                       struct ws__spec **out)
{
    return ws__spec_from_parts(ctx, op_text, kernel_text, source, nkernel, NULL,
                               out);
}

int ws__spec_from_parts(struct ws_ctx *ctx, const char *op_text,
                        const char *const *kernel_text,
                        const char *const *source, size_t nkernel,
                        const struct ws__spec_files *files,
                        struct ws__spec **out)
{
    struct ws__load l = {0};
    struct ws__spec *s;
    int rc;

    *out = NULL;
    WS_TRY(new_spec(ctx, "kernel", &l, &s));
    l.files = files;
    rc = load_texts(&l, s, op_text, kernel_text, source, nkernel);
    if (rc < 0) {
        ws__spec_free(s);
        return rc;
    }
    s->hash = ws__spec_meaning(s);
    *out = s;
    return 0;
}
