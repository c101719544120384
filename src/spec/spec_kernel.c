/*
 * spec_kernel.c: kernel files to struct ws__kernel.
 *
 * The order of reading is the order of names: parameters first, then the
 * scope, then everything written in expressions. Build options come from an
 * allow-list: an option can load files, change what is measured, or smuggle
 * values past the space, so the list is short and -D is refused (that is
 * what parameters are for).
 */
#include <ctype.h>

#include "base/names.h"
#include "spec/parts.h"

#include "base/banned.h"

#define KERNEL_KEYS                                                            \
    "kernel about op names variable dialect source target include options "    \
    "specialize "                                                              \
    "order_dependent parameters constraints ranges scratch launches wave"

/* dialects: which of portable, opencl, cuda take it. A text that ends in
 * '=' is followed by a number. */
static const char *const options_opencl[] = {
    "-cl-mad-enable",       "-cl-fast-relaxed-math",
    "-cl-no-signed-zeros",  "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only", "-cl-denorms-are-zero",
    "-cl-std=CL1.2",        "-cl-std=CL2.0",
    "-cl-std=CL3.0",
};
static const char *const options_cuda[] = {
    "--use_fast_math",
    "-fmad=true",
    "-fmad=false",
    "--maxrregcount=",
};

static bool option_matches(const char *known, const char *text)
{
    size_t n = strlen(known);

    if (known[n - 1] != '=')
        return !strcmp(known, text);
    if (strncmp(known, text, n) || !text[n] || strlen(text + n) > 3)
        return false;
    for (text += n; *text; text++)
        if (!isdigit((unsigned char)*text))
            return false;
    return true;
}

static bool option_listed(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (option_matches(list[i], text))
            return true;
    return false;
}

static int check_option(struct ws__load *l, const struct ws__kernel *k,
                        const struct ws__node *n)
{
    bool cl = option_listed(options_opencl, WS_COUNT(options_opencl), n->text);
    bool cu = option_listed(options_cuda, WS_COUNT(options_cuda), n->text);
    struct ws__nearest near;

    if ((cl && (k->dialect == WS__DIALECT_PORTABLE ||
                k->dialect == WS__DIALECT_OPENCL)) ||
        (cu && (k->dialect == WS__DIALECT_PORTABLE ||
                k->dialect == WS__DIALECT_CUDA)))
        return 0;
    ws__node_fail(l->ctx, n, "option '%s' is not allowed", n->text);
    if (ws__dialect_is_ready(k->dialect))
        return ws__hint(l->ctx, "what is ready-made was compiled before");
    if (cl || cu)
        return ws__hint(l->ctx, "it does not belong to the dialect");
    if (!strncmp(n->text, "-D", 2))
        return ws__hint(l->ctx, "use a parameter, it becomes a #define");
    ws__nearest_begin(&near, n->text);
    for (size_t i = 0; i < WS_COUNT(options_opencl); i++)
        ws__nearest_see(&near, options_opencl[i]);
    for (size_t i = 0; i < WS_COUNT(options_cuda); i++)
        ws__nearest_see(&near, options_cuda[i]);
    if (ws__nearest_name(&near))
        return ws__hint(l->ctx, "did you mean '%s'?", ws__nearest_name(&near));
    return ws__hint(l->ctx, "docs/specification.md lists the options");
}

static int read_options(struct ws__load *l, const struct ws__node *list,
                        struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of options"));
    k->option = ws__arena_alloc(l->arena, list->n, sizeof(const char *));
    if (!k->option)
        return WS_ENOMEM;
    for (const struct ws__node *c = list->first; c; c = c->next) {
        WS_TRY(ws__node_str(l->ctx, c, "an option", &k->option[k->noption]));
        WS_TRY(check_option(l, k, c));
        k->noption++;
    }
    return 0;
}

