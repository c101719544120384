/*
 * plan_init.c: from a kernel's source to a specification with marked blanks.
 *
 * The source is read by our own reader and, where it is OpenCL C, by a
 * driver's compiler too (plan_ask.c). The files are written only when all is
 * known to work out, and never over others unless that is asked for.
 */
#include "plan/plan_init.h"

#include "base/fs.h"

#include "base/banned.h"

struct made {
    struct ws_init_result pub; /* first */
    struct ws__init in;
    struct ws__spec *spec; /* of a given op */
    struct ws__draft draft;
    const char *dir; /* of the files that are written */
};

/* --- paths -------------------------------------------------------------- */

static const char *keep(struct made *m, char *text)
{
    const char *out = text ? ws__arena_strdup(&m->in.arena, text) : NULL;

    ws__free(m->in.ctx, text);
    return out;
}

/* The part of a file's name before its last dot, as a name for a kernel. */
static const char *stem_of(struct made *m, const char *path)
{
    const char *base = ws__path_base(path), *dot = strrchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    char *out = ws__arena_strndup(&m->in.arena, base, n < 60 ? n : 60);

    for (char *p = out; p && *p; p++)
        if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') &&
            !(*p >= '0' && *p <= '9') && !strchr("_-.", *p))
            *p = '_';
    if (out && (*out == '-' || *out == '.' || (*out >= '0' && *out <= '9')))
        return ws__arena_printf(&m->in.arena, "k_%s", out);
    return out;
}

static int make_paths(struct made *m, const struct ws_init_opts *o)
{
    struct ws__arena *a = &m->in.arena;
    const char *stem, *source_dir;

    m->draft.name = stem_of(m, o->source);
    source_dir = keep(m, ws__path_dir(m->in.ctx, o->source));
    if (!m->draft.name || !source_dir)
        return WS_ENOMEM;
    m->pub.kernel_path =
        o->out ? ws__arena_strdup(a, o->out)
        : !strcmp(source_dir, ".") && strncmp(o->source, "./", 2) != 0
            ? ws__arena_printf(a, "%s.yaml", m->draft.name)
            : ws__arena_printf(a, "%s/%s.yaml", source_dir, m->draft.name);
    if (!m->pub.kernel_path)
        return WS_ENOMEM;
    m->dir = keep(m, ws__path_dir(m->in.ctx, m->pub.kernel_path));
    stem = stem_of(m, m->pub.kernel_path);
    if (!m->dir || !stem)
        return WS_ENOMEM;
    m->draft.op_ref = ws__arena_printf(a, "./%s.op.yaml", stem);
    if (!o->op)
        m->pub.op_path =
            strcmp(m->dir, ".") || strchr(m->pub.kernel_path, '/')
                ? ws__arena_printf(a, "%s/%s.op.yaml", m->dir, stem)
                : ws__arena_printf(a, "%s.op.yaml", stem);
    return m->draft.op_ref && (o->op || m->pub.op_path) ? 0 : WS_ENOMEM;
}

/* How a file in `dir` is named from there; NULL: no memory or no such file
 * (the error is set). Both are canonical paths in the end. */
static const char *relative(struct made *m, const char *dir, const char *path)
{
    char *from = NULL, *to = NULL, *base = NULL;
    struct ws__buf b;
    size_t same = 0;

    base = ws__path_dir(m->in.ctx, path);
    ws__buf_init(&b, m->in.ctx, 8192);
    if (!base || ws__path_inside(m->in.ctx, dir, dir, &from) < 0 ||
        ws__path_inside(m->in.ctx, base, base, &to) < 0)
        goto done;
    for (size_t i = 0; from[i] && from[i] == to[i]; i++)
        if (from[i] == '/')
            same = i;
    /* One may lie in the other. */
    if (!strncmp(from, to, strlen(to)) && from[strlen(to)] == '/')
        same = strlen(to);
    if (!strncmp(from, to, strlen(from)) &&
        (to[strlen(from)] == '/' || !to[strlen(from)]))
        same = strlen(from);
    ws__buf_puts(&b, from[same] ? "" : "./");
    for (const char *p = from + same; *p; p++)
        if (*p == '/')
            ws__buf_puts(&b, "../");
    if (to[same])
        ws__buf_printf(&b, "%s/", to + same + 1);
    ws__buf_puts(&b, ws__path_base(path));
done:
    ws__free(m->in.ctx, base);
    ws__free(m->in.ctx, from);
    ws__free(m->in.ctx, to);
    return b.failed || !b.data ? (ws__buf_free(&b), NULL)
                               : keep(m, ws__buf_take(&b));
}

