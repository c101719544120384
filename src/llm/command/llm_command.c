/*
 * llm_command.c: a program as a model: an agent, a script, a client of some
 * service.
 *
 * It is started without a shell, gets the messages on its standard input and
 * answers on its standard output. The input is a file in memory: there is no
 * pipe to fill while the program waits for us to read, and one that does not
 * read it does no harm. When the program has ended, what it left behind in its
 * process group is killed. Tokens are not reported.
 */
#include "llm/llm_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"
#include "base/banned.h"

#define ERRORS_BYTES ((size_t)2000) /* kept of its standard error */
#define POLL_MS 20
#define PIECES 64 /* of 16 KiB: the largest pipe */
#define PROMPT_BYTES ((size_t)64 << 20)

struct command {
    struct ws_ctx *ctx;
    const struct ws__llm_opts *opts;
    char *path;        /* of the program */
    const char **argv; /* opts->argv with the path in front */
};

/* One run. */
struct run {
    struct ws_ctx *ctx;
    struct ws__proc proc;
    int out[2], err[2]; /* pipes: ours to read, the program's to write */
    struct ws__shm in;
    struct ws__buf reply, errors;
};

/* --- opening -------------------------------------------------------------- */

static int find(struct command *c, const char *name)
{
    if (strchr(name, '/')) {
        c->path = ws__strdup(c->ctx, name);
        if (!c->path)
            return WS_ENOMEM;
    } else {
        WS_TRY(ws__find_program(c->ctx, c->opts->path, name, &c->path));
    }
    if (c->path && access(c->path, X_OK) == 0 && !ws__fs_is_dir(c->path))
        return 0;
    ws__fail(c->ctx, WS_ENOENT, "there is no program '%.200s'", name);
    return ws__hint(c->ctx, "give its path; arguments are words of their own, "
                            "and no shell reads them");
}

static int make_argv(struct command *c)
{
    size_t n = 0;

    while (c->opts->argv[n])
        n++;
    c->argv = ws__alloc(c->ctx, n + 1, sizeof(*c->argv));
    if (!c->argv)
        return WS_ENOMEM;
    memcpy(c->argv, c->opts->argv, n * sizeof(*c->argv));
    c->argv[0] = c->path;
    return 0;
}

static void command_close(void *self)
{
    struct command *c = self;

    ws__free(c->ctx, c->path);
    ws__free(c->ctx, c->argv);
    ws__free(c->ctx, c);
}

static int command_open(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                        void **self)
{
    struct command *c;
    int rc;

    if (!opts->argv || !opts->argv[0] || !*opts->argv[0])
        return ws__fail(ctx, WS_EINVAL, "a command as model needs a program");
    c = ws__alloc(ctx, 1, sizeof(*c));
    if (!c)
        return WS_ENOMEM;
    c->ctx = ctx;
    c->opts = opts;
    rc = find(c, opts->argv[0]);
    if (rc >= 0)
        rc = make_argv(c);
    if (rc < 0)
        command_close(c);
    else
        *self = c;
    return rc;
}

/* --- one run -------------------------------------------------------------- */

/* One message is sent as it is; of several each has a line that says whose it
 * is. */
static int write_prompt(struct run *r, const struct ws__llm_ask *ask)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, r->ctx, PROMPT_BYTES);
    for (size_t i = 0; i < ask->n; i++) {
        const struct ws__llm_msg *m = &ask->msg[i];
        size_t n = strlen(m->text);

        if (ask->n > 1)
            ws__buf_printf(&b, "%s=== %s ===\n", i ? "\n" : "",
                           ws__llm_role_name(m->role));
        ws__buf_add(&b, m->text, n);
        if (!n || m->text[n - 1] != '\n')
            ws__buf_puts(&b, "\n");
    }
    rc = b.failed;
    if (rc == WS_ELIMIT)
        ws__fail(r->ctx, rc, "a prompt of more than %zu MiB",
                 PROMPT_BYTES >> 20);
    if (rc >= 0)
        rc = ws__shm_new(r->ctx, b.len, &r->in);
    if (rc >= 0)
        memcpy(r->in.p, b.data, b.len);
    ws__buf_free(&b);
    return rc;
}

