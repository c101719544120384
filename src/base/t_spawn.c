/* t_spawn.c: children: start, talk, end, kill, what they inherit; where the
 * worker is; the greeting. Children are shell one-liners. */
#include "base/t_base.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"
#include "base/t_fds.h"

#define GRACE_NS 10000000000u

static int start(struct ws_ctx *ctx, const char *script, const char *const *env,
                 int err, struct ws__proc *out)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};

    return ws__proc_start(ctx, argv, env, err, out);
}

static void talks_to_a_child(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__proc p;
    struct ws__buf in;
    uint32_t type;
    char how[64];

    (void)state;
    ws__buf_init(&in, ctx, 1000);
    /* what comes in goes out: a frame comes back as it was */
    assert_int_equal(start(ctx, "cat <&3 >&3; exit 3", NULL, -1, &p), 0);
    assert_int_equal(ws__wire_send(ctx, p.sock, 5, "ping", 4, -1), 0);
    assert_int_equal(ws__wire_recv(ctx, p.sock, &type, &in, NULL, GRACE_NS), 0);
    assert_int_equal(type, 5);
    assert_memory_equal(in.data, "ping", 4);
    ws__proc_describe(&p, how, sizeof(how));
    assert_string_equal(how, "still running");
    ws__proc_stop(&p, GRACE_NS);
    ws__proc_describe(&p, how, sizeof(how));
    assert_string_equal(how, "exit status 3");
    ws__proc_stop(&p, GRACE_NS);
    ws__proc_kill(&p);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    ws__buf_free(&in);
    ws_ctx_free(ctx);
}

static void kills_what_does_not_end(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__proc p;
    char how[64];

    (void)state;
    assert_int_equal(start(ctx, "while :; do sleep 1; done", NULL, -1, &p), 0);
    ws__proc_stop(&p, 1000000);
    ws__proc_describe(&p, how, sizeof(how));
    assert_string_equal(how, "signal 9 (Killed)");
    assert_int_equal(p.pid, 0);
    assert_int_equal(p.sock, -1);
    ws_ctx_free(ctx);
}

