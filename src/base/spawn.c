/*
 * spawn.c: child processes. See spawn.h.
 *
 * posix_spawn, not fork: the tool may hold gigabytes and several threads, and
 * between fork and exec a copy of either is trouble. A worker sees exactly four
 * descriptors: nothing to read, two that go to the error file, and the socket;
 * another program its three standard streams. Everything else is closed,
 * whatever flags others forgot to set.
 *
 * A child is only ever reaped here, so a pid that is not 0 is ours and alive
 * or a zombie; signals cannot hit a stranger.
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/banned.h"

#define END_GRACE_NS 2000000000u
#define HELLO_TIMEOUT_NS 20000000000u

static bool same_key(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return !strncmp(a, b, n) && b[n] == '=';
}

/* The inherited environment with `extra` on top. */
static char **make_env(struct ws_ctx *ctx, const char *const *extra)
{
    size_t nold = 0, nextra = 0, n = 0;
    char **env;

    while (environ && environ[nold])
        nold++;
    while (extra && extra[nextra])
        nextra++;
    env = ws__alloc(ctx, nold + nextra + 1, sizeof(*env));
    if (!env)
        return NULL;
    for (size_t i = 0; i < nold; i++) {
        bool replaced = false;

        for (size_t k = 0; k < nextra; k++)
            replaced = replaced || same_key(extra[k], environ[i]);
        if (!replaced)
            env[n++] = environ[i];
    }
    for (size_t k = 0; k < nextra; k++)
        env[n++] = (char *)extra[k];
    return env;
}

/* What a child gets as its descriptors 0, 1, 2 and WS__WORKER_FD. Each is 3
 * or more, or -1: /dev/null, and no socket. */
struct ends {
    int in, out, err, sock;
};

static int place(posix_spawn_file_actions_t *fa, int fd, int to)
{
    if (fd >= 0)
        return posix_spawn_file_actions_adddup2(fa, fd, to);
    return posix_spawn_file_actions_addopen(fa, to, "/dev/null",
                                            to ? O_WRONLY : O_RDONLY, 0);
}

/* All sources are 3 or more, so that each step leaves those of the later ones
 * alone. A copy onto itself only keeps it open beyond exec. */
static int fill_actions(posix_spawn_file_actions_t *fa, const struct ends *ends)
{
    bool socket = ends->sock >= 0;
    int e;

    if ((e = place(fa, ends->in, 0)) || (e = place(fa, ends->err, 2)) ||
        (e = place(fa, ends->out, 1)) ||
        (socket && (e = place(fa, ends->sock, WS__WORKER_FD))))
        return e;
    return posix_spawn_file_actions_addclosefrom_np(fa, WS__WORKER_FD + socket);
}

/* Signals as in a fresh process, whatever the tool blocks or ignores. A group
 * of its own: what the child starts can be ended with it. */
static int fill_attr(posix_spawnattr_t *at)
{
    sigset_t none, all;
    int e;

    sigemptyset(&none);
    sigfillset(&all);
    if ((e = posix_spawnattr_setsigmask(at, &none)) ||
        (e = posix_spawnattr_setsigdefault(at, &all)) ||
        (e = posix_spawnattr_setpgroup(at, 0)))
        return e;
    return posix_spawnattr_setflags(at, POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETPGROUP);
}

static int spawn(const char *const *argv, char **env, const struct ends *ends,
                 pid_t *pid)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    int e = posix_spawn_file_actions_init(&fa);

    if (e)
        return e;
    e = posix_spawnattr_init(&at);
    if (!e) {
        e = fill_actions(&fa, ends);
        if (!e)
            e = fill_attr(&at);
        if (!e)
            e = posix_spawn(pid, argv[0], &fa, &at, (char *const *)argv, env);
        posix_spawnattr_destroy(&at);
    }
    posix_spawn_file_actions_destroy(&fa);
    return e;
}

/* --- errors of system calls ---------------------------------------------- */

