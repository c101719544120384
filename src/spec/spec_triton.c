/*
 * spec_triton.c: kernels in Triton, which 'wavesmith compile' compiled before.
 *
 * A kernel in Triton is Python, so it is compiled when a user says so and never
 * when a specification is loaded: what is loaded here is the folder that came
 * of it, <kernel file>.triton/<target>/, as data. It has index.json, the cubins
 * and source.py, the text that was compiled; when the kernel's text is another
 * one by now, the folder is stale and refused.
 *
 * The constants of a function are expressions over axes and parameters. None
 * may read the device: what is compiled must be known without one.
 */
#include <dirent.h>

#include "base/fs.h"
#include "core/cubin.h"
#include "spec/parts.h"

#include "base/banned.h"

#define INDEX "index.json"
#define SOURCE "source.py"
#define MAX_TEXT ((size_t)8 << 20)
#define MAX_SOURCE ((size_t)1 << 20)
#define MAX_TOTAL ((size_t)512 << 20)

/* --- launches ------------------------------------------------------------ */

int ws__load_triton_keys(struct ws__load *l, const struct ws__node *launch)
{
    static const char *const compiled[] = {"block", "shared"};

    for (size_t i = 0; i < WS_COUNT(compiled); i++) {
        const struct ws__node *n =
            launch->kind == WS__MAP ? ws__node_get(launch, compiled[i]) : NULL;

        if (!n)
            continue;
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "'%s' of a launch in Triton",
                    n->key);
        return ws__hint(l->ctx, "leave it out: the compiled kernel knows; "
                                "threads are 32 times 'warps'");
    }
    return ws__node_keys(l->ctx, launch,
                         "entry when grid args constexprs warps stages",
                         "a launch");
}

/* What is compiled is known without a device. */
static int no_device(struct ws__load *l, const struct ws__kernel *k,
                     const struct ws__expr *e)
{
    for (int v = 0; v < WS__NDEVICE_VARS; v++)
        if (ws__expr_uses(e,
                          ws__kernel_device_slot(k, (enum ws__device_var)v))) {
            ws__fail_at(l->ctx, WS_ESPEC, &e->loc, "'%s' reads the device",
                        e->text);
            return ws__hint(l->ctx, "a kernel is compiled before there is a "
                                    "device: use a parameter");
        }
    return 0;
}

static int read_expr(struct ws__load *l, const struct ws__node *n,
                     const struct ws__kernel *k, int want,
                     struct ws__expr **out)
{
    WS_TRY(ws__node_expr(l->ctx, l->arena, n, &k->scope, want, out));
    return no_device(l, k, *out);
}

static int read_count(struct ws__load *l, const struct ws__node *launch,
                      const char *key, const struct ws__kernel *k,
                      struct ws__expr **out)
{
    const struct ws__node *n;

    WS_TRY(ws__node_need(l->ctx, launch, key, "the launch", &n));
    return read_expr(l, n, k, WS__INT, out);
}

/* Does a shape decide it? */
static bool varies(const struct ws__kernel *k, const struct ws__expr *e)
{
    bool found = false;

    for (size_t a = 0; a < k->op->naxis; a++)
        found = found ||
                (k->op->axis[a].kind == WS__AXIS_VAR && ws__expr_uses(e, a));
    return found;
}

static int read_meta(struct ws__load *l, const struct ws__node *n,
                     const char *name, const struct ws__loc *loc,
                     const struct ws__kernel *k, struct ws__launch *out)
{
    struct ws__meta *m = &out->meta[out->nmeta];

    if (out->nmeta == WS__MAX_META)
        return ws__fail_at(l->ctx, WS_ELIMIT, loc, "more than %d constants",
                           WS__MAX_META);
    WS_TRY(ws__node_identifier(l->ctx, name, loc, "a constant"));
    for (size_t i = 0; i < out->nmeta; i++)
        if (!strcmp(out->meta[i].name, name))
            return ws__fail_at(l->ctx, WS_ESPEC, loc,
                               "the constant '%s' is there twice", name);
    m->name = name;
    m->type_axis = n->kind == WS__SCALAR ? ws__op_axis(k->op, n->text) : -1;
    if (m->type_axis >= 0 && k->op->axis[m->type_axis].kind != WS__AXIS_TYPE)
        m->type_axis = -1;
    WS_TRY(read_expr(l, n, k, -1, &m->expr));
    m->both = m->expr->type == WS__BOOL && varies(k, m->expr);
    out->nmeta++;
    return 0;
}

