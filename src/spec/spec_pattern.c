/*
 * spec_pattern.c: entries that are C++ name expressions, and kernels that were
 * compiled before.
 *
 * Both are texts with {NAME} for what a config decides (core/pattern.c). Here
 * every name is found and every character checked, once; after that a pattern
 * only fails by its length.
 *
 * Of ready-made kernels, PTX or cubin, every file that a config can name is
 * read when the specification is loaded: then what is measured is what was
 * hashed, whatever happens to the folder. A file that is missing is no error,
 * for not every config need have been compiled: such a config is filtered. The
 * default's must be there.
 */
#include <ctype.h>

#include "base/fs.h"
#include "base/names.h"
#include "core/cubin.h"
#include "spec/parts.h"

#include "base/banned.h"

#define MAX_FILE ((size_t)64 << 20)
#define MAX_TOTAL ((size_t)512 << 20)
#define MAX_NAMES 16

/* --- names -------------------------------------------------------------- */

/* A name of a pattern: how many values it has and where they go. */
struct choice {
    size_t slot, n;
    const struct ws__param *param; /* NULL: an axis */
    const struct ws__axis *axis;
};

static int no_such_name(struct ws__load *l, const struct ws__node *n,
                        const struct ws__kernel *k, const char *name)
{
    struct ws__nearest near;

    ws__nearest_begin(&near, name);
    for (size_t i = 0; i < k->nparam; i++)
        ws__nearest_see(&near, k->param[i].name);
    for (size_t i = 0; i < k->op->naxis; i++)
        ws__nearest_see(&near, k->op->axis[i].name);
    ws__node_fail(l->ctx, n, "'{%s}' is no parameter and no axis", name);
    if (ws__nearest_name(&near))
        return ws__hint(l->ctx, "did you mean '{%s}'?",
                        ws__nearest_name(&near));
    return ws__hint(l->ctx, "braces stand around a parameter's name");
}

static int find_name(struct ws__load *l, const struct ws__node *n,
                     const struct ws__kernel *k, const char *name,
                     struct choice *out)
{
    int x = ws__op_axis(k->op, name);

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < k->nparam; i++)
        if (!strcmp(k->param[i].name, name)) {
            out->param = &k->param[i];
            out->slot = ws__kernel_param_slot(k, i);
            out->n = out->param->nvalue;
            return 0;
        }
    if (x < 0)
        return no_such_name(l, n, k, name);
    out->axis = &k->op->axis[x];
    out->slot = (size_t)x;
    out->n = out->axis->kind == WS__AXIS_TYPE ? out->axis->ntypes : 1;
    if (out->axis->kind != WS__AXIS_VAR)
        return 0;
    out->n = 0; /* not to be listed */
    if (k->specialize >> x & 1)
        return 0;
    ws__node_fail(l->ctx, n, "axis '%s' is not known when a kernel is built",
                  name);
    return ws__hint(l->ctx, "list it under 'specialize'");
}

/* All names of a text: each once. */
static int find_names(struct ws__load *l, const struct ws__node *n,
                      const struct ws__kernel *k, struct choice *out,
                      size_t *count)
{
    const char *p = n->text, *name;
    size_t len;

    *count = 0;
    while (ws__pattern_next(&p, &name, &len)) {
        char word[64];
        bool seen = false;

        snprintf(word, sizeof(word), "%.*s", (int)(len < 63 ? len : 63), name);
        if (*count == MAX_NAMES)
            return ws__node_fail(l->ctx, n, "more than %d names in braces",
                                 MAX_NAMES);
        WS_TRY(find_name(l, n, k, word, &out[*count]));
        for (size_t i = 0; i < *count; i++)
            seen = seen || out[i].slot == out[*count].slot;
        *count += !seen;
    }
    return 0;
}

/* --- entries ------------------------------------------------------------ */

static int refuse(struct ws__load *l, const struct ws__node *n,
                  const char *what, const char *hint)
{
    ws__node_fail(l->ctx, n, "entry '%.100s' %s", n->text, what);
    return ws__hint(l->ctx, "%s", hint);
}

/* Brackets in pairs; '<' and '>' count where no parenthesis is open. */
static bool is_balanced(const char *text)
{
    static const char pairs[] = "()[]{}<>";
    char open[64];
    size_t n = 0;

    for (; *text; text++) {
        const char *at = strchr(pairs, *text);
        size_t i = at ? (size_t)(at - pairs) : 0;

        if (!at || (i >= 6 && n && open[n - 1] == '('))
            continue;
        if (i % 2 == 0) {
            if (n == sizeof(open))
                return false;
            open[n++] = *text;
        } else if (!n || open[--n] != pairs[i - 1]) {
            return false;
        }
    }
    return n == 0;
}

