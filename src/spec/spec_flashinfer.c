/*
 * spec_flashinfer.c: Definitions and workload lines of flashinfer-bench.
 *
 * A Definition becomes the tree of an op in our own format and goes through
 * the reader of ops like any other: one set of checks, places that point into
 * the Definition, and texts for packs for nothing. What has no counterpart is
 * left out (tags) or said so (conditions that read tensors, types that we do
 * not have). Its reference is Python on torch, which runs only if the user
 * trusts it; spec_match.c looks for a shipped op that computes the same.
 *
 * The format is foreign: unknown keys are ignored.
 */
#include "base/fs.h"
#include "spec/parts.h"

#include "base/banned.h"

/* An element passes there if its error is within atol or within rtol of the
 * reference (1e-2 each), here if it is within their sum: with half of each,
 * whatever passes here passes there. */
#define HALF_TOLERANCE "0.005"
#define MOE_RATIO "0.95"
/* From the file of a list of workloads up to the root of its data set. */
#define MAX_UP 3

/* --- trees ---------------------------------------------------------------- */

struct ws__node *ws__tree_new(struct ws__load *l, enum ws__node_kind kind,
                              const char *key, const char *text,
                              const struct ws__node *at)
{
    struct ws__node *n = ws__arena_alloc(l->arena, 1, sizeof(*n));

    if (!n)
        return NULL;
    n->kind = kind;
    n->text = text;
    n->key = key;
    n->loc = at->loc;
    n->key_loc = at->key ? at->key_loc : at->loc;
    return n;
}

struct ws__node *ws__tree_add(struct ws__load *l, struct ws__node *to,
                              enum ws__node_kind kind, const char *key,
                              const char *text, const struct ws__node *at)
{
    struct ws__node *n = to ? ws__tree_new(l, kind, key, text, at) : NULL;

    if (n)
        ws__tree_append(to, n);
    return n;
}

void ws__tree_append(struct ws__node *to, struct ws__node *n)
{
    n->next = NULL;
    if (to->last)
        to->last->next = n;
    else
        to->first = n;
    to->last = n;
    to->n++;
}

/* --- Definitions ---------------------------------------------------------- */

bool ws__load_is_definition(const struct ws__node *root)
{
    return root->kind == WS__MAP && !ws__node_get(root, "op") &&
           !ws__node_get(root, "kernel") && ws__node_get(root, "name") &&
           ws__node_get(root, "axes") && ws__node_get(root, "outputs") &&
           (ws__node_get(root, "op_type") || ws__node_get(root, "reference"));
}

static int add_axes(struct ws__load *l, const struct ws__node *map,
                    struct ws__node *to)
{
    to = ws__tree_add(l, to, WS__MAP, "axes", NULL, map);
    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map of axes"));
    for (const struct ws__node *c = map->first; c; c = c->next) {
        const struct ws__node *type, *value = c;
        const char *text = "var";
        int word;

        WS_TRY(ws__node_want(l->ctx, c, WS__MAP, "an axis {type: ...}"));
        WS_TRY(ws__node_need(l->ctx, c, "type", "the axis", &type));
        WS_TRY(
            ws__node_word(l->ctx, type, "a type of axes", "const var", &word));
        if (!word) {
            int64_t unused;

            WS_TRY(ws__node_need(l->ctx, c, "value", "the axis", &value));
            WS_TRY(ws__node_int(l->ctx, value, "the value of an axis", 1,
                                INT64_MAX, &unused));
            text = value->text;
        }
        if (!ws__tree_add(l, to, WS__SCALAR, c->key, text, value))
            return WS_ENOMEM;
        to->last->key_loc = c->key_loc;
    }
    return to ? 0 : WS_ENOMEM;
}

static bool is_null(const struct ws__node *n)
{
    return (n->kind == WS__SCALAR && !n->quoted &&
            (!*n->text || !strcmp(n->text, "null"))) ||
           (n->kind == WS__LIST && !n->n);
}

