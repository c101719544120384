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

#define WAIT_NS 2000000u /* between two looks: small beside a measurement */

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

void ws__turn_open(struct ws_ctx *ctx, const char *dir, const char *what,
                   struct ws__turn *out)
{
    struct ws__hash h = ws__hash_str((struct ws__hash){17, 0}, what);
    char path[4096], hex[33];

    *out = WS__TURN_NONE;
    snprintf(out->what, sizeof(out->what), "%s", what);
    ws__hash_hex(h, hex);
    snprintf(path, sizeof(path), "%s/wavesmith-%.16s.turn", dir ? dir : "/tmp",
             hex);
    out->fd = open_file(path);
    if (out->fd < 0)
        ws__log(ctx, WS_LOG_WARN,
                "cannot open '%s': %s; another tune on '%s' may disturb the "
                "times of this one",
                path, strerror(errno), what);
}

int ws__turn_take(struct ws_ctx *ctx, struct ws__turn *t)
{
    while (t->fd >= 0 && !t->taken) {
        WS_TRY(ws__check_stop(ctx));
        if (!flock(t->fd, LOCK_EX | LOCK_NB)) {
            t->taken = true;
            break;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            ws__log(ctx, WS_LOG_WARN, "cannot lock '%s': %s", t->what,
                    strerror(errno));
            ws__turn_close(t); /* a file system without locks */
            break;
        }
        if (!t->told)
            ws__log(ctx, WS_LOG_INFO, "'%s' is in use by another run; waiting",
                    t->what);
        t->told = true;
        ws__sleep_ns(WAIT_NS);
    }
    return 0;
}

void ws__turn_give(struct ws__turn *t)
{
    if (t->taken)
        flock(t->fd, LOCK_UN);
    t->taken = false;
}

void ws__turn_close(struct ws__turn *t)
{
    if (t->fd >= 0)
        close(t->fd); /* gives it back, too */
    t->fd = -1;
    t->taken = false;
}
