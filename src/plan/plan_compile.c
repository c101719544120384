/*
 * plan_compile.c: compiles kernels in Triton ahead, into a folder of files.
 *
 * What is wanted are the keys (core/triton.c) of every launch of every valid
 * config on every workload, each once; of a bool that a shape decides both
 * values, so that shapes to come find their file.
 *
 * The folder, <kernel file>.triton/<target>/, has source.py, the text that was
 * compiled, index.json and the cubins. The index is written before source.py
 * whenever the text is a new one: a folder whose source.py is the kernel's text
 * holds nothing that is older. An index is written every few files, so that
 * whatever ends the work, the next run goes on. A compiler that was killed or
 * took too long is asked again then; what it refused stays refused.
 */
#include "plan/plan_compile.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/fs.h"
#include "space/space.h"

#include "base/banned.h"

#define DEFAULT_TARGET "sm_90"
#define TABLE 16384 /* places for keys; a power of two over 2 * MAX_FILES */
#define EVERY 16    /* files between two indexes */
#define MAX_INDEX ((size_t)8 << 20)
#define MAX_SOURCE ((size_t)1 << 20)
#define LIMIT_S 600 /* to compile a file */

struct job {
    struct ws_spec *spec;
    struct ws_ctx *ctx;
    const struct ws__kernel *k;
    const struct ws_compile_opts *opts;
    struct ws_compile_result *out;
    struct ws__arena arena;
    const char *target, *folder;
    const char **key; /* wanted */
    size_t nkey;
    uint16_t *table;              /* key + 1, by hash; 0: free */
    struct ws__source_file *file; /* what there is: 2 * MAX_FILES places */
    size_t nfile, nkept;
};

/* --- what is wanted ------------------------------------------------------- */

static int too_many(struct job *j)
{
    ws__fail(j->ctx, WS_ELIMIT, "kernel '%s' needs more than %d files",
             j->k->name, WS__MAX_FILES);
    return ws__hint(j->ctx, "narrow its space or its workloads: fewer values, "
                            "constraints, --workloads FILE");
}

static int want(struct job *j, const char *key)
{
    size_t at = (size_t)(ws__hash_bytes(key, strlen(key)).lo % TABLE);

    for (; j->table[at]; at = (at + 1) % TABLE)
        if (!strcmp(j->key[j->table[at] - 1], key))
            return 0;
    if (j->nkey == WS__MAX_FILES)
        return too_many(j);
    j->key[j->nkey] = ws__arena_strdup(&j->arena, key);
    if (!j->key[j->nkey])
        return WS_ENOMEM;
    j->table[at] = (uint16_t)++j->nkey;
    return 0;
}

/* All values of the bools that shapes decide. */
static int want_launch(struct job *j, const struct ws__launch *l,
                       const union wsrt_value *vars)
{
    char key[WS__MAX_TRITON_KEY];
    uint32_t both = 0, flip = 0;

    if (!ws__triton_may_run(j->k, l, vars))
        return 0;
    for (size_t i = 0; i < l->nmeta; i++)
        both |= l->meta[i].both ? 1u << i : 0;
    do {
        WS_TRY(ws__triton_key(j->ctx, j->k, l, vars, flip, key));
        WS_TRY(want(j, key));
        flip = (flip - both) & both; /* the next subset of `both` */
    } while (flip);
    return 0;
}

static int want_config(struct job *j, const struct ws__config *c,
                       const struct ws__instance *in)
{
    union wsrt_value vars[WS__MAX_SLOTS];

    memcpy(vars, in->vars, sizeof(vars));
    ws__config_vars(j->k, c, vars);
    for (size_t i = 0; i < j->k->nlaunch; i++)
        WS_TRY(want_launch(j, &j->k->launch[i], vars));
    return ws__check_stop(j->ctx);
}

static bool in_range(const struct ws__kernel *k, const struct ws__instance *in)
{
    bool ok = true;

    for (size_t a = 0; a < k->op->naxis; a++)
        if (k->range_lo[a] || k->range_hi[a])
            ok = ok && in->vars[a].i >= k->range_lo[a] &&
                 in->vars[a].i <= k->range_hi[a];
    return ok;
}

static int want_workload(struct job *j, const struct ws__workload *w)
{
    struct ws__space_iter it;
    struct ws__space *space;
    struct ws__instance in;
    struct ws__config c;
    int rc;

    WS_TRY(ws__instance_make(j->ctx, j->spec->s->op, w, &in));
    if (!in_range(j->k, &in))
        return 0;
    if (j->opts->config) {
        WS_TRY(ws__config_parse(j->ctx, j->k, j->opts->config, &c));
        return want_config(j, &c, &in);
    }
    WS_TRY(ws__space_new(j->ctx, j->k, in.vars, true, false, &space));
    /* A default that is not worth trying is measured all the same. */
    ws__config_default(j->k, &c);
    rc = ws__space_legal(space, &c, NULL);
    if (rc > 0)
        rc = want_config(j, &c, &in);
    ws__space_begin(space, &it);
    while (rc >= 0 && (rc = ws__space_next(&it, &c)) > 0)
        rc = want_config(j, &c, &in);
    ws__space_free(space);
    return rc;
}

