/*
 * plan_guard.c: what a move makes faster on some workloads and slower on others
 * becomes a kernel of both: the new launches where a condition on the shape
 * holds, the old ones elsewhere. The source gets the old functions beside the
 * new ones, under another name.
 */
#include "plan/plan_forge.h"

#include <math.h>

#include "base/banned.h"

#define MAX_DIVISOR 64

/* --- where ---------------------------------------------------------------- */

/* What separates the workloads that win from those that lose. */
struct rule {
    size_t axis[2]; /* the product of both; the same twice: of one */
    int64_t bound;
    bool above;    /* wins at the bound and above it; else up to it */
    double margin; /* logarithm of the gap between the two; 0: no rule */
};

/* 1 wins, -1 loses, 0 is the same, beyond noise. */
static int side(const struct ws__forge_row *r)
{
    return r->speedup.lo > 1 ? 1 : r->speedup.hi < 1 ? -1 : 0;
}

static double value(const struct ws__workload *w, const struct rule *r)
{
    double v = (double)w->axis[r->axis[0]];

    return r->axis[0] == r->axis[1] ? v : v * (double)w->axis[r->axis[1]];
}

/* Takes the bound from the workloads: nobody knows what is between them, so
 * what is new is for what was seen to win. */
static void bound_of(const struct ws__workload *w,
                     const struct ws__forge_row *row, size_t n, struct rule *r)
{
    double win[2] = {INFINITY, 0}, lose[2] = {INFINITY, 0};

    for (size_t i = 0; i < n; i++) {
        double v = value(&w[i], r), *of = side(&row[i]) > 0 ? win : lose;

        if (!side(&row[i]))
            continue;
        of[0] = fmin(of[0], v);
        of[1] = fmax(of[1], v);
    }
    r->margin = 0;
    if (win[1] > 9e15 || lose[0] < 1 || win[0] < 1)
        return;
    r->above = win[0] > lose[1];
    if (r->above)
        r->margin = log(win[0] / lose[1]);
    else if (win[1] < lose[0])
        r->margin = log(lose[0] / win[1]);
    r->bound = (int64_t)(r->above ? win[0] : win[1]);
}

static bool varies(const struct ws__op *op, size_t axis)
{
    return op->axis[axis].kind == WS__AXIS_VAR;
}

/* What is done to a loop or a tile pays where there is much of it. */
static bool is_better(const struct rule *a, const struct rule *b)
{
    if (!(a->margin > 0) || !(b->margin > 0))
        return a->margin > 0;
    return a->above != b->above ? a->above : a->margin > b->margin;
}

/* Of one axis, else of a product of two; large sizes before small ones; with
 * the widest gap. */
static struct rule best_rule(const struct ws__op *op,
                             const struct ws__workload *w,
                             const struct ws__forge_row *row, size_t n)
{
    struct rule best = {.margin = 0};

    for (size_t apart = 0; apart < op->naxis && !(best.margin > 0); apart++)
        for (size_t a = 0; a + apart < op->naxis; a++) {
            struct rule r = {.axis = {a, a + apart}};

            if (!varies(op, a) || !varies(op, a + apart))
                continue;
            bound_of(w, row, n, &r);
            if (is_better(&r, &best))
                best = r;
        }
    return best;
}

/* The largest power of two that divides an axis wherever it wins and nowhere
 * where it loses; 0: none. */
static int64_t divisor_of(const struct ws__workload *w,
                          const struct ws__forge_row *row, size_t n,
                          size_t axis)
{
    for (int64_t d = MAX_DIVISOR; d > 1; d /= 2) {
        bool fits = true;

        for (size_t i = 0; i < n; i++)
            if (side(&row[i]) &&
                (w[i].axis[axis] % d == 0) != (side(&row[i]) > 0))
                fits = false;
        if (fits)
            return d;
    }
    return 0;
}

/* Is there one that wins, and one that loses? */
static bool is_mixed(const struct ws__forge_row *row, size_t n)
{
    bool any[3] = {false};

    for (size_t i = 0; i < n; i++)
        any[side(&row[i]) + 1] = true;
    return any[0] && any[2];
}

const char *ws__guard_condition(struct ws__arena *a, const struct ws__op *op,
                                const struct ws__workload *w,
                                const struct ws__forge_row *row, size_t n)
{
    struct rule r = best_rule(op, w, row, n);
    const char *name[2] = {op->axis[r.axis[0]].name, op->axis[r.axis[1]].name};
    bool one = r.axis[0] == r.axis[1];

    if (!is_mixed(row, n))
        return NULL;
    if (r.margin > 0)
        return ws__arena_printf(a, "%s%s%s %s %lld", name[0], one ? "" : " * ",
                                one ? "" : name[1],
                                r.above ? ">=" : "<=", (long long)r.bound);
    for (size_t i = 0; i < op->naxis; i++) {
        int64_t d = varies(op, i) ? divisor_of(w, row, n, i) : 0;

        if (d)
            return ws__arena_printf(a, "%s %% %lld == 0", op->axis[i].name,
                                    (long long)d);
    }
    return NULL;
}

