/*
 * draft_op.c: the op file of a draft: axes, tensors, and blanks for what a
 * kernel cannot say: shapes, the reference, the sizes that matter.
 */
#include "spec/draft_int.h"

#include "base/banned.h"

/* The element type of a tensor as the op file says it. */
static const char *dtype_text(const struct ws__drafting *s,
                              const struct ws__sig_arg *a)
{
    if (a->dtype)
        return ws__dtype_name(a->dtype);
    if (s->type_axis && (a->tparam ? !strcmp(a->tparam, s->type_axis)
                                   : strstr(a->type, "ws_T") != NULL))
        return s->type_name;
    return WS__BLANK;
}

static void put_axes(struct ws__drafting *s)
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
        ws__draft_line(s->op, why, "  %s: var", s->made[i].name);
        n++;
    }
    if (!n)
        ws__draft_line(s->op, "a size that workloads choose, by name",
                       "  %s: var", WS__BLANK);
    if (s->types_known)
        ws__draft_line(s->op, "element types that the source can have",
                       "  %s: {types: [float32, float16, bfloat16]}",
                       s->type_name);
    else if (s->type_axis)
        ws__draft_line(s->op, "element types, as in [float32, float16]",
                       "  %s: {types: %s}", s->type_name, WS__BLANK);
}

static void put_tensor(struct ws__drafting *s, const struct ws__made *m)
{
    const struct ws__sig_arg *a = m->arg;
    bool open = a->trouble && !strcmp(dtype_text(s, a), WS__BLANK);
    char why[400];

    snprintf(why, sizeof(why), "'%.80s'%s%.120s%s%s%s%s", a->type,
             open ? "; " : "", open ? a->trouble : "",
             a->kind == WS__SIG_SCALAR ? ": a scalar, passed by value" : "",
             a->width > 1 ? "; count single elements" : "",
             a->is_unsigned ? "; unsigned: keep values below the sign bit" : "",
             m->output ? "; if it is read too, move it to 'inouts'" : "");
    if (a->kind == WS__SIG_SCALAR)
        ws__draft_line(s->op, why, "  %s: {dtype: %s}", m->name,
                       dtype_text(s, a));
    else
        ws__draft_line(s->op, why, "  %s: {shape: %s, dtype: %s}", m->name,
                       WS__BLANK, dtype_text(s, a));
}

static void put_tensors(struct ws__drafting *s, bool output)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nmade; i++)
        if (!s->made[i].axis && s->made[i].output == output) {
            if (!n++)
                ws__buf_puts(s->op, output ? "outputs:\n" : "inputs:\n");
            put_tensor(s, &s->made[i]);
        }
    if (output && !n)
        ws__draft_line(s->op,
                       "nothing that the source writes was found: name it",
                       "outputs: %s", WS__BLANK);
}

static void put_workloads(struct ws__drafting *s)
{
    const char *comma = "";

    ws__buf_puts(s->op, "workloads: # sizes that matter to you, one a line\n"
                        "  - {");
    for (size_t i = 0; i < s->nmade; i++)
        if (s->made[i].axis) {
            ws__buf_printf(s->op, "%s%s: %s", comma, s->made[i].name,
                           WS__BLANK);
            comma = ", ";
        }
    if (!*comma)
        ws__buf_printf(s->op, "%s: %s", WS__BLANK, WS__BLANK);
    ws__buf_puts(s->op, "}\n");
}

void ws__draft_put_op(struct ws__drafting *s)
{
    ws__buf_printf(s->op,
                   "# The op that '%s' computes: what it takes and gives, and "
                   "what is right.\n"
                   "# Drafted by 'wavesmith init'. Every %s is a blank; "
                   "docs/specification.md has all keys.\n",
                   s->d->name, WS__BLANK);
    ws__buf_printf(s->op, "op: %s\n", s->d->name);
    put_axes(s);
    put_tensors(s, false);
    put_tensors(s, true);
    ws__draft_line(
        s->op,
        "{python: FILE, function: NAME}, or {kernel: FILE}, a plain kernel "
        "that is surely right",
        "reference: %s", WS__BLANK);
    ws__draft_line(s->op, "terms of the longest sum, as in K; 1 without sums",
                   "tolerance: {reduction: %s, accumulate: float32}",
                   WS__BLANK);
    put_workloads(s);
}
