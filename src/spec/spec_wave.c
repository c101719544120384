/*
 * spec_wave.c: what a kernel file tells the wave model.
 *
 * Every key is an expression. They may use one name more than the rest of the
 * file: `resident_blocks`, which is known once a config is compiled.
 *
 * What a file does not say is put together from what it does: the grid is that
 * of the first launch, a loop has one step, operations and bytes are those of
 * the op's floor, evenly over the steps. So a kernel without a word about waves
 * has a model, too.
 */
#include "spec/parts.h"

#include "base/banned.h"

static const char *const coords[] = {
#define WSRT_X(name, text) text,
    WSRT_WAVE_COORDS(WSRT_X)
#undef WSRT_X
};

#define KEYS                                                                   \
    "grid steps longest flops vector shared bytes store unique again hold "    \
    "hot hot_columns padded pad_most after uneven masked loop tile warps "     \
    "stages accumulators engine spread balanced"

static int read_expr(struct ws__load *l, const struct ws__node *map,
                     const char *key, const struct ws__scope *scope, int want,
                     struct ws__expr **out)
{
    const struct ws__node *n = ws__node_get(map, key);

    return n ? ws__node_expr(l->ctx, l->arena, n, scope, want, out) : 0;
}

static int read_tile(struct ws__load *l, const struct ws__node *n,
                     const struct ws__scope *scope, struct ws__kernel_wave *w)
{
    size_t i = 0;

    WS_TRY(ws__node_want(l->ctx, n, WS__LIST,
                         "a list [rows, columns, depth] of a tile"));
    if (!n->n || n->n > WS_COUNT(w->tile)) {
        ws__node_fail(l->ctx, n, "a tile of %zu lengths", n->n);
        return ws__hint(l->ctx, "give rows, columns and the depth of a step; "
                                "the last ones may be left out");
    }
    for (const struct ws__node *c = n->first; c; c = c->next)
        WS_TRY(
            ws__node_expr(l->ctx, l->arena, c, scope, WS__INT, &w->tile[i++]));
    return 0;
}

static int read_keys(struct ws__load *l, const struct ws__node *map,
                     const struct ws__scope *scope, struct ws__kernel_wave *w)
{
    const struct ws__node *n;

    WS_TRY(ws__node_keys(l->ctx, map, KEYS, "wave"));
    for (size_t i = 0; i < WS_COUNT(coords); i++)
        WS_TRY(read_expr(l, map, coords[i], scope, WS__INT, &w->coord[i]));
    if ((n = ws__node_get(map, "tile")))
        WS_TRY(read_tile(l, n, scope, w));
    WS_TRY(read_expr(l, map, "loop", scope, WS__INT, &w->loop));
    WS_TRY(read_expr(l, map, "warps", scope, WS__INT, &w->warps));
    WS_TRY(read_expr(l, map, "stages", scope, WS__INT, &w->stages));
    WS_TRY(read_expr(l, map, "accumulators", scope, WS__INT, &w->accumulators));
    WS_TRY(read_expr(l, map, "engine", scope, WS__INT, &w->engine));
    WS_TRY(read_expr(l, map, "spread", scope, WS__BOOL, &w->spread));
    if ((n = ws__node_get(map, "balanced")))
        WS_TRY(ws__node_bool(l->ctx, n, "'balanced'", &w->balanced));
    return 0;
}

/* --- what is not said ----------------------------------------------------- */

/* Compiles a text that was put together, unless there is an expression. One
 * that cannot be (a floor in floats, say) is not said. */
static int complete(struct ws__load *l, const struct ws__kernel *k,
                    const struct ws__scope *scope, struct ws__expr **out,
                    const char *text)
{
    struct ws__loc loc = {.file = k->file};
    int rc;

    if (!text)
        return WS_ENOMEM;
    if (*out || !*text)
        return 0;
    rc = ws__expr_compile(l->ctx, l->arena, text, &loc, scope, WS__INT, out);
    if (rc == WS_ENOMEM)
        return rc;
    if (rc) {
        *out = NULL;
        ws__error_clear(l->ctx);
    }
    return 0;
}

static const char *grid_text(struct ws__load *l, const struct ws__kernel *k)
{
    const char *text = "1";

    for (int i = 0; k->nlaunch && i < 3 && text; i++)
        if (k->launch[0].grid[i])
            text = ws__arena_printf(l->arena, "%s * (%s)", text,
                                    k->launch[0].grid[i]->text);
    return text;
}