/* --- the source ----------------------------------------------------------- */

/* From the first word of a function's declaration to its last brace. */
static const char *function(struct ws__workshop *s, const struct ws__ast *t,
                            const char *entry, int32_t *out)
{
    *out = ws__ast_function(t, entry);
    return *out < 0
               ? NULL
               : ws__arena_strndup(&s->arena, t->text + t->node[*out].begin,
                                   t->node[*out].end - t->node[*out].begin);
}

/* A name that the text does not have. */
static const char *new_name(struct ws__workshop *s, const char *text,
                            const char *entry)
{
    const char *name = ws__arena_printf(&s->arena, "%s_before", entry);

    for (int i = 2; name && strstr(text, name); i++)
        name = ws__arena_printf(&s->arena, "%s_before%d", entry, i);
    return name;
}

/* The function's text under another name. */
static const char *renamed_text(struct ws__workshop *s, const char *text,
                                const struct ws__renamed *r)
{
    size_t n = strlen(r->from);
    const char *at = text;

    for (at = strstr(at, r->from); at; at = strstr(at + 1, r->from)) {
        const char *behind = at + n;

        while (*behind == ' ' || *behind == '\n' || *behind == '\t')
            behind++;
        if (*behind == '(' && at > text && strchr(" \t\n*", at[-1]))
            return ws__arena_printf(&s->arena, "%.*s%s%s", (int)(at - text),
                                    text, r->to, at + n);
    }
    return NULL;
}

/* Every such word gets "_before" behind it. */
static const char *mark_words(struct ws__workshop *s, const char *text,
                              const char *word)
{
    size_t n = strlen(word);
    struct ws__buf b;
    const char *out;

    ws__buf_init(&b, s->spec->ctx, 2 * strlen(text) + 64);
    for (const char *p = text; *p; p++) {
        bool here = !strncmp(p, word, n) && !ws__is_word(p[n]) &&
                    (p == text || !ws__is_word(p[-1]));

        ws__buf_printf(&b, "%c%.*s", *p, here ? (int)n - 1 : 0, p + 1);
        if (here) {
            ws__buf_puts(&b, "_before");
            p += n - 1;
        }
    }
    out = b.failed || !b.data ? NULL : ws__arena_strdup(&s->arena, b.data);
    ws__buf_free(&b);
    return out;
}

/* A parameter that has the name of an axis which is a constant of the new
 * kernel would be no name there. */
static const char *spare_constants(struct ws__workshop *s, uint32_t with,
                                   const struct ws__ast *t, int32_t function,
                                   const char *text)
{
    const struct ws__kernel *k = &s->spec->s->kernel[with];

    for (int32_t c = t->node[function].first; c >= 0 && text;
         c = t->node[c].next)
        for (size_t a = 0; a < k->op->naxis && text; a++)
            if (ws__ast_is(t, c, WS__AST_PARAM) && t->node[c].name &&
                (k->specialize & 1u << a) &&
                !strcmp(t->node[c].name, k->op->axis[a].name))
                text = mark_words(s, text, t->node[c].name);
    return text;
}

struct both {
    struct ws__renamed renamed[WS__MAX_LAUNCHES];
    size_t n;
    const char *text; /* of the new source, growing */
};

/* The old function of an entry goes behind the new one where they differ.
 * 0: it cannot, and why. */
static int add_function(struct ws__workshop *s, uint32_t with, uint32_t without,
                        const char *entry, const char *when, struct both *b,
                        char why[512])
{
    const struct ws__ast *t = &s->source[with].ast;
    struct ws__renamed *r = &b->renamed[b->n];
    int32_t now, before;
    const char *new = function(s, t, entry, &now);
    const char *old = function(s, &s->source[without].ast, entry, &before);
    const char *at;

    if (!new || !old) {
        snprintf(why, 512, "'%s' is not a function of both sources", entry);
        return 0;
    }
    if (!strcmp(new, old))
        return 1;
    for (size_t i = 0; i < b->n; i++)
        if (!strcmp(b->renamed[i].from, entry))
            return 1;
    r->from = entry;
    r->to = new_name(s, b->text, entry);
    old = r->to ? renamed_text(s, old, r) : NULL;
    if (old)
        old = spare_constants(s, with, &s->source[without].ast, before, old);
    at = strstr(b->text, new);
    if (!old || !at) {
        snprintf(why, 512, "where '%s' is declared cannot be read", entry);
        return 0;
    }
    b->n++;
    b->text = ws__arena_printf(
        &s->arena, "%.*s\n\n/* '%s' as it was, for shapes without %s. */\n%s%s",
        (int)(at + strlen(new) - b->text), b->text, entry, when, old,
        at + strlen(new));
    return b->text ? 1 : WS_ENOMEM;
}

