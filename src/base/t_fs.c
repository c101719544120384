/*
 * t_fs.c: files are replaced whole or not at all, errors carry the right code
 * and the path, and paths are joined, split and confined as promised. Faults
 * come from a table of operations that fails the n-th call or notes the order.
 */
#include "base/t_base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

static char dir[32];
static char path_text[256];

/* dir/name, in a static buffer. */
static const char *in_dir(const char *name)
{
    snprintf(path_text, sizeof(path_text), "%s/%s", dir, name);
    return path_text;
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/t_fs.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    pid_t pid;
    (void)state;

    ws__fs_set_ops(NULL);
    pid = fork();
    if (!pid) {
        execlp("rm", "rm", "-rf", dir, (char *)NULL);
        _exit(1);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static char *slurp(struct ws_ctx *ctx, const char *path, size_t *len)
{
    char *data = NULL;

    assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &data, len), 0);
    return data;
}

static void expect_content(struct ws_ctx *ctx, const char *path,
                           const char *want)
{
    size_t n;
    char *s = slurp(ctx, path, &n);

    assert_int_equal(n, strlen(want));
    assert_string_equal(s, want);
    ws__free(ctx, s);
}

static void test_read_write(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    size_t n, big = 100001;
    char *s, *data = malloc(big);
    (void)state;

    for (size_t i = 0; i < big; i++)
        data[i] = (char)(i * 7);
    assert_int_equal(ws__fs_write(ctx, in_dir("a"), data, big), 0);
    s = slurp(ctx, in_dir("a"), &n);
    assert_int_equal(n, big);
    assert_memory_equal(s, data, big);
    assert_int_equal(s[n], 0);
    ws__free(ctx, s);
    free(data);

    assert_int_equal(ws__fs_write(ctx, in_dir("a"), "", 0), 0);
    expect_content(ctx, in_dir("a"), "");
    assert_true(ws__fs_exists(in_dir("a")));
    assert_false(ws__fs_is_dir(in_dir("a")));
    assert_true(ws__fs_is_dir(dir));
    assert_false(ws__fs_exists(in_dir("b")));
    ws_ctx_free(ctx);
}

static void test_limit(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char *s = NULL;
    size_t n;
    (void)state;

    assert_int_equal(ws__fs_write(ctx, in_dir("a"), "12345", 5), 0);
    assert_int_equal(ws__fs_read(ctx, in_dir("a"), 5, &s, &n), 0);
    ws__free(ctx, s);
    assert_int_equal(ws__fs_read(ctx, in_dir("a"), 4, &s, &n), WS_ELIMIT);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "/a'"));
    assert_int_equal(ws__fs_read(ctx, in_dir("none"), 4, &s, &n), WS_ENOENT);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "/none'"));
    assert_true(ws_ctx_error(ctx)->hint[0]);
    ws_ctx_free(ctx);
}

static void test_links_and_pipes(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct stat st;
    char target[64], buf[8] = "";
    int fd;
    (void)state;

    snprintf(target, sizeof(target), "%s/real", dir);
    assert_int_equal(ws__fs_write(ctx, target, "1", 1), 0);
    assert_int_equal(symlink(target, in_dir("link")), 0);
    assert_int_equal(ws__fs_write(ctx, in_dir("link"), "2", 1), 0);
    assert_int_equal(lstat(in_dir("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    expect_content(ctx, target, "2");

    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    fd = open(in_dir("pipe"), O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_int_equal(ws__fs_write(ctx, in_dir("pipe"), "abc", 3), 0);
    assert_int_equal(read(fd, buf, sizeof(buf)), 3);
    assert_string_equal(buf, "abc");
    close(fd);
    ws_ctx_free(ctx);
}

/* Where a read would wait for ever, or is no use. */
static void test_reads_files_only(void **state)
{
    static const struct {
        const char *path, *words;
    } c[] = {{"pipe", "is not a regular file"},
             {"socket", "is not a regular file"},
             {"link", "is not a regular file"},
             {"/dev/zero", "is not a regular file"},
             {"/dev/ptmx", "is not a regular file"},
             {".", "is a folder"}};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ws_ctx *ctx = t_ctx(NULL);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t n;
    char *s;
    (void)state;

    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    assert_int_equal(symlink("pipe", in_dir("link")), 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        const char *path = *c[i].path == '/' ? c[i].path : in_dir(c[i].path);

        if (!ws__fs_exists(path))
            continue;
        ws__error_clear(ctx);
        assert_int_equal(ws__fs_read(ctx, path, 99, &s, &n), WS_EINVAL);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, path));
        assert_non_null(strstr(ws_ctx_error(ctx)->message, c[i].words));
        assert_true(ws_ctx_error(ctx)->hint[0]);
    }
    close(fd);
    ws_ctx_free(ctx);
}

static void *cancel_later(void *ctx)
{
    ws__sleep_ns(50000000);
    ws_ctx_cancel(ctx);
    return NULL;
}

/* A pipe that nobody opened, one that nobody empties, a folder, a socket. */
static void test_writes_without_blocking(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ws_ctx *ctx = t_ctx(NULL);
    int s = socket(AF_UNIX, SOCK_STREAM, 0), fd;
    size_t big = 1 << 20;
    char *data = calloc(big, 1);
    pthread_t t;
    (void)state;

    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    assert_int_equal(ws__fs_write(ctx, in_dir("pipe"), "a", 1), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "nothing reads"));
    fd = open(in_dir("pipe"), O_RDONLY | O_NONBLOCK);
    assert_int_equal(pthread_create(&t, NULL, cancel_later, ctx), 0);
    assert_int_equal(ws__fs_write(ctx, in_dir("pipe"), data, big), WS_ECANCEL);
    pthread_join(t, NULL);
    close(fd);
    ws_ctx_free(ctx);
    ctx = t_ctx(NULL);
    assert_int_equal(ws__fs_write(ctx, dir, "a", 1), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "is a folder"));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", dir);
    assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(ws__fs_write(ctx, a.sun_path, "a", 1), WS_EINVAL);
    assert_int_equal(ws__fs_write(ctx, "/dev/null", data, big), 0);
    if (ws__fs_exists("/dev/full"))
        assert_int_equal(ws__fs_write(ctx, "/dev/full", "a", 1), WS_EFULL);
    close(s);
    free(data);
    ws_ctx_free(ctx);
}

