/*
 * gpumode.c: see gpumode.h.
 *
 * A key of the cases is an axis if every case has it as a whole number of at
 * least 1 and it can be a name in expressions; one that is an element type in
 * every case is a type axis; one that is the same number in all of several
 * cases is a constant. The seed is not taken over, for inputs are drawn anew
 * for every candidate. What is left (flags, distributions) cannot be said of an
 * op, so it goes into the names of the workloads and a note.
 */
#include "spec/gpumode.h"

#include "spec/draft_int.h"

#include "base/banned.h"

#define MAX_KEYS 64
#define MAX_CASES 4096

enum what { NO_AXIS, SIZE, CONSTANT, TYPE };

struct key {
    const char *name;
    enum what what;
    const struct ws__node *first; /* its value in the first case */
    const char *why;              /* NO_AXIS */
    size_t seen, ntypes;
    const char *type[16];
};

struct task {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    const struct ws__node *list[2]; /* benchmarks, tests; NULL: none */
    struct key key[MAX_KEYS];
    size_t nkey, ncase;
    struct ws__gpumode *out;
};

/* --- the keys of the cases ------------------------------------------------ */

static struct key *find_key(struct task *t, const struct ws__node *n)
{
    for (size_t i = 0; i < t->nkey; i++)
        if (!strcmp(t->key[i].name, n->key))
            return &t->key[i];
    if (t->nkey == MAX_KEYS)
        return NULL;
    t->key[t->nkey] = (struct key){.name = n->key, .first = n};
    return &t->key[t->nkey++];
}

static bool is_size(const struct ws__node *n)
{
    size_t len = n->kind == WS__SCALAR ? strlen(n->text) : 0;

    return len && len < 16 && !n->quoted && *n->text != '0' &&
           strspn(n->text, "0123456789") == len;
}

static bool is_type(const struct ws__node *n)
{
    return n->kind == WS__SCALAR && ws__dtype_parse(n->text) != WS__DT_NONE;
}

static void see_type(struct key *k, const char *type)
{
    for (size_t i = 0; i < k->ntypes; i++)
        if (!strcmp(k->type[i], type))
            return;
    if (k->ntypes < WS_COUNT(k->type))
        k->type[k->ntypes++] = type;
}

static void see_value(struct key *k, const struct ws__node *n)
{
    enum what now = is_size(n) ? CONSTANT : is_type(n) ? TYPE : NO_AXIS;

    k->seen++;
    if (now == TYPE)
        see_type(k, n->text);
    if (k->seen == 1)
        k->what = now;
    else if (now == CONSTANT && k->what == CONSTANT &&
             strcmp(n->text, k->first->text) != 0)
        k->what = SIZE;
    else if (now != k->what && !(now == CONSTANT && k->what == SIZE))
        k->what = NO_AXIS;
}

static int see_case(struct task *t, const struct ws__node *c)
{
    WS_TRY(ws__node_want(t->ctx, c, WS__MAP, "a case {SIZE: NUMBER, ...}"));
    for (const struct ws__node *n = c->first; n; n = n->next) {
        struct key *k = find_key(t, n);

        if (!k) {
            ws__node_fail(t->ctx, n, "the cases have more than %d keys",
                          MAX_KEYS);
            return ws__hint(t->ctx, "is it a task of GPU MODE?");
        }
        see_value(k, n);
    }
    if (++t->ncase <= MAX_CASES)
        return 0;
    return ws__node_fail(t->ctx, c, "more than %d cases", MAX_CASES);
}

/* Which keys are axes is known when all cases were seen. */
static void decide(struct task *t)
{
    for (size_t i = 0; i < t->nkey; i++) {
        struct key *k = &t->key[i];
        int rc = ws__node_variable(t->ctx, k->name, &k->first->key_loc,
                                   "an axis", true);

        if (rc < 0)
            ws__error_clear(t->ctx);
        if (!strcmp(k->name, "seed"))
            k->why = "inputs are drawn anew for every candidate";
        else if (rc < 0)
            k->why = "it cannot be a name in expressions";
        else if (k->what == NO_AXIS)
            k->why = "not a size: say what it does to the inputs by their "
                     "'fill', or leave such cases out";
        else if (k->seen < t->ncase)
            k->why = "not every case has it";
        if (k->why)
            k->what = NO_AXIS;
        else if (k->what == CONSTANT && t->ncase == 1)
            k->what = SIZE;
    }
}