/* Runs a script to its end and returns what it wrote to its error output. */
static char *errors_of(struct ws_ctx *ctx, const char *script,
                       const char *const *env)
{
    char path[] = "/tmp/wavesmith-t_spawn-XXXXXX";
    static char text[1000];
    struct ws__proc p;
    ssize_t n;
    int fd = ws__fd_keep(mkstemp(path));

    assert_true(fd >= 0);
    assert_int_equal(start(ctx, script, env, fd, &p), 0);
    ws__proc_stop(&p, GRACE_NS);
    n = pread(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    unlink(path);
    return text;
}

static void inherits_only_what_it_should(void **state)
{
    static const char *const env[] = {"T_SPAWN_A=new", "T_SPAWN_B=2", NULL};
    struct ws_ctx *ctx = t_ctx(NULL);
    int extra = fcntl(0, F_DUPFD, 6); /* not close-on-exec */

    (void)state;
    setenv("T_SPAWN_A", "old", 1);
    setenv("T_SPAWN_AB", "kept", 1);
    signal(SIGTERM, SIG_IGN);
    assert_string_equal(errors_of(ctx,
                                  "echo $T_SPAWN_A $T_SPAWN_B $T_SPAWN_AB >&2",
                                  env),
                        "new 2 kept\n");
    assert_string_equal(errors_of(ctx,
                                  "for i in 0 1 2 3 4 5 6 7 8 9; do "
                                  "[ -e /proc/$$/fd/$i ] && echo $i >&2; done",
                                  NULL),
                        "0\n1\n2\n3\n");
    assert_string_equal(errors_of(ctx, "kill -TERM $$; echo was ignored >&2",
                                  NULL),
                        "");
    signal(SIGTERM, SIG_DFL);
    close(extra);
    ws_ctx_free(ctx);
}

/* In a process of its own: the streams of this one stay. */
static int without_streams(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    const char *said;

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    said = errors_of(ctx, "[ -e /proc/$$/fd/0 ] && echo said >&2", NULL);
    if (strcmp(said, "said\n") != 0)
        return 1;
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return 2;
    ws_ctx_free(ctx);
    return 0;
}

static void survives_without_streams(void **state)
{
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (!pid)
        _exit(without_streams());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void refuses(struct ws_ctx *ctx, const char *path, int code)
{
    const char *const argv[] = {path, NULL};
    const struct ws_error *e = ws_ctx_error(ctx);
    int before = t_count_fds();
    struct ws__proc p;

    static const int io[3] = {-1, -1, -1};

    assert_int_equal(ws__proc_start_io(ctx, argv, io, &p), code);
    assert_int_equal(p.pid, 0);
    assert_int_equal(ws__proc_start(ctx, argv, NULL, -1, &p), code);
    assert_int_equal(e->code, code);
    assert_non_null(strstr(e->message, path));
    assert_true(e->hint[0]);
    assert_int_equal(p.pid, 0);
    assert_int_equal(p.sock, -1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(t_count_fds(), before);
    ws__proc_stop(&p, 0);
}

static void refuses_what_is_no_program(void **state)
{
    char path[] = "/tmp/wavesmith-t_spawn-XXXXXX";
    struct ws_ctx *ctx = t_ctx(NULL);
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "\1\2\3", 3), 3);
    close(fd);
    refuses(ctx, path, WS_EACCES);
    assert_int_equal(chmod(path, 0700), 0);
    refuses(ctx, path, WS_EIO);
    unlink(path);
    refuses(ctx, path, WS_ENOENT);
    refuses(ctx, "/tmp", WS_EACCES);
    ws_ctx_free(ctx);
}

static int start_shell(struct ws_ctx *ctx)
{
    struct ws__proc p;
    int rc = start(ctx, "exit 0", NULL, -1, &p);

    ws__proc_stop(&p, GRACE_NS);
    return rc;
}

static int make_memory(struct ws_ctx *ctx)
{
    struct ws__shm s;
    int rc = ws__shm_new(ctx, 100000, &s);

    ws__shm_free(&s);
    return rc;
}

static void survives_without_descriptors(void **state)
{
    (void)state;
    assert_true(t_without_fds(start_shell) >= 2);
    assert_true(t_without_fds(make_memory) >= 1);
}

static void survives_small_files(void **state)
{
    const struct rlimit small = {4096, RLIM_INFINITY};
    struct ws_ctx *ctx = t_ctx(NULL);
    int before = t_count_fds();
    struct rlimit kept;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    if (setrlimit(RLIMIT_FSIZE, &small) < 0) {
        ws_ctx_free(ctx);
        SKIP("the size of files cannot be limited");
    }
    assert_int_equal(make_memory(ctx), WS_EFULL);
    setrlimit(RLIMIT_FSIZE, &kept);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "100000 bytes"));
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "ulimit -f"));
    assert_int_equal(t_count_fds(), before);
    ws_ctx_free(ctx);
}

static void greets(void **state)
{
    enum ws__worker_role role = WS__ROLE_DEVICE;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__buf b;
    int s[2];

    (void)state;
    ws__buf_init(&b, ctx, 100);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    ws__put_u32(&b, WS__WIRE_VERSION);
    ws__put_u32(&b, WS__ROLE_REFERENCE);
    ws__wire_send(ctx, s[0], WS__WIRE_HELLO, b.data, b.len, -1);
    assert_int_equal(ws__worker_hello(ctx, s[1], &role), 0);
    assert_int_equal(role, WS__ROLE_REFERENCE);
    ws__wire_send(ctx, s[0], WS__WIRE_HELLO + 1, b.data, b.len, -1);
    assert_int_equal(ws__worker_hello(ctx, s[1], &role), WS_EPROTO);
    b.data[0] = 99;
    ws__wire_send(ctx, s[0], WS__WIRE_HELLO, b.data, b.len, -1);
    assert_int_equal(ws__worker_hello(ctx, s[1], &role), WS_EVERSION);
    b.data[0] = WS__WIRE_VERSION;
    b.data[4] = 77;
    ws__wire_send(ctx, s[0], WS__WIRE_HELLO, b.data, b.len, -1);
    assert_int_equal(ws__worker_hello(ctx, s[1], &role), WS_EPROTO);
    close(s[0]);
    assert_int_equal(ws__worker_hello(ctx, s[1], &role), WS_ECRASH);
    close(s[1]);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

static void finds_our_files(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .worker_path = "/bin/sh",
                            .share_dir = "/nonexistent"};
    struct ws_ctx *ctx = ws_ctx_new(&o);
    char *path = NULL;

    (void)state;
    assert_int_equal(ws__worker_path(ctx, &path), 0);
    assert_string_equal(path, "/bin/sh");
    ws__free(ctx, path);
    assert_int_equal(ws__share_dir(ctx, &path), WS_ENOENT);
    assert_null(path);
    ws_ctx_free(ctx);
    o.worker_path = "/nonexistent";
    ctx = ws_ctx_new(&o);
    assert_int_equal(ws__worker_path(ctx, &path), WS_ENOENT);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "/nonexistent"));
    ws_ctx_free(ctx);
    /* a test's own build tree */
    ctx = t_ctx(NULL);
    if (ws__worker_path(ctx, &path) == WS_ENOENT) {
        ws_ctx_free(ctx);
        SKIP("the worker is not built");
    }
    assert_int_equal(access(path, X_OK), 0);
    ws__free(ctx, path);
    ws_ctx_free(ctx);
}