static void test_keeps_standard_streams_free(void **state)
{
    int in = fcntl(0, F_DUPFD, 20), fd;
    (void)state;

    assert_true(in >= 20);
    close(0);
    fd = ws__fd_keep(open("/dev/null", O_RDONLY));
    assert_int_equal(fcntl(0, F_GETFD), -1);
    assert_int_equal(dup2(in, 0), 0);
    close(in);
    assert_true(fd > 2);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(ws__fd_keep(fd), fd);
    close(fd);
    assert_int_equal(ws__fd_keep(-1), -1);
}

/* --- faults -------------------------------------------------------------- */

static struct {
    int calls, fail_at, error;
    char trace[64]; /* a letter a call */
    int short_writes;
} fault;

static int hit(char letter)
{
    size_t n = strlen(fault.trace);

    if (n + 1 < sizeof(fault.trace))
        fault.trace[n] = letter;
    if (++fault.calls != fault.fail_at)
        return 0;
    errno = fault.error;
    return 1;
}

static int f_open(const char *p, int flags, mode_t mode)
{
    return hit('o') ? -1 : open(p, flags, mode);
}

static ssize_t f_read(int fd, void *p, size_t n)
{
    return hit('r') ? -1 : read(fd, p, n);
}

static ssize_t f_write(int fd, const void *p, size_t n)
{
    if (hit('w'))
        return -1;
    return write(fd, p, fault.short_writes && n > 2 ? 2 : n);
}

static int f_fsync(int fd)
{
    return hit('s') ? -1 : fsync(fd);
}

static int f_close(int fd)
{
    int rc = close(fd);

    return hit('c') ? -1 : rc;
}

static int f_rename(const char *a, const char *b)
{
    return hit('n') ? -1 : rename(a, b);
}

static int f_mkdir(const char *p, mode_t mode)
{
    return hit('m') ? -1 : mkdir(p, mode);
}

static int f_unlink(const char *p)
{
    return hit('u') ? -1 : unlink(p);
}

static const struct ws__fs_ops faulty = {
    f_open, f_read, f_write, f_fsync, f_close, f_rename, f_mkdir, f_unlink,
};

static void arm(int fail_at, int error)
{
    memset(&fault, 0, sizeof(fault));
    fault.fail_at = fail_at;
    fault.error = error;
    ws__fs_set_ops(&faulty);
}

static int count_temps(void)
{
    char cmd[128], line[8] = "";
    FILE *f;

    snprintf(cmd, sizeof(cmd), "ls %s | grep -c tmp", dir);
    f = popen(cmd, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof(line), f));
    pclose(f);
    return (int)strtol(line, NULL, 10);
}

static void test_order_of_writes(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    arm(0, 0);
    fault.short_writes = 1;
    assert_int_equal(ws__fs_write(ctx, in_dir("a"), "12345", 5), 0);
    /* content and sync before the name, then the folder */
    assert_string_equal(fault.trace, "owwwscnosc");
    expect_content(ctx, in_dir("a"), "12345");
    ws_ctx_free(ctx);
}