/* --- the draft ------------------------------------------------------------ */

/* Lines as comments, controls left out. */
static void put_comment(struct ws__buf *b, const char *text)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\r\n");

        ws__buf_puts(b, n ? "# " : "#");
        for (size_t i = 0; i < n; i++)
            ws__buf_printf(b, "%c", (unsigned char)p[i] < 0x20 ? ' ' : p[i]);
        ws__buf_puts(b, "\n");
        p += n;
        p += *p == '\r';
        p += *p == '\n';
    }
}

static void put_axis(struct ws__buf *b, const struct key *k)
{
    if (k->what == SIZE)
        ws__buf_printf(b, "  %s: var\n", k->name);
    if (k->what == CONSTANT)
        ws__buf_printf(b, "  %s: %s # the same in all cases\n", k->name,
                       k->first->text);
    if (k->what != TYPE)
        return;
    ws__buf_printf(b, "  %s: {types: [", k->name);
    for (size_t i = 0; i < k->ntypes; i++)
        ws__buf_printf(b, "%s%s", i ? ", " : "", k->type[i]);
    ws__buf_puts(b, "]}\n");
}

static const struct key *key_of(const struct task *t, const char *name)
{
    for (size_t i = 0; i < t->nkey; i++)
        if (!strcmp(t->key[i].name, name))
            return &t->key[i];
    return NULL;
}

