/*
 * plan_ask.c: asks a driver what a source has in it.
 *
 * A tunable source does not compile by itself: the names that it is tuned by
 * are nobody's yet. They get a small number for the time of the question; what
 * the compiler still misses becomes a name more. Values of types, sizes and
 * conditions that depend on such a number are no facts, so the driver adds
 * what the reader of signatures did not understand and never overrules what it
 * read. If nothing compiles, the reader's words stand, and a note says why.
 */
#include "plan/plan_init.h"

#include <ctype.h>

#include "base/banned.h"

#define MAX_ROUNDS 16
#define DESCRIBE_LIMIT_NS 60000000000u

struct ask {
    struct ws_ctx *ctx;
    struct ws__init *in;
    struct ws__device dev;
    const char *placeholder;
};

static void put_type(struct ws__buf *b, const char *axis, enum ws__dtype t)
{
    ws__buf_printf(b, "#define %s_IS_", axis);
    for (const char *s = ws__dtype_name(t); *s; s++) {
        char c = (char)toupper((unsigned char)*s);

        ws__buf_add(b, &c, 1);
    }
    ws__buf_puts(b, " 1\n");
}

static void put_axes(struct ws__buf *b, const struct ws__op *op)
{
    if (!op)
        put_type(b, "T", WS__DT_F32);
    for (size_t i = 0; op && i < op->naxis; i++) {
        const struct ws__axis *a = &op->axis[i];

        if (a->kind == WS__AXIS_TYPE)
            put_type(b, a->name, (enum ws__dtype)a->value);
        else if (a->kind == WS__AXIS_CONST)
            ws__buf_printf(b, "#define %s %lld\n", a->name,
                           (long long)a->value);
    }
    for (size_t i = 0; op && i < op->nconstant; i++) {
        ws__buf_printf(b, "#define %s ", op->constant[i].name);
        ws__value_define(b, &op->constant[i].value);
        ws__buf_puts(b, "\n");
    }
}

/* Does the op give this name a value by itself? */
static bool is_given(const struct ws__op *op, const char *name)
{
    int x = op ? ws__op_axis(op, name) : -1;

    if (x >= 0)
        return op->axis[x].kind != WS__AXIS_VAR;
    return op && ws__op_name_taken(op, name);
}

static int make_text(const struct ask *a, struct ws__buf *b)
{
    const struct ws__signature *sig = &a->in->sig;

    put_axes(b, a->in->op);
    for (size_t i = 0; i < sig->nmacro; i++) {
        const struct ws__sig_macro *m = &sig->macro[i];

        if (!m->value && !m->by_ifdef && !is_given(a->in->op, m->name))
            ws__buf_printf(b, "#define %s %s\n", m->name, a->placeholder);
    }
    ws__buf_puts(b, "#line 1\n");
    return ws__buf_puts(b, a->in->source.text);
}

/* "... undeclared identifier 'COLS'": a name more. */
static bool missing_name(const char *words, char *out, size_t n)
{
    static const char *const signs[] = {"undeclared identifier '",
                                        "unknown type name '"};

    for (size_t i = 0; i < WS_COUNT(signs); i++) {
        const char *p = strstr(words, signs[i]);
        size_t len;

        if (!p)
            continue;
        p += strlen(signs[i]);
        len = strcspn(p, "'");
        if (len && len < n && p[len] == '\'') {
            snprintf(out, n, "%.*s", (int)len, p);
            return true;
        }
    }
    return false;
}

/* 1: another name is known now; 0: nothing new. */
static int learn(struct ask *a)
{
    struct ws__signature *sig = &a->in->sig;
    char name[64];
    struct ws__sig_macro *m = &sig->macro[sig->nmacro];

    if (!missing_name(a->ctx->err.message, name, sizeof(name)) ||
        sig->nmacro == WS__SIG_MAX_MACROS)
        return 0;
    for (size_t i = 0; i < sig->nmacro; i++)
        if (!strcmp(sig->macro[i].name, name)) {
            bool more = sig->macro[i].by_ifdef;

            sig->macro[i].by_ifdef = false;
            return more;
        }
    memset(m, 0, sizeof(*m));
    m->name = ws__arena_strdup(&a->in->arena, name);
    if (!m->name)
        return WS_ENOMEM;
    sig->nmacro++;
    return 1;
}

static int describe(struct ask *a, struct ws__entry_info **list, size_t *n)
{
    struct ws__build b = {.dialect = a->in->source.dialect};
    struct ws__buf text;
    int rc;

    ws__buf_init(&text, a->ctx, (size_t)16 << 20);
    rc = make_text(a, &text);
    b.source = text.data;
    if (rc == 0 && a->dev.ops->set_limit)
        a->dev.ops->set_limit(a->dev.self, DESCRIBE_LIMIT_NS);
    if (rc == 0)
        rc = a->dev.ops->describe(a->dev.self, &b, list, n);
    ws__buf_free(&text);
    return rc;
}

