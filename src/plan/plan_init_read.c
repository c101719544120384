/*
 * plan_init_read.c: a source by libclang, for a draft that runs as it is.
 *
 * A tunable source has names that nobody defines. clang names them one by one;
 * each gets a number and the text is parsed again.
 */
#include "base/fs.h"
#include "plan/plan_init.h"
#include "spec/node.h"
#include "xform/infer.h"

#include <stdarg.h>

#include "base/banned.h"

#define MAX_ROUNDS 64
#define PLACE "16" /* for a name that nobody defines */

int ws__init_note(struct ws__init *in, const char *fmt, ...)
{
    char text[500];
    const char *kept;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++)
        if (*p == '\n')
            *p = '\0';
    kept = ws__arena_strdup(&in->arena, text);
    if (!kept)
        return WS_ENOMEM;
    if (in->sig.nnote < WS_COUNT(in->sig.note))
        in->sig.note[in->sig.nnote++] = kept;
    return 0;
}

/* --- parsing ----------------------------------------------------------------
 */

static int put_names(struct ws__init *in, struct ws__buf *b)
{
    for (size_t i = 0; i < in->nmissing; i++) {
        const char *value = PLACE;

        for (size_t k = 0; in->facts && k < in->facts->nname; k++)
            if (!strcmp(in->facts->name[k].name, in->missing[i]) &&
                in->facts->name[k].is_float)
                value = "0.5f";
        ws__buf_printf(b, "#define %s %s\n", in->missing[i], value);
    }
    return ws__buf_puts(b, "");
}

static int build(struct ws__init *in, const char *path, const char *headers,
                 const char *text, struct ws__ast *out)
{
    struct ws__ast_source s = {.path = path,
                               .text = text,
                               .dialect = in->source.dialect,
                               .headers = headers};
    char *dir = ws__path_dir(in->ctx, path);
    const char *include[] = {dir, NULL};
    struct ws__buf before;
    int rc;

    ws__buf_init(&before, in->ctx, 1 << 16);
    rc = dir ? put_names(in, &before) : WS_ENOMEM;
    s.prologue = before.data;
    s.include = include;
    if (rc >= 0)
        rc = ws__ast_build(in->ctx, &in->arena, &s, out);
    ws__buf_free(&before);
    ws__free(in->ctx, dir);
    return rc;
}

/* 1: a name more is known; 0: that is not what is wrong. */
static int learn(struct ws__init *in)
{
    static const char sign[] = "use of undeclared identifier '";
    const char *p = strstr(in->ctx->err.message, sign), *name;
    size_t n;

    if (!p || in->nmissing == WS__INIT_NAMES)
        return 0;
    p += sizeof(sign) - 1;
    n = strcspn(p, "'");
    for (size_t i = 0; i < in->nmissing; i++)
        if (strlen(in->missing[i]) == n && !strncmp(in->missing[i], p, n))
            return 0;
    name = ws__arena_strndup(&in->arena, p, n);
    if (!name)
        return WS_ENOMEM;
    in->missing[in->nmissing++] = name;
    return 1;
}

/* Is it no C at all, rather than something that our headers lack? */
static bool is_no_c(const char *words)
{
    static const char *const signs[] = {"expected ", "unterminated",
                                        "extraneous", "missing terminating"};

    for (size_t i = 0; i < WS_COUNT(signs); i++)
        if (strstr(words, signs[i]))
            return true;
    return false;
}

/* Words behind clang's, where code for the host is what it stumbled on. */
static const char *about_host(const struct ws__init *in)
{
    return in->host.why ? "; code for the host could not be told from that for "
                          "the device: put the kernels into a file of their own"
                        : "";
}