/* A list of names that are expressions themselves, or a map. */
static int read_constants(struct ws__load *l, const struct ws__node *list,
                          const struct ws__kernel *k, struct ws__launch *out)
{
    if (list->kind != WS__LIST)
        WS_TRY(ws__node_want(l->ctx, list, WS__MAP,
                             "a map {NAME: expression}, or a list of names"));
    for (const struct ws__node *c = list->first; c; c = c->next) {
        if (list->kind == WS__LIST)
            WS_TRY(ws__node_want(l->ctx, c, WS__SCALAR, "a name"));
        WS_TRY(list->kind == WS__LIST
                   ? read_meta(l, c, c->text, &c->loc, k, out)
                   : read_meta(l, c, c->key, &c->key_loc, k, out));
    }
    return 0;
}

int ws__load_triton_launch(struct ws__load *l, const struct ws__node *n,
                           const struct ws__kernel *k, struct ws__launch *out)
{
    const struct ws__node *c;

    out->meta = ws__arena_alloc(l->arena, WS__MAX_META, sizeof(*out->meta));
    if (!out->meta)
        return WS_ENOMEM;
    if ((c = ws__node_get(n, "constexprs")))
        WS_TRY(read_constants(l, c, k, out));
    WS_TRY(read_count(l, n, "warps", k, &out->warps));
    return read_count(l, n, "stages", k, &out->stages);
}

static int read_divisible(struct ws__load *l, const struct ws__node *map,
                          const struct ws__kernel *k, struct ws__arg *a)
{
    const struct ws__node *n = map->first->next;

    if (!n)
        return 0;
    if (strcmp(n->key, "divisible") != 0 || a->kind != WS__ARG_VALUE ||
        ws__dtype_is_float(a->dtype)) {
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "'%s' of an argument",
                    n->key);
        return ws__hint(l->ctx, "a whole number may have 'divisible: 16'; "
                                "tensors are what 'align' of the op says");
    }
    return read_expr(l, n, k, WS__INT, &a->divisible);
}

int ws__load_triton_args(struct ws__load *l, const struct ws__node *args,
                         const struct ws__kernel *k, struct ws__launch *out)
{
    size_t i = 0;

    for (const struct ws__node *c = args->first; c; c = c->next, i++) {
        struct ws__arg *a = &out->arg[i];

        if (a->kind == WS__ARG_SHARED) {
            ws__node_fail(l->ctx, c, "'shared' as an argument in Triton");
            return ws__hint(l->ctx, "leave it out: the compiled kernel knows");
        }
        if (a->kind == WS__ARG_SCRATCH && c->kind == WS__SCALAR) {
            ws__node_fail(l->ctx, c, "scratch buffer '%s' has no type",
                          c->text);
            return ws__hint(l->ctx, "write {float32: %s}", c->text);
        }
        if (c->kind == WS__MAP)
            WS_TRY(read_divisible(l, c, k, a));
    }
    if (out->narg + WS__MAX_NULLS + 1 <= WS__MAX_ARGS)
        return 0;
    return ws__node_fail(l->ctx, args, "more than %u arguments",
                         (unsigned)(WS__MAX_ARGS - WS__MAX_NULLS - 1));
}

/* --- the source ---------------------------------------------------------- */

static int read_source(struct ws__load *l, const struct ws__node *at,
                       struct ws__kernel *k)
{
    char *path, *inside = NULL, *text = NULL;
    size_t n = 0;
    int rc;

