/*
 * ctx.c: contexts and errors. See ctx.h.
 *
 * The error lives in the context, so a failing call needs no allocation to
 * say what went wrong; text that does not fit is cut, never lost whole.
 */
#define WS_BASE_ALLOC
#include "base/ctx.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/banned.h"

struct ws__counter {
    struct ws__counter *next;
    uint64_t value;
    char name[];
};

static const struct {
    int code;
    const char *name, *text;
} status_table[] = {
#define WS_X(code, name, text) {(code), "WS_" #name, (text)},
    WS_STATUS_MAP(WS_X)
#undef WS_X
};

const char *ws_status_name(int code)
{
    for (size_t i = 0; i < WS_COUNT(status_table); i++)
        if (status_table[i].code == code)
            return status_table[i].name;
    return "WS_UNKNOWN";
}

const char *ws_status_text(int code)
{
    for (size_t i = 0; i < WS_COUNT(status_table); i++)
        if (status_table[i].code == code)
            return status_table[i].text;
    return "unknown status";
}

static void *default_realloc(void *user, void *p, size_t bytes)
{
    (void)user;
    return realloc(p, bytes);
}

static void default_free(void *user, void *p)
{
    (void)user;
    free(p);
}

static int copy_path(struct ws_ctx *ctx, char **to, const char *from)
{
    if (!from)
        return 0;
    *to = ws__strdup(ctx, from);
    return *to ? 0 : WS_ENOMEM;
}

struct ws_ctx *ws_ctx_new(const struct ws_ctx_opts *opts)
{
    static const struct ws_ctx_opts none = {.size = sizeof(none)};
    static const struct ws_alloc std = {default_realloc, default_free, NULL};
    const struct ws_ctx_opts *o = opts ? opts : &none;
    const struct ws_alloc *a = o->alloc ? o->alloc : &std;
    struct ws_ctx *ctx = a->realloc(a->user, NULL, sizeof(*ctx));

    if (!ctx)
        return NULL;
    memset(ctx, 0, sizeof(*ctx));
    ctx->alloc = *a;
    ctx->log = o->log;
    ctx->log_user = o->log_user;
    ctx->stop = &ctx->own_stop;
    ctx->held_ns = &ctx->own_held_ns;
    if (copy_path(ctx, &ctx->worker_path, o->worker_path) ||
        copy_path(ctx, &ctx->share_dir, o->share_dir) ||
        copy_path(ctx, &ctx->cache_dir, o->cache_dir) ||
        (o->size > offsetof(struct ws_ctx_opts, turn_dir) &&
         copy_path(ctx, &ctx->turn_dir, o->turn_dir)) ||
        (o->size > offsetof(struct ws_ctx_opts, python) &&
         copy_path(ctx, &ctx->python, o->python)) ||
        (o->size > offsetof(struct ws_ctx_opts, data_dir) &&
         copy_path(ctx, &ctx->data_dir, o->data_dir)) ||
        (o->size > offsetof(struct ws_ctx_opts, tools) &&
         copy_path(ctx, &ctx->tools, o->tools))) {
        ws_ctx_free(ctx);
        return NULL;
    }
    return ctx;
}

struct ws_ctx *ws__ctx_child(struct ws_ctx *parent)
{
    struct ws_ctx_opts o = {
        .size = sizeof(o),
        .alloc = &parent->alloc,
        .log = parent->log,
        .log_user = parent->log_user,
        .worker_path = parent->worker_path,
        .share_dir = parent->share_dir,
        .cache_dir = parent->cache_dir,
        .turn_dir = parent->turn_dir,
        .python = parent->python,
        .data_dir = parent->data_dir,
        .tools = parent->tools,
    };
    struct ws_ctx *ctx = ws_ctx_new(&o);

    if (!ctx) {
        ws__nomem(parent);
        return NULL;
    }
    ctx->stop = parent->stop;
    ctx->held_ns = parent->held_ns;
    return ctx;
}

void ws_ctx_free(struct ws_ctx *ctx)
{
    if (!ctx)
        return;
    struct ws_alloc a = ctx->alloc;

    while (ctx->counters) {
        struct ws__counter *c = ctx->counters;

        ctx->counters = c->next;
        ws__free(ctx, c);
    }
    ws__free(ctx, ctx->worker_path);
    ws__free(ctx, ctx->share_dir);
    ws__free(ctx, ctx->cache_dir);
    ws__free(ctx, ctx->turn_dir);
    ws__free(ctx, ctx->python);
    ws__free(ctx, ctx->data_dir);
    ws__free(ctx, ctx->tools);
    a.free(a.user, ctx);
}