/* What stands in the way of libclang: 0 and a note, or the error. */
static int no_tree(struct ws__init *in, int rc)
{
    const struct ws_error *e = &in->ctx->err;

    if (rc == WS_ENOMEM || rc == WS_ECANCEL)
        return rc;
    if (rc == WS_ESPEC && e->line && is_no_c(e->message))
        return ws__hint(in->ctx, "the source must compile before anything can "
                                 "be drafted from it");
    if (rc == WS_ENODRIVER)
        rc = ws__init_note(in, "indices, launches and roles: libclang 19 is "
                               "not there (Debian: libclang1-19)");
    else
        rc = ws__init_note(in,
                           "indices, launches and roles: %s%.300s (line "
                           "%u)%s",
                           strstr(e->message, "clang: ") ? "" : "clang: ",
                           e->message, (unsigned)e->line, about_host(in));
    ws__error_clear(in->ctx);
    return rc;
}

/* Functions that a macro makes, which the reader of signatures cannot see. */
static int add_entries(struct ws__init *in)
{
    struct ws__signature *sig = &in->sig;

    for (int32_t i = 0; i < in->ast.n; i++) {
        const struct ws__ast_node *n = &in->ast.node[i];
        struct ws__sig_entry *e;
        struct ws__loc at = {0};
        bool known = n->kind != WS__AST_FUNCTION || !n->is_kernel || !n->name ||
                     sig->nentry == WS__SIG_MAX_ENTRIES;

        for (size_t k = 0; !known && k < sig->nentry; k++)
            known = !strcmp(sig->entry[k].name, n->name);
        if (known)
            continue;
        e = &sig->entry[sig->nentry++];
        memset(e, 0, sizeof(*e));
        ws__ast_line(&in->ast, n->begin, &at);
        e->name = n->name;
        e->line = at.line;
        e->defined = true;
        for (int32_t c = n->first; c >= 0; c = in->ast.node[c].next)
            if (in->ast.node[c].kind == WS__AST_PARAM &&
                e->narg < WS__SIG_MAX_ARGS) {
                e->arg[e->narg].name = in->ast.node[c].name;
                e->arg[e->narg].trouble = "a macro makes it";
                e->arg[e->narg++].type = in->ast.node[c].spelled;
            }
        if (sig->nnote && strstr(sig->note[0], "a macro makes"))
            sig->nnote--;
    }
    return 0;
}

static int headers_of(struct ws__init *in, char **out)
{
    char *share;

    *out = NULL;
    WS_TRY(ws__share_dir(in->ctx, &share));
    *out = ws__path_join(in->ctx, share, "ops/dialect/parse");
    ws__free(in->ctx, share);
    return *out ? 0 : WS_ENOMEM;
}

int ws__init_parse(struct ws__init *in, const char *path)
{
    char *raw = NULL, *headers = NULL;
    size_t n;
    int rc, more = 1;

    if (in->source.dialect == WS__DIALECT_PORTABLE)
        return 0;
    in->raw = in->host.device;
    rc = in->raw ? 0
                 : ws__fs_read(in->ctx, path, WS__DRAFT_SOURCE_MAX, &raw, &n);
    if (rc >= 0 && !in->raw && !(in->raw = ws__arena_strdup(&in->arena, raw)))
        rc = WS_ENOMEM;
    if (rc >= 0)
        rc = headers_of(in, &headers);
    for (int i = 0; rc >= 0 && more > 0 && i < MAX_ROUNDS; i++) {
        rc = build(in, path, headers, in->raw, &in->ast);
        more = rc == WS_ESPEC ? learn(in) : 0;
        if (more > 0 && i + 1 < MAX_ROUNDS) {
            ws__error_clear(in->ctx);
            rc = 0;
        } else if (more < 0) {
            rc = more;
        }
    }
    in->parsed = rc >= 0 && in->ast.n > 0;
    if (rc < 0)
        rc = no_tree(in, rc);
    ws__free(in->ctx, raw);
    ws__free(in->ctx, headers);
    if (in->parsed) {
        in->read_by = "libclang";
        rc = add_entries(in);
    }
    return rc;
}

/* --- facts ------------------------------------------------------------------
 */

/* The function with a body, or -1. */
static int32_t function_of(const struct ws__ast *t, const char *name)
{
    for (int32_t i = 0; i < t->n; i++)
        if (t->node[i].kind == WS__AST_FUNCTION && t->node[i].name &&
            !strcmp(t->node[i].name, name))
            for (int32_t c = t->node[i].first; c >= 0; c = t->node[c].next)
                if (t->node[c].kind == WS__AST_BLOCK)
                    return i;
    return -1;
}

