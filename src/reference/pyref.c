/*
 * pyref.c: the tool's side of a reference in Python: starting its worker.
 *
 * The worker becomes an interpreter that runs a script of ours; it gets the
 * user's text, not its file, so that what runs is what was hashed. After that
 * calls are the same messages as to a native reference.
 *
 * What the interpreter itself prints, and a Python that dies in the middle,
 * goes to a file in memory; the best line of it is part of the error.
 */
#include "reference/refpriv.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"

#include "base/banned.h"

#define SCRIPTS "ops/python"
#define MAX_SETUP ((size_t)4 << 20)
#define MAX_LINE 200
#define LOG_READ 16384

int ws__reference_allowed(struct ws_ctx *ctx, const struct ws__op *op,
                          bool trust_python)
{
    if (!op->python.text || trust_python)
        return 0;
    ws__fail(ctx, WS_EACCES,
             "the reference of '%s' is Python code, '%s', and is not trusted",
             op->name, op->python.file);
    return ws__hint(ctx, "read it; then let it run with --trust-python");
}

int ws__python_log(struct ws_ctx *ctx)
{
    int fd = ws__fd_keep(memfd_create("wavesmith-python", MFD_CLOEXEC));

    if (fd < 0)
        return ws__sys_fail(ctx, errno, "make a file in memory");
    return fd;
}

/* The line that tells most: the first that speaks of an error, else the
 * last one. */
void ws__python_last_words(int log, char *out, size_t n)
{
    char text[LOG_READ], *line = text, *best = NULL, *next;
    ssize_t got = log < 0 ? 0 : pread(log, text, sizeof(text) - 1, 0);

    out[0] = '\0';
    if (got <= 0)
        return;
    text[got] = '\0';
    for (; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (*line)
            best = line;
        if (strstr(line, "rror"))
            break;
    }
    if (best)
        snprintf(out, n, ": %.*s", MAX_LINE, best);
}

void ws__python_forget(struct ws__problem *p)
{
    memset(p->results.p, 0xff, p->results.bytes); /* NaN */
}

/* "[1, 2]" */
static void place_words(const struct ws__tensor_shape *s, uint64_t i,
                        char out[256])
{
    uint64_t left = s->elements;
    size_t n = 0;

    for (size_t d = 0; d < s->ndim && n < 200; d++) {
        left /= (uint64_t)s->dim[d];
        n += (size_t)snprintf(out + n, 256 - n, "%s%llu", d ? ", " : "[",
                              (unsigned long long)(i / left));
        i %= left;
    }
    snprintf(out + n, 256 - n, "%s", n ? "]" : "[]");
}

static int no_number(const struct ws__problem *p, size_t t, uint64_t first)
{
    const struct ws__tensor_shape *s = &p->in->shape[t];
    const char *op = p->in->op->name, *name = p->in->op->tensor[t].name;
    const double *v = p->result[t];
    static const uint64_t forgotten = ~(uint64_t)0;
    uint64_t n = 0;
    char place[256];

    if (!memcmp(&v[first], &forgotten, sizeof(forgotten)))
        return ws__fail(p->ctx, WS_EREFERENCE,
                        "reference of '%s' left out elements of '%s'", op,
                        name);
    for (uint64_t i = first; i < s->elements; i++)
        n += isnan(v[i]);
    place_words(s, first, place);
    ws__fail(p->ctx, WS_EREFERENCE,
             "reference of '%s': output '%s' has %llu NaN, the first at %s", op,
             name, (unsigned long long)n, place);
    return ws__hint(p->ctx, "a reference must be a number wherever a kernel is "
                            "compared with it");
}

int ws__python_complete(const struct ws__problem *p)
{
    for (size_t t = 0; t < p->in->op->ntensor; t++)
        for (uint64_t i = 0; p->result[t] && i < p->in->shape[t].elements; i++)
            if (isnan(p->result[t][i]))
                return no_number(p, t, i);
    return 0;
}

