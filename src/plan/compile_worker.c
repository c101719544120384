/*
 * compile_worker.c: the tool's side of a compiler in Python.
 *
 * The worker becomes an interpreter on ops/python/ws_triton.py, confined: no
 * sockets, and it writes below one folder only. It gets the user's text and not
 * its file, so that what is compiled is what was read, and answers with bytes:
 * it is this process that puts files where they belong. Nothing that it says is
 * trusted further than a file from a stranger would be; the folder is read like
 * one when a specification is loaded.
 */
#include "plan/plan_compile.h"

#include <unistd.h>

#include "base/fs.h"
#include "base/spawn.h"

#include "base/banned.h"

/* Messages, as ws_triton.py has them. */
enum { SETUP = 110, READY, JOBS, RESULT, DONE };

#define START_NS 120000000000u /* importing, and what the user's text does */
#define SLACK_NS 60000000000u  /* of a file, beside its own limit */
#define GRACE_NS 2000000000u
#define MAX_WORDS 700

static int broken(struct ws__compiler *c, int rc, const char *when)
{
    char how[96], words[240] = "";

    if (rc == WS_ETIMEOUT) {
        WS_TRY(ws__check_stop(c->ctx));
        return ws__fail(c->ctx, WS_EREFERENCE,
                        "the compiler does not answer %s", when);
    }
    if (rc != WS_ECRASH)
        return rc;
    ws__proc_stop(&c->proc, GRACE_NS);
    ws__proc_describe(&c->proc, how, sizeof(how));
    ws__python_last_words(c->log, words, sizeof(words));
    ws__fail(c->ctx, WS_EREFERENCE, "the compiler ended %s: %s%s", when, how,
             words);
    return ws__hint(c->ctx, "memory may be short: use fewer --jobs; what is "
                            "done is kept");
}

static int setup(struct ws__compiler *c, const struct ws__kernel *k,
                 const char *target, unsigned jobs, unsigned limit_s)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, c->ctx, WS__WIRE_MAX);
    ws__put_str(&b, ws__path_base(k->source_file));
    ws__put_str(&b, k->triton_source);
    ws__put_str(&b, target);
    ws__put_u32(&b, jobs);
    ws__put_u32(&b, limit_s);
    rc = b.failed
             ? b.failed
             : ws__wire_send(c->ctx, c->proc.sock, SETUP, b.data, b.len, -1);
    ws__buf_free(&b);
    return rc;
}

/* The answer to SETUP: a version, or what is wrong. A worker that cannot become
 * Python answers in the way of references. */
static int ready(struct ws__compiler *c)
{
    const char *version, *words;
    struct ws__reader r;
    uint32_t type;

    WS_TRY(ws__wire_recv(c->ctx, c->proc.sock, &type, &c->in, NULL, START_NS));
    r = ws__reader_of(&c->in);
    if (type != READY) {
        ws__get_u32(&r);
        version = "";
        words = ws__get_str(&r);
    } else {
        version = ws__get_str(&r);
        words = ws__get_str(&r);
    }
    if (r.bad || !version || !words)
        return ws__fail(c->ctx, WS_EPROTO, "the compiler answers nonsense");
    if (*words || !*version)
        return ws__fail(c->ctx, WS_EREFERENCE, "%s", words);
    snprintf(c->version, sizeof(c->version), "%s", version);
    return 0;
}

int ws__compiler_start(struct ws_ctx *ctx, const struct ws__kernel *k,
                       const char *target, const char *folder, unsigned jobs,
                       unsigned limit_s, struct ws__compiler *out)
{
    int rc;

    memset(out, 0, sizeof(*out));
    out->ctx = ctx;
    out->limit_ns = limit_s * 1000000000ull + SLACK_NS;
    out->proc.sock = -1;
    ws__buf_init(&out->in, ctx, WS__WIRE_MAX);
    out->log = ws__python_log(ctx);
    WS_TRY_DONE(out->log < 0 ? out->log : 0);
    WS_TRY_DONE(
        ws__worker_start(ctx, WS__ROLE_COMPILE, NULL, out->log, &out->proc));
    WS_TRY_DONE(
        ws__python_send_start(ctx, out->proc.sock, "ws_triton.py", 1, folder));
    rc = setup(out, k, target, jobs, limit_s);
    if (rc >= 0)
        rc = ready(out);
    WS_TRY_DONE(broken(out, rc, "at its start"));
    return 0;
done:
    ws__compiler_stop(out);
    return rc;
}

int ws__compiler_send(struct ws__compiler *c, const char *const *key, size_t n)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, c->ctx, WS__WIRE_MAX);
    ws__put_u32(&b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        ws__put_str(&b, key[i]);
    rc = b.failed
             ? b.failed
             : ws__wire_send(c->ctx, c->proc.sock, JOBS, b.data, b.len, -1);
    ws__buf_free(&b);
    return broken(c, rc, "before its work");
}

int ws__compiler_next(struct ws__compiler *c, size_t n, size_t *index,
                      struct ws__compiled *out)
{
    struct ws__reader r;
    uint32_t type;
    int rc =
        ws__wire_recv(c->ctx, c->proc.sock, &type, &c->in, NULL, c->limit_ns);

    WS_TRY(broken(c, rc, "at work"));
    if (type == DONE)
        return 0;
    memset(out, 0, sizeof(*out));
    r = ws__reader_of(&c->in);
    *index = ws__get_u32(&r);
    out->failed = ws__get_str(&r);
    out->entry = ws__get_str(&r);
    out->threads = ws__get_u32(&r);
    out->shared_bytes = ws__get_u32(&r);
    out->nulls = ws__get_u32(&r);
    out->cubin = ws__get_blob(&r, &out->bytes);
    if (type != RESULT || r.bad || *index >= n || !out->failed || !out->entry)
        return ws__fail(c->ctx, WS_EPROTO, "the compiler answers nonsense");
    if (!*out->failed)
        out->failed = NULL;
    return 1;
}

/* A compiler's words, for terminals and the index. */
static char *plain_words(struct ws__arena *a, const char *words)
{
    char *text = ws__arena_printf(a, "%.*s", MAX_WORDS, words);

    for (char *p = text; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = ' ';
    return text;
}

int ws__compiled_file(struct ws__arena *a, const char *key,
                      const struct ws__compiled *r, struct ws__source_file *f)
{
    char hex[33];

    memset(f, 0, sizeof(*f));
    f->key = key;
    if (r->failed) {
        f->name = f->entry = "";
        f->threads = 1;
        f->failed = plain_words(a, r->failed);
        return f->failed ? 0 : WS_ENOMEM;
    }
    ws__hash_hex(ws__hash_str((struct ws__hash){0, 0}, key), hex);
    hex[16] = '\0';
    f->name =
        ws__arena_printf(a, "%.*s_%s.cubin", (int)strcspn(key, "("), key, hex);
    f->entry = ws__arena_strdup(a, r->entry);
    if (!f->name || !f->entry)
        return WS_ENOMEM;
    f->threads = r->threads;
    f->shared_bytes = r->shared_bytes;
    f->nulls = r->nulls;
    f->bytes = r->bytes;
    f->hash = ws__hash_bytes(r->cubin, r->bytes);
    return 0;
}

void ws__compiler_stop(struct ws__compiler *c)
{
    ws__proc_stop(&c->proc, GRACE_NS);
    ws__buf_free(&c->in);
    if (c->log >= 0)
        close(c->log);
    c->log = -1;
}