/* The characters of a C++ name expression and of names in braces. */
static int check_expression(struct ws__load *l, const struct ws__node *n)
{
    const char *s = n->text;

    if (strlen(s) >= WS__MAX_ENTRY)
        return refuse(l, n, "is too long", "at most 255 characters");
    if (!isalpha((unsigned char)*s) && *s != '_' && *s != ':')
        return refuse(l, n, "begins with no name",
                      "write it as C++ would: matmul<{BM}, float>");
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("_:<>,(){}[]&*+-/% ", *s))
            return refuse(l, n, "has a character that is not allowed",
                          "a name expression has names, numbers, "
                          "< > , : ( ) and operators");
    if (!is_balanced(n->text))
        return refuse(l, n, "has a bracket without its partner",
                      "brackets come in pairs");
    return 0;
}

static int check_ready(struct ws__load *l, const struct ws__node *n)
{
    const char *s = n->text;

    if (!*s || strlen(s) >= WS__MAX_ENTRY || !is_balanced(s))
        return refuse(l, n, "is not a name", "as the compiler calls it");
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("_$.{}", *s))
            return refuse(l, n, "has a character that is not allowed",
                          "of a template, give the name that the compiler "
                          "made of it, as in _Z3addIfEvPKT_");
    return 0;
}

int ws__load_entry(struct ws__load *l, const struct ws__node *n,
                   const struct ws__kernel *k, struct ws__launch *out)
{
    bool triton = k->dialect == WS__DIALECT_TRITON;
    bool ready = ws__dialect_is_ready(k->dialect);
    struct choice names[MAX_NAMES + 1];
    size_t count;

    WS_TRY(ws__node_str(l->ctx, n, "a function's name", &out->entry));
    if (triton)
        return ws__node_identifier(l->ctx, n->text, &n->loc, "a function");
    out->pattern =
        strpbrk(n->text, "<>:{}") != NULL || (ready && strchr(n->text, '$'));
    if (!out->pattern && !ready)
        return ws__node_identifier(l->ctx, n->text, &n->loc, "an entry");
    if (!ready && k->dialect != WS__DIALECT_CUDA)
        return refuse(l, n, "is a C++ name expression",
                      "OpenCL C has no templates: name a plain function, or "
                      "say 'dialect: cuda'");
    WS_TRY(ready ? check_ready(l, n) : check_expression(l, n));
    out->pattern = true;
    return find_names(l, n, k, names, &count);
}

/* --- ready-made files --------------------------------------------------- */

struct ready {
    struct ws__load *l;
    const struct ws__node *at;
    struct ws__kernel *k;
    struct choice name[MAX_NAMES + 1];
    size_t nname;
    struct ws__source_file *file;
    size_t nfile, total;
};

/* The launches that every file must have. */
static int check_content(const struct ready *r, const struct ws__source_file *f)
{
    const struct ws__kernel *k = r->k;

    for (size_t i = 0; i < k->nlaunch; i++) {
        const struct ws__launch *x = &k->launch[i];
        const char *why;

        if (x->when || strchr(x->entry, '{'))
            continue;
        why = k->dialect == WS__DIALECT_PTX
                  ? ws__ptx_lacks(f->data, f->bytes, x->entry)
                  : ws__cubin_lacks(f->data, f->bytes, x->entry);
        if (!why)
            continue;
        ws__node_fail(r->l->ctx, r->at, "'%.200s' cannot give '%.100s': %s",
                      f->name, x->entry, why);
        return ws__hint(r->l->ctx, "an entry is named as in the file; of a "
                                   "launch with 'when' it may be missing");
    }
    return 0;
}

/* From the folder: inside of it, links followed. */
static int read_file(struct ws__load *l, const struct ws__node *at,
                     const char *dir, const char *name, void **data,
                     size_t *bytes)
{
    struct ws_ctx *ctx = l->ctx;
    const char *path = ws__load_join(l, dir, name);
    char *inside = NULL, *text = NULL;
    int rc;

    if (!path)
        return WS_ENOMEM;
    if (!ws__fs_exists(path))
        return 0;
    rc = ws__path_inside(ctx, dir, path, &inside);
    if (rc == 0)
        rc = ws__fs_read(ctx, inside, MAX_FILE, &text, bytes);
    ws__free(ctx, inside);
    if (rc < 0)
        return ws__error_locate(ctx, &at->loc);
    *data = ws__arena_alloc(l->arena, *bytes + 1, 1);
    if (*data)
        memcpy(*data, text, *bytes);
    ws__free(ctx, text);
    return *data ? 0 : WS_ENOMEM;
}