static bool may_name(void *user, const char *name)
{
    static const char *const taken[] = {"name", "about", "weight", "axes",
                                        "inputs"};
    struct ws__init *in = user;
    struct ws__loc nowhere = {0};
    bool ok = ws__node_variable(in->ctx, name, &nowhere, "", true) == 0;

    ws__error_clear(in->ctx);
    for (size_t i = 0; ok && i < WS_COUNT(taken); i++)
        ok = strcmp(taken[i], name) != 0;
    for (size_t i = 0; ok && i < in->sig.nmacro; i++)
        ok = strcmp(in->sig.macro[i].name, name) != 0;
    return ok;
}

/* The source with doubles, if that is one. */
static int widen(struct ws__init *in, const char *path)
{
    char *headers;
    struct ws__ast t;
    const char *text;
    int rc;

    if (in->facts->exact && in->facts->floats) {
        in->why_not = "a result of whole numbers must be the same to the last "
                      "bit";
        return 0;
    }
    text = ws__widen(&in->arena, in->source.dialect, in->raw, in->facts,
                     &in->why_not, &rc);
    if (!text)
        return rc;
    WS_TRY(headers_of(in, &headers));
    rc = build(in, path, headers, text, &t);
    ws__free(in->ctx, headers);
    if (rc == WS_ENOMEM || rc == WS_ECANCEL)
        return rc;
    if (rc < 0) {
        in->why_not = ws__arena_printf(&in->arena, "with doubles: %.100s",
                                       in->ctx->err.message);
        ws__error_clear(in->ctx);
        return in->why_not ? 0 : WS_ENOMEM;
    }
    in->wide = text;
    return 0;
}

/* --- launches of the host's -------------------------------------------------
 */

static const struct ws__host_launch *launch_of(const struct ws__init *in,
                                               const char *kernel)
{
    for (size_t i = 0; in->host.device && i < in->host.nlaunch; i++)
        if (!strcmp(in->host.launch[i].kernel, kernel))
            return &in->host.launch[i];
    return NULL;
}

/* The threads of a block, where the host says so in numbers. */
static int host_block(struct ws__init *in, const char *kernel, int64_t block[3])
{
    const struct ws__host_launch *l = launch_of(in, kernel);
    struct ws__host_value v[3];
    const char *why;
    int rc;

    if (!l || block[0])
        return 0;
    rc = ws__host_sizes(in->ctx, &in->arena, &in->host, l, l->config[1], v,
                        &why);
    if (rc < 0)
        return rc;
    for (int d = 0; rc > 0 && d < 3; d++)
        if (!v[d].is_number || v[d].value < 1 || v[d].value > 1024)
            rc = 0;
    for (int d = 0; rc > 0 && d < 3; d++)
        block[d] = v[d].value;
    return 0;
}

/* In the names of the op: $N is what the kernel gets as argument N. NULL: that
 * is no size. */
static const char *in_facts(struct ws__init *in,
                            const struct ws__fact_launch *f, const char *text)
{
    struct ws__buf b;
    const char *out = NULL;
    bool known = true;

    ws__buf_init(&b, in->ctx, 8192);
    for (const char *p = text; *p && known; p++) {
        char *end;
        size_t at;

        if (*p != '$') {
            ws__buf_add(&b, p, 1);
            continue;
        }
        at = strtoul(p + 1, &end, 10);
        known =
            at < f->narg && in->facts->fact[f->arg[at]].role == WS__FACT_AXIS;
        if (known)
            ws__buf_puts(&b, in->facts->fact[f->arg[at]].name);
        p = end - 1;
    }
    if (known && !b.failed && b.data)
        out = ws__arena_strdup(&in->arena, b.data);
    ws__buf_free(&b);
    return out;
}

/* 1: the sizes as the host gives them; 0: they are not understood, with a
 * note. */