/* A source must lie in the folder of its kernel file, or below. */
static int place_source(struct made *m, const struct ws_init_opts *o)
{
    char *inside;
    const char *ref;

    if (ws__path_inside(m->in.ctx, m->dir, o->source, &inside) < 0) {
        ws__error_prefix(m->in.ctx,
                         "the kernel file '%s' cannot name its "
                         "source",
                         m->pub.kernel_path);
        return ws__hint(m->in.ctx, "write it beside the source, or above it");
    }
    ws__free(m->in.ctx, inside);
    ref = relative(m, m->dir, o->source);
    if (!ref)
        return m->in.ctx->err.code;
    m->draft.source_file = !strncmp(ref, "./", 2) ? ref + 2 : ref;
    return 0;
}

static int check_free(struct made *m, const char *path, bool force)
{
    if (!path || force || !ws__fs_exists(path))
        return 0;
    ws__fail(m->in.ctx, WS_EINVAL, "'%s' exists already", path);
    return ws__hint(m->in.ctx, "name another with --out, or write over it "
                               "with --force");
}

/* --- the op ------------------------------------------------------------- */

static bool is_path(const char *text)
{
    return strchr(text, '/') || ws__fs_exists(text) || strchr(text, '.');
}

/* The op's file: a path, or that of a shipped op. */
static int find_op_file(struct made *m, const char *op, const char **out)
{
    static const char *const names[] = {"op.yaml", "op.yml", "op.json"};
    struct ws_ctx *ctx = m->in.ctx;
    const char *dir = op;
    char *share;

    *out = op;
    if (!is_path(op)) {
        WS_TRY(ws__share_dir(ctx, &share));
        dir = ws__arena_printf(&m->in.arena, "%s/ops/%s", share, op);
        ws__free(ctx, share);
        if (!dir)
            return WS_ENOMEM;
        if (!ws__fs_is_dir(dir)) {
            ws__fail(ctx, WS_ENOENT, "op '%s' is not known", op);
            return ws__hint(ctx, "give a shipped op's name or the path of an "
                                 "op file; without --op a new one is drafted");
        }
    } else if (!ws__fs_is_dir(op)) {
        return 0;
    }
    for (size_t i = 0; i < WS_COUNT(names); i++) {
        *out = ws__arena_printf(&m->in.arena, "%s/%s", dir, names[i]);
        if (!*out)
            return WS_ENOMEM;
        if (ws__fs_exists(*out))
            return 0;
    }
    return ws__fail(ctx, WS_ENOENT, "no op in folder '%s'", dir);
}

static int load_op(struct made *m, const char *op)
{
    struct ws__spec_opts o = {.share_dir = m->in.ctx->share_dir,
                              .op_outline = true};
    const char *file;

    if (!op)
        return 0;
    WS_TRY(find_op_file(m, op, &file));
    WS_TRY(ws__spec_load(m->in.ctx, file, &o, &m->spec));
    m->in.op = m->draft.op = m->spec->op;
    if (!m->in.op || m->spec->kind != WS__SPEC_OP) {
        ws__fail(m->in.ctx, WS_EINVAL, "'%s' is no op", op);
        return ws__hint(m->in.ctx, "an op file has the key 'op'");
    }
    m->draft.op_ref = is_path(op) ? relative(m, m->dir, file) : op;
    return m->draft.op_ref ? 0 : m->in.ctx->err.code;
}

/* --- entries ------------------------------------------------------------ */