static bool is_entry(const struct ws__kernel *k, const char *name)
{
    for (size_t i = 0; i < k->nlaunch; i++)
        if (!strcmp(k->launch[i].entry, name))
            return true;
    return false;
}

/* Functions that are no entries and that the move changed: there would be one
 * of each for both. NULL: none. */
static const char *changed_helper(struct ws__workshop *s, uint32_t with,
                                  uint32_t without)
{
    const struct ws__ast *t = &s->source[without].ast;
    int32_t old, new;

    for (int32_t i = 0; i < t->n; i = ws__ast_after(t, i)) {
        const char *name = t->node[i].name, *a, *b;

        if (t->node[i].kind != WS__AST_FUNCTION || !name ||
            ws__ast_function(t, name) != i ||
            is_entry(&s->spec->s->kernel[without], name))
            continue;
        a = function(s, t, name, &old);
        b = function(s, &s->source[with].ast, name, &new);
        if (!a || !b || strcmp(a, b) != 0)
            return name;
    }
    return NULL;
}

/* 0: they cannot be one kernel, and why. */
static int join(struct ws__workshop *s, uint32_t with, uint32_t without,
                const char *when, struct both *b, char why[512])
{
    const struct ws__kernel *k = &s->spec->s->kernel[without];
    const char *helper;
    int rc = 1;

    if (k->dialect == WS__DIALECT_TRITON) {
        snprintf(why, 512, "functions in Triton are not put side by side");
        return 0;
    }
    helper = changed_helper(s, with, without);
    if (helper) {
        snprintf(why, 512, "'%s', which is called, is another one now", helper);
        return 0;
    }
    WS_TRY(ws__workshop_text(s, with, &b->text));
    if (k->nlaunch + s->spec->s->kernel[with].nlaunch > WS__MAX_LAUNCHES) {
        snprintf(why, 512, "too many launches");
        return 0;
    }
    for (size_t i = 0; i < k->nlaunch && rc > 0; i++) {
        if (k->launch[i].pattern) {
            snprintf(why, 512, "'%s' is a template", k->launch[i].entry);
            return 0;
        }
        rc = add_function(s, with, without, k->launch[i].entry, when, b, why);
    }
    return rc;
}

/* The parameters that both have must have the same values: there is one
 * config. */
static bool agree(const struct ws__spec *p, const struct ws__candidate *with,
                  const struct ws__candidate *without)
{
    const struct ws__kernel *a = &p->kernel[with->kernel],
                            *b = &p->kernel[without->kernel];

    if (without->config.n > with->config.n)
        return false;
    for (size_t i = 0; i < without->config.n; i++)
        if (strcmp(a->param[i].name, b->param[i].name) != 0 ||
            !ws__value_eq(&a->param[i].value[with->config.at[i]],
                          &b->param[i].value[without->config.at[i]]))
            return false;
    return true;
}

/* --- what is launched ----------------------------------------------------- */

static int set_guard(struct ws__workshop *s, uint32_t made, const char *when,
                     uint32_t with, uint32_t without)
{
    const struct ws__kernel *k = &s->spec->s->kernel[made];
    const struct ws__loc nowhere = {0};
    struct ws__expr *e;

    WS_TRY(ws__expr_compile(s->spec->ctx, &s->arena, when, &nowhere, &k->scope,
                            WS__CONDITION, &e));
    s->source[made].guard =
        (struct ws__forge_guard){.when = e,
                                 .scope = &k->scope,
                                 .with = with,
                                 .without = without,
                                 .first = s->spec->s->kernel[with].nlaunch};
    return 0;
}

static bool same_text(const struct ws__expr *a, const struct ws__expr *b)
{
    return a && b ? !strcmp(a->text, b->text) : a == b;
}

static bool same_launch(const struct ws__launch *a, const struct ws__launch *b)
{
    bool same = !strcmp(a->entry, b->entry) && a->narg == b->narg &&
                same_text(a->when, b->when) && same_text(a->shared, b->shared);

    for (int d = 0; d < 3; d++)
        same = same && same_text(a->grid[d], b->grid[d]) &&
               same_text(a->block[d], b->block[d]);
    for (size_t i = 0; same && i < a->narg; i++)
        same = a->arg[i].kind == b->arg[i].kind &&
               a->arg[i].index == b->arg[i].index &&
               same_text(a->arg[i].expr, b->arg[i].expr);
    return same;
}

