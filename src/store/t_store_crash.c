/*
 * t_store_crash.c: what append acknowledged is there after a kill, beside
 * other writers, and after a power loss.
 *
 * Power loss is played by a layer under SQLite (a VFS) that remembers for the
 * database and its log what was synced last. At every sync and after every
 * append it makes the files a crash could leave: only what was synced, all
 * that was written, and what was synced with a torn piece of what was not.
 * Each must open, verify, and hold every trial acknowledged before.
 */
#include "store/t_store.h"

#include <signal.h>

#include "base/clock.h"
#include "base/fs.h"

/* --- kill ---------------------------------------------------------------- */

struct tally {
    uint64_t last;
    size_t n;
};

/* Answers come as 1, 2, 3, ...: none missing, none twice. */
static int count_answer(void *user, const struct ws__question *q,
                        const struct ws__trial *t, size_t n)
{
    struct tally *tally = user;

    assert_int_equal(q->id, ++tally->last);
    tally->n += n;
    assert_int_equal(t->nsample, 20);
    return 0;
}

/* Appends for ever, telling each acknowledged number over the pipe. */
static void append_for_ever(int fd)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = NULL;
    struct ws__run run = t_run(1, "grid", 1);
    struct tally tally = {0, 0};

    if (ws__store_open(ctx, t_path, false, &s) ||
        ws__store_journal(s).ops->begin(s, &run) ||
        ws__store_journal(s).ops->replay(s, &run, count_answer, &tally))
        _exit(1);
    ws__store_exec(s, "PRAGMA wal_autocheckpoint = 20", "set");
    for (uint64_t id = tally.last + 1;; id++)
        if (t_append(ctx, s, &run, id) ||
            write(fd, &id, sizeof(id)) != sizeof(id))
            _exit(2);
}

static void test_kill(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__rng rng;
    uint64_t acked = 0, id;
    (void)state;

    ws__rng_seed(&rng, ws__wall_ns());
    for (int round = 0; round < 10; round++) {
        struct ws__run run = t_run(1, "grid", 1);
        struct tally tally = {0, 0};
        struct ws__store *s;
        int fd[2];
        pid_t pid;

        assert_int_equal(pipe(fd), 0);
        pid = fork();
        if (!pid)
            append_for_ever(fd[1]);
        close(fd[1]);
        /* the first tells that it runs */
        assert_int_equal(read(fd[0], &id, sizeof(id)), sizeof(id));
        ws__sleep_ns(ws__rng_below(&rng, 30000000));
        kill(pid, SIGKILL);
        acked = id;
        while (read(fd[0], &id, sizeof(id)) == sizeof(id))
            acked = id;
        close(fd[0]);
        waitpid(pid, NULL, 0);

        s = t_open(ctx);
        assert_int_equal(ws__store_verify(s), 0);
        assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
        assert_int_equal(ws__store_journal(s).ops->replay(s, &run, count_answer,
                                                          &tally),
                         0);
        /* one more may have been committed and not told any more */
        assert_true(tally.n == acked || tally.n == acked + 1);
        ws__store_close(s);
    }
    assert_true(acked >= 10);
    ws_ctx_free(ctx);
}

/* --- many writers -------------------------------------------------------- */

#define WRITERS 4
#define EACH 60

static int write_some(uint64_t spec, int gate)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(spec, "grid", 1);
    struct ws__store *s;
    char byte;

    if (read(gate, &byte, 1) != 0) /* end of file: all begin at once */
        return 1;
    if (ws__store_open(ctx, t_path, false, &s) ||
        ws__store_journal(s).ops->begin(s, &run)) {
        print_error("%s\n", ws_ctx_error(ctx)->message);
        return 2;
    }
    for (uint64_t id = 1; id <= EACH; id++)
        if (t_append(ctx, s, &run, id)) {
            print_error("%s\n", ws_ctx_error(ctx)->message);
            return 3;
        }
    ws__store_close(s);
    ws_ctx_free(ctx);
    return 0;
}