static int find_axis(struct ws__load *l, const struct ws__kernel *k,
                     const char *name, const struct ws__loc *loc, int *out)
{
    struct ws__nearest near;

    *out = ws__op_axis(k->op, name);
    if (*out >= 0 && k->op->axis[*out].kind == WS__AXIS_VAR)
        return 0;
    if (*out >= 0) {
        ws__fail_at(l->ctx, WS_ESPEC, loc, "axis '%s' does not vary", name);
        return ws__hint(l->ctx, "types and constants are always known when "
                                "a kernel is built; leave it out");
    }
    ws__nearest_begin(&near, name);
    for (size_t i = 0; i < k->op->naxis; i++)
        ws__nearest_see(&near, k->op->axis[i].name);
    ws__fail_at(l->ctx, WS_ESPEC, loc, "op '%s' has no axis '%s'", k->op->name,
                name);
    if (ws__nearest_name(&near))
        return ws__hint(l->ctx, "did you mean '%s'?", ws__nearest_name(&near));
    return ws__hint(l->ctx, "axes are listed in '%s'",
                    k->op->file ? k->op->file : "the op");
}

static int read_specialize(struct ws__load *l, const struct ws__node *list,
                           struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of axes"));
    for (const struct ws__node *c = list->first; c; c = c->next) {
        int axis;

        WS_TRY(ws__node_want(l->ctx, c, WS__SCALAR, "the name of an axis"));
        WS_TRY(find_axis(l, k, c->text, &c->loc, &axis));
        k->specialize |= 1u << axis;
    }
    return 0;
}

static int read_ranges(struct ws__load *l, const struct ws__node *map,
                       struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map {AXIS: [lo, hi]}"));
    for (const struct ws__node *c = map->first; c; c = c->next) {
        int axis;

        WS_TRY(find_axis(l, k, c->key, &c->key_loc, &axis));
        WS_TRY(ws__node_range(l->ctx, c, "a range", &k->range_lo[axis],
                              &k->range_hi[axis]));
    }
    return 0;
}

static int read_target(struct ws__load *l, const struct ws__node *n,
                       struct ws__kernel *k)
{
    if (k->dialect != WS__DIALECT_TRITON) {
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc,
                    "'target' of a kernel that is not in Triton");
        return ws__hint(l->ctx, "leave it out");
    }
    WS_TRY(ws__node_str(l->ctx, n, "a target", &k->target));
    return ws__node_identifier(l->ctx, n->text, &n->loc, "a target");
}

static int read_head(struct ws__load *l, const struct ws__node *root,
                     struct ws__kernel *k)
{
    const struct ws__node *n;
    int word;

    WS_TRY(ws__node_keys(l->ctx, root, KERNEL_KEYS, "a kernel"));
    WS_TRY(ws__node_need(l->ctx, root, "kernel", "the kernel file", &n));
    WS_TRY(ws__node_str(l->ctx, n, "a name", &k->name));
    WS_TRY(ws__node_title(l->ctx, k->name, &n->loc, "a kernel"));
    if ((n = ws__node_get(root, "about")))
        WS_TRY(ws__node_str(l->ctx, n, "a text", &k->about));
    if ((n = ws__node_get(root, "dialect"))) {
        WS_TRY(ws__node_word(l->ctx, n, "a dialect",
                             "portable opencl cuda ptx cubin triton", &word));
        k->dialect = (enum ws__dialect)word;
    }
    if ((n = ws__node_get(root, "target")))
        WS_TRY(read_target(l, n, k));
    if ((n = ws__node_get(root, "options")))
        WS_TRY(read_options(l, n, k));
    if ((n = ws__node_get(root, "specialize")))
        WS_TRY(read_specialize(l, n, k));
    if ((n = ws__node_get(root, "order_dependent")))
        WS_TRY(
            ws__node_bool(l->ctx, n, "order_dependent", &k->order_dependent));
    if ((n = ws__node_get(root, "ranges")))
        WS_TRY(read_ranges(l, n, k));
    return 0;
}

/* Who has this name in the op; NULL: nobody. */
static const char **place_of(struct ws__op *op, const char *name)
{
    int i = ws__op_axis(op, name);

    if (i >= 0)
        return &op->axis[i].name;
    i = ws__op_tensor(op, name);
    return i >= 0 ? &op->tensor[i].name : NULL;
}

