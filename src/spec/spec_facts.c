/*
 * spec_facts.c: a kernel file and its op as one map in JSON, for programs that
 * read no YAML.
 */
#include <math.h>

#include "spec/parts.h"

#include "base/banned.h"

#define MAX_TEXT ((size_t)8 << 20)

/* A number as JSON has it, however it was written. */
static int put_scalar(struct ws__buf *b, const struct ws__node *n)
{
    struct ws__value v = {.type = WS__STR};

    if (n->quoted || !*n->text || ws__node_value(b->ctx, n, &v) < 0 ||
        v.type == WS__STR || (v.type == WS__FLOAT && !isfinite(v.u.f)))
        return ws__node_emit_text(b, n->text);
    if (v.type == WS__INT)
        return ws__buf_printf(b, "%lld", (long long)v.u.i);
    if (v.type == WS__FLOAT)
        return ws__buf_printf(b, "%.17g", v.u.f);
    return ws__buf_puts(b, v.u.i ? "true" : "false");
}

static int put(struct ws__buf *b, const struct ws__node *n)
{
    if (n->kind == WS__SCALAR)
        return put_scalar(b, n);
    ws__buf_puts(b, n->kind == WS__MAP ? "{" : "[");
    for (const struct ws__node *c = n->first; c; c = c->next) {
        if (c->key) {
            ws__node_emit_text(b, c->key);
            ws__buf_puts(b, ": ");
        }
        put(b, c);
        ws__buf_puts(b, c->next ? ", " : "");
    }
    return ws__buf_puts(b, n->kind == WS__MAP ? "}" : "]");
}

static void put_members(struct ws__buf *b, const struct ws__node *root,
                        const char *const *key, bool *any)
{
    for (; *key; key++) {
        const struct ws__node *n = ws__node_get(root, *key);

        if (!n)
            continue;
        ws__buf_printf(b, "%s\"%s\": ", *any ? ", " : "", *key);
        put(b, n);
        *any = true;
    }
}

int ws__spec_facts(struct ws__spec *s, size_t kernel, char **out)
{
    static const char *const of_kernel[] = {"launches", "parameters",
                                            "constraints", "scratch", NULL};
    static const char *const of_op[] = {"axes",   "constants", "inputs",
                                        "inouts", "outputs",   NULL};
    const struct ws__spec_full *full = (const struct ws__spec_full *)s;
    const struct ws__node *root = full->kernel_tree[kernel];
    const struct ws__node *names = ws__node_get(root, "names");
    bool any = false;
    struct ws__buf b;

    *out = NULL;
    if (names)
        return ws__fail_at(s->ctx, WS_ESPEC, &names->key_loc,
                           "kernel '%s' has names of its own for what is of "
                           "the op",
                           s->kernel[kernel].name);
    ws__buf_init(&b, s->ctx, MAX_TEXT);
    ws__buf_puts(&b, "{");
    put_members(&b, root, of_kernel, &any);
    put_members(&b, full->op_tree, of_op, &any);
    ws__buf_puts(&b, "}");
    if (b.failed) {
        int rc = b.failed;

        ws__buf_free(&b);
        return rc;
    }
    ws__error_clear(s->ctx); /* of words that are no values */
    *out = ws__buf_take(&b);
    return 0;
}