static int want_all(struct job *j)
{
    const struct ws__spec *s = j->spec->s;

    if (!s->nworkload) {
        ws__fail(j->ctx, WS_EINVAL, "'%s' names no workloads", s->path);
        return ws__hint(j->ctx, "what is compiled depends on shapes and types: "
                                "give --workloads FILE");
    }
    for (size_t i = 0; i < s->nworkload; i++)
        WS_TRY(want_workload(j, &s->workload[i]));
    return 0;
}

/* --- the folder ----------------------------------------------------------- */

/* As text of JSON; what would need escapes is not worth them. */
static void put_text(struct ws__buf *b, const char *s)
{
    ws__buf_puts(b, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        ws__buf_printf(b, "%c",
                       c == '"' || c == '\\' ? '\''
                       : c < ' ' || c > '~'  ? ' '
                                             : *s);
    }
    ws__buf_puts(b, "\"");
}

static void put_file(struct ws__buf *b, const struct ws__source_file *f)
{
    char hex[33];

    ws__buf_puts(b, "{\"key\": ");
    put_text(b, f->key);
    if (f->failed) {
        ws__buf_puts(b, ", \"failed\": ");
        put_text(b, f->failed);
    } else {
        ws__hash_hex(f->hash, hex);
        ws__buf_printf(b, ", \"file\": \"%s\", \"entry\": ", f->name);
        put_text(b, f->entry);
        ws__buf_printf(b,
                       ", \"threads\": %u, \"shared\": %u, \"nulls\": %u, "
                       "\"bytes\": %zu, \"hash\": \"%s\"",
                       f->threads, f->shared_bytes, f->nulls, f->bytes, hex);
    }
    ws__buf_puts(b, "}");
}

static int write_file(struct job *j, const char *name, const void *data,
                      size_t n)
{
    char *path = ws__path_join(j->ctx, j->folder, name);
    int rc = path ? ws__fs_write(j->ctx, path, data, n) : WS_ENOMEM;

    ws__free(j->ctx, path);
    return rc;
}

static int compare_keys(const void *a, const void *b)
{
    const struct ws__source_file *x = a, *y = b;

    return strcmp(x->key, y->key);
}

/* Sorted, so that the same work gives the same bytes. */
static int write_index(struct job *j, const char *version)
{
    struct ws__buf b;
    int rc;

    if (j->nfile)
        qsort(j->file, j->nfile, sizeof(*j->file), compare_keys);
    ws__buf_init(&b, j->ctx, MAX_INDEX);
    ws__buf_puts(&b, "{\"format\": \"wavesmith-triton-1\",\n\"triton\": ");
    put_text(&b, version);
    ws__buf_puts(&b, ", \"target\": ");
    put_text(&b, j->target);
    ws__buf_puts(&b, ",\n\"files\": [");
    for (size_t i = 0; i < j->nfile; i++) {
        ws__buf_puts(&b, i ? ",\n" : "\n");
        put_file(&b, &j->file[i]);
    }
    ws__buf_puts(&b, "\n]}\n");
    rc = b.failed ? b.failed : write_file(j, "index.json", b.data, b.len);
    ws__buf_free(&b);
    return rc;
}

/* A text of the folder; NULL: none. */
static int read_text(struct job *j, const char *name, size_t max, char **out,
                     size_t *n)
{
    char *path = ws__path_join(j->ctx, j->folder, name);
    int rc = path ? 0 : WS_ENOMEM;

    *out = NULL;
    if (path && ws__fs_exists(path))
        rc = ws__fs_read(j->ctx, path, max, out, n);
    ws__free(j->ctx, path);
    return rc;
}

static bool is_fresh(struct job *j)
{
    char *text = NULL;
    size_t n = 0;
    bool same = read_text(j, "source.py", MAX_SOURCE, &text, &n) >= 0 && text &&
                n == strlen(j->k->triton_source) &&
                !memcmp(text, j->k->triton_source, n);

    ws__free(j->ctx, text);
    return same;
}

/* Is the file still what the index says? Killed compilers get another try. */
static bool is_whole(struct job *j, const struct ws__source_file *f)
{
    char *data = NULL;
    size_t n = 0;
    bool same;

    if (f->failed)
        return strncmp(f->failed, "the compiler ", 13) != 0;
    same = read_text(j, f->name, (size_t)64 << 20, &data, &n) >= 0 && data &&
           n == f->bytes && ws__hash_eq(ws__hash_bytes(data, n), f->hash);
    ws__free(j->ctx, data);
    return same;
}

