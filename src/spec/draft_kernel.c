/*
 * draft_kernel.c: the kernel file of a draft: what the source leaves to be
 * defined as parameters, and its functions as launches.
 */
#include <ctype.h>

#include "core/decimal.h"
#include "spec/draft_int.h"
#include "spec/node.h"

#include "base/banned.h"

/* A text as YAML: plain if it is harmless, else in quotes. */
static void put_text(struct ws__buf *b, const char *s)
{
    bool plain = isalpha((unsigned char)*s) || *s == '.';

    for (const char *p = s; *p; p++)
        plain = plain && (isalnum((unsigned char)*p) || strchr("_./-", *p));
    if (plain) {
        ws__buf_puts(b, s);
        return;
    }
    ws__buf_puts(b, "\"");
    for (; *s; s++)
        ws__buf_printf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    ws__buf_puts(b, "\"");
}

/* A macro's own value, if it can stand in a list of values. */
static bool is_value(const char *s)
{
    int64_t i;
    double f;
    bool word = isalpha((unsigned char)*s) != 0;

    for (const char *p = s; *p; p++)
        word = word && (isalnum((unsigned char)*p) || *p == '_');
    return word || ws__integer_parse(s, &i) || ws__decimal_parse(s, &f);
}

static const struct ws__fact_name *fact_name(const struct ws__drafting *s,
                                             const char *name)
{
    const struct ws__facts *f = s->d->facts;

    for (size_t i = 0; f && i < f->nname; i++)
        if (f->name[i].parameter && !strcmp(f->name[i].name, name))
            return &f->name[i];
    return NULL;
}

static void put_macro(struct ws__drafting *s, const struct ws__sig_macro *m)
{
    const struct ws__fact_name *known = fact_name(s, m->name);
    char why[240];

    if (known && !m->value && !m->by_ifdef) {
        ws__draft_line(s->kernel, known->guess, "  %s: {values: %s}", m->name,
                       known->text);
        return;
    }

    if (m->by_ifdef)
        snprintf(why, sizeof(why),
                 "line %u asks by #ifdef, but it will always be defined: make "
                 "it #if, with [0, 1] here",
                 (unsigned)m->line);
    else if (m->value)
        snprintf(why, sizeof(why),
                 "values to try, as in [1, 2, 4]; line %u; '%.40s' is the "
                 "source's own",
                 (unsigned)m->line, m->value);
    else
        snprintf(why, sizeof(why),
                 "values to try, as in [1, 2, 4]; first used in line %u",
                 (unsigned)m->line);
    if (m->value && is_value(m->value))
        ws__draft_line(s->kernel, why, "  %s: {values: [%s, %s]}", m->name,
                       m->value, WS__BLANK);
    else
        ws__draft_line(s->kernel, why, "  %s: {values: %s}", m->name,
                       WS__BLANK);
}

/* A name for a template's parameter: its place is what counts. */
static const char *tparam_name(struct ws__drafting *s,
                               const struct ws__sig_entry *e, size_t i,
                               char out[64])
{
    struct ws__loc nowhere = {0};

    snprintf(out, 64, "%.63s", e->tparam[i]);
    if (ws__node_variable(s->ctx, out, &nowhere, "", true) < 0)
        snprintf(out, 64, "P%zu", i + 1);
    ws__error_clear(s->ctx);
    return out;
}

/* Is the template's parameter an axis of the op? */
static bool is_op_type(const struct ws__drafting *s, const char *tparam)
{
    int x;

    if (!s->d->op)
        return s->type_axis && !strcmp(s->type_axis, tparam);
    x = ws__op_axis(s->d->op, tparam);
    return x >= 0 && s->d->op->axis[x].kind == WS__AXIS_TYPE;
}

/* Do the parameters of the templates before place (entry, i) have the name? */
static bool told_before(struct ws__drafting *s, size_t entry, size_t i,
                        const char *name)
{
    char other[64];

    for (size_t k = 0; k < s->d->nentry && k <= entry; k++) {
        const struct ws__sig_entry *e = ws__draft_entry(s, k);

        for (size_t p = 0; p < e->ntparam && (k < entry || p < i); p++)
            if (!strcmp(tparam_name(s, e, p, other), name))
                return true;
    }
    return false;
}

static void put_tparam(struct ws__drafting *s, size_t entry, size_t i)
{
    const struct ws__sig_entry *e = ws__draft_entry(s, entry);
    char name[64];

    if (is_op_type(s, e->tparam[i]) ||
        told_before(s, entry, i, tparam_name(s, e, i, name)))
        return;
    ws__draft_line(s->kernel,
                   e->tparam_type[i] ? "types to try, as in [float, half]"
                                     : "values to try, as in [16, 32]",
                   "  %s: {values: %s}", name, WS__BLANK);
}