/* Whichever call fails, the file is old or new and no litter stays. */
static void test_every_call_fails(void **state)
{
    static const struct {
        int error, code;
    } e[] = {{ENOSPC, WS_EFULL},
             {EFBIG, WS_EFULL},
             {EIO, WS_EIO},
             {EROFS, WS_EACCES}};
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t k = 0; k < WS_COUNT(e); k++) {
        for (int n = 1; n <= 9; n++) { /* open to close: 8 calls */
            size_t len;
            char *s;
            int rc;

            ws__fs_set_ops(NULL);
            assert_int_equal(ws__fs_write(ctx, in_dir("a"), "old", 3), 0);
            ws__error_clear(ctx);
            arm(n, e[k].error);
            rc = ws__fs_write(ctx, in_dir("a"), "newer", 5);
            ws__fs_set_ops(NULL);
            s = slurp(ctx, in_dir("a"), &len);
            assert_int_equal(rc != 0, n < 8);
            if (rc) {
                assert_int_equal(rc, e[k].code);
                assert_non_null(strstr(ws_ctx_error(ctx)->message, dir));
                assert_true(ws_ctx_error(ctx)->hint[0]);
                /* from the rename on it is the new one */
                assert_string_equal(s, n > 5 ? "newer" : "old");
            } else {
                assert_string_equal(s, "newer");
            }
            assert_int_equal(count_temps(), 0);
            ws__free(ctx, s);
        }
    }
    ws_ctx_free(ctx);
}

static void test_interrupted(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char *s;
    size_t n;
    (void)state;

    arm(2, EINTR);
    assert_int_equal(ws__fs_write(ctx, in_dir("a"), "x", 1), 0);
    arm(2, EINTR);
    assert_int_equal(ws__fs_read(ctx, in_dir("a"), 9, &s, &n), 0);
    assert_string_equal(s, "x");
    ws__free(ctx, s);
    arm(2, EIO);
    assert_int_equal(ws__fs_read(ctx, in_dir("a"), 9, &s, &n), WS_EIO);
    ws_ctx_free(ctx);
}

static void test_mkdirs(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    assert_int_equal(ws__fs_mkdirs(ctx, in_dir("x/y//z/")), 0);
    assert_true(ws__fs_is_dir(in_dir("x/y/z")));
    assert_int_equal(ws__fs_mkdirs(ctx, in_dir("x/y/z")), 0);
    assert_int_equal(ws__fs_write(ctx, in_dir("f"), "", 0), 0);
    assert_int_equal(ws__fs_mkdirs(ctx, in_dir("f")), WS_EIO);
    assert_int_equal(ws__fs_mkdirs(ctx, in_dir("f/g")), WS_EIO);
    arm(1, EACCES);
    assert_int_equal(ws__fs_mkdirs(ctx, in_dir("q")), WS_EACCES);
    assert_int_equal(ws__fs_mkdirs(ctx, "/tmp"), 0);
    assert_int_equal(ws__fs_mkdirs(ctx, "/"), 0);
    ws_ctx_free(ctx);
}

/* A line that was left without its end is not glued to the next one. */
static void test_add_lines(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    assert_int_equal(ws__fs_add_lines(ctx, in_dir("lines"), "a\nb\n"), 0);
    assert_int_equal(ws__fs_add_lines(ctx, in_dir("lines"), "c\n"), 0);
    expect_content(ctx, in_dir("lines"), "a\nb\nc\n");
    assert_int_equal(ws__fs_write(ctx, in_dir("lines"), "a\nb", 3), 0);
    assert_int_equal(ws__fs_add_lines(ctx, in_dir("lines"), "c\n"), 0);
    expect_content(ctx, in_dir("lines"), "a\nb\nc\n");
    assert_int_equal(ws__fs_write(ctx, in_dir("lines"), "", 0), 0);
    assert_int_equal(ws__fs_add_lines(ctx, in_dir("lines"), "c\n"), 0);
    expect_content(ctx, in_dir("lines"), "c\n");
    assert_int_equal(ws__fs_add_lines(ctx, in_dir("no/lines"), "c\n"),
                     WS_ENOENT);
    ws_ctx_free(ctx);
}

static void test_paths(void **state)
{
    static const struct {
        const char *dir, *name, *want;
    } join[] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"},
        {"/", "b", "/b"},  {"a", "/b", "/b"},
    };
    static const struct {
        const char *path, *dir, *base;
    } split[] = {
        {"a/b", "a", "b"}, {"a", ".", "a"},     {"/a", "/", "a"},
        {"/", "/", ""},    {"", ".", ""},       {"a//b", "a", "b"},
        {"a/b/", "a", ""}, {"/a/b", "/a", "b"}, {"//a", "/", "a"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t i = 0; i < WS_COUNT(join); i++) {
        char *s = ws__path_join(ctx, join[i].dir, join[i].name);

        assert_string_equal(s, join[i].want);
        ws__free(ctx, s);
    }
    for (size_t i = 0; i < WS_COUNT(split); i++) {
        char *s = ws__path_dir(ctx, split[i].path);

        assert_string_equal(s, split[i].dir);
        assert_string_equal(ws__path_base(split[i].path), split[i].base);
        ws__free(ctx, s);
    }
    ws_ctx_free(ctx);
}