/* They also race for making the file. */
static void test_many_writers(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    pid_t pid[WRITERS];
    struct ws__store *s;
    uint64_t trials, runs;
    int gate[2];
    (void)state;

    assert_int_equal(pipe(gate), 0);
    for (uint64_t i = 0; i < WRITERS; i++) {
        pid[i] = fork();
        if (!pid[i]) {
            close(gate[1]);
            _exit(write_some(i + 1, gate[0]));
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < WRITERS; i++) {
        int status;

        waitpid(pid[i], &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    s = t_open(ctx);
    assert_int_equal(ws__store_verify(s), 0);
    assert_int_equal(ws__store_count(s, &trials, &runs), 0);
    assert_int_equal(trials, WRITERS * EACH);
    assert_int_equal(runs, WRITERS);
    for (uint64_t i = 1; i <= WRITERS; i++) {
        struct ws__run run = t_run(i, "grid", 1);
        struct tally tally = {0, 0};

        assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
        assert_int_equal(ws__store_journal(s).ops->replay(s, &run, count_answer,
                                                          &tally),
                         0);
        assert_int_equal(tally.n, EACH);
    }
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- power loss: the layer ----------------------------------------------- */

enum { DB, LOG, NFILES };

struct content {
    char *data;
    size_t n;
};

static struct {
    bool tracking;
    sqlite3_file *open[NFILES];     /* the real one below */
    struct content durable[NFILES]; /* as of its last sync */
    uint64_t acked, images, recovered;
    struct ws__rng rng;
} disk;

struct layer_file {
    sqlite3_file base;
    int which; /* DB, LOG, or -1: not tracked */
    sqlite3_file *real;
};

static sqlite3_vfs *real_vfs;

static void check_crash(void);

static void read_content(sqlite3_file *f, struct content *c)
{
    sqlite3_int64 n = 0;

    free(c->data);
    c->data = NULL;
    c->n = 0;
    if (!f || f->pMethods->xFileSize(f, &n) != SQLITE_OK || !n)
        return;
    c->data = malloc((size_t)n);
    c->n = (size_t)n;
    assert_int_equal(f->pMethods->xRead(f, c->data, (int)n, 0), SQLITE_OK);
}

#define REAL(f) (((struct layer_file *)(f))->real)
#define BELOW(f) (REAL(f)->pMethods)

static int l_close(sqlite3_file *f)
{
    struct layer_file *l = (struct layer_file *)f;

    if (l->which >= 0)
        disk.open[l->which] = NULL;
    return BELOW(f)->xClose(REAL(f));
}

static int l_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return BELOW(f)->xRead(REAL(f), p, n, at);
}

static int l_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    return BELOW(f)->xWrite(REAL(f), p, n, at);
}

static int l_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return BELOW(f)->xTruncate(REAL(f), n);
}

static int l_sync(sqlite3_file *f, int flags)
{
    struct layer_file *l = (struct layer_file *)f;

    if (l->which >= 0) {
        check_crash(); /* before it took effect */
        read_content(l->real, &disk.durable[l->which]);
        check_crash();
    }
    return BELOW(f)->xSync(REAL(f), flags);
}

static int l_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return BELOW(f)->xFileSize(REAL(f), n);
}

static int l_lock(sqlite3_file *f, int level)
{
    return BELOW(f)->xLock(REAL(f), level);
}

static int l_unlock(sqlite3_file *f, int level)
{
    return BELOW(f)->xUnlock(REAL(f), level);
}

static int l_reserved(sqlite3_file *f, int *out)
{
    return BELOW(f)->xCheckReservedLock(REAL(f), out);
}

static int l_control(sqlite3_file *f, int op, void *arg)
{
    return BELOW(f)->xFileControl(REAL(f), op, arg);
}

static int l_sector(sqlite3_file *f)
{
    return BELOW(f)->xSectorSize(REAL(f));
}

/* Nothing is promised: sectors may tear, files grow before their data. */
static int l_traits(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static int l_shm_map(sqlite3_file *f, int page, int size, int extend,
                     void volatile **out)
{
    return BELOW(f)->xShmMap(REAL(f), page, size, extend, out);
}

static int l_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return BELOW(f)->xShmLock(REAL(f), at, n, flags);
}

static void l_shm_barrier(sqlite3_file *f)
{
    BELOW(f)->xShmBarrier(REAL(f));
}

static int l_shm_unmap(sqlite3_file *f, int drop)
{
    return BELOW(f)->xShmUnmap(REAL(f), drop);
}

static const sqlite3_io_methods layer_methods = {
    .iVersion = 2,
    .xClose = l_close,
    .xRead = l_read,
    .xWrite = l_write,
    .xTruncate = l_truncate,
    .xSync = l_sync,
    .xFileSize = l_size,
    .xLock = l_lock,
    .xUnlock = l_unlock,
    .xCheckReservedLock = l_reserved,
    .xFileControl = l_control,
    .xSectorSize = l_sector,
    .xDeviceCharacteristics = l_traits,
    .xShmMap = l_shm_map,
    .xShmLock = l_shm_lock,
    .xShmBarrier = l_shm_barrier,
    .xShmUnmap = l_shm_unmap,
};

