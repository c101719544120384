/* t_isolate.c: a device in a worker where the system is short of descriptors
 * or our standard streams are closed; what a worker holds open and where it
 * runs; an end in a flood of output. Crashes, time-outs and the operations
 * themselves are tested in tests/conformance/t_device.c. */
#include "base/t_base.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "base/t_fds.h"
#include "device/device.h"

static int open_and_close(struct ws_ctx *ctx)
{
    struct ws__device d;
    int rc = ws__device_open(ctx, "isolate:null", &d);

    ws__device_close(&d);
    return rc;
}

static bool has_worker(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char *path = NULL;
    int rc = ws__worker_path(ctx, &path);

    ws__free(ctx, path);
    ws_ctx_free(ctx);
    return rc == 0;
}

static void survives_without_descriptors(void **state)
{
    (void)state;
    if (!has_worker())
        SKIP("the worker is not built");
    assert_true(t_without_fds(open_and_close) >= 4);
}

/* In a process of its own: the streams of this one stay. */
static int without_streams(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device d;

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    if (ws__device_open(ctx, "isolate:null", &d) < 0)
        return 1;
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return 2;
    ws__device_close(&d);
    ws_ctx_free(ctx);
    return 0;
}

static void survives_without_streams(void **state)
{
    int status = 0;
    pid_t pid;

    (void)state;
    if (!has_worker())
        SKIP("the worker is not built");
    pid = fork();
    if (!pid)
        _exit(without_streams());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- what it holds open -------------------------------------------------- */

/* Our only child, or 0. */
static pid_t find_child(void)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    pid_t found = 0;

    while (d && !found && (e = readdir(d)) != NULL) {
        char path[300], line[512] = "", *end;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
        f = fopen(path, "r");
        if (!f)
            continue;
        end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
        if (end && strlen(end) > 4 && strtol(end + 4, NULL, 10) == getpid())
            found = (pid_t)strtol(e->d_name, NULL, 10);
        fclose(f);
    }
    if (d)
        closedir(d);
    return found;
}

/* What descriptor `fd` of `pid` is, "" if it is closed. */
static void describe_fd(pid_t pid, int fd, char out[128])
{
    char path[64];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    n = readlink(path, out, 127);
    out[n > 0 ? n : 0] = '\0';
}

/* 0 to 3, and the area that came by message; nothing of ours, neither a file
 * that closes on exec nor one that does not. */
static void holds_only_what_it_should(void **state)
{
    static const char *const want[] = {"/dev/null", "/memfd:wavesmith-errors",
                                       "/memfd:wavesmith-errors",
                                       "socket:", "/memfd:wavesmith"};
    struct ws_ctx *ctx = t_ctx(NULL);
    int leak = fcntl(0, F_DUPFD, 30), more = fcntl(0, F_DUPFD, 100);
    struct ws__device d;
    char what[128];
    pid_t pid;

    (void)state;
    if (!has_worker() || geteuid()) {
        ws_ctx_free(ctx);
        SKIP("no worker, or it cannot be looked into");
    }
    assert_int_equal(ws__device_open(ctx, "isolate:null", &d), 0);
    pid = find_child();
    assert_true(pid > 0);
    for (int fd = 0; fd < 1024; fd++) {
        describe_fd(pid, fd, what);
        if (fd < (int)WS_COUNT(want))
            assert_memory_equal(what, want[fd], strlen(want[fd]));
        else
            assert_string_equal(what, "");
    }
    ws__device_close(&d);
    close(leak);
    close(more);
    ws_ctx_free(ctx);
}

/* Where the worker of a device runs. */
static void folder_with(const char *cache_dir, char out[300])
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device d;
    char path[64];
    ssize_t n;

    ctx->cache_dir = cache_dir ? ws__strdup(ctx, cache_dir) : NULL;
    if (ws__device_open(ctx, "isolate:null", &d) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    snprintf(path, sizeof(path), "/proc/%d/cwd", (int)find_child());
    n = readlink(path, out, 299);
    out[n > 0 ? n : 0] = '\0';
    ws__device_close(&d);
    ws_ctx_free(ctx);
}