static int code_of(int e)
{
    switch (e) {
    case ENOENT:
        return WS_ENOENT;
    case EACCES:
    case EPERM:
        return WS_EACCES;
    case ENOMEM:
        return WS_ENOMEM;
    case ENOSPC:
    case EFBIG:
        return WS_EFULL;
    default:
        return WS_EIO;
    }
}

static const char *hint_of(int e)
{
    switch (e) {
    case EMFILE:
    case ENFILE:
        return "close some files, or raise the limit of open files "
               "('ulimit -n')";
    case EAGAIN:
        return "end other processes, or raise the limit of processes "
               "('ulimit -u')";
    case EFBIG:
        return "raise the limit of the size of files ('ulimit -f')";
    case ENOMEM:
    case ENOSPC:
        return "free some memory, or use smaller workloads";
    case ENOENT:
    case EACCES:
    case EPERM:
    case ENOEXEC:
        return "check that it is there and a program that you may run";
    default:
        return "the system refuses; see its log if it persists";
    }
}

int ws__sys_fail(struct ws_ctx *ctx, int e, const char *what, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, what);
    vsnprintf(text, sizeof(text), what, ap);
    va_end(ap);
    ws__fail(ctx, code_of(e), "cannot %s: %s", text, strerror(e));
    return ws__hint(ctx, "%s", hint_of(e));
}

/* --- starting and ending ------------------------------------------------- */

/* 0 or errno; then both are -1. */
static int make_pair(int pair[2])
{
    int e = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        pair[0] = pair[1] = -1;
        return errno;
    }
    for (int i = 0; i < 2; i++) {
        pair[i] = ws__fd_keep(pair[i]);
        e = pair[i] < 0 ? errno : e;
    }
    for (int i = 0; i < 2 && e; i++) {
        if (pair[i] >= 0)
            close(pair[i]);
        pair[i] = -1;
    }
    return e;
}

int ws__proc_start(struct ws_ctx *ctx, const char *const *argv,
                   const char *const *env_extra, int stderr_fd,
                   struct ws__proc *out)
{
    int pair[2], e;
    char **env;

    *out = (struct ws__proc){.sock = -1};
    env = make_env(ctx, env_extra);
    if (!env)
        return WS_ENOMEM;
    e = make_pair(pair);
    if (!e) {
        struct ends ends = {-1, stderr_fd, stderr_fd, pair[1]};

        e = spawn(argv, env, &ends, &out->pid);
        close(pair[1]);
    }
    ws__free(ctx, env);
    if (e) {
        if (pair[0] >= 0)
            close(pair[0]);
        out->pid = 0;
        return ws__sys_fail(ctx, e, "start '%s'", argv[0]);
    }
    out->sock = pair[0];
    return 0;
}

int ws__proc_start_io(struct ws_ctx *ctx, const char *const *argv,
                      const int io[3], struct ws__proc *out)
{
    struct ends ends = {io[0], io[1], io[2], -1};
    int e;

    *out = (struct ws__proc){.sock = -1};
    e = spawn(argv, environ, &ends, &out->pid);
    if (!e)
        return 0;
    out->pid = 0;
    return ws__sys_fail(ctx, e, "start '%s'", argv[0]);
}

static void close_sock(struct ws__proc *p)
{
    if (p->sock >= 0)
        close(p->sock);
    p->sock = -1;
}

/* True once the child has ended and was reaped. What it started goes with it:
 * its group is ended before its number is free for others. */
static bool reap(struct ws__proc *p, int flags)
{
    siginfo_t info;
    int got;

    do {
        info.si_pid = 0;
        got = waitid(P_PID, (id_t)p->pid, &info, flags | WEXITED | WNOWAIT);
    } while (got < 0 && errno == EINTR);
    if (got == 0 && !info.si_pid)
        return false;
    p->status = 0;
    if (got == 0) {
        kill(-p->pid, SIGKILL);
        while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
            ;
    }
    p->pid = 0;
    return true;
}

bool ws__proc_ended(struct ws__proc *p)
{
    return p->pid <= 0 || reap(p, WNOHANG);
}