    path = ws__load_join(l, k->dir, at->text);
    if (!path)
        return WS_ENOMEM;
    if (!ws__fs_exists(path)) {
        ws__fail_at(l->ctx, WS_ENOENT, &at->loc, "source '%s' is not found",
                    at->text);
        return ws__hint(l->ctx, "it lies in the kernel file's folder");
    }
    rc = ws__path_inside(l->ctx, k->dir, path, &inside);
    if (rc == 0)
        rc = ws__fs_read(l->ctx, inside, MAX_SOURCE, &text, &n);
    ws__free(l->ctx, inside);
    if (rc < 0)
        return ws__error_locate(l->ctx, &at->loc);
    if (strlen(text) != n)
        rc = ws__node_fail(l->ctx, at, "the source has a NUL character");
    else if (!(k->triton_source = ws__arena_strdup(l->arena, text)))
        rc = WS_ENOMEM;
    ws__free(l->ctx, text);
    return rc;
}

/* --- the folder ---------------------------------------------------------- */

static int say_compile(struct ws__load *l, const struct ws__kernel *k)
{
    return ws__hint(l->ctx,
                    "compile it: wavesmith compile %s --target %s "
                    "--trust-python",
                    k->file, k->target ? k->target : "sm_90");
}

/* The one target's folder, where there is one. */
static int only_folder(struct ws__load *l, const struct ws__node *at,
                       const char *dir, const char **out)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    size_t n = 0;

    *out = NULL;
    while (d && (e = readdir(d)) != NULL) {
        char *path =
            *e->d_name == '.' ? NULL : ws__load_join(l, dir, e->d_name);

        if (!path || !ws__fs_is_dir(path))
            continue;
        *out = path;
        n++;
    }
    if (d)
        closedir(d);
    if (n < 2)
        return 0;
    ws__node_fail(l->ctx, at, "'%s' is for %zu targets", dir, n);
    return ws__hint(l->ctx, "say which in the kernel file, as in "
                            "'target: sm_90'");
}

char *ws__triton_folder(struct ws__arena *arena, const struct ws__kernel *k,
                        const char *target)
{
    const char *dot = strrchr(k->file, '.'), *slash = strrchr(k->file, '/');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - k->file)
                                              : strlen(k->file);

    return ws__arena_printf(arena, "%.*s.triton%s%s", (int)n, k->file,
                            target ? "/" : "", target ? target : "");
}

/* As all files of a kernel: inside of its folder, links followed. */
static int check_inside(struct ws__load *l, const struct ws__node *at,
                        const struct ws__kernel *k, const char *dir)
{
    char *real;

    if (ws__path_inside(l->ctx, k->dir, dir, &real) < 0)
        return ws__error_locate(l->ctx, &at->loc);
    ws__free(l->ctx, real);
    return 0;
}

static int find_folder(struct ws__load *l, const struct ws__node *at,
                       const struct ws__kernel *k, const char **out)
{
    char *dir = ws__triton_folder(l->arena, k, k->target);

    *out = dir;
    if (!dir)
        return WS_ENOMEM;
    if (l->no_files)
        return 0;
    if (!k->target)
        WS_TRY(only_folder(l, at, dir, out));
    return *out && ws__fs_is_dir(*out) ? check_inside(l, at, k, *out) : 0;
}

static int not_compiled(struct ws__load *l, const struct ws__node *at,
                        const struct ws__kernel *k)
{
    ws__fail_at(l->ctx, WS_ENOENT, &at->loc, "kernel '%s' is not compiled",
                k->name);
    return say_compile(l, k);
}

/* Of packs the source is not asked for: they cannot become stale. */
static int check_fresh(struct ws__load *l, const struct ws__node *at,
                       const struct ws__kernel *k, const char *dir)
{
    void *text;
    size_t n = 0;

    if (l->no_files)
        return 0;
    WS_TRY(ws__load_ready_file(l, at, dir, SOURCE, &text, &n));
    if (text && n == strlen(k->triton_source) &&
        !memcmp(text, k->triton_source, n))
        return 0;
    ws__fail_at(l->ctx, WS_ESPEC, &at->loc,
                "'%s' is not what was compiled into '%s'", at->text, dir);
    return say_compile(l, k);
}

