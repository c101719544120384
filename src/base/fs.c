/*
 * fs.c: whole files, folders and paths. See fs.h.
 *
 * A file is replaced, never edited: the new content goes to a temporary file
 * beside it, is synced, and takes the name by rename, so that a crash or a
 * full disk leaves the old content or the new and nothing between. A link is
 * followed first (it stays a link), and a pipe or a terminal is written to
 * directly, for it cannot be replaced. Only regular files are read: a pipe
 * without a writer would keep us waiting out of reach of any deadline. Nothing
 * here blocks for ever: what may is opened without blocking and polled.
 *
 * Calls that change or read content go through the table `ops`; questions
 * (stat, realpath) do not, for there is nothing durable about them.
 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/banned.h"

#define FIRST_READ_BYTES ((size_t)16384)
#define TEMP_TRIES 16
#define SLICE_MS 50

static int sys_open(const char *path, int flags, mode_t mode)
{
    return open(path, flags, mode);
}

static const struct ws__fs_ops system_ops = {
    sys_open, read, write, fsync, close, rename, mkdir, unlink,
};

static const struct ws__fs_ops *ops = &system_ops;

void ws__fs_set_ops(const struct ws__fs_ops *o)
{
    ops = o ? o : &system_ops;
}

/* What to do about it, by status. */
static const char *hint_of(int code)
{
    switch (code) {
    case WS_ENOENT:
        return "check the path; names are relative to the current folder";
    case WS_EACCES:
        return "check the owner and the mode of the file and its folder";
    case WS_EFULL:
        return "free some space or quota there, or raise the limit of the "
               "size of files ('ulimit -f'); then run the same again";
    default:
        return "the file system refuses; see the system's log if it persists";
    }
}

static int code_of(int e)
{
    switch (e) {
    case ENOENT:
    case ENOTDIR:
        return WS_ENOENT;
    case EACCES:
    case EPERM:
    case EROFS:
        return WS_EACCES;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return WS_EFULL;
    default:
        return WS_EIO;
    }
}

int ws__fs_fail(struct ws_ctx *ctx, int e, const char *verb, const char *path)
{
    int code = code_of(e);
    char text[128];

    ws__fail(ctx, code, "cannot %s '%s': %s", verb, path,
             strerror_r(e, text, sizeof(text)));
    return ws__hint(ctx, "%s", hint_of(code));
}

int ws__fd_keep(int fd)
{
    int up, e;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    up = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    e = errno == EINVAL ? EMFILE : errno; /* none may be that large */
    close(fd);
    if (up < 0)
        errno = e;
    return up;
}

static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = ops->open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
    while (fd < 0 && errno == EINTR);
    return ws__fd_keep(fd);
}

/* --- reading ------------------------------------------------------------- */