void ws__proc_stop(struct ws__proc *p, uint64_t grace_ns)
{
    uint64_t end = ws__now_ns() + grace_ns;
    uint64_t nap = 200000;

    close_sock(p);
    if (p->pid <= 0)
        return;
    while (!reap(p, WNOHANG)) {
        if (ws__now_ns() >= end) {
            ws__proc_kill(p);
            return;
        }
        ws__sleep_ns(nap);
        if (nap < 10000000)
            nap *= 2;
    }
}

void ws__proc_kill(struct ws__proc *p)
{
    close_sock(p);
    if (p->pid <= 0)
        return;
    kill(-p->pid, SIGKILL);
    reap(p, 0);
}

void ws__proc_describe(const struct ws__proc *p, char *out, size_t n)
{
    if (p->pid > 0)
        snprintf(out, n, "still running");
    else if (WIFSIGNALED(p->status))
        snprintf(out, n, "signal %d (%s)", WTERMSIG(p->status),
                 strsignal(WTERMSIG(p->status)));
    else
        snprintf(out, n, "exit status %d", WEXITSTATUS(p->status));
}

int ws__proc_signal(const struct ws__proc *p)
{
    return p->pid <= 0 && WIFSIGNALED(p->status) ? WTERMSIG(p->status) : 0;
}

int ws__worker_start(struct ws_ctx *ctx, enum ws__worker_role role,
                     const char *const *env_extra, int stderr_fd,
                     struct ws__proc *out)
{
    struct ws__buf b;
    char *path = NULL;
    int rc;

    *out = (struct ws__proc){.sock = -1};
    ws__buf_init(&b, ctx, 64);
    WS_TRY(ws__worker_path(ctx, &path));
    const char *argv[WS__PREFIX_MAX + 2];
    size_t n = 0;

    for (size_t i = 0; role == WS__ROLE_DEVICE && ctx->worker_prefix &&
                       ctx->worker_prefix[i] && n < WS__PREFIX_MAX;
         i++)
        argv[n++] = ctx->worker_prefix[i];
    argv[n] = path;
    argv[n + 1] = NULL;
    WS_TRY_DONE(ws__proc_start(ctx, argv, env_extra, stderr_fd, out));
    ws__put_u32(&b, WS__WIRE_VERSION);
    ws__put_u32(&b, role);
    rc = b.failed
             ? b.failed
             : ws__wire_send(ctx, out->sock, WS__WIRE_HELLO, b.data, b.len, -1);
    if (rc == WS_ECRASH) {
        char how[96];

        ws__proc_stop(out, END_GRACE_NS);
        ws__proc_describe(out, how, sizeof(how));
        ws__fail(ctx, rc, "the worker '%s' ended at once: %s", path, how);
        ctx->err.signal = ws__proc_signal(out);
    }
done:
    if (rc < 0)
        ws__proc_kill(out);
    ws__buf_free(&b);
    ws__free(ctx, path);
    return rc;
}

int ws__worker_hello(struct ws_ctx *ctx, int sock, enum ws__worker_role *role)
{
    struct ws__buf in;
    struct ws__reader r;
    uint32_t type = 0, version, word;
    int rc;

    ws__buf_init(&in, ctx, WS__WIRE_MAX);
    WS_TRY_DONE(ws__wire_recv(ctx, sock, &type, &in, NULL, HELLO_TIMEOUT_NS));
    r = ws__reader_of(&in);
    version = ws__get_u32(&r);
    word = ws__get_u32(&r);
    if (type != WS__WIRE_HELLO || r.bad)
        rc = ws__fail(ctx, WS_EPROTO, "no greeting from the tool");
    else if (version != WS__WIRE_VERSION)
        rc = ws__fail(ctx, WS_EVERSION,
                      "the tool speaks version %u, the worker %u",
                      (unsigned)version, WS__WIRE_VERSION);
    else if (word < WS__ROLE_DEVICE || word > WS__ROLE_COMPILE)
        rc = ws__fail(ctx, WS_EPROTO, "unknown role %u", (unsigned)word);
    else
        *role = (enum ws__worker_role)word;
done:
    ws__buf_free(&in);
    return rc;
}
