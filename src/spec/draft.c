/*
 * draft.c: specifications with marked blanks.
 *
 * Every argument of the chosen functions is bound first: to a tensor or an
 * axis of the op by its name, then by its place among those of its kind (a
 * guess, and it says so). For a new op the arguments make the op: pointers
 * become tensors, whole numbers axes, other numbers scalars. Then both files
 * are written, one line a fact, with a comment where a person has to look.
 *
 * Texts of the source reach comments only, and names only if they are names.
 */
#include "spec/draft.h"

#include <ctype.h>

#include "core/decimal.h"
#include "spec/node.h"

#include "base/banned.h"

#define COMMENT_COLUMN 44
#define BLANK "???"
#define MAX_OF_OP 40

/* A tensor or an axis of a new op. */
struct made {
    char name[64];
    const struct ws__sig_arg *arg; /* that it was made from */
    bool axis, output;
};

struct bound {
    char text[96]; /* as in a list of args */
    const char *guess;
};

struct draft {
    struct ws_ctx *ctx;
    const struct ws__draft *d;
    struct ws__buf *kernel, *op;
    struct bound bound[WS__MAX_LAUNCHES][WS__SIG_MAX_ARGS];
    struct made made[MAX_OF_OP];
    size_t nmade;
    const char *type_axis; /* of a new op, in the source; NULL: none */
    char type_name[64];    /* and in the op */
    bool types_known;      /* they are those of the dialect header */
    uint32_t taken;        /* tensors of the op that an argument has */
};

static const struct ws__sig_entry *entry_of(const struct draft *s, size_t i)
{
    return &s->d->sig->entry[s->d->entry[i]];
}

/* --- lines -------------------------------------------------------------- */

/* Comments are ASCII: what a source says may be anything. */
static void put_comment(struct ws__buf *b, const char *text)
{
    for (; *text; text++) {
        char c = *text >= 0x20 && *text < 0x7f ? *text : '?';

        ws__buf_add(b, &c, 1);
    }
}

static void line(struct ws__buf *b, const char *comment, const char *fmt, ...)
    WS_PRINTF(3, 4);

static void line(struct ws__buf *b, const char *comment, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (comment)
        ws__buf_printf(b, "%-*s # ", COMMENT_COLUMN, text);
    else
        ws__buf_puts(b, text);
    if (comment)
        put_comment(b, comment);
    ws__buf_puts(b, "\n");
}

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

/* --- names -------------------------------------------------------------- */

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    return !*a && !*b;
}

static bool is_tparam(const struct draft *s, const char *name)
{
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t p = 0; p < entry_of(s, i)->ntparam; p++)
            if (!strcmp(entry_of(s, i)->tparam[p], name))
                return true;
    return false;
}

static bool is_free(struct draft *s, const char *name)
{
    struct ws__loc nowhere = {0};
    bool ok = ws__node_variable(s->ctx, name, &nowhere, "", true) == 0;

    ws__error_clear(s->ctx);
    for (size_t i = 0; ok && i < s->nmade; i++)
        ok = strcmp(s->made[i].name, name) != 0;
    for (size_t i = 0; ok && i < s->d->sig->nmacro; i++)
        ok = strcmp(s->d->sig->macro[i].name, name) != 0;
    return ok && strcmp(s->type_name, name) != 0 && !is_tparam(s, name);
}