static int damaged(struct ws__load *l, const struct ws__node *at,
                   const struct ws__kernel *k, const struct ws__source_file *f,
                   const char *why)
{
    ws__node_fail(l->ctx, at, "compiled file '%s': %s", f->name, why);
    return say_compile(l, k);
}

static int read_cubin(struct ws__load *l, const struct ws__node *at,
                      const struct ws__kernel *k, const char *dir,
                      struct ws__source_file *f)
{
    struct ws__hash said = f->hash;
    size_t bytes = f->bytes;
    const char *why;
    void *data;

    WS_TRY(ws__load_ready_file(l, at, dir, f->name, &data, &f->bytes));
    if (!data)
        return 0;
    f->hash = ws__hash_bytes(data, f->bytes);
    if (f->bytes != bytes ||
        ((said.lo || said.hi) && !ws__hash_eq(said, f->hash)))
        return damaged(l, at, k, f, "it is not the one that was compiled");
    why = ws__cubin_lacks(data, f->bytes, f->entry);
    if (why)
        return damaged(l, at, k, f, why);
    f->data = data;
    return 0;
}

/* Files that are not there are no part of the kernel: a pack has those of its
 * choices. */
static int read_cubins(struct ws__load *l, const struct ws__node *at,
                       struct ws__kernel *k, const char *dir,
                       struct ws__triton_index *x)
{
    size_t total = 0, n = 0;

    for (size_t i = 0; i < x->n; i++) {
        struct ws__source_file *f = &x->file[i];

        WS_TRY(ws__check_stop(l->ctx));
        if (!f->failed)
            WS_TRY(read_cubin(l, at, k, dir, f));
        total += f->bytes;
        if (total > MAX_TOTAL)
            return ws__node_fail(l->ctx, at,
                                 "the compiled files have more than %zu MiB",
                                 MAX_TOTAL >> 20);
        if (f->failed || f->data)
            x->file[n++] = *f;
    }
    k->ready = x->file;
    k->nready = n;
    return 0;
}

/* `source`: of a kernel that was made from another one, instead of the file. */
int ws__load_triton(struct ws__load *l, const struct ws__node *at,
                    const char *source, struct ws__kernel *k)
{
    struct ws__triton_index x;
    const char *dir;
    void *text = NULL;
    size_t n = 0;

    WS_TRY(ws__node_str(l->ctx, at, "a file", &k->source_file));
    if (l->varied) {
        k->triton_source = ws__arena_strdup(l->arena, source);
        return k->triton_source ? 0 : WS_ENOMEM;
    }
    if (!l->no_files)
        WS_TRY(read_source(l, at, k));
    if (l->uncompiled)
        return 0;
    WS_TRY(find_folder(l, at, k, &dir));
    if (dir)
        WS_TRY(ws__load_ready_file(l, at, dir, INDEX, &text, &n));
    if (!text)
        return not_compiled(l, at, k);
    if (n > MAX_TEXT)
        return ws__node_fail(l->ctx, at, "'%s' is too large", INDEX);
    WS_TRY(check_fresh(l, at, k, dir));
    k->index = text;
    WS_TRY(ws__triton_index_read(l->ctx, l->arena, text, n,
                                 ws__load_join(l, dir, INDEX), &x));
    k->triton = ws__arena_printf(l->arena, "%s %s", x.version, x.target);
    if (!k->triton)
        return WS_ENOMEM;
    WS_TRY(read_cubins(l, at, k, dir, &x));
    ws__log(l->ctx, WS_LOG_INFO, "kernel '%s': %zu files by Triton %s", k->name,
            k->nready, k->triton);
    return 0;
}
