/*
 * serve.c: the worker's side: runs native references until end of file.
 *
 * One call at a time. Areas arrive before the call that uses them and stay
 * mapped until others replace them. A reference that fails is an answer; only
 * a broken socket or a broken message ends the worker.
 */
#include "reference/refpriv.h"

#include <unistd.h>

#include "base/banned.h"

#define MAX_CALL ((size_t)1 << 20)

const struct ws__native_reference *ws__native_find(const char *name)
{
    for (size_t i = 0; name && ws__native_table[i]; i++)
        if (!strcmp(ws__native_table[i]->name, name))
            return ws__native_table[i];
    return NULL;
}

struct server {
    struct ws_ctx *ctx;
    int sock;
    struct ws__shm inputs, results;
};

static int map_area(struct server *s, struct ws__shm *area,
                    const struct ws__buf *in, int fd)
{
    struct ws__reader r = ws__reader_of(in);
    uint64_t bytes = ws__get_u64(&r);

    ws__shm_free(area);
    if (r.bad || !bytes || fd < 0) {
        if (fd >= 0)
            close(fd);
        return ws__fail(s->ctx, WS_EPROTO, "bad shared area");
    }
    /* Inputs too are written to: by generators. */
    return ws__shm_map(s->ctx, fd, bytes, true, area);
}

static int dispatch(struct ws_ctx *ctx, const struct ws__ref_request *q,
                    const struct ws__ref_call *call)
{
    const struct ws__native_reference *n = ws__native_find(q->name);

    if (!n)
        return ws__fail(ctx, WS_EREFERENCE, "no native reference '%s'",
                        q->name);
    switch (q->what) {
    case WS__REF_RUN:
        return n->run(call);
    case WS__REF_GENERATE:
        if (n->generate)
            return n->generate(call);
        return ws__fail(ctx, WS_EREFERENCE,
                        "reference '%s' generates no inputs", q->name);
    case WS__REF_MUTANT:
        if (n->mutant && q->which < n->nmutant)
            return n->mutant(call, q->which);
        return ws__fail(ctx, WS_EREFERENCE, "reference '%s' has no mutant %u",
                        q->name, (unsigned)q->which);
    }
    return ws__fail(ctx, WS_EPROTO, "unknown call");
}

static int serve_call(struct server *s, const struct ws__buf *in)
{
    struct ws__ref_request q;
    struct ws__ref_call call = {.ctx = s->ctx};

    WS_TRY(ws__ref_request_get(s->ctx, in->data, in->len, s->inputs.bytes,
                               s->results.bytes, &q));
    for (size_t i = 0; i < q.ntensor; i++) {
        struct ws__ref_tensor *t = &q.tensor[i];

        if (q.input_at[i] != WS__REF_NOWHERE)
            t->data = (char *)s->inputs.p + q.input_at[i];
        if (q.generate[i] && q.what == WS__REF_GENERATE)
            t->fill_data = (char *)s->inputs.p + q.input_at[i];
        if (q.result_at[i] != WS__REF_NOWHERE)
            t->result =
                (double *)(void *)((char *)s->results.p + q.result_at[i]);
    }
    call.axis = q.axis;
    call.naxis = q.naxis;
    call.tensor = q.tensor;
    call.ntensor = q.ntensor;
    call.constant = q.constant;
    call.nconstant = q.nconstant;
    call.seed = q.seed;
    call.threads = ws__reference_threads(q.threads);
    return dispatch(s->ctx, &q, &call);
}

int ws__ref_answer(struct ws_ctx *ctx, int sock, int code)
{
    const struct ws_error *e = ws_ctx_error(ctx);
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, ctx, MAX_CALL);
    ws__put_u32(&b, (uint32_t)-code);
    ws__put_str(&b, code ? e->message : "");
    ws__put_str(&b, code ? e->hint : "");
    rc = b.failed ? b.failed
                  : ws__wire_send(ctx, sock, WS__REF_DONE, b.data, b.len, -1);
    ws__buf_free(&b);
    return rc;
}

static int serve_one(struct server *s, uint32_t type, const struct ws__buf *in,
                     int fd)
{
    int rc;

    switch (type) {
    case WS__REF_MAP_INPUTS:
        return map_area(s, &s->inputs, in, fd);
    case WS__REF_MAP_RESULTS:
        return map_area(s, &s->results, in, fd);
    case WS__REF_CALL:
        ws__error_clear(s->ctx);
        rc = serve_call(s, in);
        return ws__ref_answer(s->ctx, s->sock, rc < 0 ? rc : 0);
    default:
        return ws__fail(s->ctx, WS_EPROTO, "unknown message %u",
                        (unsigned)type);
    }
}

int ws__reference_serve(struct ws_ctx *ctx, int sock)
{
    struct server s = {.ctx = ctx, .sock = sock};
    struct ws__buf in;
    uint32_t type;
    int fd, rc;

    s.inputs.fd = s.results.fd = -1;
    ws__buf_init(&in, ctx, MAX_CALL);
    do {
        fd = -1;
        rc = ws__wire_recv(ctx, sock, &type, &in, &fd, 0);
        if (rc >= 0)
            rc = serve_one(&s, type, &in, fd);
    } while (rc >= 0);
    ws__buf_free(&in);
    ws__shm_free(&s.inputs);
    ws__shm_free(&s.results);
    return rc == WS_ECRASH ? 0 : rc; /* end of file is how it ends */
}