static int check_type(struct ws__load *l, const struct ws__node *tensor,
                      const struct ws__node *type)
{
    WS_TRY(ws__node_want(l->ctx, type, WS__SCALAR, "an element type"));
    if (ws__dtype_parse(type->text) != WS__DT_NONE)
        return 0;
    ws__node_fail(l->ctx, type,
                  "element type '%s' of tensor '%s' is not "
                  "supported",
                  type->text, tensor->key);
    return ws__hint(l->ctx, "supported are float32 float16 bfloat16 "
                            "float8_e4m3fn float8_e5m2 int64 int32 int16 int8 "
                            "bool");
}

/* What "random" stands for; floats are normal, as ours are. */
static int add_fill(struct ws__load *l, const char *type,
                    const struct ws__node *at, struct ws__node *to)
{
    static const struct {
        const char *type, *lo, *hi;
    } whole[] = {{"bool", "0", "1"},         {"int8", "-128", "127"},
                 {"uint8", "0", "255"},      {"int16", "-1024", "1023"},
                 {"int32", "-1024", "1023"}, {"int64", "-1024", "1023"}};

    for (size_t i = 0; i < WS_COUNT(whole); i++) {
        struct ws__node *n;

        if (strcmp(whole[i].type, type))
            continue;
        n = ws__tree_add(l, to, WS__MAP, "fill", NULL, at);
        n = ws__tree_add(l, n, WS__LIST, "integers", NULL, at);
        return ws__tree_add(l, n, WS__SCALAR, NULL, whole[i].lo, at) &&
                       ws__tree_add(l, n, WS__SCALAR, NULL, whole[i].hi, at)
                   ? 0
                   : WS_ENOMEM;
    }
    return 0;
}

static int add_shape(struct ws__load *l, const struct ws__node *shape,
                     bool output, struct ws__node *to)
{
    if (is_null(shape)) {
        if (!output)
            return 0;
        to = ws__tree_add(l, to, WS__LIST, "shape", NULL, shape);
        return ws__tree_add(l, to, WS__SCALAR, NULL, "1", shape) ? 0
                                                                 : WS_ENOMEM;
    }
    WS_TRY(ws__node_want(l->ctx, shape, WS__LIST, "a list of axes or null"));
    to = ws__tree_add(l, to, WS__LIST, "shape", NULL, shape);
    for (const struct ws__node *c = shape->first; c; c = c->next) {
        WS_TRY(ws__node_want(l->ctx, c, WS__SCALAR, "the name of an axis"));
        if (!ws__tree_add(l, to, WS__SCALAR, NULL, c->text, c))
            return WS_ENOMEM;
    }
    return to ? 0 : WS_ENOMEM;
}

static int add_tensors(struct ws__load *l, const struct ws__node *map,
                       const char *key, struct ws__node *to)
{
    bool output = !strcmp(key, "outputs");

    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map of tensors"));
    to = ws__tree_add(l, to, WS__MAP, key, NULL, map);
    for (const struct ws__node *c = map->first; to && c; c = c->next) {
        const struct ws__node *type, *shape, *about;
        struct ws__node *n = ws__tree_add(l, to, WS__MAP, c->key, NULL, c);

        WS_TRY(ws__node_want(l->ctx, c, WS__MAP, "a tensor {shape: ...}"));
        WS_TRY(ws__node_need(l->ctx, c, "dtype", "the tensor", &type));
        WS_TRY(ws__node_need(l->ctx, c, "shape", "the tensor", &shape));
        WS_TRY(check_type(l, c, type));
        if (!ws__tree_add(l, n, WS__SCALAR, "dtype", type->text, type))
            return WS_ENOMEM;
        WS_TRY(add_shape(l, shape, output, n));
        if (!output)
            WS_TRY(add_fill(l, type->text, type, n));
        about = ws__node_get(c, "description");
        if (about && about->kind == WS__SCALAR && *about->text &&
            !ws__tree_add(l, n, WS__SCALAR, "about", about->text, about))
            return WS_ENOMEM;
    }
    return to ? 0 : WS_ENOMEM;
}

/* Conditions on axes alone; others read tensors, which only a run has. */
static int add_require(struct ws__load *l, const struct ws__node *root,
                       struct ws__node *to)
{
    const struct ws__node *list = ws__node_get(root, "constraints");
    const struct ws__node *axes = ws__node_get(root, "axes");
    struct ws__strtab strings = {.arena = l->arena};
    struct ws__scope scope = {.strings = &strings};
    struct ws__node *out;

