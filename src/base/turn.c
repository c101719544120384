/*
 * turn.c: turns between processes, by flock. See turn.h.
 *
 * The file's name is a hash, since what it stands for may hold any
 * characters. It is opened for reading only: that is enough to lock it, and a
 * file of another user can be shared. It is first opened as it is, then made:
 * in a folder with the sticky bit the system may refuse to "create" a file
 * that another user has made.
 */
#include "base/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/banned.h"

#define WAIT_NS 2000000u    /* between two looks: small beside a measurement */
#define TELL_NS 2000000000u /* longer than a question of another run takes */

static int open_file(const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat st;
    int fd = ws__fd_keep(open(path, flags));

    if (fd < 0 && errno == ENOENT)
        fd = ws__fd_keep(open(path, flags | O_CREAT, 0644));
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

static void cannot(struct ws_ctx *ctx, struct ws__turn *t, const char *verb)
{
    ws__log(ctx, WS_LOG_WARN,
            "cannot %s the lock of '%s': %s; another run on it may disturb "
            "the times of this one",
            verb, t->what, strerror(errno));
    ws__turn_close(t);
}

void ws__turn_open(struct ws_ctx *ctx, const char *dir, const char *what,
                   struct ws__turn *out)
{
    struct ws__hash h = ws__hash_str((struct ws__hash){17, 0}, what);
    char path[4096], hex[33];

    *out = WS__TURN_NONE;
    out->held_ns = ctx->held_ns;
    snprintf(out->what, sizeof(out->what), "%s", what);
    ws__hash_hex(h, hex);
    snprintf(path, sizeof(path), "%s/wavesmith-%.16s.turn", dir ? dir : "/tmp",
             hex);
    out->fd = open_file(path);
    if (out->fd >= 0) {
        snprintf(path, sizeof(path), "%s/wavesmith-%.16s.next",
                 dir ? dir : "/tmp", hex);
        out->next_fd = open_file(path);
    }
    if (out->next_fd < 0)
        cannot(ctx, out, "open");
}

/* 1 locked, 0 somebody else has it, -1 and errno. */
static int try_lock(int fd)
{
    if (!flock(fd, LOCK_EX | LOCK_NB))
        return 1;
    return errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

/* Somebody else has it; since when we wait. */
static int wait_a_little(struct ws_ctx *ctx, struct ws__turn *t,
                         uint64_t since_ns)
{
    uint64_t now = ws__now_ns();
    int rc = ws__check_stop(ctx);

    if (rc < 0) {
        ws__turn_give(t);
        return rc;
    }
    if (!t->told && now - since_ns > TELL_NS) {
        ws__log(ctx, WS_LOG_WARN, "'%s' is in use by another run; waiting",
                t->what);
        t->told = true;
    }
    ws__sleep_ns(WAIT_NS);
    t->waited_ns += ws__now_ns() - now;
    return 0;
}

int ws__turn_take(struct ws_ctx *ctx, struct ws__turn *t)
{
    uint64_t since = ws__now_ns();

    while (t->fd >= 0 && !t->taken) {
        int got = try_lock(t->next ? t->fd : t->next_fd);

        if (got > 0 && t->next) {
            t->taken = true;
            t->next = false;
            flock(t->next_fd, LOCK_UN);
        } else if (got > 0) {
            t->next = true;
        } else if (got < 0) { /* a file system without locks */
            cannot(ctx, t, "take");
        } else {
            WS_TRY(wait_a_little(ctx, t, since));
        }
    }
    if (!t->since_ns)
        t->since_ns = ws__now_ns();
    return 0;
}

void ws__turn_give(struct ws__turn *t)
{
    if (t->since_ns && t->held_ns)
        __atomic_fetch_add(t->held_ns, ws__now_ns() - t->since_ns,
                           __ATOMIC_RELAXED);
    t->since_ns = 0;
    if (t->taken)
        flock(t->fd, LOCK_UN);
    if (t->next)
        flock(t->next_fd, LOCK_UN);
    t->taken = t->next = false;
}

void ws__turn_close(struct ws__turn *t)
{
    ws__turn_give(t);
    if (t->fd >= 0)
        close(t->fd);
    if (t->next_fd >= 0)
        close(t->next_fd);
    t->fd = t->next_fd = -1;
}

uint64_t ws__turn_held_ns(const struct ws_ctx *ctx)
{
    return __atomic_load_n(ctx->held_ns, __ATOMIC_RELAXED);
}