static int script_path(struct ws_ctx *ctx, const char *name, char **out)
{
    char *share, *dir;

    *out = NULL;
    WS_TRY(ws__share_dir(ctx, &share));
    dir = ws__path_join(ctx, share, SCRIPTS);
    *out = dir ? ws__path_join(ctx, dir, name) : NULL;
    ws__free(ctx, dir);
    ws__free(ctx, share);
    if (!*out)
        return WS_ENOMEM;
    if (ws__fs_exists(*out))
        return 0;
    ws__fail(ctx, WS_ENOENT, "'%s' is missing", *out);
    ws__hint(ctx, "it is installed with the shipped operators");
    ws__free(ctx, *out);
    *out = NULL;
    return WS_ENOENT;
}

static void put_setup(struct ws__buf *b, const struct ws__op *op,
                      unsigned threads, uint64_t timeout_ns)
{
    const struct ws__python *p = &op->python;

    ws__put_str(b, ws__path_base(p->file));
    ws__put_str(b, p->text);
    ws__put_str(b, p->function);
    ws__put_u32(b, p->arrays == WS__PY_TORCH);
    ws__put_u32(b, threads);
    /* Seconds of processors for one call. */
    ws__put_u64(b, (timeout_ns / 1000000000u + 1) * threads);
    ws__put_u32(b, (uint32_t)op->naxis);
    for (size_t i = 0; i < op->naxis; i++) {
        ws__put_str(b, op->axis[i].name);
        ws__put_u32(b, op->axis[i].kind == WS__AXIS_TYPE);
    }
    ws__put_u32(b, (uint32_t)op->nconstant);
    for (size_t i = 0; i < op->nconstant; i++) {
        const struct ws__value *v = &op->constant[i].value;

        ws__put_str(b, op->constant[i].name);
        ws__put_u32(b, v->type != WS__FLOAT);
        ws__put_f64(b, v->type == WS__FLOAT ? v->u.f : (double)v->u.i);
    }
    ws__put_u32(b, (uint32_t)op->ntensor);
    for (size_t i = 0; i < op->ntensor; i++) {
        ws__put_str(b, op->tensor[i].name);
        ws__put_u32(b, op->tensor[i].ndim == 0);
    }
#define WS_X(code, name, text, bytes, eps)                                     \
    ws__put_u32(b, code);                                                      \
    ws__put_str(b, text);
    WS__DTYPE_MAP(WS_X)
#undef WS_X
    ws__put_u32(b, 0);
}

int ws__python_send_start(struct ws_ctx *ctx, int sock, const char *name,
                          unsigned threads, const char *folder)
{
    struct ws__buf b;
    char *script;
    int rc;

    WS_TRY(script_path(ctx, name, &script));
    ws__buf_init(&b, ctx, MAX_SETUP);
    ws__put_str(&b, ctx->python && *ctx->python ? ctx->python : "python3");
    ws__put_str(&b, script);
    ws__put_u32(&b, threads);
    ws__put_str(&b, folder);
    rc = b.failed ? b.failed
                  : ws__wire_send(ctx, sock, WS__REF_PYTHON, b.data, b.len, -1);
    ws__buf_free(&b);
    ws__free(ctx, script);
    return rc;
}

int ws__python_start(struct ws_ctx *ctx, const struct ws__op *op,
                     unsigned threads, uint64_t timeout_ns, int log,
                     struct ws__proc *proc)
{
    struct ws__buf b;
    int rc;

    /* What the worker before said is no news. */
    if (ftruncate(log, 0) < 0 || lseek(log, 0, SEEK_SET) < 0)
        return ws__sys_fail(ctx, errno, "empty a file in memory");
    WS_TRY(ws__worker_start(ctx, WS__ROLE_PYTHON, NULL, log, proc));
    WS_TRY(ws__python_send_start(ctx, proc->sock, "ws_reference.py", threads,
                                 NULL));
    ws__buf_init(&b, ctx, MAX_SETUP);
    put_setup(&b, op, threads, timeout_ns);
    rc = b.failed
             ? b.failed
             : ws__wire_send(ctx, proc->sock, WS__REF_SETUP, b.data, b.len, -1);
    ws__buf_free(&b);
    return rc;
}