static int host_sizes(struct ws__init *in, const struct ws__fact_launch *f,
                      const struct ws__host_launch *l, int which,
                      const char *out[3])
{
    struct ws__host_value v[3];
    const char *why;
    int rc = ws__host_sizes(in->ctx, &in->arena, &in->host, l, l->config[which],
                            v, &why);

    for (int d = 0; rc > 0 && d < 3; d++) {
        out[d] = in_facts(in, f, v[d].text);
        if (!out[d]) {
            why = "it is made of an argument that is no size";
            rc = 0;
        }
    }
    if (rc)
        return rc;
    return ws__init_note(in,
                         "%s of '%.60s' as the host launches it (line %u): "
                         "%.200s",
                         which ? "the block" : "the grid", l->kernel,
                         (unsigned)l->line, why);
}

/* Grid and block as the host has them, where both are understood: one alone
 * would not fit what was found for the other. from_host: the block was found by
 * the host's. */
static int take_launch(struct ws__init *in, struct ws__fact_launch *f,
                       bool from_host)
{
    const struct ws__host_launch *l = launch_of(in, f->entry);
    const char *grid[3], *block[3], *note;
    int rc;

    if (!l)
        return 0;
    note = ws__arena_printf(&in->arena, "as the host launches it (line %u)",
                            (unsigned)l->line);
    if (!note)
        return WS_ENOMEM;
    rc = host_sizes(in, f, l, 1, block);
    if (rc > 0 && from_host)
        f->block_note = note;
    if (rc > 0)
        rc = host_sizes(in, f, l, 0, grid);
    if (rc <= 0)
        return rc;
    memcpy(f->grid, grid, sizeof(grid));
    memcpy(f->block, block, sizeof(block));
    f->ngrid = f->nblock = 3;
    f->grid_note = f->block_note = note;
    return 0;
}

int ws__init_infer(struct ws__init *in, const char *path, const size_t *entry,
                   size_t nentry)
{
    int32_t func[WS__MAX_LAUNCHES];
    int64_t block[WS__MAX_LAUNCHES][3], bounds[WS__MAX_LAUNCHES];
    struct ws__infer_in x = {.ast = &in->ast,
                             .func = func,
                             .nfunc = nentry,
                             .missing = in->missing,
                             .nmissing = in->nmissing,
                             .block = (const int64_t(*)[3])block,
                             .bounds = bounds,
                             .may_name = may_name,
                             .user = in};
    struct ws__facts *facts;

    for (size_t i = 0; i < nentry; i++) {
        const struct ws__sig_entry *e = &in->sig.entry[entry[i]];

        func[i] = function_of(&in->ast, e->name);
        if (e->ntparam)
            return ws__init_note(in,
                                 "the template '%.80s' beyond its "
                                 "signature: its parameters and its launch "
                                 "are yours to write",
                                 e->name);
        if (func[i] < 0)
            return ws__init_note(in, "the function '%.80s'", e->name);
        memcpy(block[i], e->block, sizeof(block[i]));
        WS_TRY(host_block(in, e->name, block[i]));
        bounds[i] = e->bounds ? strtol(e->bounds, NULL, 10) : 0;
        if (bounds[i] < 0 || bounds[i] > 1024)
            bounds[i] = 0;
    }
    facts = ws__arena_alloc(&in->arena, 1, sizeof(*facts));
    if (!facts)
        return WS_ENOMEM;
    if (ws__infer(in->ctx, &in->arena, &x, facts) < 0) {
        if (in->ctx->err.code != WS_ELIMIT)
            return in->ctx->err.code;
        WS_TRY(ws__init_note(in, "%.400s", in->ctx->err.message));
        ws__error_clear(in->ctx);
        return 0;
    }
    in->facts = facts;
    for (size_t i = 0; i < facts->nlaunch; i++)
        WS_TRY(take_launch(in, &facts->launch[i],
                           !in->sig.entry[entry[i]].block[0] && block[i][0]));
    for (size_t i = 0; i < facts->nnote; i++)
        WS_TRY(ws__init_note(in, "%s", facts->note[i]));
    return widen(in, path);
}