static int l_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
                  int flags, int *out_flags)
{
    struct layer_file *l = (struct layer_file *)f;
    int rc;
    (void)vfs;

    l->real = (sqlite3_file *)(l + 1);
    l->which = !disk.tracking                  ? -1
               : (flags & SQLITE_OPEN_MAIN_DB) ? DB
               : (flags & SQLITE_OPEN_WAL)     ? LOG
                                               : -1;
    rc = real_vfs->xOpen(real_vfs, name, l->real, flags, out_flags);
    l->base.pMethods = l->real->pMethods ? &layer_methods : NULL;
    if (rc == SQLITE_OK && l->which >= 0)
        disk.open[l->which] = l->real;
    return rc;
}

/* --- power loss: the images ---------------------------------------------- */

static void put_file(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    if (n)
        assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static void check_image(const struct content *db, const struct content *log)
{
    char path[64], name[80];
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(1, "grid", 1);
    struct tally tally = {0, 0};
    struct ws__store *s;
    int rc;

    snprintf(path, sizeof(path), "%s/image.db", t_dir);
    snprintf(name, sizeof(name), "%s-shm", path);
    unlink(name);
    put_file(path, db->data, db->n);
    snprintf(name, sizeof(name), "%s-wal", path);
    put_file(name, log->data, log->n);
    disk.images++;
    rc = ws__store_open(ctx, path, false, &s);
    if (!rc)
        rc = ws__store_verify(s);
    if (rc)
        print_error("%s\n", ws_ctx_error(ctx)->message);
    assert_int_equal(rc, 0);
    assert_int_equal(ws__store_exec(s, "DELETE FROM lock", "clear"), 0);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    assert_int_equal(ws__store_journal(s).ops->replay(s, &run, count_answer,
                                                      &tally),
                     0);
    assert_true(tally.n >= disk.acked && tally.n <= disk.acked + 1);
    disk.recovered += tally.n;
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void check_crash(void)
{
    struct content now[NFILES] = {{NULL, 0}, {NULL, 0}}, torn;
    const struct content *old = disk.durable;
    size_t first = 0;

    if (!disk.tracking || !disk.acked)
        return;
    disk.tracking = false; /* images are opened through the layer too */
    read_content(disk.open[DB], &now[DB]);
    read_content(disk.open[LOG], &now[LOG]);
    check_image(&old[DB], &old[LOG]);
    check_image(&now[DB], &now[LOG]);
    check_image(&old[DB], &now[LOG]);
    check_image(&now[DB], &old[LOG]);

    /* a piece of the log's new bytes, up to a place in the middle */
    torn = (struct content){malloc(now[LOG].n + 1), now[LOG].n};
    for (size_t i = 0; i < now[LOG].n; i++)
        torn.data[i] = i < old[LOG].n ? old[LOG].data[i] : 0;
    while (first < now[LOG].n && torn.data[first] == now[LOG].data[first])
        first++;
    if (first < now[LOG].n) {
        size_t m = ws__rng_below(&disk.rng, now[LOG].n - first);

        memcpy(torn.data + first, now[LOG].data + first, m);
        check_image(&old[DB], &torn);
    }
    free(torn.data);
    free(now[DB].data);
    free(now[LOG].data);
    disk.tracking = true;
}

static void test_power_loss(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__store *s;
    static sqlite3_vfs layer;
    (void)state;

    real_vfs = sqlite3_vfs_find(NULL);
    layer = *real_vfs;
    layer.zName = "power";
    layer.szOsFile += (int)sizeof(struct layer_file);
    layer.xOpen = l_open;
    assert_int_equal(sqlite3_vfs_register(&layer, 1), SQLITE_OK);
    ws__rng_seed(&disk.rng, 11);

    disk.tracking = true;
    s = t_open(ctx);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    assert_int_equal(ws__store_exec(s, "PRAGMA wal_autocheckpoint = 25", "set"),
                     0);
    for (uint64_t id = 1; id <= 24; id++) {
        assert_int_equal(t_append(ctx, s, &run, id), 0);
        disk.acked = id;
        check_crash();
    }
    ws__store_close(s); /* merges the log: more syncs */
    disk.tracking = false;
    assert_true(disk.images > 24 * 4);
    assert_true(disk.recovered > disk.images);

    sqlite3_vfs_unregister(&layer);
    sqlite3_vfs_register(real_vfs, 1);
    free(disk.durable[DB].data);
    free(disk.durable[LOG].data);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
        T(test_kill),
        T(test_many_writers),
        T(test_power_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