static int check_names(struct ws__load *l, const struct ws__node *map,
                       const struct ws__op *op)
{
    for (const struct ws__node *c = map->first; c; c = c->next) {
        size_t n = 0;

        for (size_t i = 0; i < op->naxis; i++)
            n += !strcmp(op->axis[i].name, c->key);
        for (size_t i = 0; i < op->ntensor; i++)
            n += !strcmp(op->tensor[i].name, c->key);
        for (size_t i = 0; i < op->nconstant; i++)
            n += !strcmp(op->constant[i].name, c->key);
        if (n == 1)
            continue;
        ws__fail_at(l->ctx, WS_ESPEC, &c->key_loc, "the name '%s' is taken",
                    c->key);
        return ws__hint(l->ctx, "the op has another axis or tensor of that "
                                "name; give that one a name here too");
    }
    return 0;
}

static int read_names(struct ws__load *l, const struct ws__node *map,
                      const struct ws__op *bound, struct ws__op *op)
{
    struct ws__op *old = ws__arena_alloc(l->arena, 1, sizeof(*old));

    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map {NAME: NAME OF THE OP}"));
    if (!old)
        return WS_ENOMEM;
    *old = *bound;
    for (const struct ws__node *c = map->first; c; c = c->next) {
        const char **from, **to;

        WS_TRY(ws__node_variable(l->ctx, c->key, &c->key_loc,
                                 "an axis or a tensor", true));
        WS_TRY(ws__node_want(l->ctx, c, WS__SCALAR, "a name of the op"));
        from = place_of(old, c->text);
        if (!from || !*c->text) {
            ws__node_fail(l->ctx, c, "op '%s' has no axis or tensor '%s'",
                          op->name, c->text);
            return ws__hint(l->ctx, "write {NAME IN THE KERNEL: NAME IN THE "
                                    "OP}, each once");
        }
        to = (const char **)(void *)((char *)op + ((char *)from - (char *)old));
        *to = c->key;
        *from = ""; /* not twice */
    }
    return check_names(l, map, op);
}

/* Constants of the op that are no macros here, so that a source which takes
 * them as arguments compiles. */
static int read_variable(struct ws__load *l, const struct ws__node *list,
                         struct ws__op *op)
{
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of constant axes"));
    for (const struct ws__node *c = list->first; c; c = c->next) {
        int a;

        WS_TRY(ws__node_want(l->ctx, c, WS__SCALAR, "the name of an axis"));
        a = ws__op_axis(op, c->text);
        if (a < 0 || op->axis[a].kind != WS__AXIS_CONST) {
            ws__node_fail(l->ctx, c, "'%s' is no constant axis", c->text);
            return ws__hint(l->ctx, "leave it out: only constants of the op "
                                    "would become macros");
        }
        op->axis[a].kind = WS__AXIS_VAR;
    }
    return 0;
}

/* The op as the kernel sees it; everything lies where it lay. */
static int read_view(struct ws__load *l, const struct ws__node *root,
                     struct ws__kernel *k)
{
    const struct ws__node *names = ws__node_get(root, "names");
    const struct ws__node *variable = ws__node_get(root, "variable");
    struct ws__op *op;

    if (!names && !variable)
        return 0;
    op = ws__arena_alloc(l->arena, 1, sizeof(*op));
    if (!op)
        return WS_ENOMEM;
    *op = *k->bound;
    k->op = op;
    if (names)
        WS_TRY(read_names(l, names, k->bound, op));
    return variable ? read_variable(l, variable, op) : 0;
}

static int read_space(struct ws__load *l, const struct ws__node *root,
                      struct ws__kernel *k, struct ws__strtab *strings)
{
    const struct ws__node *n = ws__node_get(root, "parameters");

    k->scope.strings = strings;
    if (n)
        WS_TRY(ws__load_params(l, n, k));
    WS_TRY(ws__load_kernel_scope(l, k, strings));
    if ((n = ws__node_get(root, "constraints")))
        WS_TRY(ws__load_constraints(l, n, k));
    return ws__load_check_default(l, k);
}

static int read_plan(struct ws__load *l, const struct ws__node *root,
                     struct ws__kernel *k)
{
    const struct ws__node *n = ws__node_get(root, "scratch");

    if (n)
        WS_TRY(ws__load_scratch(l, n, k));
    WS_TRY(ws__node_need(l->ctx, root, "launches", "the kernel file", &n));
    return ws__load_launches(l, n, k);
}

/* Neither source nor launches: a space over the op's axes, whose results are
 * known from recordings. */
static bool is_space(const struct ws__node *root)
{
    return !ws__node_get(root, "source") && !ws__node_get(root, "launches");
}

