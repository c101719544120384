/*
 * store_watch.c: is the file that we write to still the one with the name?
 *
 * A file that someone removes or replaces lives on for those who have it open,
 * and takes every append until the last of them closes it: all is well, and
 * everything is lost. One that is cut short takes them too, and is damaged by
 * the next checkpoint. So every transaction looks before it begins, and again
 * before it is acknowledged. The file only grows while it is open (nothing here
 * deletes; compacting a store that is in use counts as damage), and its log
 * keeps its name and its head from the first commit on.
 *
 * The file itself is looked at by name only: to open and close it would drop
 * the locks that SQLite holds on it in this process. The log has none.
 */
#include "store/store_db.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

static int is_gone(struct ws__store *s, const char *what, const char *how)
{
    ws__fail(s->ctx, WS_EIO, "%s '%s' was %s while in use", what, s->path, how);
    return ws__hint(s->ctx,
                    "leave the file and its log ('-wal' added to the name) "
                    "alone while something measures; put it back or give "
                    "another path, then run again: what was appended last may "
                    "be lost");
}

/* Does a log begin as one should? 1, 0, or -1: it cannot be told now. */
static int has_head(const char *wal)
{
    static const unsigned char magic[3] = {0x37, 0x7f, 0x06};
    unsigned char head[sizeof(magic)];
    int fd = open(wal, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = pread(fd, head, sizeof(head), 0);
    close(fd);
    if (n != (ssize_t)sizeof(head))
        return -1;
    return !memcmp(head, magic, sizeof(head));
}

/* A log cut to nothing is what a full checkpoint leaves; one that has frames
 * and lost its head was cut by a stranger, and nobody can read it. */
static int watch_log(struct ws__store *s, const char *wal)
{
    static const char what[] = "the log of the store";
    struct stat st;
    int head;

    if (stat(wal, &st) < 0)
        return s->has_wal ? is_gone(s, what, "removed or replaced") : 0;
    if (s->has_wal && (st.st_dev != s->wal_dev || st.st_ino != s->wal_node))
        return is_gone(s, what, "removed or replaced");
    s->wal_dev = st.st_dev;
    s->wal_node = st.st_ino;
    s->has_wal = true;
    head = has_head(wal);
    if (head == 0 && s->wal_begun)
        return is_gone(s, what, "cut short");
    s->wal_begun = s->wal_begun || head == 1;
    return 0;
}

int ws__store_watch(struct ws__store *s)
{
    const char *name = sqlite3_db_filename(s->db, "main");
    struct stat st;
    int moved = 0;

    if (!name || !*name)
        return 0;
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) !=
        SQLITE_OK)
        moved = 0;
    if (moved || stat(name, &st) < 0)
        return is_gone(s, "the store", "removed or replaced");
    if ((uint64_t)st.st_size < s->bytes)
        return is_gone(s, "the store", "cut short");
    s->bytes = (uint64_t)st.st_size;
    return watch_log(s, sqlite3_filename_wal(name));
}