static void test_inside(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char sub[80], *s = NULL;
    (void)state;

    snprintf(sub, sizeof(sub), "%s/sub", dir);
    assert_int_equal(ws__fs_mkdirs(ctx, sub), 0);
    assert_int_equal(ws__fs_write(ctx, in_dir("sub/f"), "", 0), 0);
    assert_int_equal(ws__fs_write(ctx, in_dir("sub2"), "", 0), 0);

    assert_int_equal(ws__path_inside(ctx, sub, in_dir("sub/../sub/f"), &s), 0);
    assert_string_equal(s, in_dir("sub/f"));
    ws__free(ctx, s);
    assert_int_equal(ws__path_inside(ctx, "/", in_dir("sub"), &s), 0);
    ws__free(ctx, s);
    /* a sibling whose name begins the same, a step up, a link out */
    assert_int_equal(ws__path_inside(ctx, sub, in_dir("sub2"), &s), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "outside of"));
    assert_int_equal(ws__path_inside(ctx, sub, in_dir("sub/.."), &s), WS_ESPEC);
    assert_int_equal(symlink("/etc/passwd", in_dir("sub/l")), 0);
    assert_int_equal(ws__path_inside(ctx, sub, in_dir("sub/l"), &s), WS_ESPEC);
    assert_int_equal(ws__path_inside(ctx, sub, in_dir("sub/no"), &s),
                     WS_ENOENT);
    ws_ctx_free(ctx);
}

static void relative_is(struct ws_ctx *ctx, const char *from, const char *path,
                        const char *want)
{
    char sub[256], *s;

    snprintf(sub, sizeof(sub), "%s", in_dir(from));
    assert_int_equal(ws__path_relative(ctx, sub, in_dir(path), &s), 0);
    assert_string_equal(s, want);
    ws__free(ctx, s);
}

static void test_relative(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char sub[256], *s = NULL;
    (void)state;

    snprintf(sub, sizeof(sub), "%s", in_dir("r/ab/c"));
    assert_int_equal(ws__fs_mkdirs(ctx, sub), 0);
    snprintf(sub, sizeof(sub), "%s", in_dir("r/a"));
    assert_int_equal(ws__fs_mkdirs(ctx, sub), 0);
    relative_is(ctx, "r", "r/f", "./f");
    relative_is(ctx, "r", "r/ab/c/f", "./ab/c/f");
    relative_is(ctx, "r/ab/c", "r/f", "../../f");
    relative_is(ctx, "r/ab/../ab", "r/a/f", "../a/f"); /* no whole name */
    relative_is(ctx, "r/a", "r/ab/f", "../ab/f");
    assert_int_equal(ws__path_relative(ctx, "/", "/etc/f", &s), 0);
    assert_string_equal(s, "./etc/f");
    ws__free(ctx, s);
    assert_int_equal(ws__path_relative(ctx, "/etc", "/f", &s), 0);
    assert_string_equal(s, "../f");
    ws__free(ctx, s);
    assert_int_equal(ws__path_relative(ctx, in_dir("r/no"), "/f", &s),
                     WS_ENOENT);
    ws_ctx_free(ctx);
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    char *s = NULL, *file, *d = NULL;
    size_t n;
    int rc;
    (void)user;

    file = ws__path_join(ctx, dir, "t/a");
    if (!file)
        return WS_ENOMEM;
    rc = WS_ENOMEM;
    d = ws__path_dir(ctx, file);
    if (!d)
        goto done;
    WS_TRY_DONE(ws__fs_mkdirs(ctx, d));
    WS_TRY_DONE(ws__fs_write(ctx, file, "hello", 5));
    WS_TRY_DONE(ws__fs_read(ctx, file, 99, &s, &n));
    ws__free(ctx, s);
    s = NULL;
    WS_TRY_DONE(ws__path_inside(ctx, d, file, &s));
done:
    ws__free(ctx, s);
    ws__free(ctx, d);
    ws__free(ctx, file);
    return rc;
}

static void test_torture(void **state)
{
    (void)state;
    assert_true(t_torture(torture_body, NULL) > 5);
    assert_int_equal(count_temps(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(test_read_write),
        T(test_limit),
        T(test_links_and_pipes),
        T(test_reads_files_only),
        T(test_writes_without_blocking),
        T(test_keeps_standard_streams_free),
        T(test_order_of_writes),
        T(test_every_call_fails),
        T(test_interrupted),
        T(test_mkdirs),
        T(test_add_lines),
        T(test_paths),
        T(test_inside),
        T(test_relative),
        T(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
