/*
 * triton_helper.c: the tool's side of the helper that changes sources in
 * Triton (docs/triton-changes.md).
 *
 * The worker becomes an interpreter on ops/python/ws_triton_xform.py, confined
 * like a reference in Python: no sockets, no files to write, no processes. It
 * parses sources and runs none of them, so nobody needs to trust them. A
 * request and its answer are one message each. A helper that ends, or does not
 * answer in time, may have been unlucky: it is started and asked once more, so
 * that what a run does depends on its sources and not on the machine's load.
 */
#include "plan/plan_triton.h"

#include <jansson.h>
#include <unistd.h>

#include "base/banned.h"

#define SCRIPT "ws_triton_xform.py"
#define MAX_REQUEST ((size_t)16 << 20)
#define MAX_ANSWER ((size_t)16 << 20)
#define LIMIT_NS 60000000000u
#define GRACE_NS 500000000u

/* Messages, as the script has them. */
enum { REQUEST = 120, ANSWER };

/* --- the process ---------------------------------------------------------- */

static void stop(struct ws__triton_helper *h)
{
    if (h->proc.pid)
        ws__proc_stop(&h->proc, GRACE_NS);
    if (h->log >= 0)
        close(h->log);
    h->log = -1;
    h->proc = (struct ws__proc){.sock = -1};
    ws__buf_free(&h->in); /* it may be full */
    ws__buf_init(&h->in, h->ctx, MAX_ANSWER);
}

static int start(struct ws__triton_helper *h)
{
    int rc;

    if (h->proc.pid)
        return 0;
    h->log = ws__python_log(h->ctx);
    WS_TRY(h->log < 0 ? h->log : 0);
    rc = ws__worker_start(h->ctx, WS__ROLE_PYTHON, NULL, h->log, &h->proc);
    if (rc >= 0)
        rc = ws__python_send_start(h->ctx, h->proc.sock, SCRIPT, 1, NULL);
    if (rc < 0)
        stop(h);
    return rc;
}

/* What went wrong with a helper that is of no use any more. */
static int broken(struct ws__triton_helper *h, int rc)
{
    char how[96], words[240] = "";
    int stopped;

    if (rc == WS_ECRASH) {
        ws__proc_stop(&h->proc, GRACE_NS);
        ws__proc_describe(&h->proc, how, sizeof(how));
        ws__python_last_words(h->log, words, sizeof(words));
        rc = ws__fail(h->ctx, WS_EREFERENCE,
                      "the helper for Triton ended: %s%s", how, words);
        ws__hint(h->ctx,
                 strstr(words, "fork")
                     ? "name the interpreter itself in WAVESMITH_PYTHON: a "
                       "script may start no other program here"
                     : "it needs Python 3.9 or later, which WAVESMITH_PYTHON "
                       "may name");
    } else if (rc == WS_ETIMEOUT) {
        stopped = ws__check_stop(h->ctx);
        rc = stopped < 0 ? stopped
                         : ws__fail(h->ctx, WS_EREFERENCE,
                                    "the helper for Triton did not answer "
                                    "within %.3g s",
                                    (double)h->limit_ns * 1e-9);
    } else if (rc == WS_ELIMIT || rc == WS_EPROTO) {
        rc = ws__fail(h->ctx, WS_EPROTO,
                      "the helper for Triton answers nonsense: more than %zu "
                      "MiB",
                      MAX_ANSWER >> 20);
    }
    stop(h);
    return rc;
}

/* A worker that cannot become Python says why in the way of references. */
static int not_python(struct ws__triton_helper *h)
{
    struct ws__reader r = ws__reader_of(&h->in);
    const char *message, *hint;

    ws__get_u32(&r);
    message = ws__get_str(&r);
    hint = ws__get_str(&r);
    if (r.bad || !message || !*message)
        return ws__fail(h->ctx, WS_EPROTO,
                        "the helper for Triton answers nonsense: a message of "
                        "another kind");
    ws__fail(h->ctx, WS_EREFERENCE, "%s", message);
    return hint && *hint ? ws__hint(h->ctx, "%s", hint) : WS_EREFERENCE;
}

