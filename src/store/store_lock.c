/*
 * store_lock.c: one process at a time measures a specification on a device.
 *
 * The lock is a row, so that it can say who holds it. A process is told by
 * host, boot and pid, and by the time it started, for pids are used again.
 * A row whose process is gone (killed, or the machine rebooted) is replaced
 * by whoever comes next; that and taking the lock happen in one immediate
 * transaction, so two cannot both win. A row of another host cannot be judged
 * and is respected.
 *
 * Every append checks that the lock is ours still: an owner that was taken
 * for dead (its row deleted by hand) must not write beside the new one.
 */
#include "store/store_db.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/banned.h"

struct process {
    int64_t pid;
    uint64_t started; /* clock ticks since boot; field 22 of stat */
    char host[128], boot[64];
    int64_t run; /* that it measures; of a lock */
};

/* 0 and `*started`; 1 if it has ended and waits to be reaped; negative if
 * there is no such process or it cannot be told. */
static int read_started(struct ws__store *s, int64_t pid, uint64_t *started)
{
    char path[64], *text, *p;
    size_t n;
    int rc = 1;

    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    WS_TRY(ws__fs_read(s->ctx, path, 8192, &text, &n));
    p = strrchr(text, ')'); /* the name before it may hold anything */
    if (p && p[1] == ' ' && p[2] && p[2] != 'Z' && p[2] != 'X') {
        p += 2;
        for (int field = 3; p && field < 22; field++) {
            p = strchr(p, ' ');
            p = p ? p + 1 : NULL;
        }
        if (p) {
            *started = strtoull(p, NULL, 10);
            rc = 0;
        }
    }
    ws__free(s->ctx, text);
    return rc;
}

static int describe_self(struct ws__store *s, struct process *me)
{
    char *text;
    size_t n;
    int rc;

    memset(me, 0, sizeof(*me));
    me->pid = getpid();
    gethostname(me->host, sizeof(me->host) - 1);
    rc = read_started(s, me->pid, &me->started);
    if (rc == WS_ENOMEM)
        return rc;
    rc = ws__fs_read(s->ctx, "/proc/sys/kernel/random/boot_id", 256, &text, &n);
    if (rc == WS_ENOMEM)
        return rc;
    if (rc >= 0) {
        snprintf(me->boot, sizeof(me->boot), "%.*s", (int)strcspn(text, "\n"),
                 text);
        ws__free(s->ctx, text);
    }
    /* Without /proc the pid alone has to do. */
    ws__error_clear(s->ctx);
    return 0;
}

static int is_alive(struct ws__store *s, const struct process *me,
                    const struct process *p, bool *alive)
{
    uint64_t started;
    int rc;

    *alive = true;
    if (strcmp(me->host, p->host))
        return 0;
    *alive = false;
    if (strcmp(me->boot, p->boot))
        return 0;
    rc = read_started(s, p->pid, &started);
    if (rc == WS_ENOMEM)
        return rc;
    ws__error_clear(s->ctx);
    if (rc == 0)
        *alive = started == p->started;
    else if (rc < 0) /* /proc is hidden or missing: ask by signal 0 */
        *alive = !kill((pid_t)p->pid, 0) || errno == EPERM;
    return 0;
}

static int refuse(struct ws__store *s, const struct ws__run *run,
                  const struct process *me, const struct process *p,
                  uint64_t since_ns)
{
    time_t t = (time_t)(since_ns / 1000000000u);
    char when[32] = "";
    struct tm tm;

    if (gmtime_r(&t, &tm))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
    if (strcmp(me->host, p->host)) {
        ws__fail(s->ctx, WS_EBUSY,
                 "'%s' is being measured on this device by process %lld of "
                 "host '%s', started %s",
                 run->name, (long long)p->pid, p->host, when);
        return ws__hint(s->ctx,
                        "wait for it; if it is gone for sure, remove the lock: "
                        "sqlite3 '%s' 'DELETE FROM lock'",
                        s->path);
    }
    ws__fail(s->ctx, WS_EBUSY,
             "'%s' is being measured on this device by process %lld, "
             "started %s",
             run->name, (long long)p->pid, when);
    return ws__hint(s->ctx,
                    "wait for it or stop it: kill %lld; the next run "
                    "continues where it was",
                    (long long)p->pid);
}

static void column_chars(sqlite3_stmt *q, int at, char *out, size_t size)
{
    const unsigned char *text = sqlite3_column_text(q, at);

    snprintf(out, size, "%s", text ? (const char *)text : "");
}

