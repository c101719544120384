/*
 * draft_bind.c: what each argument of the chosen functions stands for.
 *
 * With a given op: the tensor or axis of its name, letters of either case;
 * then, for pointers, the next tensor of its direction that nobody has, which
 * is a guess. For a new op each argument makes a part of it; one name is one
 * part, in however many functions it stands.
 */
#include <ctype.h>

#include "spec/draft_int.h"
#include "spec/node.h"

#include "base/banned.h"

/* --- names -------------------------------------------------------------- */

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    return !*a && !*b;
}

static bool is_free(struct ws__drafting *s, const char *name)
{
    struct ws__loc nowhere = {0};
    bool ok = ws__node_variable(s->ctx, name, &nowhere, "", true) == 0;

    ws__error_clear(s->ctx);
    for (size_t i = 0; ok && i < s->nmade; i++)
        ok = strcmp(s->made[i].name, name) != 0;
    for (size_t i = 0; ok && i < s->d->sig->nmacro; i++)
        ok = strcmp(s->d->sig->macro[i].name, name) != 0;
    return ok && strcmp(s->type_name, name) != 0 &&
           !ws__draft_is_tparam(s, name);
}

/* A name for a part of the op: the argument's own if it can be one. */
static void make_name(struct ws__drafting *s, const char *own, size_t place,
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

int ws__draft_tensor(const struct ws__op *op, const struct ws__sig_arg *a)
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
static int next_tensor(const struct ws__drafting *s,
                       const struct ws__sig_arg *a)
{
    const struct ws__op *op = s->d->op;

    for (size_t i = 0; i < op->ntensor; i++)
        if (op->tensor[i].ndim && !(s->taken >> i & 1) &&
            (op->tensor[i].role == WS__INPUT) == a->constant)
            return (int)i;
    return -1;
}

static void bind_value(const struct ws__sig_arg *a, const char *value,
                       struct ws__bound *b)
{
    if (a->kind == WS__SIG_SHARED)
        snprintf(b->text, sizeof(b->text), "{shared: %s}", WS__BLANK);
    else if (a->kind == WS__SIG_SCALAR && a->dtype && a->width == 1)
        snprintf(b->text, sizeof(b->text), "{%s: %s}", ws__dtype_name(a->dtype),
                 value);
    else
        snprintf(b->text, sizeof(b->text), "%s", WS__BLANK);
}

static void bind_by_name(struct ws__drafting *s, const struct ws__sig_arg *a,
                         struct ws__bound *b)
{
    const struct ws__op *op = s->d->op;
    int t = ws__draft_tensor(op, a), x = is_whole(a) ? find_axis(op, a) : -1;

    b->text[0] = '\0';
    if (t >= 0 && a->kind != WS__SIG_SHARED) {
        s->taken |= 1u << t;
        snprintf(b->text, sizeof(b->text), "%s", op->tensor[t].name);
    } else if (x >= 0) {
        bind_value(a, op->axis[x].name, b);
    } else if (a->kind != WS__SIG_POINTER) {
        bind_value(a, WS__BLANK, b);
    }
}

static void bind_to_op(struct ws__drafting *s)
{
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < ws__draft_entry(s, i)->narg; a++)
            bind_by_name(s, &ws__draft_entry(s, i)->arg[a], &s->bound[i][a]);
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < ws__draft_entry(s, i)->narg; a++) {
            struct ws__bound *b = &s->bound[i][a];
            int t =
                *b->text ? -1 : next_tensor(s, &ws__draft_entry(s, i)->arg[a]);

            if (t >= 0) {
                s->taken |= 1u << t;
                b->guess = "a guess, by its place: ";
                snprintf(b->text, sizeof(b->text), "%s",
                         s->d->op->tensor[t].name);
            } else if (!*b->text) {
                b->guess = "a tensor or a scratch buffer: ";
                snprintf(b->text, sizeof(b->text), "%s", WS__BLANK);
            }
        }
}

/* --- a new op ----------------------------------------------------------- */

static struct ws__made *find_made(struct ws__drafting *s,
                                  const struct ws__sig_arg *a)
{
    for (size_t i = 0; a->name && i < s->nmade; i++)
        if (s->made[i].arg->name && !strcmp(s->made[i].arg->name, a->name) &&
            s->made[i].arg->kind == a->kind)
            return &s->made[i];
    return NULL;
}

static void find_type_axis(struct ws__drafting *s, const struct ws__sig_arg *a)
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

static void bind_new(struct ws__drafting *s, const struct ws__sig_arg *a,
                     size_t place, struct ws__bound *b)
{
    struct ws__made *m = find_made(s, a);
    bool tensor = a->kind == WS__SIG_POINTER ||
                  (a->kind == WS__SIG_SCALAR && !is_whole(a) && a->width == 1 &&
                   a->dtype != WS__DT_BOOL);

    if (!tensor && !is_whole(a)) {
        bind_value(a, WS__BLANK, b);
        return;
    }
    if (!m && s->nmade == WS__DRAFT_MAX_MADE) {
        snprintf(b->text, sizeof(b->text), "%s", WS__BLANK);
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

static void bind_to_new(struct ws__drafting *s)
{
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < ws__draft_entry(s, i)->narg; a++)
            find_type_axis(s, &ws__draft_entry(s, i)->arg[a]);
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t a = 0; a < ws__draft_entry(s, i)->narg; a++)
            bind_new(s, &ws__draft_entry(s, i)->arg[a], a, &s->bound[i][a]);
}

void ws__draft_bind(struct ws__drafting *s)
{
    if (s->d->op)
        bind_to_op(s);
    else
        bind_to_new(s);
}