static int list_entries(struct made *m)
{
    char text[400] = "";

    for (size_t i = 0; i < m->in.sig.nentry; i++) {
        size_t at = strlen(text);

        snprintf(text + at, sizeof(text) - at, "%s%.60s", i ? ", " : "",
                 m->in.sig.entry[i].name);
    }
    return ws__hint(m->in.ctx,
                    "choose with --entry NAME, or NAME,NAME in the order of "
                    "their launches; there are: %s",
                    text);
}

static int add_entry(struct made *m, const char *name, size_t n)
{
    for (size_t i = 0; i < m->in.sig.nentry; i++)
        if (strlen(m->in.sig.entry[i].name) == n &&
            !memcmp(m->in.sig.entry[i].name, name, n)) {
            if (m->draft.nentry == WS_COUNT(m->draft.entry))
                return ws__fail(m->in.ctx, WS_ELIMIT, "more than %d launches",
                                WS__MAX_LAUNCHES);
            m->draft.entry[m->draft.nentry++] = i;
            return 0;
        }
    ws__fail(m->in.ctx, WS_EINVAL, "there is no kernel function '%.*s'",
             (int)(n < 80 ? n : 80), name);
    return list_entries(m);
}

static int choose_entries(struct made *m, const struct ws_init_opts *o)
{
    if (!m->in.sig.nentry) {
        ws__fail(m->in.ctx, WS_EINVAL,
                 "no kernel function was found in '%s'%s%s", o->source,
                 m->in.sig.nnote ? ": " : "",
                 m->in.sig.nnote ? m->in.sig.note[0] : "");
        return ws__hint(m->in.ctx, "it begins with __kernel, __global__ or "
                                   "WS_KERNEL");
    }
    if (!o->entry && m->in.sig.nentry > 1) {
        ws__fail(m->in.ctx, WS_EINVAL, "'%s' has %zu kernel functions",
                 o->source, m->in.sig.nentry);
        return list_entries(m);
    }
    if (!o->entry)
        return add_entry(m, m->in.sig.entry[0].name,
                         strlen(m->in.sig.entry[0].name));
    for (const char *p = o->entry; *p;) {
        size_t n = strcspn(p, ",");

        WS_TRY(add_entry(m, p, n));
        p += n + (p[n] == ',');
    }
    return m->draft.nentry ? 0 : add_entry(m, "", 0);
}

/* --- the report --------------------------------------------------------- */

static const char *entry_line(struct made *m, const struct ws__sig_entry *e)
{
    struct ws__buf b;

    ws__buf_init(&b, m->in.ctx, 1 << 16);
    ws__buf_printf(&b, "%s(", e->name);
    for (size_t i = 0; i < e->narg; i++)
        ws__buf_printf(&b, "%s%s", i ? ", " : "", e->arg[i].type);
    ws__buf_puts(&b, ")");
    if (e->line)
        ws__buf_printf(&b, ", line %u", (unsigned)e->line);
    if (b.failed) {
        ws__buf_free(&b);
        return NULL;
    }
    return keep(m, ws__buf_take(&b));
}

static int report_found(struct made *m)
{
    const struct ws__signature *sig = &m->in.sig;
    const char **found =
        ws__arena_alloc(&m->in.arena, sig->nentry + sig->nmacro + 1,
                        sizeof(*found));
    size_t n = 0;

    if (!found)
        return WS_ENOMEM;
    for (size_t i = 0; i < sig->nentry; i++)
        if (!(found[n++] = entry_line(m, &sig->entry[i])))
            return WS_ENOMEM;
    for (size_t i = 0; i < sig->nmacro; i++) {
        const struct ws__sig_macro *x = &sig->macro[i];

        found[n] = ws__arena_printf(&m->in.arena, "parameter %s%s%s", x->name,
                                    x->value ? ", by itself " : "",
                                    x->value ? x->value : "");
        if (!found[n++])
            return WS_ENOMEM;
    }
    m->pub.found = found;
    m->pub.nfound = n;
    m->pub.note = sig->note;
    m->pub.nnote = sig->nnote;
    return 0;
}

