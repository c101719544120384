/*
 * spec_workload.c: workloads, from a list in an op file, a file of their
 * own, or a line of text.
 *
 * Every workload is instantiated once when it is read, so that shapes that
 * cannot be are reported with the line of the workload, not in the middle of
 * a run. A name is optional; without one the axis values are the name.
 */
#include "base/fs.h"
#include "base/names.h"
#include "spec/parts.h"

#include "base/banned.h"

static int unknown_axis(struct ws__load *l, const struct ws__op *op,
                        const char *name, const struct ws__loc *loc)
{
    struct ws__nearest near;
    char all[300] = "";

    ws__nearest_begin(&near, name);
    for (size_t i = 0; i < op->naxis; i++) {
        size_t at = strlen(all);

        ws__nearest_see(&near, op->axis[i].name);
        snprintf(all + at, sizeof(all) - at, " %s", op->axis[i].name);
    }
    ws__fail_at(l->ctx, WS_ESPEC, loc, "op '%s' has no axis '%s'", op->name,
                name);
    if (ws__nearest_name(&near))
        return ws__hint(l->ctx, "did you mean '%s'?", ws__nearest_name(&near));
    return ws__hint(l->ctx, "its axes:%s", all);
}

static int set_axis(struct ws__load *l, const struct ws__op *op,
                    const struct ws__node *n, struct ws__workload *w,
                    uint32_t *given)
{
    int i = ws__op_axis(op, n->key);
    const struct ws__axis *a = &op->axis[i < 0 ? 0 : i];

    if (i < 0)
        return unknown_axis(l, op, n->key, &n->key_loc);
    if (*given >> i & 1) {
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "axis '%s' is given twice",
                    n->key);
        return ws__hint(l->ctx, "give each axis once");
    }
    *given |= 1u << i;
    if (a->kind == WS__AXIS_TYPE) {
        enum ws__dtype t;
        bool found = false;

        WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "an element type"));
        t = ws__dtype_parse(n->text);
        for (size_t k = 0; k < a->ntypes; k++)
            found = found || a->types[k] == t;
        if (!found) {
            ws__node_fail(l->ctx, n, "'%s' is not a type of axis '%s'", n->text,
                          a->name);
            return ws__hint(l->ctx, "see its list in line %u of '%s'",
                            a->loc.line, op->file ? op->file : "the op");
        }
        w->axis[i] = t;
        return 0;
    }
    return ws__node_int(l->ctx, n, "the value of an axis", INT64_MIN, INT64_MAX,
                        &w->axis[i]);
}

int ws__load_axis_values(struct ws__load *l, const struct ws__op *op,
                         const struct ws__node *map, struct ws__workload *w,
                         uint32_t *given)
{
    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map of axis values"));
    for (const struct ws__node *c = map->first; c; c = c->next)
        WS_TRY(set_axis(l, op, c, w, given));
    return 0;
}

/* Fills in what was not given; var axes must be. */
static int finish(struct ws__load *l, const struct ws__op *op, uint32_t given,
                  struct ws__workload *w)
{
    char missing[300] = "";
    struct ws__instance in;
    struct ws__buf b;

    for (size_t i = 0; i < op->naxis; i++) {
        size_t at = strlen(missing);

        if (given >> i & 1)
            continue;
        w->axis[i] = op->axis[i].value;
        if (op->axis[i].kind == WS__AXIS_VAR)
            snprintf(missing + at, sizeof(missing) - at, "%s%s", at ? ", " : "",
                     op->axis[i].name);
    }
    if (*missing) {
        ws__fail_at(l->ctx, WS_ESPEC, &w->loc, "axes without a value: %s",
                    missing);
        return ws__hint(l->ctx, "a workload gives every variable axis");
    }
    if (!w->name) {
        ws__buf_init(&b, l->ctx, 4096);
        if (ws__workload_print(&b, op, w) >= 0)
            w->name = ws__arena_strdup(l->arena, b.data ? b.data : op->name);
        ws__buf_free(&b);
        if (!w->name)
            return WS_ENOMEM;
    }
    WS_TRY(ws__instance_make(l->ctx, op, w, &in));
    return ws__load_check_inputs(l, &in, w);
}

static int read_member(struct ws__load *l, const struct ws__op *op,
                       const struct ws__node *n, struct ws__workload *w,
                       uint32_t *given)
{
    if (!strcmp(n->key, "name"))
        return ws__node_printable(l->ctx, n, "the name", &w->name);
    if (!strcmp(n->key, "about"))
        return ws__node_str(l->ctx, n, "a text", &w->about);
    if (!strcmp(n->key, "weight")) {
        WS_TRY(ws__node_float(l->ctx, n, "a weight", &w->weight));
        if (w->weight > 0)
            return 0;
        ws__node_fail(l->ctx, n, "weight %s is not above 0", n->text);
        return ws__hint(l->ctx, "leave the workload out instead");
    }
    if (!strcmp(n->key, "inputs"))
        return ws__load_inputs(l, op, n, w);
    if (!strcmp(n->key, "axes"))
        return ws__load_axis_values(l, op, n, w, given);
    return set_axis(l, op, n, w, given);
}