/* A name for a part of the op: the argument's own if it can be one. */
static void make_name(struct draft *s, const char *own, size_t place,
                      char out[64])
{
    snprintf(out, 64, "%.55s", own ? own : "");
    for (const char *p = out; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            *out = '\0';
    if (*out && !is_free(s, out))
        strncat(out, "_", 2);
    for (size_t n = place; !*out || !is_free(s, out); n++)
        snprintf(out, 64, "arg%zu", n);
}

/* --- binding to a given op ---------------------------------------------- */

static bool is_whole(const struct ws__sig_arg *a)
{
    return a->kind == WS__SIG_SCALAR && a->dtype && a->width == 1 &&
           !ws__dtype_is_float(a->dtype) && a->dtype != WS__DT_BOOL;
}

static int find_tensor(const struct ws__op *op, const struct ws__sig_arg *a)
{
    bool pointer = a->kind == WS__SIG_POINTER;
    int found = a->name ? ws__op_tensor(op, a->name) : -1;

    for (size_t i = 0; a->name && found < 0 && i < op->ntensor; i++)
        if (same_word(op->tensor[i].name, a->name))
            found = (int)i;
    return found >= 0 && (op->tensor[found].ndim > 0) == pointer ? found : -1;
}

static int find_axis(const struct ws__op *op, const struct ws__sig_arg *a)
{
    int found = a->name ? ws__op_axis(op, a->name) : -1;

    for (size_t i = 0; a->name && found < 0 && i < op->naxis; i++)
        if (same_word(op->axis[i].name, a->name))
            found = (int)i;
    return found >= 0 && op->axis[found].kind != WS__AXIS_TYPE ? found : -1;
}

/* The next tensor that nobody has, of the argument's direction. */
static int next_tensor(const struct draft *s, const struct ws__sig_arg *a)
{
    const struct ws__op *op = s->d->op;

    for (size_t i = 0; i < op->ntensor; i++)
        if (op->tensor[i].ndim && !(s->taken >> i & 1) &&
            (op->tensor[i].role == WS__INPUT) == a->constant)
            return (int)i;
    return -1;
}

static void bind_value(const struct ws__sig_arg *a, const char *value,
                       struct bound *b)
{
    if (a->kind == WS__SIG_SHARED)
        snprintf(b->text, sizeof(b->text), "{shared: %s}", BLANK);
    else if (a->kind == WS__SIG_SCALAR && a->dtype && a->width == 1)
        snprintf(b->text, sizeof(b->text), "{%s: %s}", ws__dtype_name(a->dtype),
                 value);
    else
        snprintf(b->text, sizeof(b->text), "%s", BLANK);
}

static void bind_by_name(struct draft *s, const struct ws__sig_arg *a,
                         struct bound *b)
{
    const struct ws__op *op = s->d->op;
    int t = find_tensor(op, a), x = is_whole(a) ? find_axis(op, a) : -1;

    b->text[0] = '\0';
    if (t >= 0 && a->kind != WS__SIG_SHARED) {
        s->taken |= 1u << t;
        snprintf(b->text, sizeof(b->text), "%s", op->tensor[t].name);
    } else if (x >= 0) {
        bind_value(a, op->axis[x].name, b);
    } else if (a->kind != WS__SIG_POINTER) {
        bind_value(a, BLANK, b);
    }
}

static void bind_to_op(struct draft *s)
{
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < entry_of(s, i)->narg; a++)
            bind_by_name(s, &entry_of(s, i)->arg[a], &s->bound[i][a]);
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < entry_of(s, i)->narg; a++) {
            struct bound *b = &s->bound[i][a];
            int t = *b->text ? -1 : next_tensor(s, &entry_of(s, i)->arg[a]);

            if (t >= 0) {
                s->taken |= 1u << t;
                b->guess = "a guess, by its place: ";
                snprintf(b->text, sizeof(b->text), "%s",
                         s->d->op->tensor[t].name);
            } else if (!*b->text) {
                b->guess = "a tensor or a scratch buffer: ";
                snprintf(b->text, sizeof(b->text), "%s", BLANK);
            }
        }
}

/* --- a new op ----------------------------------------------------------- */

static struct made *find_made(struct draft *s, const struct ws__sig_arg *a)
{
    for (size_t i = 0; a->name && i < s->nmade; i++)
        if (s->made[i].arg->name && !strcmp(s->made[i].arg->name, a->name) &&
            s->made[i].arg->kind == a->kind)
            return &s->made[i];
    return NULL;
}