static int report_blanks(struct made *m, const char *kernel, const char *op)
{
    const char *text[2] = {kernel, op};
    const char *file[2] = {m->pub.kernel_path, m->pub.op_path};
    struct ws__blank_at *at[2] = {NULL, NULL};
    size_t n[2] = {0, 0}, used = 0;
    struct ws_init_blank *out;

    for (int i = 0; i < 2; i++)
        if (file[i])
            WS_TRY(ws__draft_blanks(m->in.ctx, &m->in.arena, text[i], &at[i],
                                    &n[i]));
    out = ws__arena_alloc(&m->in.arena, n[0] + n[1] + 1, sizeof(*out));
    if (!out)
        return WS_ENOMEM;
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < n[f]; i++)
            out[used++] =
                (struct ws_init_blank){file[f], at[f][i].line, at[f][i].column,
                                       at[f][i].subject, at[f][i].wants};
    m->pub.blank = out;
    m->pub.nblank = used;
    return 0;
}

static int write_files(struct made *m)
{
    struct ws__buf kernel, op;
    int rc;

    ws__buf_init(&kernel, m->in.ctx, WS__DRAFT_TEXT_MAX);
    ws__buf_init(&op, m->in.ctx, WS__DRAFT_TEXT_MAX);
    WS_TRY_DONE(ws__draft_write(m->in.ctx, &m->draft, &kernel, &op));
    WS_TRY_DONE(report_blanks(m, kernel.data, op.data));
    if (m->pub.op_path)
        WS_TRY_DONE(ws__fs_write(m->in.ctx, m->pub.op_path, op.data, op.len));
    rc = ws__fs_write(m->in.ctx, m->pub.kernel_path, kernel.data, kernel.len);
done:
    ws__buf_free(&kernel);
    ws__buf_free(&op);
    return rc;
}

/* --- all of it ---------------------------------------------------------- */

static int read_source(struct made *m, const struct ws_init_opts *o)
{
    static const char *const dialects[] = {"portable", "opencl", "cuda"};
    struct ws__init *in = &m->in;

    WS_TRY(ws__draft_read(in->ctx, &in->arena, o->source, in->ctx->share_dir,
                          &in->source));
    WS_TRY(ws__signature_read(in->ctx, &in->arena, in->source.text,
                              "ws_dialect.h", &in->sig));
    if (in->source.note && in->sig.nnote < WS_COUNT(in->sig.note))
        in->sig.note[in->sig.nnote++] = in->source.note;
    in->read_by = "its signatures alone";
    m->pub.dialect = dialects[in->source.dialect];
    m->draft.dialect = in->source.dialect;
    if (in->source.dialect == WS__DIALECT_CUDA)
        return 0;
    return ws__init_ask(in, o->device);
}

static int make(struct made *m, const struct ws_init_opts *o)
{
    WS_TRY(make_paths(m, o));
    WS_TRY(check_free(m, m->pub.kernel_path, o->force));
    WS_TRY(check_free(m, m->pub.op_path, o->force));
    WS_TRY(ws__fs_can_create(m->in.ctx, m->dir));
    WS_TRY(load_op(m, o->op));
    WS_TRY(read_source(m, o));
    WS_TRY(place_source(m, o));
    WS_TRY(choose_entries(m, o));
    m->draft.sig = &m->in.sig;
    m->draft.read_by = m->pub.read_by = m->in.read_by;
    WS_TRY(report_found(m));
    return write_files(m);
}

int ws_init(struct ws_ctx *ctx, const struct ws_init_opts *opts,
            struct ws_init_result **out)
{
    struct made *m;
    int rc;

    *out = NULL;
    if (!opts || !opts->source)
        return ws__fail(ctx, WS_EINVAL, "no source file was named");
    m = ws__alloc(ctx, 1, sizeof(*m));
    if (!m)
        return WS_ENOMEM;
    m->in.ctx = ctx;
    m->pub.priv = m;
    ws__arena_init(&m->in.arena, ctx);
    rc = make(m, opts);
    if (rc < 0)
        ws_init_result_free(ctx, &m->pub);
    else
        *out = &m->pub;
    return rc;
}

void ws_init_result_free(struct ws_ctx *ctx, struct ws_init_result *r)
{
    struct made *m = r ? r->priv : NULL;

    if (!m)
        return;
    ws__spec_free(m->spec);
    ws__arena_free(&m->in.arena);
    ws__free(ctx, m);
}