/* Numbers that a source may need: a tile, one, a vector. */
static int describe_somehow(struct ask *a, struct ws__entry_info **list,
                            size_t *n)
{
    static const char *const values[] = {"16", "1", "4", "64"};
    size_t at = 0;
    int rc = WS_EBUILD;

    for (int i = 0; i < MAX_ROUNDS && at < WS_COUNT(values); i++) {
        int more;

        a->placeholder = values[at];
        rc = describe(a, list, n);
        if (rc != WS_EBUILD)
            return rc;
        more = learn(a);
        WS_TRY(more);
        at += !more;
    }
    return rc;
}

/* --- what the driver adds ----------------------------------------------- */

static struct ws__sig_entry *find(struct ws__signature *sig, const char *name)
{
    for (size_t i = 0; i < sig->nentry; i++)
        if (!strcmp(sig->entry[i].name, name))
            return &sig->entry[i];
    return NULL;
}

/* Does a type as written use a name that got a number or a word from us? */
static bool uses_macro(const struct ws__signature *sig, const char *type)
{
    for (size_t i = 0; i < sig->nmacro; i++)
        if (strstr(type, sig->macro[i].name))
            return true;
    return false;
}

static int take_arg(struct ws__init *in, const struct ws__arg_info *from,
                    struct ws__sig_arg *to)
{
    struct ws__sig_arg a;
    const char *name = to->name;

    WS_TRY(ws__sig_read_type(in->ctx, &in->arena, from->type, &a));
    if (!name && from->name[0])
        name = ws__arena_strdup(&in->arena, from->name);
    if (!name && from->name[0])
        return WS_ENOMEM;
    if (!to->type || (to->trouble && !strstr(to->type, "ws_T") &&
                      !uses_macro(&in->sig, to->type))) {
        const char *type = to->type;

        *to = a;
        to->type = type ? type : a.type;
        if (from->space == WS__SPACE_OTHER)
            to->kind = WS__SIG_UNREAD;
        else if (from->space == WS__SPACE_LOCAL)
            to->kind = WS__SIG_SHARED;
        to->constant = from->constant || from->space == WS__SPACE_CONSTANT;
    }
    to->name = name;
    return 0;
}

static int take_entry(struct ws__init *in, const struct ws__entry_info *from)
{
    struct ws__sig_entry *e = find(&in->sig, from->name);
    bool known = e && e->narg == from->narg;

    if (!e && in->sig.nentry == WS__SIG_MAX_ENTRIES)
        return 0;
    if (!e) {
        e = &in->sig.entry[in->sig.nentry++];
        memset(e, 0, sizeof(*e));
        e->name = ws__arena_strdup(&in->arena, from->name);
        if (!e->name)
            return WS_ENOMEM;
    }
    if (!known) {
        memset(e->arg, 0, sizeof(e->arg));
        e->narg = from->narg;
    }
    e->defined = true;
    for (size_t i = 0; i < e->narg; i++)
        WS_TRY(take_arg(in, &from->arg[i], &e->arg[i]));
    for (int i = 0; i < 3 && !in->sig.nmacro; i++)
        e->block[i] = (int64_t)from->block[i];
    return 0;
}

static int take_all(struct ws__init *in, const struct ws__entry_info *list,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        WS_TRY(take_entry(in, &list[i]));
    /* Made by a macro, and found after all. */
    if (n && in->sig.nnote && strstr(in->sig.note[0], "a macro makes"))
        in->sig.nnote--;
    return 0;
}

static int give_up(struct ws__init *in, const char *what)
{
    const struct ws_error *e = &in->ctx->err;
    const char *text =
        ws__arena_printf(&in->arena, "%s by the driver: %.*s", what,
                         (int)strcspn(e->message, "\n"), e->message);

    ws__error_clear(in->ctx);
    if (!text)
        return WS_ENOMEM;
    if (in->sig.nnote < WS_COUNT(in->sig.note))
        in->sig.note[in->sig.nnote++] = text;
    return 0;
}

int ws__init_ask(struct ws__init *in, const char *device)
{
    struct ask a = {.ctx = in->ctx, .in = in};
    struct ws__entry_info *list = NULL;
    size_t n = 0, before = in->sig.nmacro;
    int rc = ws__device_open(in->ctx, device ? device : "opencl", &a.dev);

    if (rc < 0 && (device || rc == WS_ENOMEM || rc == WS_ECANCEL))
        return rc;
    if (rc < 0)
        return give_up(in, "the source");
    rc = a.dev.ops->describe ? describe_somehow(&a, &list, &n)
                             : ws__fail(in->ctx, WS_ENOTSUP,
                                        "this device cannot describe sources");
    if (rc == 0) {
        in->read_by = ws__arena_printf(&in->arena, "the driver of '%.100s'",
                                       a.dev.ops->info(a.dev.self)->id.device);
        rc = in->read_by ? take_all(in, list, n) : WS_ENOMEM;
    } else if (rc != WS_ENOMEM && rc != WS_ECANCEL) {
        in->sig.nmacro = before;
        rc = give_up(in, "the source");
    }
    ws__free(in->ctx, list);
    ws__device_close(&a.dev);
    return rc;
}
