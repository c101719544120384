/*
 * fault.c: a device whose n-th operation fails, for tests. See shim.h.
 *
 * "fault:17:null" fails the 17th operation of any kind with WS_EDEVICE,
 * "fault:run@3=ECRASH:opencl:0" the third run as if the worker had crashed.
 * Operations are counted as long as the context lives, over all openings of
 * the same name, so that just one of them fails: what follows shows whether
 * the device's loss was borne. Opening is an operation ("open"); the clock is
 * none.
 *
 * Where a real device would be gone until it is opened again (a crash, a
 * time-out, a broken protocol), so is this one, and says so to whoever asks.
 */
#include "device/shim.h"

#include "base/banned.h"

struct fault {
    struct ws__shim shim;
    uint64_t *count;
    uint64_t at;
    enum ws__call_op op; /* NONE: any */
    int code;
    bool lost;
};

static int bad_spec(struct ws_ctx *ctx, const char *spec)
{
    ws__fail(ctx, WS_EINVAL, "cannot understand the fault '%s'", spec);
    return ws__hint(ctx, "say which operation and, if you like, its code: "
                         "'17', 'run@3', '*@17=ECRASH'");
}

static int parse_code(const char *name)
{
    for (int code = WS_EBUG; code < 0; code++)
        if (!strcmp(ws_status_name(code) + 3, name))
            return code;
    return 0;
}

static int parse_op(struct fault *f, const char *name)
{
    if (!strcmp(name, "*"))
        return 0;
    for (int op = 1; op < WS__CALL_END; op++)
        if (op != WS__CALL_CLOCK &&
            !strcmp(ws__call_name((enum ws__call_op)op), name)) {
            f->op = (enum ws__call_op)op;
            return 0;
        }
    return WS_EINVAL;
}

static int parse(struct ws_ctx *ctx, const char *spec, struct fault *f)
{
    char text[64], *number = text, *end;

    f->code = WS_EDEVICE;
    snprintf(text, sizeof(text), "%s", spec);
    end = strchr(text, '=');
    if (end) {
        *end++ = '\0';
        f->code = parse_code(end);
    }
    end = strchr(text, '@');
    if (end) {
        *end++ = '\0';
        number = end;
        if (parse_op(f, text) < 0)
            return bad_spec(ctx, spec);
    }
    if (*number < '0' || *number > '9' || strlen(number) > 12 || !f->code)
        return bad_spec(ctx, spec);
    f->at = strtoull(number, &end, 10);
    return *end || !f->at ? bad_spec(ctx, spec) : 0;
}

static bool is_gone(int code)
{
    return code == WS_ECRASH || code == WS_ETIMEOUT || code == WS_EPROTO;
}

/* 0: not this one. */
static int strike(struct fault *f, enum ws__call_op op)
{
    struct ws_ctx *ctx = f->shim.ctx;

    if (f->op && f->op != op)
        return 0;
    if (++*f->count != f->at)
        return 0;
    f->lost = is_gone(f->code);
    ws__fail(ctx, f->code, "operation %llu ('%s') fails by request: %s",
             (unsigned long long)f->at, ws__call_name(op),
             ws_status_text(f->code));
    return ws__hint(ctx, "the name of the device asks for it");
}

static int fault_hook(struct ws__shim *s, struct ws__call *c)
{
    struct fault *f = (struct fault *)s;

    if (c->op == WS__CALL_CLOCK)
        return ws__call_do(s->ctx, &s->inner, c);
    if (f->lost)
        return ws__fail(s->ctx, WS_ECRASH, "the device is gone, by request");
    WS_TRY(strike(f, c->op));
    return ws__call_do(s->ctx, &s->inner, c);
}

static void fault_end(struct ws__shim *s)
{
    ws__device_close(&s->inner);
    ws__free(s->ctx, s);
}

static int open_inner(struct fault *f, const char *spec, const char *device)
{
    struct ws__shim *s = &f->shim;
    char key[80];

    WS_TRY(parse(s->ctx, spec, f));
    snprintf(key, sizeof(key), "fault:%s", spec);
    f->count = ws__ctx_counter(s->ctx, key);
    if (!f->count)
        return WS_ENOMEM;
    WS_TRY(strike(f, WS__CALL_OPEN));
    WS_TRY(ws__device_open(s->ctx, device, &s->inner));
    s->info = s->inner.ops->info(s->inner.self);
    return 0;
}

int ws__fault_open(struct ws_ctx *ctx, const char *rest, struct ws__device *out)
{
    char spec[64];
    const char *device = ws__shim_split(ctx, "fault", rest, spec, sizeof(spec));
    struct fault *f;
    int rc;

    if (!device)
        return ws__hint(ctx, "a name is 'fault:run@3=ECRASH:null', say");
    f = ws__alloc(ctx, 1, sizeof(*f));
    if (!f)
        return WS_ENOMEM;
    f->shim =
        (struct ws__shim){.ctx = ctx, .hook = fault_hook, .end = fault_end};
    rc = open_inner(f, spec, device);
    if (rc < 0) {
        fault_end(&f->shim);
        return rc;
    }
    *out = (struct ws__device){&ws__device_shim, f};
    return 0;
}