static void find_type_axis(struct draft *s, const struct ws__sig_arg *a)
{
    struct ws__loc nowhere = {0};

    if (s->type_axis)
        return;
    if (a->tparam)
        s->type_axis = a->tparam;
    s->types_known = strstr(a->type, "ws_T") != NULL;
    if (s->types_known)
        s->type_axis = "T";
    snprintf(s->type_name, sizeof(s->type_name), "%.63s",
             s->type_axis ? s->type_axis : "");
    if (s->type_axis &&
        ws__node_variable(s->ctx, s->type_name, &nowhere, "", true) < 0)
        snprintf(s->type_name, sizeof(s->type_name), "T");
    ws__error_clear(s->ctx);
}

static void bind_new(struct draft *s, const struct ws__sig_arg *a, size_t place,
                     struct bound *b)
{
    struct made *m = find_made(s, a);
    bool tensor = a->kind == WS__SIG_POINTER ||
                  (a->kind == WS__SIG_SCALAR && !is_whole(a) && a->width == 1 &&
                   a->dtype != WS__DT_BOOL);

    if (!tensor && !is_whole(a)) {
        bind_value(a, BLANK, b);
        return;
    }
    if (!m && s->nmade == MAX_OF_OP) {
        snprintf(b->text, sizeof(b->text), "%s", BLANK);
        return;
    }
    if (!m) {
        m = &s->made[s->nmade];
        make_name(s, a->name, place, m->name);
        m->arg = a;
        m->axis = !tensor;
        s->nmade++;
    }
    m->output = m->output || (a->kind == WS__SIG_POINTER && !a->constant);
    if (tensor)
        snprintf(b->text, sizeof(b->text), "%s", m->name);
    else
        bind_value(a, m->name, b);
}

static void bind_to_new(struct draft *s)
{
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < entry_of(s, i)->narg; a++)
            find_type_axis(s, &entry_of(s, i)->arg[a]);
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < entry_of(s, i)->narg; a++)
            bind_new(s, &entry_of(s, i)->arg[a], a, &s->bound[i][a]);
}

/* The element type of a tensor as the op file says it. */
static const char *dtype_text(const struct draft *s,
                              const struct ws__sig_arg *a)
{
    if (a->dtype)
        return ws__dtype_name(a->dtype);
    if (s->type_axis && (a->tparam ? !strcmp(a->tparam, s->type_axis)
                                   : strstr(a->type, "ws_T") != NULL))
        return s->type_name;
    return BLANK;
}

static void put_axes(struct draft *s)
{
    size_t n = 0;

    ws__buf_puts(s->op, "axes:\n");
    for (size_t i = 0; i < s->nmade; i++) {
        char why[160];

        if (!s->made[i].axis)
            continue;
        snprintf(why, sizeof(why),
                 "'%.60s': a size, or else an input {dtype: %s}",
                 s->made[i].arg->type, ws__dtype_name(s->made[i].arg->dtype));
        line(s->op, why, "  %s: var", s->made[i].name);
        n++;
    }
    if (!n)
        line(s->op, "a size that workloads choose, by name", "  %s: var",
             BLANK);
    if (s->types_known)
        line(s->op, "element types that the source can have",
             "  %s: {types: [float32, float16, bfloat16]}", s->type_name);
    else if (s->type_axis)
        line(s->op, "element types, as in [float32, float16]",
             "  %s: {types: %s}", s->type_name, BLANK);
}

static void put_tensor(struct draft *s, const struct made *m)
{
    const struct ws__sig_arg *a = m->arg;
    bool open = a->trouble && !strcmp(dtype_text(s, a), BLANK);
    char why[400];

    snprintf(why, sizeof(why), "'%.80s'%s%.120s%s%s%s%s", a->type,
             open ? "; " : "", open ? a->trouble : "",
             a->kind == WS__SIG_SCALAR ? ": a scalar, passed by value" : "",
             a->width > 1 ? "; count single elements" : "",
             a->is_unsigned ? "; unsigned: keep values below the sign bit" : "",
             m->output ? "; if it is read too, move it to 'inouts'" : "");
    if (a->kind == WS__SIG_SCALAR)
        line(s->op, why, "  %s: {dtype: %s}", m->name, dtype_text(s, a));
    else
        line(s->op, why, "  %s: {shape: %s, dtype: %s}", m->name, BLANK,
             dtype_text(s, a));
}