uint64_t *ws__ctx_counter(struct ws_ctx *ctx, const char *name)
{
    size_t n = strlen(name) + 1;
    struct ws__counter *c;

    for (c = ctx->counters; c; c = c->next)
        if (!strcmp(c->name, name))
            return &c->value;
    c = ws__alloc(ctx, 1, sizeof(*c) + n);
    if (!c)
        return NULL;
    memcpy(c->name, name, n);
    c->next = ctx->counters;
    ctx->counters = c;
    return &c->value;
}

const struct ws_error *ws_ctx_error(const struct ws_ctx *ctx)
{
    return &ctx->err;
}

void ws_ctx_cancel(struct ws_ctx *ctx)
{
    atomic_store_explicit(&ctx->stop->cancelled, 1, memory_order_relaxed);
}

void ws_ctx_set_timeout(struct ws_ctx *ctx, uint64_t ns)
{
    atomic_store(&ctx->stop->deadline_ns, ns ? ws__now_ns() + ns : 0);
}

int ws__check_stop(struct ws_ctx *ctx)
{
    uint64_t deadline;

    if (atomic_load_explicit(&ctx->stop->cancelled, memory_order_relaxed))
        return ws__fail(ctx, WS_ECANCEL, "stopped on request");
    deadline =
        atomic_load_explicit(&ctx->stop->deadline_ns, memory_order_relaxed);
    if (deadline && ws__now_ns() > deadline)
        return ws__fail(ctx, WS_ETIMEOUT, "the time limit is reached");
    return 0;
}

void ws__plain(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            *p++ = '?'; /* U+0080 to U+009F: some terminals obey them */
        else if ((*p >= ' ' && *p != 0x7f) || *p == '\n' || *p == '\t')
            continue;
        *p = '?';
    }
}

static void set_error(struct ws_ctx *ctx, int code, const struct ws__loc *loc,
                      const char *fmt, va_list ap)
{
    /* The arguments may point into the error itself: format aside first. */
    char text[sizeof(ctx->err.message)], file[sizeof(ctx->err.file)] = "";

    vsnprintf(text, sizeof(text), fmt, ap);
    ws__plain(text);
    if (loc && loc->file)
        snprintf(file, sizeof(file), "%s", loc->file);
    ctx->err.code = code;
    memcpy(ctx->err.message, text, sizeof(text));
    memcpy(ctx->err.file, file, sizeof(file));
    ctx->err.line = loc ? loc->line : 0;
    ctx->err.column = loc ? loc->column : 0;
    ctx->err.hint[0] = '\0';
    ctx->err.signal = 0;
}

int ws__fail(struct ws_ctx *ctx, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_error(ctx, code, NULL, fmt, ap);
    va_end(ap);
    return code;
}

int ws__fail_at(struct ws_ctx *ctx, int code, const struct ws__loc *loc,
                const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_error(ctx, code, loc, fmt, ap);
    va_end(ap);
    return code;
}

int ws__hint(struct ws_ctx *ctx, const char *fmt, ...)
{
    char text[sizeof(ctx->err.hint)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ws__plain(text);
    memcpy(ctx->err.hint, text, sizeof(text));
    return ctx->err.code;
}

int ws__error_locate(struct ws_ctx *ctx, const struct ws__loc *loc)
{
    if (!ctx->err.file[0] && loc->file)
        snprintf(ctx->err.file, sizeof(ctx->err.file), "%s", loc->file);
    if (!ctx->err.line) {
        ctx->err.line = loc->line;
        ctx->err.column = loc->column;
    }
    return ctx->err.code;
}

int ws__error_prefix(struct ws_ctx *ctx, const char *fmt, ...)
{
    char text[sizeof(ctx->err.message)], whole[sizeof(text) * 2 + 4];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ws__plain(text);
    snprintf(whole, sizeof(whole), "%s: %s", text, ctx->err.message);
    memcpy(ctx->err.message, whole, sizeof(text));
    ctx->err.message[sizeof(text) - 1] = '\0';
    return ctx->err.code;
}

int ws__error_copy(struct ws_ctx *to, const struct ws_ctx *from)
{
    if (to != from)
        to->err = from->err;
    return to->err.code;
}

void ws__error_clear(struct ws_ctx *ctx)
{
    memset(&ctx->err, 0, sizeof(ctx->err));
}

void ws__log(struct ws_ctx *ctx, enum ws_log_level level, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    if (!ctx->log)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ws__plain(text);
    ctx->log(ctx->log_user, level, text);
}