    if (!list || is_null(list))
        return 0;
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of conditions"));
    for (const struct ws__node *c = axes->first; c; c = c->next)
        WS_TRY(ws__scope_add(l->ctx, &scope, c->key, WS__INT, NULL));
    out = ws__tree_add(l, to, WS__LIST, "require", NULL, list);
    for (const struct ws__node *c = list->first; out && c; c = c->next) {
        struct ws__expr *e;
        int rc;

        WS_TRY(ws__node_want(l->ctx, c, WS__SCALAR, "a condition"));
        rc = ws__node_expr(l->ctx, l->arena, c, &scope, WS__CONDITION, &e);
        if (rc == WS_ENOMEM || rc == WS_ECANCEL || rc == WS_ETIMEOUT)
            return rc;
        if (rc < 0) {
            ws__error_clear(l->ctx);
            ws__log(l->ctx, WS_LOG_INFO,
                    "%s:%u: condition '%s' reads more than axes: not checked",
                    c->loc.file, c->loc.line, c->text);
        } else if (!ws__tree_add(l, out, WS__SCALAR, NULL, c->text, c)) {
            return WS_ENOMEM;
        }
    }
    return out ? 0 : WS_ENOMEM;
}

static int add_tolerance(struct ws__load *l, const struct ws__node *root,
                         struct ws__node *to)
{
    const struct ws__node *type = ws__node_get(root, "op_type");
    bool moe = type && type->kind == WS__SCALAR && !strcmp(type->text, "moe");

    to = ws__tree_add(l, to, WS__MAP, "tolerance", NULL, root);
    if (!ws__tree_add(l, to, WS__SCALAR, "atol", HALF_TOLERANCE, root) ||
        !ws__tree_add(l, to, WS__SCALAR, "rtol", HALF_TOLERANCE, root) ||
        (moe && !ws__tree_add(l, to, WS__SCALAR, "ratio", MOE_RATIO, root)))
        return WS_ENOMEM;
    return 0;
}

/* "(M) * (N) * 2" of an output. */
static int print_bytes(struct ws__buf *b, const struct ws__node *tensor)
{
    const struct ws__node *shape = ws__node_get(tensor, "shape");
    const struct ws__node *type = ws__node_get(tensor, "dtype");

    for (const struct ws__node *c = is_null(shape) ? NULL : shape->first; c;
         c = c->next)
        ws__buf_printf(b, "(%s) * ", c->text);
    return ws__buf_printf(b, "%zu",
                          ws__dtype_bytes(ws__dtype_parse(type->text)));
}

/* Whole numbers among the inputs may say which parts of the others are needed
 * (pages of a cache, experts), so not every byte must move; every output's
 * must. A floor that is no lower bound would refuse right kernels. */
static int add_floor(struct ws__load *l, const struct ws__node *root,
                     struct ws__node *to)
{
    const struct ws__node *in = ws__node_get(root, "inputs");
    const struct ws__node *out = ws__node_get(root, "outputs");
    bool select = false;
    struct ws__buf b;
    char *text;

    for (const struct ws__node *c = in ? in->first : NULL; c; c = c->next)
        select = select || !ws__dtype_is_float(
                               ws__dtype_parse(ws__node_get(c, "dtype")->text));
    if (!select || !out->first) /* that there are outputs is asked later */
        return 0;
    ws__buf_init(&b, l->ctx, WS__SPEC_TEXT_MAX);
    for (const struct ws__node *c = out->first; c; c = c->next) {
        ws__buf_puts(&b, c == out->first ? "" : " + ");
        print_bytes(&b, c);
    }
    text = b.failed || !b.data ? NULL : ws__arena_strdup(l->arena, b.data);
    ws__buf_free(&b);
    to = ws__tree_add(l, to, WS__MAP, "floor", NULL, out);
    return text && ws__tree_add(l, to, WS__SCALAR, "bytes", text, out)
               ? 0
               : WS_ENOMEM;
}

static int add_reference(struct ws__load *l, const struct ws__node *root,
                         struct ws__node *to)
{
    const struct ws__node *n = ws__node_get(root, "reference");
    struct ws__node *text;

