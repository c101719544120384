/*
 * blank.c: the marked blanks that a drafted specification is born with.
 *
 * `wavesmith init` writes what it can read from a kernel and marks the rest:
 * a value, or a part of one, that is `???`. Nothing may run while one is left,
 * so every tree is searched before anything is read from it: here, and not in
 * the readers, so that no key can be forgotten and a file tells all its blanks
 * at once. The mark is a plain word to YAML wherever a value may stand, and
 * can be no name, number or expression. Descriptions may ask questions: in
 * `about`, `name` and `description` only the bare mark counts.
 */
#include "spec/node.h"

#include "base/banned.h"

#define MARK "???"
#define MAX_PATH 25 /* the root and the levels that node.c allows */

struct walk {
    const struct ws__node *path[MAX_PATH];
    size_t depth;
    ws__blank_fn *fn;
    void *user;
};

/* What goes into a blank: by the section of the file (NULL: any) and the key
 * it stands under. The first that fits. */
static const struct {
    const char *section, *key, *wants;
} wants[] = {
    {"axes", "range", "[lowest, highest] of its values"},
    {"axes", "types", "element types, as in [float32, float16]"},
    {"axes", "value", "the axis's one value, a whole number"},
    {"axes", "axes",
     "var, a constant, {range: [1, 4096]} or {types: [float32]}"},
    {NULL, "shape", "the lengths of its dimensions, as in [M, K]"},
    {NULL, "dtype", "an element type such as float32, or a type axis"},
    {NULL, "strides", "elements between neighbours, one a dimension"},
    {NULL, "fill", "how it is filled, as in normal or {integers: [0, 9]}"},
    {"parameters", "default", "one of the values"},
    {"parameters", "about", "what it changes"},
    {"parameters", "parameters", "the values to try, as in [16, 32, 64]"},
    {"launches", "entry", "the kernel function's name"},
    {"launches", "grid",
     "blocks in each dimension, as in [\"ceil_div(N, 64)\", M]"},
    {"launches", "block", "threads a block in each dimension, as in [64, 1]"},
    {"launches", "shared", "bytes of shared memory, as in BM * BK * 4"},
    {"launches", "when", "a condition, as in SPLIT_K > 1"},
    {"launches", "args",
     "a tensor, a scratch buffer, or a value as in {int32: M}"},
    {"scratch", "scratch", "its size in bytes, as in M * N * 4"},
    {"constraints", "constraints", "a condition, as in BM % 4 == 0"},
    {"require", "require", "a condition on axes, as in K % 8 == 0"},
    {"ranges", "ranges", "[lowest, highest] that the kernel is made for"},
    {"tolerance", "reduction", "terms of the longest sum, as in K, or 1"},
    {"tolerance", "tolerance", "a number, as in 1e-3"},
    {"floor", "flops", "operations, as in 2 * M * N * K"},
    {"floor", "bytes", "bytes that must be moved"},
    {"workloads", "workloads", "the value of this axis"},
    {"reference", "reference",
     "{python: FILE, function: NAME}, or {kernel: FILE}, a plain kernel that "
     "is surely right"},
    {"kernel", "kernel", "the kernel's name"},
    {"op", "op", "the op's name, or the path of its file"},
    {"source", "source", "the source file"},
    {"dialect", "dialect", "portable, opencl, cuda, ptx or cubin"},
    {"about", "about", "a description"},
};

/* What a name is that is a blank, by the section it stands in. */
static const struct {
    const char *section, *wants;
} names[] = {
    {"axes", "the name of a size that workloads choose, as in M"},
    {"workloads", "the name of an axis, as in {M: 16}"},
    {"constants", "a name for a number, as in EPS"},
    {"inputs", "a name for a tensor, as in x"},
    {"outputs", "a name for a tensor, as in y"},
    {"inouts", "a name for a tensor, as in x"},
    {"scratch", "a name for a buffer, as in partial"},
    {"parameters", "a name that the source uses, as in BM"},
    {"ranges", "the name of an axis, as in {M: [1, 4096]}"},
};

static const struct {
    const char *section, *one;
} owners[] = {
    {"axes", "axis"},
    {"inputs", "tensor"},
    {"outputs", "tensor"},
    {"inouts", "tensor"},
    {"scratch", "scratch buffer"},
    {"parameters", "parameter"},
};

static bool is_mark(const char *text, const char *key)
{
    static const char *const words[] = {"about", "name", "description"};

    for (size_t i = 0; key && i < WS_COUNT(words); i++)
        if (!strcmp(key, words[i]))
            return !strcmp(text, MARK);
    /* What has lines is a program, not a value. */
    return strstr(text, MARK) != NULL && !strchr(text, '\n');
}