static void put_tensors(struct draft *s, bool output)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nmade; i++)
        if (!s->made[i].axis && s->made[i].output == output) {
            if (!n++)
                ws__buf_puts(s->op, output ? "outputs:\n" : "inputs:\n");
            put_tensor(s, &s->made[i]);
        }
    if (output && !n)
        line(s->op, "nothing that the source writes was found: name it",
             "outputs: %s", BLANK);
}

static void put_workloads(struct draft *s)
{
    const char *comma = "";

    ws__buf_puts(s->op, "workloads: # sizes that matter to you, one a line\n"
                        "  - {");
    for (size_t i = 0; i < s->nmade; i++)
        if (s->made[i].axis) {
            ws__buf_printf(s->op, "%s%s: %s", comma, s->made[i].name, BLANK);
            comma = ", ";
        }
    if (!*comma)
        ws__buf_printf(s->op, "%s: %s", BLANK, BLANK);
    ws__buf_puts(s->op, "}\n");
}

static void put_op(struct draft *s)
{
    ws__buf_printf(s->op,
                   "# The op that '%s' computes: what it takes and gives, and "
                   "what is right.\n"
                   "# Drafted by 'wavesmith init'. Every %s is a blank; "
                   "docs/specification.md has all keys.\n",
                   s->d->name, BLANK);
    ws__buf_printf(s->op, "op: %s\n", s->d->name);
    put_axes(s);
    put_tensors(s, false);
    put_tensors(s, true);
    line(s->op,
         "native, or {kernel: FILE}, a plain kernel that is surely right",
         "reference: %s", BLANK);
    line(s->op, "terms of the longest sum, as in K; 1 without sums",
         "tolerance: {reduction: %s, accumulate: float32}", BLANK);
    put_workloads(s);
}

/* --- the kernel file ---------------------------------------------------- */

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

static void put_macro(struct draft *s, const struct ws__sig_macro *m)
{
    char why[240];

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
        line(s->kernel, why, "  %s: {values: [%s, %s]}", m->name, m->value,
             BLANK);
    else
        line(s->kernel, why, "  %s: {values: %s}", m->name, BLANK);
}

/* A name for a template's parameter: its place is what counts. */
static const char *tparam_name(struct draft *s, const struct ws__sig_entry *e,
                               size_t i, char out[64])
{
    struct ws__loc nowhere = {0};

    snprintf(out, 64, "%.63s", e->tparam[i]);
    if (ws__node_variable(s->ctx, out, &nowhere, "", true) < 0)
        snprintf(out, 64, "P%zu", i + 1);
    ws__error_clear(s->ctx);
    return out;
}

/* Is the template's parameter an axis of the op? */
static bool is_op_type(const struct draft *s, const char *tparam)
{
    int x;

    if (!s->d->op)
        return s->type_axis && !strcmp(s->type_axis, tparam);
    x = ws__op_axis(s->d->op, tparam);
    return x >= 0 && s->d->op->axis[x].kind == WS__AXIS_TYPE;
}

static bool told_before(const struct draft *s, size_t entry, size_t i)
{
    const struct ws__sig_entry *e = entry_of(s, entry);

    for (size_t k = 0; k < entry; k++)
        for (size_t p = 0; p < entry_of(s, k)->ntparam; p++)
            if (!strcmp(entry_of(s, k)->tparam[p], e->tparam[i]))
                return true;
    return false;
}