/* In a process of its own, that sees another /proc. */
static int look_without_proc(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    const struct ws_error *e = ws_ctx_error(ctx);
    char *path;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) < 0 || chdir("/") < 0)
        return 77;
    if (ws__worker_path(ctx, &path) != WS_ENOENT ||
        !strstr(e->message, "/proc") || !strstr(e->hint, "/proc"))
        return 1;
    ws__error_clear(ctx);
    if (ws__share_dir(ctx, &path) != WS_ENOENT ||
        !strstr(e->message, "/proc") || !strstr(e->hint, "/proc"))
        return 2;
    return start_shell(ctx) ? 3 : 0;
}

static void says_that_proc_is_needed(void **state)
{
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (!pid)
        _exit(look_without_proc());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("/proc cannot be hidden");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void gives_programs_their_streams(void **state)
{
    const char *const argv[] = {
        "/bin/sh", "-c", "cat; echo no >&2; (sleep 100 &); ls /proc/self/fd",
        NULL};
    struct ws_ctx *ctx = t_ctx(NULL);
    char got[2][64] = {"", ""};
    int pipes[2][2], before = t_count_fds();
    struct ws__proc p;
    struct ws__shm in;

    (void)state;
    assert_int_equal(ws__shm_new(ctx, 3, &in), 0);
    memcpy(in.p, "yes", 3);
    assert_int_equal(pipe(pipes[0]) | pipe(pipes[1]), 0);
    const int io[3] = {in.fd, pipes[0][1], pipes[1][1]};
    assert_int_equal(ws__proc_start_io(ctx, argv, io, &p), 0);
    close(pipes[0][1]);
    close(pipes[1][1]);
    while (!ws__proc_ended(&p))
        ws__sleep_ns(1000000);
    assert_true(ws__proc_ended(&p));
    assert_int_equal(p.status, 0);
    for (int i = 0; i < 2; i++) {
        /* An end of file: what it left behind has ended with it. */
        for (ssize_t n, at = 0;
             (n = read(pipes[i][0], got[i] + at, 60 - (size_t)at)) > 0;)
            at += n;
        close(pipes[i][0]);
    }
    assert_string_equal(got[0], "yes0\n1\n2\n3\n"); /* 3: the folder */
    assert_string_equal(got[1], "no\n");
    ws__shm_free(&in);
    assert_int_equal(t_count_fds(), before);
    ws_ctx_free(ctx);
}

static int start_and_stop(struct ws_ctx *ctx, void *user)
{
    static const char *const env[] = {"A=1", NULL};
    struct ws__proc p;
    int rc = start(ctx, "exit 0", env, -1, &p);

    (void)user;
    ws__proc_stop(&p, GRACE_NS);
    return rc;
}

static void survives_without_memory(void **state)
{
    (void)state;
    assert_true(t_torture(start_and_stop, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(talks_to_a_child),
        cmocka_unit_test(kills_what_does_not_end),
        cmocka_unit_test(gives_programs_their_streams),
        cmocka_unit_test(inherits_only_what_it_should),
        cmocka_unit_test(survives_without_streams),
        cmocka_unit_test(refuses_what_is_no_program),
        cmocka_unit_test(survives_without_descriptors),
        cmocka_unit_test(survives_small_files),
        cmocka_unit_test(greets),
        cmocka_unit_test(finds_our_files),
        cmocka_unit_test(says_that_proc_is_needed),
        cmocka_unit_test(survives_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