int ws__load_ready_file(struct ws__load *l, const struct ws__node *at,
                        const char *dir, const char *name, void **data,
                        size_t *bytes)
{
    const struct ws__spec_files *files = l->files;
    const void *p;

    *data = NULL;
    if (!l->no_files)
        return read_file(l, at, dir, name, data, bytes);
    p = files ? files->find(files->user, l->kernel, name, bytes) : NULL;
    *data = p ? ws__arena_alloc(l->arena, *bytes + 1, 1) : NULL;
    if (p && *data)
        memcpy(*data, p, *bytes);
    return p && !*data ? WS_ENOMEM : 0;
}

static int add_file(struct ready *r, const union wsrt_value *vars)
{
    struct ws__source_file *f = &r->file[r->nfile];
    char name[WS__MAX_ENTRY];
    void *data;

    WS_TRY(ws__check_stop(r->l->ctx));
    WS_TRY(ws__pattern_print(r->l->ctx, r->k, r->at->text, vars, false,
                             &r->at->loc, name, sizeof(name)));
    WS_TRY(ws__load_ready_file(r->l, r->at, r->k->dir, name, &data, &f->bytes));
    if (!data)
        return 0;
    f->name = ws__arena_strdup(r->l->arena, name);
    if (!f->name)
        return WS_ENOMEM;
    f->data = data;
    f->hash = ws__hash_bytes(data, f->bytes);
    for (size_t i = 0; i < r->nfile; i++)
        if (!strcmp(r->file[i].name, name)) {
            ws__node_fail(r->l->ctx, r->at, "two configs name the file '%s'",
                          name);
            return ws__hint(r->l->ctx, "put a sign between the names, as in "
                                       "{BM}_{BN}");
        }
    r->total += f->bytes;
    if (r->total > MAX_TOTAL)
        return ws__node_fail(r->l->ctx, r->at,
                             "the ready-made files have more than %zu MiB",
                             MAX_TOTAL >> 20);
    r->nfile++;
    return check_content(r, f);
}

/* Value i of a name. */
static void set_value(const struct choice *c, size_t i, union wsrt_value *vars)
{
    if (c->param)
        vars[c->slot] = c->param->slot[i];
    else
        vars[c->slot].i = c->axis->kind == WS__AXIS_TYPE
                              ? (int64_t)c->axis->types[i]
                              : c->axis->value;
}

static int add_files(struct ready *r, size_t count)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};

    for (size_t n = 0; n < count; n++) {
        size_t rest = n;

        for (size_t i = 0; i < r->nname; i++) {
            set_value(&r->name[i], rest % r->name[i].n, vars);
            rest /= r->name[i].n;
        }
        WS_TRY(add_file(r, vars));
    }
    return 0;
}

/* Of processors, of other devices. */
static int check_default(struct ready *r, bool is_cpu)
{
    const struct ws__source_file *f;
    struct ws__config c;
    char name[WS__MAX_ENTRY], near[256] = "";
    char *path;

    ws__config_default(r->k, &c);
    for (size_t i = 0; i < r->k->nparam; i++)
        c.at[i] = (uint16_t)r->k->param[i].dflt_of[is_cpu];
    WS_TRY(ws__kernel_file(r->l->ctx, r->k, &c, NULL, name, &f));
    if (f)
        return 0;
    path = ws__load_join(r->l, r->k->dir, name);
    if (!path)
        return WS_ENOMEM;
    ws__load_nearest_file(r->l, path, near, sizeof(near));
    ws__fail_at(r->l->ctx, WS_ENOENT, &r->at->loc,
                "the default's file '%s' is not found", name);
    if (*near && !r->l->no_files)
        return ws__hint(r->l->ctx, "did you mean '%s'?", near);
    return ws__hint(r->l->ctx, "files of other configs may be missing, but "
                               "the default must be there");
}

int ws__load_ready(struct ws__load *l, const struct ws__node *at,
                   struct ws__kernel *k)
{
    struct ready r = {.l = l, .at = at, .k = k};
    size_t count = 1;

    WS_TRY(ws__node_str(l->ctx, at, "a file", &k->source_file));
    WS_TRY(find_names(l, at, k, r.name, &r.nname));
    for (size_t i = 0; i < r.nname; i++) {
        if (!r.name[i].n) {
            ws__node_fail(l->ctx, at, "axis '%s' cannot name files",
                          r.name[i].axis->name);
            return ws__hint(l->ctx, "its values are not known: use parameters "
                                    "and type axes");
        }
        if (r.name[i].n > WS__MAX_FILES / count) {
            ws__node_fail(l->ctx, at, "more than %d files", WS__MAX_FILES);
            return ws__hint(l->ctx, "take fewer values, or name fewer "
                                    "parameters in the file's name");
        }
        count *= r.name[i].n;
    }
    r.file = ws__arena_alloc(l->arena, count, sizeof(*r.file));
    if (!r.file)
        return WS_ENOMEM;
    WS_TRY(add_files(&r, count));
    k->ready = r.file;
    k->nready = r.nfile;
    WS_TRY(check_default(&r, true));
    return check_default(&r, false);
}