    if (!n)
        return 0;
    WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "a text in Python"));
    to = ws__tree_add(l, to, WS__MAP, "reference", NULL, n);
    text = ws__tree_add(l, to, WS__SCALAR, "text", n->text, n);
    if (!text || !ws__tree_add(l, to, WS__SCALAR, "framework", "torch", n))
        return WS_ENOMEM;
    text->quoted = true;
    return 0;
}

int ws__load_definition(struct ws__load *l, const struct ws__node *root,
                        const struct ws__node **out)
{
    struct ws__node *to = ws__tree_new(l, WS__MAP, NULL, NULL, root);
    const struct ws__node *n;
    const char *name;

    *out = to;
    if (!to)
        return WS_ENOMEM;
    WS_TRY(ws__node_need(l->ctx, root, "name", "the Definition", &n));
    WS_TRY(ws__node_str(l->ctx, n, "a name", &name));
    if (!ws__tree_add(l, to, WS__SCALAR, "op", name, n))
        return WS_ENOMEM;
    n = ws__node_get(root, "description");
    if (n && n->kind == WS__SCALAR && *n->text &&
        !ws__tree_add(l, to, WS__SCALAR, "about", n->text, n))
        return WS_ENOMEM;
    WS_TRY(ws__node_need(l->ctx, root, "axes", "the Definition", &n));
    WS_TRY(add_axes(l, n, to));
    if ((n = ws__node_get(root, "inputs")))
        WS_TRY(add_tensors(l, n, "inputs", to));
    WS_TRY(ws__node_need(l->ctx, root, "outputs", "the Definition", &n));
    WS_TRY(add_tensors(l, n, "outputs", to));
    WS_TRY(add_require(l, root, to));
    WS_TRY(add_reference(l, root, to));
    WS_TRY(add_floor(l, root, to));
    return add_tolerance(l, root, to);
}

/* --- workload lines ------------------------------------------------------- */

bool ws__load_is_trace(const struct ws__node *n)
{
    return n->kind == WS__MAP && ws__node_get(n, "definition") &&
           ws__node_get(n, "workload");
}

static int check_definition(struct ws__load *l, const struct ws__op *op,
                            const struct ws__node *n)
{
    WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "the name of a Definition"));
    if (!strcmp(n->text, op->name))
        return 0;
    ws__node_fail(l->ctx, n, "the workload is for Definition '%s'", n->text);
    return ws__hint(l->ctx,
                    "the specification is '%s'; give the workloads of "
                    "that, one Definition a file",
                    op->name);
}

/* Paths are relative to the root of a data set, which lies some folders above
 * the file that names them. */
static int find_blob(struct ws__load *l, const struct ws__node *path,
                     const char *key, struct ws__input *x)
{
    const char *dir = ws__load_dir(l, path->loc.file);
    int rc = WS_ENOENT;

    if (*path->text == '/') {
        ws__node_fail(l->ctx, path, "'%s' is an absolute path", path->text);
        return ws__hint(l->ctx, "paths are relative to the root of the data "
                                "set");
    }
    for (int i = 0; i <= MAX_UP && rc == WS_ENOENT && dir; i++) {
        char real[4096];

        rc = ws__load_input_file(l, path, dir, path->text, key, x);
        dir = ws__load_join(l, dir, "..");
        /* The root of all files is no data set. */
        if (dir && realpath(dir, real) && !strcmp(real, "/"))
            break;
    }
    return dir ? rc : WS_ENOMEM;
}

static int read_blob(struct ws__load *l, const struct ws__op *op,
                     const struct ws__node *n, struct ws__input *x)
{
    const struct ws__node *path, *key;
    size_t i = (size_t)ws__op_tensor(op, n->key);
    const char *tensor, *file;
    int rc;

    WS_TRY(ws__node_need(l->ctx, n, "path", "the input", &path));
    WS_TRY(ws__node_str(l->ctx, path, "a file", &file));
    WS_TRY(ws__node_need(l->ctx, n, "tensor_key", "the input", &key));
    WS_TRY(ws__node_str(l->ctx, key, "the name of a tensor", &tensor));
    rc = find_blob(l, path, tensor, x);
    if (rc != WS_ENOENT)
        return rc;
    if (op->tensor[i].fill.kind != WS__FILL_NATIVE) {
        ws__node_fail(l->ctx, path, "input '%s': there is no file '%s'", n->key,
                      file);
        return ws__hint(l->ctx, "paths are relative to the folder of this file "
                                "or one above it");
    }
    ws__error_clear(l->ctx);
    if (!l->generated++) {
        l->generated_at = path->loc;
        l->generated_file = file;
    }
    return 0;
}