static bool is_wanted(const struct job *j, const char *key)
{
    size_t at = (size_t)(ws__hash_bytes(key, strlen(key)).lo % TABLE);

    for (; j->table[at]; at = (at + 1) % TABLE)
        if (!strcmp(j->key[j->table[at] - 1], key))
            return true;
    return false;
}

/* What an earlier run made of the same text, with the same version. Of what
 * nobody wants now as much as there is room for. A folder that cannot be read
 * is made anew. */
static int keep(struct job *j, const char *version)
{
    struct ws__triton_index x;
    char *text = NULL;
    size_t n = 0, room;
    int rc = 0;

    if (is_fresh(j))
        rc = read_text(j, "index.json", MAX_INDEX, &text, &n);
    if (rc >= 0 && text)
        rc =
            ws__triton_index_read(j->ctx, &j->arena, text, n, "index.json", &x);
    ws__free(j->ctx, text);
    if (rc == WS_ENOMEM)
        return rc;
    if (rc < 0 || !text || strcmp(x.version, version) != 0 ||
        strcmp(x.target, j->target) != 0) {
        ws__error_clear(j->ctx);
        return 0;
    }
    room = WS__MAX_FILES - j->nkey;
    for (size_t i = 0; i < x.n; i++) {
        bool wanted = is_wanted(j, x.file[i].key);

        if ((!wanted && !room) || !is_whole(j, &x.file[i]))
            continue;
        room -= !wanted;
        j->nkept += wanted;
        j->file[j->nfile++] = x.file[i];
    }
    ws__error_clear(j->ctx);
    return 0;
}

/* --- the work ------------------------------------------------------------- */

/* The keys that there is nothing of. */
static size_t missing(const struct job *j, const char **key)
{
    size_t n = 0;

    for (size_t i = 0; i < j->nkey; i++) {
        bool there = false;

        for (size_t f = 0; f < j->nfile && !there; f++)
            there = !strcmp(j->file[f].key, j->key[i]);
        if (!there)
            key[n++] = j->key[i];
    }
    return n;
}

static void note_failure(struct job *j, const char *key, const char *words)
{
    j->out->failed++;
    if (!j->out->failure[0])
        snprintf(j->out->failure, sizeof(j->out->failure), "%.500s: %.500s",
                 key, words);
}

static int take(struct job *j, const char *key, const struct ws__compiled *r)
{
    struct ws__source_file *f = &j->file[j->nfile];

    WS_TRY(ws__compiled_file(&j->arena, key, r, f));
    if (!f->failed) {
        WS_TRY(write_file(j, f->name, r->cubin, r->bytes));
        j->out->compiled++;
    }
    j->nfile++;
    return 0;
}

static int run(struct job *j, struct ws__compiler *c, const char **key,
               size_t n)
{
    struct ws__compiled r;
    size_t i, done = 0;
    int rc;

    WS_TRY(ws__compiler_send(c, key, n));
    while ((rc = ws__compiler_next(c, n, &i, &r)) > 0) {
        if (!key[i])
            return ws__fail(j->ctx, WS_EPROTO,
                            "the compiler answers the same twice");
        WS_TRY(take(j, key[i], &r));
        if (j->opts->progress) {
            struct ws_compile_progress p = {.kernel = j->k->name,
                                            .key = key[i],
                                            .failure =
                                                j->file[j->nfile - 1].failed,
                                            .done = ++done,
                                            .planned = n};

            j->opts->progress(j->opts->user, &p);
        }
        key[i] = NULL;
        if (j->nfile % EVERY == 0)
            WS_TRY(write_index(j, c->version));
    }
    return rc;
}

/* Keeps what is done, however it ended. */
static int finish(struct job *j, const char *version, int rc)
{
    struct ws_error err = j->ctx->err;
    int end = write_index(j, version);

    if (rc >= 0)
        return end;
    j->ctx->err = err;
    return rc;
}

static int compile(struct job *j, struct ws__compiler *c)
{
    const char **key = ws__arena_alloc(&j->arena, j->nkey + 1, sizeof(*key));
    size_t n;
    int rc = 0;

    if (!key)
        return WS_ENOMEM;
    WS_TRY(keep(j, c->version));
    n = missing(j, key);
    WS_TRY(write_index(j, c->version));
    WS_TRY(write_file(j, "source.py", j->k->triton_source,
                      strlen(j->k->triton_source)));
    if (n)
        rc = finish(j, c->version, run(j, c, key, n));
    for (size_t i = 0; i < j->nfile; i++)
        if (j->file[i].failed && is_wanted(j, j->file[i].key))
            note_failure(j, j->file[i].key, j->file[i].failed);
    j->out->kept += j->nkept;
    snprintf(j->out->triton, sizeof(j->out->triton), "%s", c->version);
    return rc;
}