static void put_parameters(struct ws__drafting *s)
{
    struct ws__buf *b = s->kernel;
    size_t at = b->len;

    ws__buf_puts(b, "parameters: # the first value is the default\n");
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t p = 0; p < ws__draft_entry(s, i)->ntparam; p++)
            put_tparam(s, i, p);
    for (size_t i = 0; i < s->d->sig->nmacro; i++) {
        const char *macro = s->d->sig->macro[i].name;

        /* An op's axes and constants are defined without us. */
        if (!ws__draft_is_tparam(s, macro) &&
            !told_before(s, s->d->nentry, 0, macro) &&
            !(s->d->op && ws__op_name_taken(s->d->op, macro)))
            put_macro(s, &s->d->sig->macro[i]);
    }
    if (b->len == at + strlen("parameters: # the first value is the "
                              "default\n") &&
        !b->failed) {
        b->len = at;
        b->data[at] = '\0';
        ws__buf_puts(b, "# No names were found that the source leaves to be "
                        "defined: it has nothing to tune yet.\n"
                        "# parameters:\n#   BM: {values: [16, 32, 64]}\n");
    }
}

/* Names that the source wants and that are axes of the op. */
static void put_specialize(struct ws__drafting *s)
{
    const struct ws__op *op = s->d->op;
    const char *begin = "specialize: [";

    for (size_t i = 0; op && i < s->d->sig->nmacro; i++) {
        int x = ws__op_axis(op, s->d->sig->macro[i].name);

        if (x < 0 || op->axis[x].kind != WS__AXIS_VAR)
            continue;
        ws__buf_printf(s->kernel, "%s%s", begin, op->axis[x].name);
        begin = ", ";
    }
    if (*begin == ',')
        ws__buf_puts(s->kernel, "] # a build for each value of these axes\n");
}

/* What an op leaves open and the source does not. */
static void put_constraints(struct ws__drafting *s)
{
    const struct ws__op *op = s->d->op;
    uint32_t told = 0;

    for (size_t i = 0; op && i < s->d->nentry; i++)
        for (size_t a = 0; a < ws__draft_entry(s, i)->narg; a++) {
            const struct ws__sig_arg *arg = &ws__draft_entry(s, i)->arg[a];
            int t = ws__draft_tensor(op, arg);
            int x = t < 0 ? -1 : op->tensor[t].type_axis;

            if (x < 0 || !arg->dtype || told >> x & 1)
                continue;
            if (!told)
                ws__buf_puts(s->kernel, "constraints:\n");
            told |= 1u << x;
            ws__buf_printf(s->kernel,
                           "  - {require: %s == %s, about: the type in the "
                           "source}\n",
                           op->axis[x].name, ws__dtype_name(arg->dtype));
        }
}

static void put_entry_name(struct ws__drafting *s,
                           const struct ws__sig_entry *e)
{
    struct ws__loc nowhere = {0};
    char name[64];

    if (ws__node_identifier(s->ctx, e->name, &nowhere, "") < 0) {
        ws__error_clear(s->ctx);
        ws__draft_line(s->kernel, e->name, "  - entry: %s", WS__BLANK);
        return;
    }
    if (!e->ntparam) {
        ws__buf_printf(s->kernel, "  - entry: %s\n", e->name);
        return;
    }
    ws__buf_printf(s->kernel, "  - entry: \"%s<", e->name);
    for (size_t i = 0; i < e->ntparam; i++)
        ws__buf_printf(s->kernel, "%s{%s}", i ? ", " : "",
                       is_op_type(s, e->tparam[i]) && !s->d->op
                           ? s->type_name
                           : tparam_name(s, e, i, name));
    ws__buf_puts(s->kernel, ">\"\n");
}

static void put_arg(struct ws__drafting *s, const struct ws__sig_arg *a,
                    const struct ws__bound *b)
{
    bool open = strstr(b->text, WS__BLANK) != NULL;
    const char *why_open = a->trouble;
    char why[400];

    if (!why_open && a->kind == WS__SIG_SCALAR && a->width > 1)
        why_open = "a vector cannot be passed by value";
    snprintf(why, sizeof(why), "%s%.120s%s%.120s", b->guess ? b->guess : "",
             a->type, open && why_open ? "; " : "",
             open && why_open ? why_open : "");
    ws__draft_line(s->kernel, why, "      - %s", b->text);
}

/* Will every name of the block be a parameter? */
static bool is_block_known(const struct ws__drafting *s,
                           const struct ws__sig_entry *e)
{
    for (size_t d = 0; d < 3; d++) {
        bool known =
            e->block_text[d] && isdigit((unsigned char)*e->block_text[d]);

        for (size_t i = 0; !known && e->block_text[d] && i < s->d->sig->nmacro;
             i++)
            known = !strcmp(s->d->sig->macro[i].name, e->block_text[d]);
        if (!known)
            return false;
    }
    return true;
}

/* The op's name of an axis of the facts, as launch i is given it. */
static bool put_axis(struct ws__drafting *s, size_t i, size_t fact,
                     struct ws__buf *b)
{
    const struct ws__fact_launch *l = &s->d->facts->launch[i];

