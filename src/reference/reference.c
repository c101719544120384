/*
 * reference.c: the tool's side of a reference worker.
 *
 * A reference runs in a process that never maps device memory, and is itself
 * under suspicion: it has a time limit, and when it crashes, hangs or speaks
 * nonsense it is killed, the call fails with WS_EREFERENCE, and the next call
 * starts a fresh worker. A worker that dies may have been killed by something
 * else on the machine, so a call whose worker died is repeated, once: inputs
 * are not changed by it. What a reference says itself is never repeated.
 */
#include "reference/refpriv.h"

#include <unistd.h>

#include "base/banned.h"

#define MAX_MESSAGE ((size_t)1 << 20)
#define GRACE_NS 200000000u /* to end after its socket is closed */

struct ws__reference {
    struct ws_ctx *ctx;
    const struct ws__op *op;
    unsigned threads;
    uint64_t timeout_ns;
    struct ws__proc proc;
    int log; /* what Python prints; -1: native */
};

static int check_native(struct ws_ctx *ctx, const struct ws__op *op)
{
    if (!op->reference) {
        ws__fail(ctx, WS_EREFERENCE, "op '%s' has no reference", op->name);
        return ws__hint(ctx, "add 'reference: native', or one of your own: "
                             "{python: FILE} or {kernel: FILE}");
    }
    if (ws__native_find(op->reference))
        return 0;
    ws__fail(ctx, WS_EREFERENCE, "native reference '%s' is not built in",
             op->reference);
    return ws__hint(ctx, "native references are ops/<name>/reference.c of the "
                         "source tree; others are {python: FILE} or "
                         "{kernel: FILE}");
}

int ws__reference_open(struct ws_ctx *ctx, const struct ws__op *op,
                       unsigned threads, uint64_t timeout_ns,
                       struct ws__reference **out)
{
    struct ws__reference *r;

    *out = NULL;
    if (!op->python.text)
        WS_TRY(check_native(ctx, op));
    r = ws__alloc(ctx, 1, sizeof(*r));
    if (!r)
        return WS_ENOMEM;
    r->ctx = ctx;
    r->op = op;
    r->threads = ws__reference_threads(threads);
    r->timeout_ns = timeout_ns;
    r->proc.sock = -1;
    r->log = op->python.text ? ws__python_log(ctx) : -1;
    if (op->python.text && r->log < 0) {
        int rc = r->log;

        ws__free(ctx, r);
        return rc;
    }
    *out = r;
    return 0;
}

void ws__reference_close(struct ws__reference *r)
{
    if (!r)
        return;
    ws__proc_stop(&r->proc, GRACE_NS);
    if (r->log >= 0)
        close(r->log);
    ws__free(r->ctx, r);
}

static int send_area(struct ws__reference *r, uint32_t type,
                     const struct ws__shm *area)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, r->ctx, 64);
    ws__put_u64(&b, area->bytes);
    rc = b.failed ? b.failed
                  : ws__wire_send(r->ctx, r->proc.sock, type, b.data, b.len,
                                  area->fd);
    ws__buf_free(&b);
    return rc;
}

/* The worker's answer: its own failure keeps code, words and hint. */
static int take_answer(struct ws__reference *r, const struct ws__buf *in)
{
    struct ws__reader rd = ws__reader_of(in);
    uint32_t code = ws__get_u32(&rd);
    const char *message = ws__get_str(&rd), *hint = ws__get_str(&rd);

    if (rd.bad || code > 1000 || !message || !hint)
        return ws__fail(r->ctx, WS_EPROTO, "answer is malformed");
    if (!code)
        return 0;
    ws__fail(r->ctx, -(int)code, "%s", message);
    return ws__hint(r->ctx, "%s", hint);
}

static int wait_answer(struct ws__reference *r, bool *answered)
{
    struct ws__buf in;
    uint32_t type = 0;
    int rc;

    ws__buf_init(&in, r->ctx, MAX_MESSAGE);
    WS_TRY_DONE(
        ws__wire_recv(r->ctx, r->proc.sock, &type, &in, NULL, r->timeout_ns));
    if (type != WS__REF_DONE) {
        rc = ws__fail(r->ctx, WS_EPROTO, "unknown answer %u", (unsigned)type);
        goto done;
    }
    rc = take_answer(r, &in);
    *answered = rc != WS_EPROTO;
done:
    ws__buf_free(&in);
    return rc;
}

/* A Python that failed to load the user's text is of no use. */
static int start(struct ws__reference *r, bool *answered)
{
    int rc;

    if (r->proc.pid)
        return 0;
    if (r->log < 0)
        return ws__worker_start(r->ctx, WS__ROLE_REFERENCE, NULL, -1, &r->proc);
    WS_TRY(ws__python_start(r->ctx, r->op, r->threads, r->timeout_ns, r->log,
                            &r->proc));
    rc = wait_answer(r, answered);
    if (rc < 0 && *answered)
        ws__proc_stop(&r->proc, GRACE_NS);
    return rc;
}