void ws__workshop_inherit(struct ws__workshop *s, size_t from, size_t to)
{
    const struct ws__forge_guard *g = &s->source[from].guard;
    const struct ws__kernel *a = &s->spec->s->kernel[from],
                            *b = &s->spec->s->kernel[to];
    int32_t node;

    if (!g->when || a->nlaunch != b->nlaunch ||
        changed_helper(s, (uint32_t)to, (uint32_t)from))
        return;
    for (size_t i = g->first; i < a->nlaunch; i++) {
        const char *entry = a->launch[i].entry, *old, *new;

        if (!same_launch(&a->launch[i], &b->launch[i]))
            return;
        old = function(s, &s->source[from].ast, entry, &node);
        new = function(s, &s->source[to].ast, entry, &node);
        if (!old || !new || strcmp(old, new) != 0)
            return;
    }
    s->source[to].guard = *g;
    s->source[to].guard.with = (uint32_t)to;
    return;
}

/* The kernel whose launches a kernel's are on a workload. */
static uint32_t launched(const struct ws__workshop *s, uint32_t kernel,
                         const struct ws__workload *w)
{
    const struct ws__op *op = s->spec->s->op;
    union wsrt_value vars[WS__MAX_SLOTS];

    for (;;) {
        const struct ws__forge_guard *g = &s->source[kernel].guard;
        uint32_t next;

        if (!g->when)
            return kernel;
        memset(vars, 0, sizeof(vars));
        for (size_t a = 0; a < op->naxis; a++) {
            int slot = ws__scope_find(g->scope, op->axis[a].name);

            if (slot >= 0)
                vars[slot].i = w->axis[a];
        }
        next = ws__expr_test(g->when, vars) == 1 ? g->with : g->without;
        if (next == kernel)
            return kernel;
        kernel = next;
    }
}

static const struct ws__value *value_of(const struct ws__kernel *k,
                                        const struct ws__config *c,
                                        const char *name)
{
    for (size_t i = 0; i < k->nparam && i < c->n; i++)
        if (!strcmp(k->param[i].name, name))
            return &k->param[i].value[c->at[i]];
    return NULL;
}

bool ws__workshop_same(void *self, const struct ws__candidate *a,
                       const struct ws__candidate *b, uint32_t workload)
{
    struct ws__workshop *s = self;
    const struct ws__spec *p = s->spec->s;
    const struct ws__workload *w = &p->workload[workload];
    uint32_t kernel = launched(s, a->kernel, w);
    const struct ws__kernel *k = &p->kernel[kernel];

    if (launched(s, b->kernel, w) != kernel)
        return false;
    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__value *u, *v;

        u = value_of(&p->kernel[a->kernel], &a->config, k->param[i].name);
        v = value_of(&p->kernel[b->kernel], &b->config, k->param[i].name);
        if (!u || !v || !ws__value_eq(u, v))
            return false;
    }
    return true;
}

int ws__workshop_guard(void *self, const struct ws__candidate *with,
                       const struct ws__candidate *without,
                       const struct ws__forge_row *row, uint32_t *out,
                       const char **words, char why[512])
{
    struct ws__workshop *s = self;
    struct ws__spec *p = s->spec->s;
    struct both b = {.n = 0};
    char name[WS__WORKSHOP_NAME];
    size_t made;
    const char *when =
        ws__guard_condition(&s->arena, p->op, p->workload, row, p->nworkload);
    int rc;

    if (!when || !agree(p, with, without)) {
        snprintf(why, 512, "%s",
                 when ? "the parameters differ"
                      : "no size separates them from those that win");
        return 0;
    }
    rc = join(s, with->kernel, without->kernel, when, &b, why);
    if (rc <= 0)
        return rc;
    *words = ws__arena_printf(&s->arena, "only where %s", when);
    if (!*words)
        return WS_ENOMEM;
    ws__workshop_name(s, name);
    rc = ws__spec_guard(p, with->kernel, without->kernel, when, b.renamed, b.n,
                        name, b.text, &made);
    if (rc >= 0)
        rc = ws__workshop_enter(s, made, b.text);
    if (rc < 0)
        return ws__workshop_refused(s, with->kernel, rc, why);
    *out = (uint32_t)made;
    WS_TRY(set_guard(s, *out, when, with->kernel, without->kernel));
    return 1;
}