/* Bytes of an element. */
static const char *element_text(struct ws__load *l, const struct ws__op *op,
                                const struct ws__tensor *t)
{
    const char *axis = t->type_axis < 0 ? NULL : op->axis[t->type_axis].name;

    if (!axis)
        return ws__arena_printf(l->arena, "%zu", ws__dtype_bytes(t->dtype));
    return ws__arena_printf(
        l->arena,
        "(8 if %s == float64 or %s == int64 else 4 if %s == float32 or "
        "%s == int32 else 2 if %s == float16 or %s == bfloat16 or "
        "%s == int16 else 1)",
        axis, axis, axis, axis, axis, axis, axis);
}

/* Every tensor once, by its dimensions. */
static const char *bytes_text(struct ws__load *l, const struct ws__op *op)
{
    const char *text = "0";

    if (op->bytes)
        return op->bytes->text;
    for (size_t i = 0; i < op->ntensor && text; i++) {
        const struct ws__tensor *t = &op->tensor[i];
        const char *one = t->ndim ? element_text(l, op, t) : NULL;

        for (size_t d = 0; d < t->ndim && one; d++)
            one = ws__arena_printf(l->arena, "%s * (%s)", one, t->dim[d]->text);
        if (t->ndim)
            text =
                one ? ws__arena_printf(l->arena, "%s + %s", text, one) : NULL;
    }
    return text;
}

/* Parts of a total, a step: needs what was completed before. */
static const char *each_step(struct ws__load *l, const struct ws__kernel *k,
                             const char *total)
{
    const struct ws__expr *steps = k->wave.coord[WSRT_W_STEPS];

    return total && steps
               ? ws__arena_printf(l->arena, "ceil_div(%s, max(1, %s))", total,
                                  steps->text)
               : "";
}

/* The op's own texts use the op's names: where a kernel has others, what they
 * say is not known here. */
static int complete_floor(struct ws__load *l, struct ws__kernel *k,
                          const struct ws__scope *scope)
{
    struct ws__expr **c = k->wave.coord;

    if (!k->op || k->op != k->bound)
        return 0;
    if (k->op->flops)
        WS_TRY(complete(l, k, scope, &c[WSRT_W_FLOPS],
                        each_step(l, k, k->op->flops->text)));
    WS_TRY(complete(l, k, scope, &c[WSRT_W_UNIQUE], bytes_text(l, k->op)));
    return complete(l, k, scope, &c[WSRT_W_BYTES],
                    c[WSRT_W_UNIQUE] ? each_step(l, k, c[WSRT_W_UNIQUE]->text)
                                     : "");
}

static int complete_all(struct ws__load *l, struct ws__kernel *k,
                        const struct ws__scope *scope)
{
    struct ws__kernel_wave *w = &k->wave;
    struct ws__expr **c = w->coord;

    WS_TRY(complete(l, k, scope, &c[WSRT_W_GRID], grid_text(l, k)));
    WS_TRY(complete(l, k, scope, &w->loop, "1"));
    if (!c[WSRT_W_GRID] || !w->loop)
        return 0;
    WS_TRY(complete(l, k, scope, &c[WSRT_W_STEPS],
                    ws__arena_printf(l->arena, "(%s) * (%s)",
                                     c[WSRT_W_GRID]->text, w->loop->text)));
    if (c[WSRT_W_STEPS])
        WS_TRY(complete(l, k, scope, &c[WSRT_W_LONGEST],
                        ws__arena_printf(l->arena, "ceil_div(%s, max(1, %s))",
                                         c[WSRT_W_STEPS]->text,
                                         c[WSRT_W_GRID]->text)));
    return complete_floor(l, k, scope);
}

int ws__load_wave(struct ws__load *l, const struct ws__node *map,
                  struct ws__kernel *k)
{
    struct ws__scope *scope = ws__arena_alloc(l->arena, 1, sizeof(*scope));

    if (!scope)
        return WS_ENOMEM;
    *scope = k->scope;
    /* No room for one name more: then nothing can be completed, either. */
    if (scope->n == WS__MAX_SLOTS && !map)
        return 0;
    WS_TRY(ws__scope_add(l->ctx, scope, "resident_blocks", WS__INT, NULL));
    if (map)
        WS_TRY(read_keys(l, map, scope, &k->wave));
    return complete_all(l, k, scope);
}