static int check_space(struct ws__load *l, const struct ws__node *root)
{
    static const char *const keys[] = {"include", "options", "specialize",
                                       "scratch"};

    for (size_t i = 0; i < WS_COUNT(keys); i++) {
        const struct ws__node *n = ws__node_get(root, keys[i]);

        if (!n)
            continue;
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc,
                    "'%s' without a source and launches", keys[i]);
        return ws__hint(l->ctx, "give both, or leave it out: a kernel that "
                                "has neither is a space for recordings");
    }
    return 0;
}

static bool word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool mentions(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *s = text; (s = strstr(s, name)) != NULL; s += n)
        if ((s == text || !word_part(s[-1])) && !word_part(s[n]))
            return true;
    return false;
}

static bool in_entries(const struct ws__kernel *k, const char *name)
{
    for (size_t i = 0; i < k->nlaunch; i++)
        if (k->launch[i].pattern && ws__pattern_has(k->launch[i].entry, name))
            return true;
    return false;
}

/* Values of a parameter that changes nothing differ by noise alone, and the
 * luckiest would win. A source that builds names by ## may mention a
 * parameter in a comment. */
static int check_used(struct ws__load *l, const struct ws__kernel *k)
{
    bool triton = k->dialect == WS__DIALECT_TRITON;
    bool ready = ws__dialect_is_ready(k->dialect);

    for (size_t i = 0; i < k->nparam && (ready || *k->source); i++) {
        const struct ws__param *p = &k->param[i];

        if ((triton  ? false
             : ready ? ws__pattern_has(k->source_file, p->name)
                     : mentions(k->source, p->name)) ||
            in_entries(k, p->name) ||
            ws__load_plan_uses(k, ws__kernel_param_slot(k, i)))
            continue;
        ws__fail_at(l->ctx, WS_ESPEC, &p->loc,
                    "parameter '%s' is used neither in the source nor in the "
                    "launch plan",
                    p->name);
        return ws__hint(l->ctx, "use it or remove it: its values would "
                                "differ by noise alone");
    }
    return 0;
}

int ws__load_kernel(struct ws__load *l, const struct ws__node *root,
                    const struct ws__op *op, const char *file, const char *dir,
                    const char *source, struct ws__kernel *out)
{
    const struct ws__node *n;
    /* Strings of expressions are interned while kernels are read; the op is
     * constant only after that. */
    struct ws__strtab *strings = (struct ws__strtab *)&op->strings;

    out->file = file;
    out->dir = dir;
    out->op = out->bound = op;
    WS_TRY(read_view(l, root, out));
    WS_TRY(read_head(l, root, out));
    WS_TRY(read_space(l, root, out, strings));
    if (is_space(root))
        WS_TRY(check_space(l, root));
    else
        WS_TRY(read_plan(l, root, out));
    WS_TRY(ws__load_wave(l, ws__node_get(root, "wave"), out));
    if (is_space(root)) {
        out->hash = ws__kernel_meaning(out);
        return 0;
    }
    WS_TRY(ws__node_need(l->ctx, root, "source", "the kernel file", &n));
    if (ws__dialect_is_ready(out->dialect)) {
        out->source = "";
        WS_TRY(out->dialect == WS__DIALECT_TRITON
                   ? ws__load_triton(l, n, source, out)
                   : ws__load_ready(l, n, out));
        if ((n = ws__node_get(root, "include"))) {
            ws__node_fail(l->ctx, n, "a ready-made kernel includes nothing");
            return ws__hint(l->ctx, "leave 'include' out");
        }
    } else if (source) {
        WS_TRY(ws__node_str(l->ctx, n, "a file", &out->source_file));
        if (l->varied) {
            file = ws__load_join(l, dir, out->source_file);
            if (!file)
                return WS_ENOMEM;
            out->source_file = file;
        }
        WS_TRY(ws__load_source_text(l, dir, file, ws__node_get(root, "include"),
                                    out->dialect, source, &out->source));
    } else {
        WS_TRY(ws__load_source(l, n, dir, ws__node_get(root, "include"),
                               out->dialect, &out->source, &out->source_file));
    }
    WS_TRY(check_used(l, out));
    out->hash = ws__kernel_meaning(out);
    return 0;
}