static int exchange(struct ws__triton_helper *h, const struct ws__buf *request)
{
    uint32_t type;
    int rc;

    WS_TRY(start(h));
    rc = ws__wire_send_within(h->ctx, h->proc.sock, REQUEST, request->data,
                              request->len, h->limit_ns);
    /* One that could not become Python has said so, and may be gone. */
    if (rc >= 0 || rc == WS_ECRASH)
        rc = ws__wire_recv(h->ctx, h->proc.sock, &type, &h->in, NULL,
                           h->limit_ns);
    if (rc < 0)
        return broken(h, rc);
    if (type == ANSWER)
        return 0;
    rc = not_python(h);
    stop(h);
    return rc;
}

static int ask(struct ws__triton_helper *h, const struct ws__buf *request)
{
    int rc;

    if (request->failed == WS_ELIMIT)
        return ws__fail(h->ctx, WS_EPARSE, "the source is too long");
    WS_TRY(request->failed);
    rc = exchange(h, request);
    if (rc != WS_EREFERENCE)
        return rc;
    ws__error_clear(h->ctx);
    return exchange(h, request);
}

/* --- requests ------------------------------------------------------------- */

static int add_text(const char *text, size_t n, void *user)
{
    return ws__buf_add(user, text, n) < 0 ? -1 : 0;
}

static int put_source(struct ws__triton_helper *h, struct ws__buf *b,
                      const char *source)
{
    json_t *s = json_string(source);
    int bad;

    if (!s)
        return ws__fail(h->ctx, WS_EPARSE, "the source is no text in UTF-8");
    bad = json_dump_callback(s, add_text, b, JSON_ENCODE_ANY);
    json_decref(s);
    return bad < 0 && !b->failed ? ws__nomem(h->ctx) : 0;
}

static int put_request(struct ws__triton_helper *h, struct ws__buf *b,
                       const char *command, const char *source,
                       const char *facts, const char *site)
{
    size_t n = strlen(facts);

    ws__buf_init(b, h->ctx, MAX_REQUEST);
    ws__buf_printf(b, "{\"command\": \"%s\", \"source\": ", command);
    WS_TRY(put_source(h, b, source));
    /* One more member of the map. */
    ws__buf_puts(b, ", \"facts\": ");
    ws__buf_add(b, facts, n - 1);
    ws__buf_printf(b, "%s\"rounding\": true}", n > 2 ? ", " : "");
    if (site)
        ws__buf_printf(b, ", \"site\": %s", site);
    ws__buf_puts(b, "}");
    return 0;
}

int ws__triton_find(struct ws__triton_helper *h, const char *source,
                    const char *facts, struct ws__triton_places *out)
{
    struct ws__buf b;
    int rc = put_request(h, &b, "find", source, facts, NULL);

    if (rc >= 0)
        rc = ask(h, &b);
    ws__buf_free(&b);
    WS_TRY(rc);
    return ws__triton_places_read(h->ctx, h->arena, &h->rules, h->in.data,
                                  h->in.len, out);
}

int ws__triton_apply(struct ws__triton_helper *h, const char *source,
                     const char *facts, const char *site,
                     struct ws__triton_edited *out)
{
    struct ws__buf b;
    int rc = put_request(h, &b, "apply", source, facts, site);

    if (rc >= 0)
        rc = ask(h, &b);
    ws__buf_free(&b);
    WS_TRY(rc);
    return ws__triton_edited_read(h->ctx, h->arena, source, h->in.data,
                                  h->in.len, out);
}

/* --- opening -------------------------------------------------------------- */

int ws__triton_helper_open(struct ws_ctx *ctx, struct ws__arena *arena,
                           uint64_t limit_ns, struct ws__triton_helper *out)
{
    struct ws__buf b;
    int rc;

    *out =
        (struct ws__triton_helper){.ctx = ctx,
                                   .arena = arena,
                                   .proc = {.sock = -1},
                                   .log = -1,
                                   .limit_ns = limit_ns ? limit_ns : LIMIT_NS};
    ws__buf_init(&out->in, ctx, MAX_ANSWER);
    ws__buf_init(&b, ctx, MAX_REQUEST);
    ws__buf_puts(&b, "{\"command\": \"list\"}");
    rc = ask(out, &b);
    ws__buf_free(&b);
    if (rc >= 0)
        rc = ws__triton_rules_read(ctx, arena, out->in.data, out->in.len,
                                   &out->rules);
    if (rc < 0)
        ws__triton_helper_close(out);
    return rc;
}

void ws__triton_helper_close(struct ws__triton_helper *h)
{
    stop(h);
    ws__buf_free(&h->in);
}