static unsigned job_count(const struct ws_compile_opts *o)
{
    return o->jobs ? o->jobs : ws__processors();
}

/* The folder, and one in it where the compiler may write. */
static int make_folder(struct job *j, char **real, char **work)
{
    char name[40];

    *real = *work = NULL;
    j->folder = ws__triton_folder(&j->arena, j->k, j->target);
    if (!j->folder)
        return WS_ENOMEM;
    WS_TRY(ws__fs_mkdirs(j->ctx, j->folder));
    WS_TRY(ws__path_inside(j->ctx, j->k->dir, j->folder, real));
    ws__compile_sweep(j->ctx, *real);
    snprintf(name, sizeof(name), WS__COMPILE_WORK "%ld", (long)getpid());
    *work = ws__path_join(j->ctx, *real, name);
    return *work ? ws__fs_mkdirs(j->ctx, *work) : WS_ENOMEM;
}

static int compile_kernel(struct job *j)
{
    struct ws__compiler c = {.log = -1, .proc = {.sock = -1}};
    char *real = NULL, *work = NULL;
    int rc;

    j->target = j->opts->target ? j->opts->target
                : j->k->target  ? j->k->target
                                : DEFAULT_TARGET;
    j->key = ws__arena_alloc(&j->arena, WS__MAX_FILES, sizeof(*j->key));
    j->table = ws__arena_alloc(&j->arena, TABLE, sizeof(*j->table));
    j->file = ws__arena_alloc(&j->arena, 2 * WS__MAX_FILES, sizeof(*j->file));
    if (!j->key || !j->table || !j->file)
        return WS_ENOMEM;
    WS_TRY(want_all(j));
    WS_TRY_DONE(make_folder(j, &real, &work));
    WS_TRY_DONE(ws__compiler_start(j->ctx, j->k, j->target, work,
                                   job_count(j->opts), LIMIT_S, &c));
    rc = compile(j, &c);
    ws__compiler_stop(&c);
    j->out->kernels++;
    j->out->files += j->nkey;
    snprintf(j->out->folder, sizeof(j->out->folder), "%s", j->folder);
    snprintf(j->out->target, sizeof(j->out->target), "%s", j->target);
done:
    if (work)
        ws__compile_remove(work);
    if (rc < 0 && real)
        rmdir(real); /* if nothing came into it: it would count as a target */
    ws__free(j->ctx, real);
    ws__free(j->ctx, work);
    return rc;
}

static int check(struct ws_spec *spec, const struct ws_compile_opts *o,
                 size_t *first, size_t *last)
{
    const struct ws__spec *s = spec->s;
    size_t n = 0;

    WS_TRY(ws__plan_need_op(spec, "compile"));
    *first = 0;
    *last = s->nkernel;
    if (o->kernel) {
        WS_TRY(ws__plan_kernel(spec, o->kernel, first));
        *last = *first + 1;
    }
    for (size_t i = *first; i < *last; i++)
        n += s->kernel[i].dialect == WS__DIALECT_TRITON;
    if (!n) {
        ws__fail(spec->ctx, WS_EINVAL, "'%s' has no kernel in Triton", s->path);
        return ws__hint(spec->ctx, "others are compiled when they run");
    }
    if (o->target && (!*o->target || strpbrk(o->target, "/."))) {
        ws__fail(spec->ctx, WS_EINVAL, "'%s' is no target", o->target);
        return ws__hint(spec->ctx, "write sm_90");
    }
    if (o->trust_python)
        return 0;
    ws__fail(spec->ctx, WS_EACCES,
             "the kernels of '%s' are Python code and not trusted", s->path);
    return ws__hint(spec->ctx,
                    "read them; then let them run with --trust-python");
}

int ws_compile(struct ws_spec *spec, const struct ws_compile_opts *opts,
               struct ws_compile_result *out)
{
    struct ws_compile_opts o = {0};
    size_t first, last;
    int rc = 0;

    memset(out, 0, sizeof(*out));
    if (opts)
        memcpy(&o, opts,
               opts->size && opts->size < sizeof(o) ? opts->size : sizeof(o));
    WS_TRY(check(spec, &o, &first, &last));
    for (size_t i = first; i < last && rc >= 0; i++) {
        struct job j = {.spec = spec,
                        .ctx = spec->ctx,
                        .k = &spec->s->kernel[i],
                        .opts = &o,
                        .out = out};

        if (j.k->dialect != WS__DIALECT_TRITON)
            continue;
        ws__arena_init(&j.arena, j.ctx);
        rc = compile_kernel(&j);
        ws__arena_free(&j.arena);
    }
    return rc;
}