static int read_scalar(struct ws__load *l, const struct ws__op *op,
                       const struct ws__node *n, struct ws__input *x)
{
    const struct ws__node *v;
    struct ws__value value;

    WS_TRY(ws__node_need(l->ctx, n, "value", "the input", &v));
    if (op->tensor[ws__op_tensor(op, n->key)].ndim) {
        ws__node_fail(l->ctx, v, "tensor '%s' is given as a scalar", n->key);
        return ws__hint(l->ctx, "only inputs without a shape are");
    }
    WS_TRY(ws__node_want(l->ctx, v, WS__SCALAR, "a number"));
    x->kind = WS__INPUT_FILL;
    x->fill.kind = WS__FILL_CONSTANT;
    if (ws__node_value(l->ctx, v, &value) == 0 && value.type == WS__BOOL) {
        x->fill.a = (double)value.u.i;
        return 0;
    }
    return ws__node_float(l->ctx, v, "the value of a scalar", &x->fill.a);
}

static int read_input(struct ws__load *l, const struct ws__op *op,
                      const struct ws__node *n, struct ws__workload *w)
{
    const struct ws__node *type;
    struct ws__input *x;
    int word;

    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "an input {type: ...}"));
    WS_TRY(ws__node_need(l->ctx, n, "type", "the input", &type));
    WS_TRY(ws__node_word(l->ctx, type, "a type of inputs",
                         "random scalar safetensors", &word));
    WS_TRY(ws__load_input(l, op, n, w, &x));
    if (!word)
        return 0;
    return word == 1 ? read_scalar(l, op, n, x) : read_blob(l, op, n, x);
}

/* Inputs that are all as the op says are said by no list at all: the workload
 * is the same as one of our own with these axes. */
static void drop_inputs(const struct ws__op *op, struct ws__workload *w)
{
    for (size_t i = 0; w->input && i < op->ntensor; i++)
        if (w->input[i].kind != WS__INPUT_OP)
            return;
    w->input = NULL;
}

/* As it was, for traces of it. */
static int keep_origin(struct ws__load *l, const struct ws__node *work,
                       struct ws__workload *w)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, l->ctx, WS__SPEC_TEXT_MAX);
    rc = ws__node_emit(&b, work, NULL);
    if (rc >= 0) {
        w->origin = ws__arena_strndup(l->arena, b.data, b.len);
        rc = w->origin ? 0 : WS_ENOMEM;
    }
    ws__buf_free(&b);
    return rc;
}

int ws__load_trace(struct ws__load *l, const struct ws__op *op,
                   const struct ws__node *line, struct ws__workload *w,
                   uint32_t *given)
{
    const struct ws__node *work = ws__node_get(line, "workload"), *n;

    WS_TRY(check_definition(l, op, ws__node_get(line, "definition")));
    WS_TRY(ws__node_want(l->ctx, work, WS__MAP, "a workload {axes: ...}"));
    WS_TRY(ws__node_need(l->ctx, work, "axes", "the workload", &n));
    WS_TRY(ws__load_axis_values(l, op, n, w, given));
    if ((n = ws__node_get(work, "uuid")))
        WS_TRY(ws__node_printable(l->ctx, n, "the uuid", &w->name));
    if ((n = ws__node_get(work, "inputs"))) {
        WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a map of inputs"));
        for (const struct ws__node *c = n->first; c; c = c->next)
            WS_TRY(read_input(l, op, c, w));
    }
    drop_inputs(op, w);
    return keep_origin(l, work, w);
}

void ws__load_trace_note(struct ws__load *l)
{
    if (l->generated)
        ws__log(l->ctx, WS_LOG_WARN,
                "%s:%u: there is no file '%s': the op's own generator fills "
                "this input%s",
                l->generated_at.file, l->generated_at.line, l->generated_file,
                l->generated > 1 ? ", and those of other missing files" : "");
    l->generated = 0;
}
