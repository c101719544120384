/* t_turn.c: turns exclude each other, end with their process, and are no
 * obstacle where they cannot be had. */
#include "base/t_base.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/turn.h"

static char dir[32];
static struct ws_ctx *ctx;
static int warnings;

static void on_log(void *user, enum ws_log_level level, const char *text)
{
    (void)user;
    (void)text;
    warnings += level == WS_LOG_WARN;
}

static int setup(void **state)
{
    const struct ws_ctx_opts o = {.size = sizeof(o), .log = on_log};

    (void)state;
    warnings = 0;
    snprintf(dir, sizeof(dir), "/tmp/t_turn.XXXXXX");
    ctx = ws_ctx_new(&o);
    return ctx && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    pid_t pid;

    (void)state;
    ws_ctx_free(ctx);
    pid = fork();
    if (!pid) {
        execlp("rm", "rm", "-rf", dir, (char *)NULL);
        _exit(1);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static void test_excludes(void **state)
{
    struct ws__turn a, b, other;

    (void)state;
    ws__turn_open(ctx, dir, "pci 0000:1b:00", &a);
    ws__turn_open(ctx, dir, "pci 0000:1b:00", &b);
    ws__turn_open(ctx, dir, "cpu", &other);
    assert_true(a.fd > 2 && b.fd > 2 && other.fd > 2);
    assert_int_equal(ws__turn_take(ctx, &a), 0);
    assert_int_equal(ws__turn_take(ctx, &a), 0); /* once */
    assert_int_equal(ws__turn_take(ctx, &other), 0);
    ws_ctx_set_timeout(ctx, 20000000);
    assert_int_equal(ws__turn_take(ctx, &b), WS_ETIMEOUT);
    assert_false(b.taken);
    assert_true(b.waited_ns >= 20000000 && !a.waited_ns);
    ws_ctx_set_timeout(ctx, 0);
    ws__turn_give(&a);
    assert_int_equal(ws__turn_take(ctx, &b), 0);
    ws__turn_close(&b); /* gives back */
    assert_int_equal(ws__turn_take(ctx, &a), 0);
    ws__turn_close(&a);
    ws__turn_close(&a);
    ws__turn_close(&other);
    assert_int_equal(warnings, 0);
}

static void test_ends_with_its_process(void **state)
{
    struct ws__turn mine;
    int up[2], status;
    char c;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(up), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        ws__turn_open(ctx, dir, "x", &mine);
        if (ws__turn_take(ctx, &mine) == 0 && write(up[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(up[0], &c, 1), 1);
    ws__turn_open(ctx, dir, "x", &mine);
    ws_ctx_set_timeout(ctx, 10000000);
    assert_int_equal(ws__turn_take(ctx, &mine), WS_ETIMEOUT);
    ws_ctx_set_timeout(ctx, 0);
    kill(pid, SIGKILL);
    assert_int_equal(ws__turn_take(ctx, &mine), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ws__turn_close(&mine);
    close(up[0]);
    close(up[1]);
}

/* Takes turn after turn, without a pause, until it is killed. */
static pid_t greedy(int go)
{
    struct ws__turn t;
    pid_t pid = fork();

    if (pid)
        return pid;
    ws__turn_open(ctx, dir, "x", &t);
    for (bool first = true;; first = false) {
        if (ws__turn_take(ctx, &t) < 0)
            _exit(1);
        ws__sleep_ns(3000000);
        if (first && write(go, "x", 1) != 1)
            _exit(1);
        ws__turn_give(&t);
    }
}

/* Nobody waits for ever: a few turns of the others at most. */
static void test_fair(void **state)
{
    struct ws__turn mine;
    pid_t other[2];
    int go[2], status;
    char c[2];

    (void)state;
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 2; i++) {
        other[i] = greedy(go[1]);
        assert_true(other[i] > 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(go[0], c, 1), 1);
    ws__turn_open(ctx, dir, "x", &mine);
    for (int i = 0; i < 20; i++) {
        ws_ctx_set_timeout(ctx, 20000000000u);
        assert_int_equal(ws__turn_take(ctx, &mine), 0);
        ws__turn_give(&mine);
    }
    ws_ctx_set_timeout(ctx, 0);
    for (int i = 0; i < 2; i++) {
        kill(other[i], SIGKILL);
        assert_int_equal(waitpid(other[i], &status, 0), other[i]);
    }
    ws__turn_close(&mine);
    close(go[0]);
    close(go[1]);
}

/* By a context and its children. */
static void test_held(void **state)
{
    struct ws_ctx *child = ws__ctx_child(ctx);
    struct ws__turn t;

    (void)state;
    assert_non_null(child);
    for (int i = 0; i < 2; i++) {
        uint64_t before = ws__turn_held_ns(ctx);

        ws__turn_open(i ? child : ctx, dir, "held", &t);
        ws__turn_give(&t);
        assert_true(ws__turn_held_ns(ctx) == before);
        assert_int_equal(ws__turn_take(ctx, &t), 0);
        assert_int_equal(ws__turn_take(ctx, &t), 0);
        ws__sleep_ns(2000000);
        ws__turn_give(&t);
        assert_true(ws__turn_held_ns(ctx) >= before + 2000000);
        before = ws__turn_held_ns(ctx);
        ws__turn_close(&t);
        assert_true(ws__turn_held_ns(ctx) == before);
    }
    ws_ctx_free(child);
}

/* No folder, something else in the file's place, a link: a warning. */
static void test_without(void **state)
{
    struct ws__turn t;
    char path[96], link[32];

    (void)state;
    ws__turn_open(ctx, "/nonexistent", "x", &t);
    assert_int_equal(t.fd, -1);
    assert_int_equal(ws__turn_take(ctx, &t), 0);
    ws__turn_give(&t);
    assert_int_equal(warnings, 1);
    ws__turn_open(ctx, dir, "x", &t);
    assert_true(t.fd > 2);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", t.fd);
    assert_true(readlink(link, path, sizeof(path) - 1) > 0);
    path[strlen(dir) + strlen("/wavesmith-.turn") + 16] = '\0';
    ws__turn_close(&t);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    ws__turn_open(ctx, dir, "x", &t);
    assert_int_equal(t.fd, -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    ws__turn_open(ctx, dir, "x", &t);
    assert_int_equal(t.fd, -1);
    assert_int_equal(warnings, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_excludes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ends_with_its_process, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_fair, setup, teardown),
        cmocka_unit_test_setup_teardown(test_held, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