static void put_parameters(struct draft *s)
{
    struct ws__buf *b = s->kernel;
    size_t at = b->len;
    char name[64];

    ws__buf_puts(b, "parameters: # the first value is the default\n");
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t p = 0; p < entry_of(s, i)->ntparam; p++)
            if (!is_op_type(s, entry_of(s, i)->tparam[p]) &&
                !told_before(s, i, p))
                line(b,
                     entry_of(s, i)->tparam_type[p]
                         ? "types to try, as in [float, half]"
                         : "values to try, as in [16, 32]",
                     "  %s: {values: %s}",
                     tparam_name(s, entry_of(s, i), p, name), BLANK);
    for (size_t i = 0; i < s->d->sig->nmacro; i++) {
        const char *macro = s->d->sig->macro[i].name;

        /* An op's axes and constants are defined without us. */
        if (!is_tparam(s, macro) &&
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
static void put_specialize(struct draft *s)
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
static void put_constraints(struct draft *s)
{
    const struct ws__op *op = s->d->op;
    uint32_t told = 0;

    for (size_t i = 0; op && i < s->d->nentry; i++)
        for (size_t a = 0; a < entry_of(s, i)->narg; a++) {
            const struct ws__sig_arg *arg = &entry_of(s, i)->arg[a];
            int t = find_tensor(op, arg);
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

static void put_entry_name(struct draft *s, const struct ws__sig_entry *e)
{
    struct ws__loc nowhere = {0};
    char name[64];

    if (ws__node_identifier(s->ctx, e->name, &nowhere, "") < 0) {
        ws__error_clear(s->ctx);
        line(s->kernel, e->name, "  - entry: %s", BLANK);
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

static void put_arg(struct draft *s, const struct ws__sig_arg *a,
                    const struct bound *b)
{
    char why[400];

    snprintf(why, sizeof(why), "%s%.120s%s%.120s", b->guess ? b->guess : "",
             a->type, a->trouble && strstr(b->text, BLANK) ? "; " : "",
             a->trouble && strstr(b->text, BLANK) ? a->trouble : "");
    line(s->kernel, why, "      - %s", b->text);
}

static void put_launch(struct draft *s, size_t i)
{
    const struct ws__sig_entry *e = entry_of(s, i);
    char why[200] = "threads a block, as in [64, 1]";

    put_entry_name(s, e);
    line(s->kernel, "blocks, as in [\"ceil_div(N, 64)\", M]", "    grid: %s",
         BLANK);
    if (e->block[0]) {
        line(s->kernel, "as the source requires",
             "    block: [%lld, %lld, "
             "%lld]",
             (long long)e->block[0], (long long)e->block[1],
             (long long)e->block[2]);
    } else {
        if (e->bounds)
            snprintf(why, sizeof(why),
                     "threads a block; the source says "
                     "__launch_bounds__(%.80s)",
                     e->bounds);
        line(s->kernel, why, "    block: %s", BLANK);
    }
    ws__buf_puts(s->kernel, e->narg ? "    args:\n" : "    args: []\n");
    for (size_t a = 0; a < e->narg; a++)
        put_arg(s, &e->arg[a], &s->bound[i][a]);
}

static void put_kernel(struct draft *s)
{
    static const char *const dialects[] = {"portable", "opencl", "cuda"};
    struct ws__buf *b = s->kernel;

    ws__buf_puts(b, "# How ");
    put_comment(b, s->d->source_file);
    ws__buf_printf(b,
                   " is built and launched, read by %s.\n# Drafted by "
                   "'wavesmith init'. Every %s is a blank; "
                   "docs/specification.md has all keys.\n",
                   s->d->read_by, BLANK);
    for (size_t i = 0; i < s->d->sig->nnote; i++) {
        ws__buf_puts(b, "# Not read: ");
        put_comment(b, s->d->sig->note[i]);
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

int ws__draft_write(struct ws_ctx *ctx, const struct ws__draft *d,
                    struct ws__buf *kernel_text, struct ws__buf *op_text)
{
    struct draft *s = ws__alloc(ctx, 1, sizeof(*s));
    int rc;

    if (!s)
        return WS_ENOMEM;
    s->ctx = ctx;
    s->d = d;
    s->kernel = kernel_text;
    s->op = op_text;
    if (d->op) {
        bind_to_op(s);
    } else {
        bind_to_new(s);
        put_op(s);
    }
    put_kernel(s);
    rc = kernel_text->failed ? kernel_text->failed : op_text->failed;
    ws__free(ctx, s);
    return rc;
}