    for (size_t a = 0; a < l->narg; a++) {
        const char *value = strstr(s->bound[i][a].text, ": ");
        const char *end = value ? strchr(value, '}') : NULL;

        if (l->arg[a] != fact || !end || strstr(value, WS__BLANK))
            continue;
        return ws__buf_add(b, value + 2, (size_t)(end - value - 2)) == 0;
    }
    return false;
}

/* An expression of the facts in the op's names; false: it has others. */
static bool put_expression(struct ws__drafting *s, size_t i, const char *text,
                           struct ws__buf *b)
{
    const struct ws__facts *f = s->d->facts;

    while (*text) {
        size_t n = 0, at = f->nfact;

        while (isalnum((unsigned char)text[n]) || text[n] == '_')
            n++;
        for (size_t k = 0; n && k < f->nfact; k++)
            if (f->fact[k].role == WS__FACT_AXIS &&
                strlen(f->fact[k].name) == n &&
                !memcmp(f->fact[k].name, text, n))
                at = k;
        if (at < f->nfact && !put_axis(s, i, at, b))
            return false;
        if (at == f->nfact)
            ws__buf_add(b, text, n ? n : 1);
        text += n ? n : 1;
    }
    return true;
}

static void put_sizes(struct ws__drafting *s, size_t i, const char *key,
                      const char *const text[3], size_t n, const char *note,
                      const char *open)
{
    struct ws__buf b;
    bool known = s->d->facts != NULL;

    ws__buf_init(&b, s->ctx, 2000);
    for (size_t d = 0; known && d < n; d++) {
        ws__buf_puts(&b, d ? ", \"" : "\"");
        known = put_expression(s, i, text[d], &b);
        ws__buf_puts(&b, "\"");
    }
    if (known && b.data)
        ws__draft_line(s->kernel, note ? note : "by the source's indices",
                       "    %s: [%s]", key, b.data);
    else
        ws__draft_line(s->kernel, open, "    %s: %s", key, WS__BLANK);
    ws__buf_free(&b);
}

static void put_launch(struct ws__drafting *s, size_t i)
{
    const struct ws__sig_entry *e = ws__draft_entry(s, i);
    const struct ws__fact_launch *l =
        s->d->facts ? &s->d->facts->launch[i] : NULL;
    char why[200] = "threads a block, as in [64, 1]";

    put_entry_name(s, e);
    put_sizes(s, i, "grid", l ? l->grid : NULL, l ? l->ngrid : 0,
              l ? l->grid_note : NULL,
              "blocks, as in [\"ceil_div(N, 64)\", M]");
    if (e->block[0]) {
        ws__draft_line(s->kernel, "as the source requires",
                       "    block: [%lld, %lld, "
                       "%lld]",
                       (long long)e->block[0], (long long)e->block[1],
                       (long long)e->block[2]);
    } else if (is_block_known(s, e)) {
        ws__draft_line(s->kernel, "as the source requires",
                       "    block: [%s, %s, %s]", e->block_text[0],
                       e->block_text[1], e->block_text[2]);
    } else {
        if (e->bounds)
            snprintf(why, sizeof(why),
                     "threads a block; the source says "
                     "__launch_bounds__(%.80s)",
                     e->bounds);
        put_sizes(s, i, "block", l ? l->block : NULL, l ? l->nblock : 0,
                  l ? l->block_note : NULL, why);
    }
    ws__buf_puts(s->kernel, e->narg || s->d->sig->dynamic_shared
                                ? "    args:\n"
                                : "    args: []\n");
    for (size_t a = 0; a < e->narg; a++)
        put_arg(s, &e->arg[a], &s->bound[i][a]);
    if (s->d->sig->dynamic_shared)
        ws__draft_line(s->kernel,
                       "bytes of extern __shared__, as in 4 * BM; none: delete "
                       "the line",
                       "      - {shared: %s}", WS__BLANK);
}

void ws__draft_put_kernel(struct ws__drafting *s)
{
    static const char *const dialects[] = {"portable", "opencl", "cuda"};
    struct ws__buf *b = s->kernel;

    ws__buf_puts(b, "# How ");
    ws__draft_comment(b, s->d->source_file);
    ws__buf_printf(b,
                   " is built and launched, read by %s.\n# Drafted by "
                   "'wavesmith init'. Every %s is a blank; "
                   "docs/specification.md has all keys.\n",
                   s->d->read_by, WS__BLANK);
    for (size_t i = 0; i < s->d->sig->nnote; i++) {
        ws__buf_puts(b, "# Not read: ");
        ws__draft_comment(b, s->d->sig->note[i]);
        ws__buf_puts(b, "\n");
    }
    ws__buf_printf(b, "kernel: %s\nop: ", s->d->name);
    put_text(b, s->d->op_ref);
    ws__buf_printf(b, "\ndialect: %s\nsource: ", dialects[s->d->dialect]);
    put_text(b, s->d->source_file);
    ws__buf_puts(b, "\n");
    put_specialize(s);
    put_parameters(s);
    put_constraints(s);
    ws__buf_puts(b, "launches:\n");
    for (size_t i = 0; i < s->d->nentry; i++)
        put_launch(s, i);
}
