/*
 * plan_init.c: from a kernel's source to a specification.
 *
 * The source is read by our own reader of signatures and by libclang
 * (plan_init_read.c), whose tree is enough for a draft that runs. Without a
 * tree a driver's compiler helps (plan_ask.c), and blanks are left. The files
 * are written only when all is known to work out, and never over others unless
 * that is asked for.
 */
#include "plan/plan_init.h"

#include "base/fs.h"
#include "plan/plan_put.h"
#include "spec/draft_full.h"
#include "spec/gpumode.h"
#include "spec/solution.h"

#include "base/banned.h"

struct made {
    struct ws_init_result pub; /* first */
    struct ws__init in;
    struct ws__spec *spec; /* of a given op */
    struct ws__draft draft;
    const char *dir;         /* of the files that are written */
    const char *source_copy; /* the path of the reference's source */
    struct ws__draft_full full;
    const char *remark[16]; /* about the sources of a solution */
    size_t nremark;
    struct ws__puts puts;
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

/* Of the reference that is drafted from a source: its files. */
static int make_reference_paths(struct made *m)
{
    struct ws__arena *a = &m->in.arena;
    const char *stem = stem_of(m, m->pub.kernel_path);
    const char *dir = m->pub.kernel_path, *base = ws__path_base(dir);
    const char *ext = m->in.source.dialect == WS__DIALECT_CUDA ? "cu" : "cl";
    const char *from = ws__path_base(m->draft.source_file);

    if (!stem)
        return WS_ENOMEM;
    m->pub.reference_path = ws__arena_printf(a, "%.*s%s.reference.yaml",
                                             (int)(base - dir), dir, stem);
    m->full.reference_ref = ws__arena_printf(a, "%s.reference.yaml", stem);
    m->full.reference_source =
        ws__arena_printf(a, "%.*s%s.reference.%s",
                         (int)(from - m->draft.source_file),
                         m->draft.source_file, stem, ext);
    m->source_copy = m->full.reference_source
                         ? ws__arena_printf(a, "%.*s%s", (int)(base - dir), dir,
                                            m->full.reference_source)
                         : NULL;
    return m->pub.reference_path && m->full.reference_ref && m->source_copy
               ? 0
               : WS_ENOMEM;
}

/* How a file is named from a folder; NULL: the error is set. */
static const char *relative(struct made *m, const char *dir, const char *path)
{
    char *out;

    return ws__path_relative(m->in.ctx, dir, path, &out) < 0 ? NULL
                                                             : keep(m, out);
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

static int check_free(struct made *m, const char *path)
{
    return path ? ws__put_check(&m->puts, path, NULL) : 0;
}

static int put(struct made *m, const char *path, const char *data, size_t n)
{
    return ws__put_write(&m->puts, path, data, n);
}

/* A program: its kernels without the code around them, beside it. */
static int place_device(struct made *m, const struct ws_init_opts *o)
{
    struct ws__arena *a = &m->in.arena;
    const char *stem = stem_of(m, o->source), *base = ws__path_base(o->source);
    const char *ref = ws__path_base(m->draft.source_file);

    if (!m->in.host.device)
        return 0;
    if (!stem)
        return WS_ENOMEM;
    m->pub.source_path =
        ws__arena_printf(a, "%.*s%s.device.cu", (int)(base - o->source),
                         o->source, stem);
    m->draft.source_file = ws__arena_printf(a, "%.*s%s.device.cu",
                                            (int)(ref - m->draft.source_file),
                                            m->draft.source_file, stem);
    if (!m->pub.source_path || !m->draft.source_file)
        return WS_ENOMEM;
    WS_TRY(check_free(m, m->pub.source_path));
    return ws__init_note(&m->in,
                         "the code for the host (%zu functions): '%.200s' is "
                         "the source without it, its lines have the same "
                         "numbers",
                         m->in.host.nfunction,
                         ws__path_base(m->pub.source_path));
}

static int write_device(struct made *m)
{
    size_t n = m->in.host.device ? strlen(m->in.host.device) : 0;

    if (!n)
        return 0;
    while (n > 1 && strchr(" \t\r\n", m->in.host.device[n - 1]) &&
           strchr(" \t\r\n", m->in.host.device[n - 2]))
        n--;
    return put(m, m->pub.source_path, m->in.host.device, n);
}

/* What of it is for the host. */
static int find_host(struct made *m, const char *path)
{
    struct ws__init *in = &m->in;
    struct ws__host around;
    const char *text;
    char *raw;
    size_t n;

    if (in->source.dialect != WS__DIALECT_CUDA)
        return 0;
    WS_TRY(ws__fs_read(in->ctx, path, WS__DRAFT_SOURCE_MAX, &raw, &n));
    text = ws__arena_strdup(&in->arena, raw);
    ws__free(in->ctx, raw);
    if (!text)
        return WS_ENOMEM;
    WS_TRY(ws__host_read(in->ctx, &in->arena, text, &in->host));
    if (!in->host.device)
        return 0;
    WS_TRY(ws__host_read(in->ctx, &in->arena, in->source.text, &around));
    in->source.text = around.device ? around.device : in->host.device;
    return 0;
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
    m->puts.from[1] = file;
    WS_TRY(ws__spec_load(m->in.ctx, file, &o, &m->spec));
    m->in.op = m->draft.op = m->spec->op;
    if (!m->in.op || m->spec->kind != WS__SPEC_OP) {
        ws__fail(m->in.ctx, WS_EINVAL, "'%s' is no op", op);
        return ws__hint(m->in.ctx, "an op file has the key 'op'");
    }
    /* Kernel files of a Definition name it; it is given beside them. */
    if (m->spec->definition) {
        m->pub.definition_path = op;
        m->draft.op_ref = m->in.op->name;
        return 0;
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
    for (size_t i = 0; !o->entry && i < m->in.sig.nentry; i++)
        if (m->in.sig.entry[i].defined || m->in.sig.nentry == 1)
            WS_TRY(add_entry(m, m->in.sig.entry[i].name,
                             strlen(m->in.sig.entry[i].name)));
    if (!o->entry && m->draft.nentry)
        return 0;
    if (!o->entry)
        return add_entry(m, "", 0);
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
        ws__arena_alloc(&m->in.arena,
                        sig->nentry + sig->nmacro + WS__FACT_NAMES + 1,
                        sizeof(*found));
    const struct ws__facts *f = m->in.facts;
    size_t n = 0;

    if (!found)
        return WS_ENOMEM;
    for (size_t i = 0; i < sig->nentry; i++)
        if (!(found[n++] = entry_line(m, &sig->entry[i])))
            return WS_ENOMEM;
    for (size_t i = 0; f && !m->in.op && i < f->nname; i++)
        if (!(found[n++] = ws__arena_printf(&m->in.arena,
                                            "%s %s, which nobody defines: %s",
                                            f->name[i].parameter ? "parameter"
                                                                 : "constant",
                                            f->name[i].name, f->name[i].text)))
            return WS_ENOMEM;
    for (size_t i = 0; i < sig->nmacro; i++) {
        const struct ws__sig_macro *x = &sig->macro[i];

        if (f && !m->in.op && (!x->value || x->by_ifdef))
            continue;
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

/* Lines whose comment says that they are guesses, or have to be checked. */
static int report_guesses(struct made *m, const char *file, const char *text)
{
    size_t more = 0, lines = 1;
    const char **out;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    out = ws__arena_alloc(&m->in.arena, m->pub.nguess + lines, sizeof(*out));
    if (!out)
        return WS_ENOMEM;
    if (m->pub.nguess)
        memcpy(out, m->pub.guess, m->pub.nguess * sizeof(*out));
    lines = 0;
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const char *end = p + strcspn(p, "\n"), *c = strstr(p, "# ");

        lines++;
        if (!c || c >= end || c == p ||
            !(strstr(c, "guess") || strstr(c, "check:")) ||
            (!(strstr(c, "guess") < end && strstr(c, "guess")) &&
             !(strstr(c, "check:") && strstr(c, "check:") < end)))
            continue;
        out[m->pub.nguess + more] =
            ws__arena_printf(&m->in.arena, "%s:%zu: %.*s", file, lines,
                             (int)(end - c - 2), c + 2);
        if (!out[m->pub.nguess + more++])
            return WS_ENOMEM;
    }
    m->pub.guess = out;
    m->pub.nguess += more;
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
    WS_TRY_DONE(write_device(m));
    if (m->pub.op_path)
        WS_TRY_DONE(put(m, m->pub.op_path, op.data, op.len));
    rc = put(m, m->pub.kernel_path, kernel.data, kernel.len);
done:
    ws__buf_free(&kernel);
    ws__buf_free(&op);
    return rc;
}

/* --- drafts without blanks ------------------------------------------------ */

/* Names that the source gives a number if nobody does. */
static int own_macros(struct made *m)
{
    const struct ws__signature *sig = &m->in.sig;
    struct ws__draft_macro *x =
        ws__arena_alloc(&m->in.arena, sig->nmacro + 1, sizeof(*x));

    if (!x)
        return WS_ENOMEM;
    for (size_t i = 0; i < sig->nmacro; i++) {
        const char *v = sig->macro[i].value;

        if (!v || sig->macro[i].by_ifdef || !*v ||
            strspn(v, "0123456789") != strlen(v))
            continue;
        x[m->full.nmacro++] = (struct ws__draft_macro){sig->macro[i].name, v};
    }
    m->full.macro = x;
    return 0;
}

/* What stands before the text of the reference. */
static int write_source(struct made *m)
{
    static const char *const words[] = {"the source in double precision",
                                        "a copy of the source as it was"};
    const char *text = m->in.wide ? m->in.wide : m->in.raw;
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, m->in.ctx, 2 * WS__DRAFT_SOURCE_MAX);
    ws__buf_printf(&b,
                   "/* The reference of '%s', drafted by 'wavesmith init': "
                   "%s. */\n",
                   m->draft.name, words[!m->in.wide]);
    ws__buf_puts(&b, text);
    rc = b.failed ? b.failed : put(m, m->source_copy, b.data, b.len);
    ws__buf_free(&b);
    return rc;
}

static int write_all(struct made *m, struct ws__buf text[3])
{
    WS_TRY(ws__draft_full(&m->full, &text[0], &text[1], &text[2]));
    WS_TRY(report_blanks(m, text[0].data, text[1].data));
    WS_TRY(report_guesses(m, m->pub.kernel_path, text[0].data));
    WS_TRY(report_guesses(m, m->pub.op_path, text[1].data));
    WS_TRY(write_device(m));
    WS_TRY(write_source(m));
    WS_TRY(put(m, m->pub.reference_path, text[2].data, text[2].len));
    WS_TRY(put(m, m->pub.op_path, text[1].data, text[1].len));
    return put(m, m->pub.kernel_path, text[0].data, text[0].len);
}

static int write_full(struct made *m)
{
    struct ws__buf text[3];
    int rc;

    WS_TRY(make_reference_paths(m));
    WS_TRY(check_free(m, m->pub.reference_path));
    WS_TRY(check_free(m, m->source_copy));
    WS_TRY(own_macros(m));
    m->full.name = m->draft.name;
    m->full.read_by = m->in.read_by;
    m->full.source_file = m->draft.source_file;
    m->full.op_ref = m->draft.op_ref;
    m->full.dialect = m->draft.dialect;
    m->full.facts = m->in.facts;
    m->full.wide = m->in.wide != NULL;
    m->full.why_not = m->in.why_not;
    m->full.note = m->in.sig.note;
    m->full.nnote = m->in.sig.nnote;
    for (int i = 0; i < 3; i++)
        ws__buf_init(&text[i], m->in.ctx, WS__DRAFT_TEXT_MAX);
    rc = write_all(m, text);
    for (int i = 0; i < 3; i++)
        ws__buf_free(&text[i]);
    return rc;
}

/* --- all of it ---------------------------------------------------------- */

static int read_source(struct made *m, const struct ws_init_opts *o)
{
    static const char *const dialects[] = {"portable", "opencl", "cuda"};
    struct ws__init *in = &m->in;

    WS_TRY(ws__draft_read(in->ctx, &in->arena, o->source, in->ctx->share_dir,
                          &in->source));
    WS_TRY(find_host(m, o->source));
    WS_TRY(ws__signature_read(in->ctx, &in->arena, in->source.text,
                              "ws_dialect.h", &in->sig));
    if (in->host.device && !strstr(in->host.device, "#include \""))
        in->source.note = NULL; /* what was not found is for the host */
    if (in->source.note && in->sig.nnote < WS_COUNT(in->sig.note))
        in->sig.note[in->sig.nnote++] = in->source.note;
    in->read_by = "its signatures alone";
    m->pub.dialect = dialects[in->source.dialect];
    m->draft.dialect = in->source.dialect;
    WS_TRY(ws__init_parse(in, o->source));
    if (in->source.dialect == WS__DIALECT_CUDA ||
        (in->parsed && !o->op && (in->sig.nentry || !in->sig.nnote)))
        return 0;
    return ws__init_ask(in, o->device);
}

static int make(struct made *m, const struct ws_init_opts *o)
{
    WS_TRY(make_paths(m, o));
    WS_TRY(check_free(m, m->pub.kernel_path));
    WS_TRY(check_free(m, m->pub.op_path));
    WS_TRY(ws__fs_can_create(m->in.ctx, m->dir));
    WS_TRY(load_op(m, o->op));
    WS_TRY(check_free(m, m->pub.kernel_path)); /* its file is known */
    WS_TRY(read_source(m, o));
    WS_TRY(place_source(m, o));
    WS_TRY(place_device(m, o));
    WS_TRY(choose_entries(m, o));
    if (m->in.parsed)
        WS_TRY(
            ws__init_infer(&m->in, o->source, m->draft.entry, m->draft.nentry));
    m->draft.sig = &m->in.sig;
    m->draft.facts = m->in.facts;
    m->draft.read_by = m->pub.read_by = m->in.read_by;
    WS_TRY(report_found(m));
    return m->in.facts && !o->op ? write_full(m) : write_files(m);
}

/* --- tasks of GPU MODE ---------------------------------------------------- */

static bool is_yaml(const char *path)
{
    const char *dot = strrchr(ws__path_base(path), '.');

    return dot && (!strcmp(dot, ".yml") || !strcmp(dot, ".yaml"));
}

/* They are all called task.yml: their folder says which it is. */
static int name_task(struct made *m, const struct ws_init_opts *o)
{
    const char *dir = keep(m, ws__path_dir(m->in.ctx, o->source));
    char *real;

    if (!dir)
        return WS_ENOMEM;
    if (strcmp(m->draft.name, "task") != 0)
        return 0;
    WS_TRY(ws__path_inside(m->in.ctx, dir, dir, &real));
    dir = keep(m, real);
    if (!dir)
        return WS_ENOMEM;
    if (*ws__path_base(dir))
        m->draft.name = stem_of(m, dir);
    return m->draft.name ? 0 : WS_ENOMEM;
}

/* "task.op.yaml" beside the task, "task.tests.yaml" beside that. */
static int make_task_paths(struct made *m, const struct ws_init_opts *o)
{
    struct ws__arena *a = &m->in.arena;
    const char *path, *base, *end;

    WS_TRY(make_paths(m, o));
    path = o->out ? m->pub.kernel_path : m->pub.op_path;
    WS_TRY(name_task(m, o));
    m->pub.op_path = path;
    m->pub.kernel_path = NULL;
    base = ws__path_base(path);
    end = strstr(base, ".op.") ? strstr(base, ".op.") : strrchr(base, '.');
    if (!end || end == base)
        end = base + strlen(base);
    m->pub.tests_path =
        ws__arena_printf(a, "%.*s.tests.yaml", (int)(end - path), path);
    return m->pub.tests_path ? 0 : WS_ENOMEM;
}

static int write_task(struct made *m, const struct ws__gpumode *g)
{
    for (size_t i = 0; i < g->nnote && i < WS_COUNT(m->in.sig.note); i++)
        m->in.sig.note[m->in.sig.nnote++] = g->note[i];
    m->pub.note = m->in.sig.note;
    m->pub.nnote = m->in.sig.nnote;
    m->pub.found = g->found;
    m->pub.nfound = g->nfound;
    if (!g->tests.len)
        m->pub.tests_path = NULL;
    WS_TRY(report_blanks(m, NULL, g->op.data));
    if (m->pub.tests_path)
        WS_TRY(put(m, m->pub.tests_path, g->tests.data, g->tests.len));
    return put(m, m->pub.op_path, g->op.data, g->op.len);
}

static int make_task(struct made *m, const struct ws_init_opts *o)
{
    struct ws__gpumode *g;
    char *text;
    size_t n;
    int rc;

    if (o->op || o->entry || o->device) {
        ws__fail(m->in.ctx, WS_EINVAL, "'%s' is a task, no kernel", o->source);
        return ws__hint(m->in.ctx, "a task is drafted without --op, --entry "
                                   "and --device");
    }
    WS_TRY(make_task_paths(m, o));
    WS_TRY(check_free(m, m->pub.op_path));
    WS_TRY(check_free(m, m->pub.tests_path));
    WS_TRY(ws__fs_can_create(m->in.ctx, m->dir));
    g = ws__arena_alloc(&m->in.arena, 1, sizeof(*g));
    if (!g)
        return WS_ENOMEM;
    WS_TRY(ws__fs_read(m->in.ctx, o->source, WS__DRAFT_SOURCE_MAX, &text, &n));
    rc = ws__gpumode_draft(m->in.ctx, &m->in.arena, text, n,
                           ws__arena_strdup(&m->in.arena, o->source),
                           m->draft.name, g);
    if (rc >= 0)
        rc = write_task(m, g);
    ws__gpumode_free(g);
    ws__free(m->in.ctx, text);
    m->pub.dialect = "a task of GPU MODE";
    m->pub.read_by = "its cases";
    return rc;
}

/* --- solutions of flashinfer-bench ---------------------------------------- */

#define MAX_SOLUTION ((size_t)16 << 20)

static bool is_json(const char *path)
{
    const char *dot = strrchr(ws__path_base(path), '.');

    return dot && !strcmp(dot, ".json");
}

/* Told behind what the reader of the source has to say. */
static int note(struct made *m, const char *text)
{
    if (text && m->nremark < WS_COUNT(m->remark))
        m->remark[m->nremark++] = text;
    return text ? 0 : WS_ENOMEM;
}

static int add_remarks(struct made *m)
{
    size_t n = m->pub.nnote;
    const char **all =
        ws__arena_alloc(&m->in.arena, n + m->nremark + 1, sizeof(*all));

    if (!all)
        return WS_ENOMEM;
    if (n)
        memcpy(all, m->pub.note, n * sizeof(*all));
    for (size_t i = 0; i < m->nremark; i++)
        all[n + i] = m->remark[i];
    m->pub.note = all;
    m->pub.nnote = n + m->nremark;
    return 0;
}

/* A source below the folder; of kernels only what a device compiles. */
static int write_part(struct made *m, const struct ws__solution_file *f,
                      bool cuda, const char *path)
{
    struct ws__arena *a = &m->in.arena;
    const char *text = f->text;
    uint32_t lines = 0, first = 0;

    if (cuda && f->device)
        text = ws__device_part(a, f->text, &lines, &first);
    if (!text)
        return WS_ENOMEM;
    WS_TRY(put(m, path, text, strlen(text)));
    return lines ? note(m, ws__arena_printf(a,
                                            "%u lines of '%s' that only a host "
                                            "compiles, from line %u on",
                                            lines, f->path, first))
                 : 0;
}

/* *kernel: the path of the first source that has one; NULL: none has. */
static int write_sources(struct made *m, const struct ws__solution *s,
                         const char **kernel)
{
    struct ws__arena *a = &m->in.arena;
    const char *out = m->pub.kernel_path, *base = ws__path_base(out);
    bool cuda = !strcmp(s->language, "cuda");
    const char **path = ws__arena_alloc(a, s->n, sizeof(*path));
    const char *stem = stem_of(m, out);

    *kernel = NULL;
    if (!path || !stem)
        return WS_ENOMEM;
    for (size_t i = 0; i < s->n; i++) {
        path[i] = ws__arena_printf(a, "%.*s%s/%s", (int)(base - out), out, stem,
                                   s->file[i].path);
        if (!path[i])
            return WS_ENOMEM;
        WS_TRY(ws__put_check(&m->puts, path[i],
                             ws__arena_strndup(a, out, (size_t)(base - out))));
    }
    for (size_t i = 0; i < s->n; i++) {
        WS_TRY(write_part(m, &s->file[i], cuda, path[i]));
        if (cuda && s->file[i].device && !*kernel)
            *kernel = path[i];
        else if (cuda && s->file[i].device)
            WS_TRY(note(m, ws__arena_printf(a, "'%s' has kernels, too",
                                            s->file[i].path)));
    }
    return 0;
}

static int only_sources(struct made *m, const struct ws__solution *s)
{
    m->pub.kernel_path = m->pub.op_path = NULL;
    m->pub.dialect =
        ws__arena_printf(&m->in.arena, "a solution in %s", s->language);
    m->pub.read_by = "its list of sources";
    if (!m->pub.dialect)
        return WS_ENOMEM;
    return note(m, !strcmp(s->language, "triton")
                       ? "a kernel in Triton needs a kernel file that is "
                         "written by hand (docs/triton.md)"
                       : "it has no kernel that a specification can name");
}

static int make_solution(struct made *m, const struct ws_init_opts *o)
{
    struct ws__arena *a = &m->in.arena;
    struct ws_init_opts of = *o;
    struct ws__solution s;
    char *text;
    size_t n;
    int rc;

    WS_TRY(make_paths(m, o));
    of.out = m->pub.kernel_path;
    WS_TRY(check_free(m, of.out));
    WS_TRY(check_free(m, m->pub.op_path));
    WS_TRY(ws__fs_read(m->in.ctx, o->source, MAX_SOLUTION, &text, &n));
    rc = ws__solution_read(m->in.ctx, a, text, n,
                           ws__arena_strdup(a, o->source), &s);
    ws__free(m->in.ctx, text);
    WS_TRY(rc);
    WS_TRY(write_sources(m, &s, &of.source));
    rc = of.source ? make(m, &of) : only_sources(m, &s);
    return rc < 0 ? rc : add_remarks(m);
}

static int make_any(struct made *m, const struct ws_init_opts *o)
{
    if (is_yaml(o->source))
        return make_task(m, o);
    return is_json(o->source) ? make_solution(m, o) : make(m, o);
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
    m->puts = (struct ws__puts){.ctx = ctx,
                                .arena = &m->in.arena,
                                .from = {opts->source, opts->op},
                                .force = opts->force != 0};
    rc = make_any(m, opts);
    if (rc < 0)
        ws__put_undo(&m->puts);
    else
        ws__put_keep(&m->puts);
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