static int read_workload(struct ws__load *l, const struct ws__op *op,
                         const struct ws__node *n, struct ws__workload *w)
{
    uint32_t given = 0;

    w->weight = 1;
    w->loc = n->loc;
    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a workload {M: 16, ...}"));
    if (ws__load_is_trace(n))
        WS_TRY(ws__load_trace(l, op, n, w, &given));
    else
        for (const struct ws__node *c = n->first; c; c = c->next)
            WS_TRY(read_member(l, op, c, w, &given));
    return finish(l, op, given, w);
}

static int compare_names(const void *a, const void *b)
{
    const struct ws__workload *const *x = a, *const *y = b;
    int c = strcmp((*x)->name, (*y)->name);

    return c ? c : (*x > *y) - (*x < *y);
}

static int check_names(struct ws__load *l, const struct ws__workload *w,
                       size_t n)
{
    const struct ws__workload **sorted =
        ws__alloc(l->ctx, n, sizeof(const struct ws__workload *));
    int rc = 0;

    if (!sorted)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &w[i];
    qsort(sorted, n, sizeof(*sorted), compare_names);
    for (size_t i = 1; i < n && !rc; i++)
        if (!strcmp(sorted[i]->name, sorted[i - 1]->name)) {
            ws__fail_at(l->ctx, WS_ESPEC, &sorted[i]->loc,
                        "workload '%s' is there twice", sorted[i]->name);
            rc = ws__hint(l->ctx, "the first one is in line %u",
                          sorted[i - 1]->loc.line);
        }
    ws__free(l->ctx, sorted);
    return rc;
}

int ws__load_workload_list(struct ws__load *l, const struct ws__op *op,
                           const struct ws__node *list,
                           struct ws__workload **out, size_t *n)
{
    struct ws__workload *w;

    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of workloads"));
    if (!list->n) {
        ws__node_fail(l->ctx, list, "the list of workloads is empty");
        return ws__hint(l->ctx, "give at least one");
    }
    w = ws__arena_alloc(l->arena, list->n, sizeof(*w));
    if (!w)
        return WS_ENOMEM;
    *n = 0;
    for (const struct ws__node *c = list->first; c; c = c->next)
        WS_TRY(read_workload(l, op, c, &w[(*n)++]));
    *out = w;
    return check_names(l, w, *n);
}

/* JSON lines: one workload a line, empty lines allowed. */
static int parse_lines(struct ws__load *l, const char *text, const char *file,
                       struct ws__node *list)
{
    uint32_t line = 1;

    list->kind = WS__LIST;
    list->loc = (struct ws__loc){file, 1, 1};
    for (; *text; line++) {
        size_t len = strcspn(text, "\n");
        struct ws__node *n;

        if (strspn(text, " \t\r") < len) {
            WS_TRY(ws__node_parse(l->ctx, l->arena, text, len, file, line, &n));
            if (list->last)
                list->last->next = n;
            else
                list->first = n;
            list->last = n;
            list->n++;
        }
        text += len + (text[len] == '\n');
    }
    return 0;
}

static bool is_lines(const char *path, const char *text)
{
    size_t n = strlen(path);

    return (n > 6 && !strcmp(path + n - 6, ".jsonl")) ||
           text[strspn(text, " \t\r\n")] == '{';
}

int ws__load_workload_file(struct ws__load *l, const struct ws__op *op,
                           const char *dir, const char *path,
                           struct ws__workload **out, size_t *n)
{
    struct ws__node lines = {0}, *list = &lines;
    char *text = NULL, *inside = NULL;
    const char *kept = ws__arena_strdup(l->arena, path);
    size_t len;
    int rc;

    if (!kept)
        return WS_ENOMEM;
    if (dir)
        WS_TRY(ws__path_inside(l->ctx, dir, path, &inside));
    rc = ws__fs_read(l->ctx, inside ? inside : path, WS__SPEC_TEXT_MAX, &text,
                     &len);
    ws__free(l->ctx, inside);
    if (rc < 0)
        return rc;
    if (strlen(text) == len && is_lines(kept, text))
        rc = parse_lines(l, text, kept, list);
    else
        rc = ws__node_parse(l->ctx, l->arena, text, len, kept, 1, &list);
    ws__free(l->ctx, text);
    if (rc >= 0)
        rc = ws__node_no_blanks(l->ctx, list);
    if (rc >= 0)
        rc = ws__load_workload_list(l, op, list, out, n);
    if (rc >= 0)
        ws__load_trace_note(l);
    return rc;
}

int ws__load_workload_text(struct ws__load *l, const struct ws__op *op,
                           const char *text, struct ws__workload *out)
{
    uint32_t given = 0;

    memset(out, 0, sizeof(*out));
    out->weight = 1;
    while (*text) {
        size_t len = strcspn(text, ","), at;
        struct ws__node n = {.kind = WS__SCALAR};
        char *item = ws__arena_strndup(l->arena, text, len), *eq;

        if (!item)
            return WS_ENOMEM;
        text += len + (text[len] == ',');
        item += strspn(item, " ");
        for (at = strlen(item); at && item[at - 1] == ' ';)
            item[--at] = '\0';
        if (!*item)
            continue;
        eq = strchr(item, '=');
        if (!eq) {
            ws__fail(l->ctx, WS_ESPEC, "'%s' has no value", item);
            return ws__hint(l->ctx, "write AXIS=VALUE,AXIS=VALUE");
        }
        *eq = '\0';
        n.key = item;
        n.text = eq + 1;
        WS_TRY(set_axis(l, op, &n, out, &given));
    }
    return finish(l, op, given, out);
}