static int make_pipe(struct ws_ctx *ctx, int p[2])
{
    int e = 0;

    if (pipe2(p, O_CLOEXEC) < 0) {
        p[0] = p[1] = -1;
        return ws__sys_fail(ctx, errno, "make a pipe");
    }
    for (int i = 0; i < 2; i++) {
        p[i] = ws__fd_keep(p[i]);
        e = p[i] < 0 ? errno : e;
    }
    if (!e && fcntl(p[0], F_SETFL, O_NONBLOCK) < 0)
        e = errno;
    return e ? ws__sys_fail(ctx, e, "make a pipe") : 0;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int start(struct run *r, const struct command *c,
                 const struct ws__llm_ask *ask)
{
    WS_TRY(write_prompt(r, ask));
    WS_TRY(make_pipe(r->ctx, r->out));
    WS_TRY(make_pipe(r->ctx, r->err));
    const int io[3] = {r->in.fd, r->out[1], r->err[1]};
    WS_TRY(ws__proc_start_io(r->ctx, c->argv, io, &r->proc));
    close_end(&r->out[1]);
    close_end(&r->err[1]);
    return 0;
}

/* Reads what there is, and no more than a pipe can hold: a program that writes
 * without end shall not keep us here. At its end the descriptor is closed. */
static int drain(struct run *r, int *fd, struct ws__buf *b, bool whole)
{
    char piece[16384];
    ssize_t got;

    for (int i = 0; i < PIECES && *fd >= 0; i++) {
        got = read(*fd, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return 0;
        if (got < 0)
            return ws__sys_fail(r->ctx, errno, "read from a command");
        if (got == 0) {
            close_end(fd);
            return 0;
        }
        size_t n = (size_t)got, room = b->max - b->len;

        if (whole && n > room)
            return ws__fail(r->ctx, WS_ELIMIT,
                            "the command writes more than %zu bytes; it was "
                            "killed",
                            b->max);
        if (n && room)
            WS_TRY(ws__buf_add(b, piece, n < room ? n : room));
    }
    return 0;
}

static int drain_both(struct run *r)
{
    WS_TRY(drain(r, &r->out[0], &r->reply, true));
    return drain(r, &r->err[0], &r->errors, false);
}

static int wait_for_more(struct run *r)
{
    struct pollfd p[2] = {{.fd = r->out[0], .events = POLLIN},
                          {.fd = r->err[0], .events = POLLIN}};

    /* Both closed: it only has to end. */
    if (poll(p, 2, POLL_MS) < 0 && errno != EINTR)
        return ws__sys_fail(r->ctx, errno, "wait for a command");
    return 0;
}

static int follow(struct run *r, uint64_t total_ns)
{
    uint64_t end = ws__now_ns() + total_ns;

    while (!ws__proc_ended(&r->proc)) {
        WS_TRY(ws__check_stop(r->ctx));
        if (ws__now_ns() >= end)
            return ws__fail(r->ctx, WS_ETIMEOUT,
                            "the command did not end within %.1f s; it was "
                            "killed",
                            (double)total_ns / 1e9);
        WS_TRY(wait_for_more(r));
        WS_TRY(drain_both(r));
    }
    return drain_both(r);
}

static int judge(struct run *r, const struct command *c)
{
    char how[96], said[400];

    ws__llm_quote(c->opts->key, r->errors.data ? r->errors.data : "",
                  r->errors.len, said, sizeof(said));
    ws__proc_describe(&r->proc, how, sizeof(how));
    if (r->proc.status != 0)
        return ws__fail(r->ctx, WS_ECRASH,
                        "the command '%.200s' failed: %s%s%s", c->opts->argv[0],
                        how, *said ? ": " : "", said);
    if (!r->reply.len)
        return ws__fail(r->ctx, WS_EPROTO,
                        "the command '%.200s' wrote nothing%s%s",
                        c->opts->argv[0], *said ? ": " : "", said);
    if (strlen(r->reply.data) != r->reply.len)
        return ws__fail(r->ctx, WS_EPROTO,
                        "the command '%.200s' wrote a byte of zero: no text",
                        c->opts->argv[0]);
    return 0;
}

static void end(struct run *r)
{
    ws__proc_kill(&r->proc);
    for (int i = 0; i < 2; i++) {
        close_end(&r->out[i]);
        close_end(&r->err[i]);
    }
    ws__shm_free(&r->in);
    ws__buf_free(&r->reply);
    ws__buf_free(&r->errors);
}

static int command_ask(void *self, const struct ws__llm_ask *ask,
                       struct ws__llm_reply *out)
{
    struct command *c = self;
    const struct ws__llm_opts *o = c->opts;
    struct run r = {.ctx = c->ctx,
                    .proc = {.sock = -1},
                    .out = {-1, -1},
                    .err = {-1, -1},
                    .in = {.fd = -1}};
    int rc;

    WS_TRY(ws__llm_admit(c->ctx, o->meter, ask));
    ws__buf_init(&r.reply, c->ctx, o->max_reply_bytes);
    ws__buf_init(&r.errors, c->ctx, ERRORS_BYTES);
    WS_TRY_DONE(start(&r, c, ask));
    rc = follow(&r, o->total_ns);
    if (rc >= 0)
        rc = judge(&r, c);
    if (rc >= 0 && !(out->text = ws__buf_take(&r.reply)))
        rc = WS_ENOMEM;
    if (rc < 0) {
        ws__llm_settle_lost(o->meter, o, ask);
        goto done;
    }
    out->attempts = 1;
    ws__llm_settle(o->meter, o, ask, out, 0);
done:
    end(&r);
    return rc;
}

const struct ws__llm_ops ws__llm_command = {
    .name = "command",
    .abi = WS__LLM_ABI,
    .about = "a program: prompt on standard input, reply on standard output",
    .open = command_open,
    .ask = command_ask,
    .close = command_close};
