/*
 * spec_input.c: what a workload says of its inputs: a number, a rule, or a
 * tensor in a file.
 *
 * A file is opened while its workload is loaded: that it is there, that the
 * tensor has the type and the shape the axis values make it have, and what its
 * content is (the identity of the workload hangs on it, not on the path). Its
 * elements are read when inputs are filled.
 *
 * A workload is data from somebody else as often as not, so a path in it must
 * stay inside of the folder that it is relative to, links followed.
 */
#include "core/safetensors.h"

#include "base/fs.h"
#include "base/names.h"
#include "spec/parts.h"

#include "base/banned.h"

int ws__load_input(struct ws__load *l, const struct ws__op *op,
                   const struct ws__node *n, struct ws__workload *w,
                   struct ws__input **out)
{
    int i = ws__op_tensor(op, n->key);
    struct ws__nearest near;
    struct ws__input *all;

    if (i < 0) {
        ws__nearest_begin(&near, n->key);
        for (size_t t = 0; t < op->ntensor; t++)
            ws__nearest_see(&near, op->tensor[t].name);
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "op '%s' has no tensor '%s'",
                    op->name, n->key);
        if (ws__nearest_name(&near))
            return ws__hint(l->ctx, "did you mean '%s'?",
                            ws__nearest_name(&near));
        return ws__hint(l->ctx, "tensors are listed in '%s'",
                        op->file ? op->file : "the op");
    }
    if (op->tensor[i].role == WS__OUTPUT) {
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "'%s' is an output", n->key);
        return ws__hint(l->ctx, "only inputs and inouts are filled");
    }
    all = (struct ws__input *)w->input;
    if (!all) {
        all = ws__arena_alloc(l->arena, op->ntensor, sizeof(*all));
        if (!all)
            return WS_ENOMEM;
        w->input = all;
    }
    *out = &all[i];
    (*out)->loc = n->key_loc;
    return 0;
}

int ws__load_input_file(struct ws__load *l, const struct ws__node *at,
                        const char *dir, const char *path, const char *key,
                        struct ws__input *x)
{
    char *full, *inside = NULL;
    int rc;

    if (l->no_files) {
        ws__node_fail(l->ctx, at, "input '%s' is a file", path);
        return ws__hint(l->ctx, "a text that comes without files names none");
    }
    full = ws__load_join(l, dir, path);
    if (!full)
        return WS_ENOMEM;
    rc = ws__path_inside(l->ctx, dir, full, &inside);
    if (rc < 0)
        return rc == WS_ENOENT ? rc : ws__error_locate(l->ctx, &at->loc);
    x->kind = WS__INPUT_FILE;
    x->key = key;
    x->file = ws__arena_strdup(l->arena, inside);
    ws__free(l->ctx, inside);
    return x->file ? 0 : WS_ENOMEM;
}

static int read_file(struct ws__load *l, const struct ws__node *n,
                     struct ws__input *x)
{
    const struct ws__node *file, *key;
    const char *path, *tensor = n->key;
    char *dir = ws__load_dir(l, n->loc.file);
    int rc;

    if (!dir)
        return WS_ENOMEM;
    WS_TRY(ws__node_keys(l->ctx, n, "safetensors key", "an input"));
    WS_TRY(ws__node_need(l->ctx, n, "safetensors", "the input", &file));
    WS_TRY(ws__node_str(l->ctx, file, "a file", &path));
    if ((key = ws__node_get(n, "key")))
        WS_TRY(ws__node_str(l->ctx, key, "the name of a tensor", &tensor));
    rc = ws__load_input_file(l, file, dir, path, tensor, x);
    return rc < 0 ? ws__error_locate(l->ctx, &file->loc) : 0;
}

static int read_input(struct ws__load *l, const struct ws__node *n,
                      struct ws__input *x)
{
    struct ws__value v;

    if (n->kind == WS__MAP &&
        (ws__node_get(n, "safetensors") || ws__node_get(n, "key")))
        return read_file(l, n, x);
    x->kind = WS__INPUT_FILL;
    if (n->kind != WS__SCALAR || n->quoted || !*n->text)
        return ws__load_fill(l, n, &x->fill);
    WS_TRY(ws__node_value(l->ctx, n, &v));
    if (v.type == WS__STR)
        return ws__load_fill(l, n, &x->fill);
    x->fill.kind = WS__FILL_CONSTANT;
    x->fill.a = v.u.i != 0;
    return v.type == WS__BOOL
               ? 0
               : ws__node_float(l->ctx, n, "an input", &x->fill.a);
}

int ws__load_inputs(struct ws__load *l, const struct ws__op *op,
                    const struct ws__node *map, struct ws__workload *w)
{
    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map of inputs"));
    for (const struct ws__node *c = map->first; c; c = c->next) {
        struct ws__input *x;

        WS_TRY(ws__load_input(l, op, c, w, &x));
        WS_TRY(read_input(l, c, x));
    }
    return 0;
}

static int check_file(struct ws_ctx *ctx, const struct ws__tensor_shape *s,
                      struct ws__input *x)
{
    const struct ws__st_tensor *t;
    struct ws__safetensors *f;
    int rc;

    WS_TRY(ws__safetensors_open(ctx, x->file, &f));
    WS_TRY_DONE(ws__safetensors_want(f, x->key, s, &t));
    rc = ws__safetensors_hash(f, t, &x->content);
done:
    ws__safetensors_close(f);
    return rc;
}

int ws__load_check_inputs(struct ws__load *l, const struct ws__instance *in,
                          const struct ws__workload *w)
{
    for (size_t i = 0; w->input && i < in->op->ntensor; i++) {
        struct ws__input *x = (struct ws__input *)&w->input[i];

        if (x->kind == WS__INPUT_FILE &&
            check_file(l->ctx, &in->shape[i], x) < 0) {
            ws__error_locate(l->ctx, &x->loc);
            return ws__error_prefix(l->ctx, "workload '%s'", w->name);
        }
        if (x->kind == WS__INPUT_FILL && x->fill.kind == WS__FILL_NATIVE &&
            in->op->tensor[i].fill.kind != WS__FILL_NATIVE) {
            ws__fail_at(l->ctx, WS_ESPEC, &x->loc,
                        "workload '%s': input '%s' cannot be 'native'", w->name,
                        in->op->tensor[i].name);
            return ws__hint(l->ctx, "the op's generator does not fill it");
        }
    }
    return 0;
}