static const char *want_of(const struct walk *w, const char *section)
{
    for (size_t at = w->depth; at-- > 0;)
        for (size_t i = 0; w->path[at]->key && i < WS_COUNT(wants); i++)
            if ((!wants[i].section || !strcmp(wants[i].section, section)) &&
                !strcmp(wants[i].key, w->path[at]->key))
                return wants[i].wants;
    return "see docs/specification.md";
}

static const char *name_of(const char *section)
{
    for (size_t i = 0; i < WS_COUNT(names); i++)
        if (!strcmp(names[i].section, section))
            return names[i].wants;
    return "a name; see docs/specification.md";
}

/* "of tensor 'x'", "of launch 2", or nothing. */
static void put_owner(const struct walk *w, const char *section, char *out,
                      size_t n)
{
    /* A file of workloads is a list by itself. */
    size_t at = w->path[0]->kind == WS__LIST ? 0 : 1, number = 1;
    const struct ws__node *list = w->path[at];

    *out = '\0';
    if (w->depth < at + 2)
        return;
    if (list->kind == WS__LIST) {
        for (const struct ws__node *c = list->first; c != w->path[at + 1];
             c = c->next)
            number++;
        if (!strcmp(section, "launches"))
            snprintf(out, n, " of launch %zu", number);
        else
            snprintf(out, n, " of entry %zu of '%.40s'", number, section);
        return;
    }
    for (size_t i = 0; i < WS_COUNT(owners); i++)
        if (!strcmp(owners[i].section, section) && w->depth > 3) {
            snprintf(out, n, " of %s '%.64s'", owners[i].one, w->path[2]->key);
            return;
        }
    snprintf(out, n, " of '%.40s'", section);
}

static int tell(struct walk *w, bool key)
{
    const struct ws__node *n = w->path[w->depth - 1];
    const char *section =
        w->depth > 1 && w->path[1]->key ? w->path[1]->key : "workloads";
    struct ws__blank b = {.loc = key ? n->key_loc : n->loc};
    char owner[120];
    const char *name = NULL;

    for (size_t at = w->depth; at-- > 0 && !name;)
        name = w->path[at]->key;
    put_owner(w, section, owner, sizeof(owner));
    if (key)
        snprintf(b.subject, sizeof(b.subject), "a name in '%.64s'", section);
    else
        snprintf(b.subject, sizeof(b.subject), "'%.64s'%s",
                 name ? name : section, owner);
    b.wants = key ? name_of(section) : want_of(w, section);
    return w->fn(w->user, &b);
}

static int visit(struct walk *w, const struct ws__node *n)
{
    int rc = 0;

    if (w->depth == MAX_PATH)
        return 0;
    w->path[w->depth++] = n;
    if (n->key && strstr(n->key, MARK))
        rc = tell(w, true);
    else if (n->kind == WS__SCALAR && is_mark(n->text, n->key))
        rc = tell(w, false);
    for (const struct ws__node *c = n->first; c && rc == 0; c = c->next)
        rc = visit(w, c);
    w->depth--;
    return rc;
}

int ws__node_blanks(const struct ws__node *root, ws__blank_fn *fn, void *user)
{
    struct walk w = {.fn = fn, .user = user};

    /* A space in the T1 format is others' text. */
    if (root->kind == WS__MAP && ws__node_get(root, "ConfigurationSpace"))
        return 0;
    return visit(&w, root);
}

struct found {
    struct ws__blank first;
    size_t n, listed;
    char rest[400];
};

static int count(void *user, const struct ws__blank *b)
{
    struct found *f = user;
    size_t at = strlen(f->rest);
    char one[240];

    if (!f->n++) {
        f->first = *b;
        return 0;
    }
    snprintf(one, sizeof(one), "%s%s (line %u)", at ? ", " : "", b->subject,
             (unsigned)b->loc.line);
    if (f->listed == f->n - 2 && at + strlen(one) < sizeof(f->rest)) {
        memcpy(f->rest + at, one, strlen(one) + 1);
        f->listed++;
    }
    return 0;
}

int ws__node_no_blanks(struct ws_ctx *ctx, const struct ws__node *root)
{
    struct found f;
    size_t more;

    memset(&f, 0, sizeof(f));
    ws__node_blanks(root, count, &f);
    if (!f.n)
        return 0;
    ws__fail_at(ctx, WS_ESPEC, &f.first.loc, "%s is a blank: %s",
                f.first.subject, f.first.wants);
    more = f.n - 1 - f.listed;
    if (f.n == 1)
        return ws__hint(ctx, "write the value where '" MARK "' stands");
    if (!more)
        return ws__hint(ctx, "other blanks: %s", f.rest);
    return ws__hint(ctx, "other blanks: %s and %zu more", f.rest, more);
}