/* 1 and the row of the lock of this specification and device; or 0. */
static int read_lock(struct ws__store *s, const struct ws__run *run,
                     struct process *p, uint64_t *since_ns)
{
    sqlite3_stmt *q;
    int rc;

    memset(p, 0, sizeof(*p));
    WS_TRY(ws__store_kept(s, WS__SQL_LOCK_GET, &q));
    ws__store_bind_hash(q, 1, run->spec);
    ws__store_bind_hash(q, 2, run->device);
    rc = ws__store_step(s, q, "lock");
    if (rc > 0) {
        p->pid = sqlite3_column_int64(q, 0);
        p->started = (uint64_t)sqlite3_column_int64(q, 1);
        *since_ns = (uint64_t)sqlite3_column_int64(q, 2);
        column_chars(q, 4, p->host, sizeof(p->host));
        column_chars(q, 5, p->boot, sizeof(p->boot));
        p->run = sqlite3_column_int64(q, 6);
    }
    ws__store_done(q);
    return rc;
}

static int check_holder(struct ws__store *s, const struct ws__run *run,
                        const struct process *me)
{
    struct process p;
    uint64_t since_ns = 0;
    bool alive;
    int rc = read_lock(s, run, &p, &since_ns);

    if (rc <= 0)
        return rc;
    WS_TRY(is_alive(s, me, &p, &alive));
    return alive ? refuse(s, run, me, &p, since_ns) : 0;
}

int ws__store_holder(struct ws__store *s, const struct ws__run *run,
                     bool *measuring, int64_t *pid)
{
    struct process me, p;
    uint64_t since_ns;
    int rc = read_lock(s, run, &p, &since_ns);

    *measuring = false;
    if (rc <= 0 || p.run != (int64_t)run->id)
        return rc < 0 ? rc : 0;
    *pid = p.pid;
    WS_TRY(describe_self(s, &me));
    return is_alive(s, &me, &p, measuring);
}

int ws__store_check_free(struct ws__store *s, const struct ws__run *run)
{
    struct process me;

    WS_TRY(describe_self(s, &me));
    return check_holder(s, run, &me);
}

int ws__store_lock(struct ws__store *s, const struct ws__run *run)
{
    struct process me;
    sqlite3_stmt *q;
    int rc;

    WS_TRY(describe_self(s, &me));
    WS_TRY(check_holder(s, run, &me));
    WS_TRY(ws__store_kept(s, WS__SQL_LOCK_PUT, &q));
    ws__store_bind_hash(q, 1, run->spec);
    ws__store_bind_hash(q, 2, run->device);
    sqlite3_bind_int64(q, 3, (int64_t)run->id);
    sqlite3_bind_int64(q, 4, me.pid);
    sqlite3_bind_int64(q, 5, (int64_t)me.started);
    sqlite3_bind_int64(q, 6, (int64_t)ws__wall_ns());
    sqlite3_bind_int64(q, 7, (int64_t)s->token);
    sqlite3_bind_text(q, 8, me.host, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 9, me.boot, -1, SQLITE_STATIC);
    rc = ws__store_step(s, q, "lock");
    ws__store_done(q);
    return rc;
}

int ws__store_check_lock(struct ws__store *s, const struct ws__run *run)
{
    sqlite3_stmt *q;
    int rc;
    bool ours;

    WS_TRY(ws__store_kept(s, WS__SQL_LOCK_HOLDER, &q));
    sqlite3_bind_int64(q, 1, (int64_t)run->id);
    rc = ws__store_step(s, q, "append to");
    ours = rc > 0 && (uint64_t)sqlite3_column_int64(q, 0) == s->token;
    ws__store_done(q);
    if (rc < 0 || ours)
        return rc < 0 ? rc : 0;
    ws__fail(s->ctx, WS_EBUSY, "the lock on run %llu of '%s' is not ours",
             (unsigned long long)run->id, s->path);
    return ws__hint(s->ctx, "another process took over; run the same again");
}

int ws__store_unlock(struct ws__store *s, const struct ws__run *run)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_kept(s, WS__SQL_LOCK_DROP, &q));
    ws__store_bind_hash(q, 1, run->spec);
    ws__store_bind_hash(q, 2, run->device);
    sqlite3_bind_int64(q, 3, (int64_t)s->token);
    rc = ws__store_step(s, q, "unlock");
    ws__store_done(q);
    return rc;
}

void ws__store_unlock_all(struct ws__store *s)
{
    sqlite3_stmt *q;

    if (ws__store_kept(s, WS__SQL_LOCK_DROP_ALL, &q) < 0)
        return;
    sqlite3_bind_int64(q, 1, (int64_t)s->token);
    sqlite3_step(q);
    ws__store_done(q);
}