/* "benchmark 1: distribution=normal nomask=true". */
static int put_name(struct task *t, struct ws__buf *b, const char *what,
                    size_t i, const struct ws__node *c)
{
    struct ws__buf name;
    int rc;

    ws__buf_init(&name, t->ctx, 400);
    ws__buf_printf(&name, "%s %zu", what, i);
    for (const struct ws__node *n = c->first; n; n = n->next)
        if (key_of(t, n->key)->what == NO_AXIS && strcmp(n->key, "seed") != 0 &&
            n->kind == WS__SCALAR && strlen(n->key) + strlen(n->text) < 60 &&
            name.len < 200)
            ws__buf_printf(&name, " %s=%s", n->key, n->text);
    for (char *p = name.data; p && *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            *p = '?';
    rc = name.failed ? name.failed : ws__node_emit_text(b, name.data);
    ws__buf_free(&name);
    return rc;
}

static int put_cases(struct task *t, struct ws__buf *b, const char *indent,
                     const char *what, const struct ws__node *list)
{
    size_t i = 0;

    for (const struct ws__node *c = list->first; c; c = c->next) {
        ws__buf_printf(b, "%s- {name: ", indent);
        WS_TRY(put_name(t, b, what, ++i, c));
        for (const struct ws__node *n = c->first; n; n = n->next) {
            enum what is = key_of(t, n->key)->what;

            if (is == SIZE || is == TYPE)
                ws__buf_printf(b, ", %s: %s", n->key, n->text);
        }
        ws__buf_puts(b, "}\n");
    }
    return b->failed;
}

static int put_op(struct task *t, const struct ws__node *root, const char *name)
{
    const struct ws__node *about = ws__node_get(root, "description");
    struct ws__buf *b = &t->out->op;
    size_t axes = 0;

    ws__buf_puts(b, "# Drafted by 'wavesmith init' from a task of GPU MODE.\n");
    ws__buf_printf(
        b,
        "# Every %s is a blank: the tensors, their shapes and types are in "
        "the task's\n# reference.py (generate_input, ref_kernel), its "
        "tolerances beside them.\n",
        WS__BLANK);
    if (about && about->kind == WS__SCALAR && *about->text) {
        ws__buf_puts(b, "#\n");
        put_comment(b, about->text);
    }
    ws__buf_printf(b, "op: %s\naxes:\n", name);
    for (size_t i = 0; i < t->nkey; i++) {
        put_axis(b, &t->key[i]);
        axes += t->key[i].what != NO_AXIS;
    }
    if (!axes)
        ws__buf_printf(b, "  %s: var\n", WS__BLANK);
    ws__buf_printf(
        b,
        "inputs:\n  %s: {shape: %s, dtype: %s} # and its fill, as "
        "generate_input draws it\n"
        "outputs:\n  %s: {shape: %s, dtype: %s}\n"
        "reference: %s # a function in Python of these inputs in this order: "
        "ref_kernel takes one tuple\n"
        "tolerance: {rule: gpu-mode, rtol: %s, atol: %s} # as "
        "check_implementation "
        "in reference.py has them\n"
        "cache: warm # GPU MODE does not flush caches\n",
        WS__BLANK, WS__BLANK, WS__BLANK, WS__BLANK, WS__BLANK, WS__BLANK,
        WS__BLANK, WS__BLANK, WS__BLANK);
    if (!t->list[0] || !axes)
        return b->failed;
    ws__buf_puts(b, "workloads: # the benchmarks\n");
    return put_cases(t, b, "  ", "benchmark", t->list[0]);
}

static int put_tests(struct task *t)
{
    struct ws__buf *b = &t->out->tests;

    for (size_t i = 0; i < t->nkey; i++)
        if (t->key[i].what != NO_AXIS && t->list[1]) {
            ws__buf_puts(b, "# The tests of a task of GPU MODE; drafted by "
                            "'wavesmith init'.\n");
            return put_cases(t, b, "", "test", t->list[1]);
        }
    return 0;
}

/* --- what is told --------------------------------------------------------- */

static int tell(struct task *t)
{
    static const char *const is[] = {[SIZE] = "varies",
                                     [CONSTANT] = "is the same in all cases",
                                     [TYPE] = "is an element type"};
    struct ws__gpumode *g = t->out;

    for (size_t i = 0; i < t->nkey; i++) {
        const struct key *k = &t->key[i];
        const char **at;

        if (k->what == NO_AXIS ? g->nnote == WS__GPUMODE_NOTES
                               : g->nfound == WS__GPUMODE_NOTES)
            continue;
        at = k->what == NO_AXIS ? &g->note[g->nnote++] : &g->found[g->nfound++];
        *at = k->what == NO_AXIS
                  ? ws__arena_printf(t->arena, "'%.60s' of the cases: %s",
                                     k->name, k->why)
                  : ws__arena_printf(t->arena, "axis %.60s: %s", k->name,
                                     is[k->what]);
        if (!*at)
            return WS_ENOMEM;
    }
    return 0;
}

/* --- all of it ------------------------------------------------------------ */

static int no_task(struct ws_ctx *ctx, const struct ws__node *root)
{
    ws__node_fail(ctx, root, "no task of GPU MODE");
    return ws__hint(ctx, "a task.yml has lists 'tests' and 'benchmarks' of "
                         "cases such as {n: 1024, seed: 1}");
}

static int read_task(struct task *t, const struct ws__node *root)
{
    static const char *const lists[] = {"benchmarks", "tests"};

    if (root->kind != WS__MAP)
        return no_task(t->ctx, root);
    for (int i = 0; i < 2; i++) {
        const struct ws__node *n = ws__node_get(root, lists[i]);

        if (!n || n->kind != WS__LIST || !n->n)
            continue;
        t->list[i] = n;
        for (const struct ws__node *c = n->first; c; c = c->next)
            WS_TRY(see_case(t, c));
    }
    if (!t->ncase)
        return no_task(t->ctx, root);
    t->out->nbenchmarks = t->list[0] ? t->list[0]->n : 0;
    t->out->ntests = t->list[1] ? t->list[1]->n : 0;
    decide(t);
    return 0;
}

int ws__gpumode_draft(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *text, size_t len, const char *file,
                      const char *name, struct ws__gpumode *out)
{
    struct task *t;
    struct ws__node *root;

    memset(out, 0, sizeof(*out));
    ws__buf_init(&out->op, ctx, WS__DRAFT_TEXT_MAX);
    ws__buf_init(&out->tests, ctx, WS__DRAFT_TEXT_MAX);
    t = ws__arena_alloc(arena, 1, sizeof(*t));
    if (!t)
        return WS_ENOMEM;
    *t = (struct task){.ctx = ctx, .arena = arena, .out = out};
    WS_TRY(ws__node_parse(ctx, arena, text, len, file, 1, &root));
    WS_TRY(read_task(t, root));
    WS_TRY(put_op(t, root, name));
    WS_TRY(put_tests(t));
    return tell(t);
}

void ws__gpumode_free(struct ws__gpumode *g)
{
    ws__buf_free(&g->op);
    ws__buf_free(&g->tests);
}