static ssize_t read_retry(int fd, void *p, size_t n)
{
    ssize_t got;

    do
        got = ops->read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

static int too_long(struct ws_ctx *ctx, const char *path, size_t max)
{
    ws__fail(ctx, WS_ELIMIT, "'%s' is longer than %zu bytes", path, max);
    return ws__hint(ctx, "is this the file that was meant?");
}

/* Reads until the end, or until there is more than max. */
static int read_all(struct ws_ctx *ctx, int fd, const char *path, size_t max,
                    char **data, size_t *len)
{
    size_t cap = 0, n = 0;
    char *p = NULL;

    for (;;) {
        ssize_t got;

        if (n + 1 >= cap) {
            char *q;

            cap = cap ? cap * 2 : FIRST_READ_BYTES;
            q = ws__resize(ctx, p, cap, 1);
            if (!q) {
                ws__free(ctx, p);
                return WS_ENOMEM;
            }
            p = q;
        }
        got = read_retry(fd, p + n, cap - n - 1);
        if (got < 0 || (size_t)got > max - n) {
            int rc = got < 0 ? ws__fs_fail(ctx, errno, "read", path)
                             : too_long(ctx, path, max);

            ws__free(ctx, p);
            return rc;
        }
        if (!got)
            break;
        n += (size_t)got;
    }
    p[n] = '\0';
    *data = p;
    *len = n;
    return 0;
}

static int not_regular(struct ws_ctx *ctx, const char *path, mode_t mode)
{
    if (S_ISDIR(mode)) {
        ws__fail(ctx, WS_EINVAL, "'%s' is a folder, not a file", path);
        return ws__hint(ctx, "give the path of a file in it");
    }
    ws__fail(ctx, WS_EINVAL, "'%s' is not a regular file", path);
    return ws__hint(ctx, "pipes and devices cannot be used here; copy the "
                         "content into a file and give that");
}

int ws__fs_read(struct ws_ctx *ctx, const char *path, size_t max, char **data,
                size_t *len)
{
    int fd = open_retry(path, O_RDONLY | O_NONBLOCK, 0), rc;
    struct stat st;

    if (fd < 0) {
        int e = errno;

        /* a socket, a device that is not there or does not answer */
        if (e != ENOENT && e != EACCES && !stat(path, &st) &&
            !S_ISREG(st.st_mode))
            return not_regular(ctx, path, st.st_mode);
        return ws__fs_fail(ctx, e, "open", path);
    }
    if (fstat(fd, &st) < 0)
        rc = ws__fs_fail(ctx, errno, "read", path);
    else if (!S_ISREG(st.st_mode))
        rc = not_regular(ctx, path, st.st_mode);
    else
        rc = read_all(ctx, fd, path, max, data, len);
    ops->close(fd);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* 0 or errno. */
static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t done = ops->write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int sync_dir(struct ws_ctx *ctx, const char *dir)
{
    int fd = open_retry(dir, O_RDONLY | O_DIRECTORY, 0), e = 0;

    if (fd < 0)
        return ws__fs_fail(ctx, errno, "open folder", dir);
    /* Some file systems do not sync folders, and say so by EINVAL. */
    if (ops->fsync(fd) < 0 && errno != EINVAL)
        e = errno;
    ops->close(fd);
    return e ? ws__fs_fail(ctx, e, "sync folder", dir) : 0;
}

static int sync_parent(struct ws_ctx *ctx, const char *path)
{
    char *dir = ws__path_dir(ctx, path);
    int rc;

    if (!dir)
        return WS_ENOMEM;
    rc = sync_dir(ctx, dir);
    ws__free(ctx, dir);
    return rc;
}

/* A new file beside `path`. Names differ by process and time. */
static int open_temp(const char *path, char *temp, size_t size)
{
    for (int i = 0; i < TEMP_TRIES; i++) {
        int fd;

        snprintf(temp, size, "%s.%lx-%llx.tmp", path, (long)getpid(),
                 (unsigned long long)ws__wall_ns());
        fd = open_retry(temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* temp has room for path and 64 bytes. */
static int replace(struct ws_ctx *ctx, const char *path, char *temp,
                   size_t temp_size, const void *data, size_t len)
{
    int fd = open_temp(path, temp, temp_size), e;
    const char *verb = "write";

    if (fd < 0)
        return ws__fs_fail(ctx, errno, "create", temp);
    e = write_all(fd, data, len);
    if (!e && ops->fsync(fd) < 0) {
        e = errno;
        verb = "sync";
    }
    if (ops->close(fd) < 0 && !e)
        e = errno;
    if (!e && ops->rename(temp, path) < 0) {
        e = errno;
        verb = "replace";
    }
    if (e) {
        ops->unlink(temp);
        return ws__fs_fail(ctx, e, verb, path);
    }
    return sync_parent(ctx, path);
}

/* Whoever reads the other end may be slow, and may never read at all: waits
 * notice cancellation and the deadline of the call. */
static int write_slowly(struct ws_ctx *ctx, int fd, const char *path,
                        const char *p, size_t n)
{
    while (n) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        ssize_t done = ops->write(fd, p, n);

        if (done > 0) {
            p += done;
            n -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            poll(&room, 1, SLICE_MS);
        } else if (done == 0 || errno != EINTR) {
            return ws__fs_fail(ctx, done < 0 ? errno : EIO, "write", path);
        }
        if (n)
            WS_TRY(ws__check_stop(ctx));
    }
    return 0;
}

static int write_special(struct ws_ctx *ctx, const char *path, mode_t mode,
                         const void *data, size_t len)
{
    int fd, rc;

    if (!S_ISFIFO(mode) && !S_ISCHR(mode))
        return not_regular(ctx, path, mode);
    fd = open_retry(path, O_WRONLY | O_NONBLOCK, 0);
    if (fd < 0 && errno == ENXIO && S_ISFIFO(mode)) {
        ws__fail(ctx, WS_EINVAL, "cannot write '%s': nothing reads this pipe",
                 path);
        return ws__hint(ctx, "start what reads it first, or give a file");
    }
    if (fd < 0)
        return ws__fs_fail(ctx, errno, "open", path);
    rc = write_slowly(ctx, fd, path, data, len);
    if (ops->close(fd) < 0 && rc >= 0)
        rc = ws__fs_fail(ctx, errno, "write", path);
    return rc;
}

int ws__fs_write(struct ws_ctx *ctx, const char *path, const void *data,
                 size_t len)
{
    char real[PATH_MAX], *temp;
    struct stat st;
    size_t size;
    int rc;

    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return write_special(ctx, path, st.st_mode, data, len);
    if (!lstat(path, &st) && S_ISLNK(st.st_mode) && realpath(path, real))
        path = real;
    size = strlen(path) + 64;
    temp = ws__alloc(ctx, size, 1);
    if (!temp)
        return WS_ENOMEM;
    rc = replace(ctx, path, temp, size, data, len);
    ws__free(ctx, temp);
    return rc;
}

/* --- growing files ------------------------------------------------------- */

int ws__fs_begin(struct ws_ctx *ctx, const char *path, bool make, int *fd)
{
    int flags = O_WRONLY | O_APPEND | (make ? O_CREAT | O_EXCL : 0);

    *fd = open_retry(path, flags, 0666);
    if (*fd >= 0)
        return 0;
    return ws__fs_fail(ctx, errno, make ? "create" : "open", path);
}

int ws__fs_append(struct ws_ctx *ctx, const char *path, int fd,
                  const void *data, size_t len)
{
    int e = write_all(fd, data, len);

    return e ? ws__fs_fail(ctx, e, "write", path) : 0;
}

int ws__fs_end(struct ws_ctx *ctx, const char *path, int fd, bool sync)
{
    int e = 0;

    if (fd < 0)
        return 0;
    if (sync && ops->fsync(fd) < 0)
        e = errno;
    if (ops->close(fd) < 0 && !e)
        e = errno;
    return e ? ws__fs_fail(ctx, e, "sync", path) : 0;
}

/* Is there a last line, and is it without its end? */
static bool is_cut(const char *path)
{
    int fd = ws__fd_keep(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    char last = '\n';

    if (fd < 0)
        return false;
    if (lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) != 1)
        last = '\n';
    close(fd);
    return last != '\n';
}

/* Another process may make it at the same time. */
static int open_lines(struct ws_ctx *ctx, const char *path, int *fd)
{
    bool make = !ws__fs_exists(path);
    int rc = ws__fs_begin(ctx, path, make, fd);

    if (rc >= 0 || !make || !ws__fs_exists(path))
        return rc;
    ws__error_clear(ctx);
    return ws__fs_begin(ctx, path, false, fd);
}

int ws__fs_add_lines(struct ws_ctx *ctx, const char *path, const char *lines)
{
    size_t n = strlen(lines);
    char *text = ws__alloc(ctx, n + 2, 1);
    int fd = -1, rc, ended;

    if (!text)
        return WS_ENOMEM;
    rc = open_lines(ctx, path, &fd);
    if (rc >= 0) {
        /* In one piece: others may add lines meanwhile. */
        size_t at = is_cut(path) ? 1 : 0;

        text[0] = '\n';
        memcpy(text + at, lines, n + 1);
        rc = ws__fs_append(ctx, path, fd, text, at + n);
    }
    ended = ws__fs_end(ctx, path, fd, rc >= 0);
    ws__free(ctx, text);
    return rc < 0 ? rc : ended;
}

/* --- folders ------------------------------------------------------------- */

bool ws__fs_is_odd(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

size_t ws__fs_head(const char *path, void *p, size_t n)
{
    int fd = ws__fd_keep(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat st;
    ssize_t got = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        got = read(fd, p, n);
    close(fd);
    return got > 0 ? (size_t)got : 0;
}

bool ws__fs_exists(const char *path)
{
    struct stat st;

    return !stat(path, &st);
}

bool ws__fs_same(const char *a, const char *b)
{
    struct stat x, y;

    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

int ws__fs_can_create(struct ws_ctx *ctx, const char *dir)
{
    if (!access(dir, W_OK | X_OK))
        return 0;
    return ws__fs_fail(ctx, errno, "write into", dir);
}

bool ws__fs_is_dir(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* A folder that is new must itself survive a power loss, or what is synced
 * inside would be lost with it. */
static int make_dir(struct ws_ctx *ctx, const char *path)
{
    int e;

    if (ws__fs_is_dir(path))
        return 0;
    if (!ops->mkdir(path, 0777))
        return sync_parent(ctx, path);
    e = errno;
    if (e == EEXIST && ws__fs_is_dir(path))
        return 0;
    return ws__fs_fail(ctx, e, "create folder", path);
}

int ws__fs_mkdirs(struct ws_ctx *ctx, const char *path)
{
    char *copy = ws__strdup(ctx, path);
    int rc = 0;

    if (!copy)
        return WS_ENOMEM;
    for (char *p = copy; rc >= 0 && *p; p++) {
        if (*p != '/' || p == copy || p[-1] == '/')
            continue;
        *p = '\0';
        rc = make_dir(ctx, copy);
        *p = '/';
    }
    if (rc >= 0)
        rc = make_dir(ctx, copy);
    ws__free(ctx, copy);
    return rc;
}

/* --- paths --------------------------------------------------------------- */

char *ws__path_join(struct ws_ctx *ctx, const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name);
    char *p;

    if (!n || name[0] == '/')
        return ws__strdup(ctx, name);
    p = ws__alloc(ctx, n + m + 2, 1);
    if (!p)
        return NULL;
    memcpy(p, dir, n);
    if (dir[n - 1] != '/')
        p[n++] = '/';
    memcpy(p + n, name, m);
    return p;
}

char *ws__path_dir(struct ws_ctx *ctx, const char *path)
{
    size_t n = strlen(path);
    char *p;

    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (!n)
        return ws__strdup(ctx, ".");
    p = ws__alloc(ctx, n + 1, 1);
    if (p)
        memcpy(p, path, n);
    return p;
}

const char *ws__path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int ws__path_inside(struct ws_ctx *ctx, const char *dir, const char *path,
                    char **out)
{
    char root[PATH_MAX], real[PATH_MAX];
    size_t n;

    if (!realpath(dir, root))
        return ws__fs_fail(ctx, errno, "find folder", dir);
    if (!realpath(path, real))
        return ws__fs_fail(ctx, errno, "find", path);
    n = strlen(root);
    if (n == 1) /* "/" holds everything */
        n = 0;
    if (strncmp(real, root, n) || (real[n] != '/' && real[n])) {
        ws__fail(ctx, WS_ESPEC, "'%s' is outside of '%s'", path, dir);
        return ws__hint(ctx, "put the file (not a link) into that folder");
    }
    *out = ws__strdup(ctx, real);
    return *out ? 0 : WS_ENOMEM;
}

/* How much of two canonical folders is the same, in whole names. */
static size_t common_path(const char *a, const char *b)
{
    size_t same = 0;

    for (size_t i = 0;; i++) {
        if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/'))
            same = i;
        if (!a[i] || a[i] != b[i])
            return same;
    }
}

int ws__path_relative(struct ws_ctx *ctx, const char *dir, const char *path,
                      char **out)
{
    char from[PATH_MAX], to[PATH_MAX], *folder = ws__path_dir(ctx, path);
    struct ws__buf b;
    size_t same;
    int rc = 0;

    if (!folder)
        return WS_ENOMEM;
    if (!realpath(dir, from))
        rc = ws__fs_fail(ctx, errno, "find folder", dir);
    else if (!realpath(folder, to))
        rc = ws__fs_fail(ctx, errno, "find folder", folder);
    ws__free(ctx, folder);
    WS_TRY(rc);
    if (!from[1]) /* "/" */
        *from = '\0';
    if (!to[1])
        *to = '\0';
    same = common_path(from, to);
    ws__buf_init(&b, ctx, 4 * PATH_MAX);
    ws__buf_puts(&b, from[same] ? "" : "./");
    for (const char *p = from + same; *p; p++)
        ws__buf_puts(&b, *p == '/' ? "../" : "");
    if (to[same])
        ws__buf_printf(&b, "%s/", to + same + 1);
    ws__buf_puts(&b, ws__path_base(path));
    if (b.failed) {
        ws__buf_free(&b);
        return WS_ENOMEM;
    }
    *out = ws__buf_take(&b);
    return 0;
}

/* --- programs of others ---------------------------------------------------
 */

#define TOOLKIT "/usr/local/cuda/bin"

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

static int find_in(struct ws_ctx *ctx, const char *folders, const char *name,
                   char **path)
{
    while (*folders && !*path) {
        size_t n = strcspn(folders, ":");
        struct ws__buf b;

        ws__buf_init(&b, ctx, 65536);
        if (*folders == '/') {
            ws__buf_add(&b, folders, n);
            ws__buf_printf(&b, "/%s", name);
            if (b.failed == WS_ENOMEM)
                return ws__buf_free(&b), WS_ENOMEM;
            if (!b.failed && is_program(b.data))
                *path = ws__buf_take(&b);
        }
        ws__buf_free(&b);
        folders += n + (folders[n] == ':');
    }
    return 0;
}

int ws__find_program(struct ws_ctx *ctx, const char *folders, const char *name,
                     char **path)
{
    *path = NULL;
    if (folders)
        WS_TRY(find_in(ctx, folders, name, path));
    return *path ? 0 : find_in(ctx, TOOLKIT, name, path);
}