/* A compiler that looks into the current folder finds nothing of the user's. */
static void runs_in_an_empty_folder(void **state)
{
    char dir[] = "/tmp/wavesmith-t_isolate-XXXXXX", here[4096], cwd[300];
    char path[100];
    struct stat st;

    (void)state;
    if (!has_worker() || geteuid())
        SKIP("no worker, or it cannot be looked into");
    assert_non_null(getcwd(here, sizeof(here)));
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    folder_with("some/cache", cwd); /* relative, and not there yet */
    snprintf(path, sizeof(path), "%s/some/cache/empty", dir);
    assert_string_equal(cwd, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0222, 0);
    path[strlen(path) - strlen("/empty")] = '\0';
    folder_with(path, cwd); /* absolute, and there */
    assert_string_equal(cwd + strlen(path), "/empty");
    folder_with(NULL, cwd);
    assert_string_equal(cwd, "/");
    assert_int_equal(chdir(here), 0);
    for (int i = 0; i < 4; i++) {
        static const char *const made[] = {"/some/cache/empty", "/some/cache",
                                           "/some", ""};

        snprintf(path, sizeof(path), "%s%s", dir, made[i]);
        assert_int_equal(rmdir(path), 0);
    }
}

/* --- output -------------------------------------------------------------- */

/* Opens a device with a script in place of the worker; it begins when all of
 * the request has come. */
static void expect_end(const char *script, const char *words)
{
    char path[] = "/tmp/wavesmith-t_isolate-XXXXXX";
    struct ws_ctx_opts o = {.size = sizeof(o), .worker_path = path};
    int fd = mkstemp(path);
    struct ws__device d;
    struct ws_ctx *ctx;

    assert_true(fd >= 0);
    dprintf(fd, "#!/bin/sh\nhead -c 40 <&3 >/dev/null\n%s\n", script);
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    ctx = ws_ctx_new(&o);
    assert_int_equal(ws__device_open(ctx, "isolate:null", &d), WS_ECRASH);
    if (!strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("'%s' lacks '%s'", ws_ctx_error(ctx)->message, words);
    ws_ctx_free(ctx);
    unlink(path);
}

static void tells_last_words(void **state)
{
    (void)state;
    expect_end("echo before; echo last words >&2; exit 5",
               "exit status 5: before\nlast words");
}

/* What is beyond the room for it is refused, and takes no memory. */
static void bounds_output(void **state)
{
    (void)state;
    expect_end("head -c 50000000 /dev/zero >&2; "
               "[ $(stat -Lc %s /dev/fd/2) -le 20000000 ] && exit 6; exit 7",
               "exit status 6");
}

/* A worker that somebody kills while the device is opened: the next one opens
 * it. Of two, the second one's end counts. */
static void opens_after_a_kill(void **state)
{
    char path[] = "/tmp/wavesmith-t_isolate-XXXXXX", mark[64];
    struct ws_ctx_opts o = {.size = sizeof(o), .worker_path = path};
    struct ws_ctx *plain = t_ctx(NULL), *ctx;
    struct ws__device d;
    char *worker = NULL;
    int fd;

    (void)state;
    if (!has_worker())
        SKIP("the worker is not built");
    assert_int_equal(ws__worker_path(plain, &worker), 0);
    fd = mkstemp(path);
    assert_true(fd >= 0);
    dprintf(fd,
            "#!/bin/sh\nmkdir $0.killed 2>/dev/null && kill -9 $$\n"
            "exec '%s' \"$@\"\n",
            worker);
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    ctx = ws_ctx_new(&o);
    assert_int_equal(ws__device_open(ctx, "isolate:null", &d), 0);
    ws__device_close(&d);
    snprintf(mark, sizeof(mark), "%s.killed", path);
    assert_int_equal(rmdir(mark), 0); /* one was killed */
    ws_ctx_free(ctx);
    ws__free(plain, worker);
    ws_ctx_free(plain);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_without_descriptors),
        cmocka_unit_test(survives_without_streams),
        cmocka_unit_test(holds_only_what_it_should),
        cmocka_unit_test(runs_in_an_empty_folder),
        cmocka_unit_test(tells_last_words),
        cmocka_unit_test(bounds_output),
        cmocka_unit_test(opens_after_a_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