static int exchange(struct ws__reference *r, const struct ws__problem *p,
                    const struct ws__buf *call, bool *answered)
{
    WS_TRY(start(r, answered));
    *answered = false;
    WS_TRY(send_area(r, WS__REF_MAP_INPUTS, &p->inputs));
    WS_TRY(send_area(r, WS__REF_MAP_RESULTS, &p->results));
    WS_TRY(ws__wire_send(r->ctx, r->proc.sock, WS__REF_CALL, call->data,
                         call->len, -1));
    return wait_answer(r, answered);
}

/* Says what became of a worker that did not answer, and ends it. */
static int lost(struct ws__reference *r, int code)
{
    char how[128], words[256];

    if (code == WS_ECRASH)
        ws__proc_stop(&r->proc, GRACE_NS);
    else
        ws__proc_kill(&r->proc);
    ws__proc_describe(&r->proc, how, sizeof(how));
    ws__python_last_words(r->log, words, sizeof(words));
    switch (code) {
    case WS_ECRASH:
        ws__fail(r->ctx, WS_EREFERENCE, "reference of '%s' crashed: %s%s",
                 r->op->name, how, words);
        if (!strstr(words, "fork"))
            return WS_EREFERENCE;
        return ws__hint(r->ctx, "it may start no processes; is the Python a "
                                "script that does (pyenv's)? Name the "
                                "interpreter itself in WAVESMITH_PYTHON");
    case WS_ETIMEOUT:
        WS_TRY(ws__check_stop(r->ctx)); /* the caller's own limit */
        ws__fail(r->ctx, WS_EREFERENCE,
                 "reference of '%s' did not end within %.1f s", r->op->name,
                 (double)r->timeout_ns * 1e-9);
        return ws__hint(r->ctx, "raise the time limit or use smaller "
                                "workloads");
    case WS_EPROTO:
        ws__error_prefix(r->ctx, "reference of '%s'", r->op->name);
        r->ctx->err.code = WS_EREFERENCE;
        return WS_EREFERENCE;
    default: /* no worker, no memory, cancelled */
        return code;
    }
}

static int call_worker(struct ws__reference *r, struct ws__problem *p,
                       struct ws__ref_request *q)
{
    struct ws__buf call;
    bool answered = false;
    int rc;

    ws__ref_request_fill(p, q);
    q->threads = r->threads;
    ws__buf_init(&call, r->ctx, MAX_MESSAGE);
    ws__ref_request_put(&call, q);
    rc = call.failed ? call.failed : exchange(r, p, &call, &answered);
    if (rc == WS_ECRASH && !answered) {
        ws__proc_stop(&r->proc, GRACE_NS);
        ws__log(r->ctx, WS_LOG_DEBUG, "reference of '%s' died; again",
                r->op->name);
        rc = exchange(r, p, &call, &answered);
    }
    ws__buf_free(&call);
    if (rc < 0 && !answered)
        return lost(r, rc);
    if (rc < 0 && rc != WS_ENOTSUP && rc != WS_ENOMEM) {
        ws__error_prefix(r->ctx, "reference of '%s'", r->op->name);
        r->ctx->err.code = rc = WS_EREFERENCE;
    }
    return rc;
}

int ws__reference_run(struct ws__reference *r, struct ws__problem *p)
{
    struct ws__ref_request q = {.what = WS__REF_RUN};

    if (r->log >= 0)
        ws__python_forget(p);
    WS_TRY(call_worker(r, p, &q));
    return r->log >= 0 && !p->unjudged ? ws__python_complete(p) : 0;
}

int ws__reference_generate(struct ws__reference *r, struct ws__problem *p)
{
    struct ws__ref_request q = {.what = WS__REF_GENERATE};

    if (!r)
        return ws__fail(p->ctx, WS_EREFERENCE,
                        "inputs of '%s' need its reference", p->in->op->name);
    return call_worker(r, p, &q);
}

size_t ws__reference_mutants(const struct ws__reference *r)
{
    const struct ws__native_reference *n = ws__native_find(r->op->reference);

    return n ? n->nmutant : 0;
}

const char *ws__reference_mutant_name(const struct ws__reference *r,
                                      size_t which)
{
    const struct ws__native_reference *n = ws__native_find(r->op->reference);

    return n && which < n->nmutant ? n->mutant_name[which] : NULL;
}

int ws__reference_mutant(struct ws__reference *r, struct ws__problem *p,
                         size_t which)
{
    struct ws__ref_request q = {.what = WS__REF_MUTANT,
                                .which = (uint32_t)which};

    return call_worker(r, p, &q);
}
