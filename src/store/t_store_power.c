/*
 * t_store_power.c: power losses in random order.
 *
 * The layer keeps for each file of a store what it held at its last sync, and
 * every write, cut and removal since. A loss makes files as a disk may leave
 * them: what was synced, and of the rest any subset, sector by sector, in any
 * order; a new file may be missing, a removed one may be back. Disks of 512
 * and 4096 bytes a sector are played, in both ways of keeping a store whole:
 * the write-ahead log, and the rollback journal where there is no shared
 * memory. Each image must open, verify, hold all that was acknowledged, and
 * take another append.
 *
 * t_store_crash.c plays the few orders in which whole files go one before the
 * other; here a loss falls between any two operations. WS_SOAK=N makes it N
 * times as long.
 */
#include "store/t_store_vfs.h"

#include "base/fs.h"
#include "base/hash.h"

#define MAX_DISK 8
#define MAX_LATE 4096

/* Something that was done since the last sync. */
struct late {
    enum t_op op; /* T_WRITE, T_TRUNCATE, T_DELETE */
    sqlite3_int64 at, n;
    char *data;
};

struct disk {
    char name[16]; /* the end of the path: "", "-wal", "-journal" */
    bool exists;   /* for sure */
    bool born;     /* made since its folder was synced */
    char *data;    /* as of the last sync */
    size_t n;
    struct late late[MAX_LATE];
    size_t nlate;
};

static struct {
    struct disk disk[MAX_DISK];
    size_t n;
    struct ws__rng rng;
    uint64_t acked;  /* answers that must be there */
    unsigned period; /* a loss at one in so many operations */
    uint64_t images, kept;
    bool no_shm;
} power;

/* --- what a disk holds --------------------------------------------------- */

static struct disk *disk_of(const char *path)
{
    size_t base = strlen(t_path);
    const char *end;

    if (strncmp(path, t_path, base) != 0)
        return NULL;
    end = path + base;
    for (size_t i = 0; i < power.n; i++)
        if (!strcmp(power.disk[i].name, end))
            return &power.disk[i];
    assert_true(power.n < MAX_DISK);
    snprintf(power.disk[power.n].name, sizeof(power.disk[0].name), "%s", end);
    return &power.disk[power.n++];
}

static void set_size(char **data, size_t *n, size_t want)
{
    if (want > *n) {
        *data = realloc(*data, want);
        assert_non_null(*data);
        memset(*data + *n, 0, want - *n);
    }
    *n = want;
}

static void put(char **data, size_t *n, size_t at, const char *from, size_t len)
{
    if (at + len > *n)
        set_size(data, n, at + len);
    memcpy(*data + at, from, len);
}

/* Takes effect on what is sure. */
static void settle(struct disk *d, const struct late *l)
{
    if (l->op == T_WRITE)
        put(&d->data, &d->n, (size_t)l->at, l->data, (size_t)l->n);
    else if (l->op == T_TRUNCATE)
        set_size(&d->data, &d->n, (size_t)l->n);
    else {
        d->n = 0;
        d->exists = false;
    }
}

static void forget(struct disk *d)
{
    for (size_t i = 0; i < d->nlate; i++)
        free(d->late[i].data);
    d->nlate = 0;
}

static void settle_all(struct disk *d)
{
    for (size_t i = 0; i < d->nlate; i++)
        settle(d, &d->late[i]);
    forget(d);
}

static void be_late(struct disk *d, const struct t_call *c)
{
    struct late *l = &d->late[d->nlate++];

    assert_true(d->nlate < MAX_LATE);
    *l = (struct late){.op = c->op, .at = c->at, .n = c->n};
    if (c->op != T_WRITE)
        return;
    l->data = malloc((size_t)c->n);
    memcpy(l->data, c->data, (size_t)c->n);
}

/* --- a loss -------------------------------------------------------------- */

static bool chance(unsigned percent)
{
    return ws__rng_below(&power.rng, 100) < percent;
}

/* A write is done sector by sector; bytes beside it are never touched. */
static void tear(char **data, size_t *n, const struct late *l, size_t sector,
                 unsigned percent)
{
    sqlite3_int64 at = l->at, end = l->at + l->n;

    while (at < end) {
        sqlite3_int64 stop =
            (at / (sqlite3_int64)sector + 1) * (sqlite3_int64)sector;

        stop = stop < end ? stop : end;
        if (chance(percent))
            put(data, n, (size_t)at, l->data + (at - l->at),
                (size_t)(stop - at));
        at = stop;
    }
}

/* The file as the loss leaves it; false: it is not there. */
static bool lose(const struct disk *d, char **data, size_t *n, size_t sector,
                 unsigned percent)
{
    bool there = d->exists || (d->born && chance(50));

    *data = malloc(d->n + 1);
    *n = d->n;
    if (d->n)
        memcpy(*data, d->data, d->n);
    for (size_t i = 0; i < d->nlate; i++) {
        const struct late *l = &d->late[i];

        if (l->op == T_WRITE)
            tear(data, n, l, sector, percent);
        else if (l->op == T_TRUNCATE && chance(percent))
            set_size(data, n, (size_t)l->n);
        else if (l->op == T_DELETE) {
            there = there && !chance(percent);
            *n = there ? *n : 0;
        }
    }
    return there;
}

static void make_image(const char *path)
{
    static const unsigned percents[] = {0, 20, 50, 80, 100};
    size_t sector = chance(50) ? 512 : 4096;

    for (size_t i = 0; i < power.n; i++) {
        unsigned percent = percents[ws__rng_below(&power.rng, 5)];
        char name[96], *data;
        size_t n;
        bool there;

        snprintf(name, sizeof(name), "%s%s", path, power.disk[i].name);
        unlink(name);
        there = lose(&power.disk[i], &data, &n, sector, percent);
        if (there) {
            FILE *f = fopen(name, "wb");

            assert_non_null(f);
            if (n)
                assert_int_equal(fwrite(data, 1, n, f), n);
            fclose(f);
        }
        free(data);
    }
}

struct tally {
    uint64_t n;
};

static int count_answer(void *user, const struct ws__question *q,
                        const struct ws__trial *t, size_t n)
{
    struct tally *tally = user;
    (void)t;

    assert_int_equal(q->id, ++tally->n);
    assert_int_equal(n, 1);
    return 0;
}

static void check_image(const char *path)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(1, "grid", 1);
    struct tally tally = {0};
    struct ws__store *s;
    int rc = ws__store_open(ctx, path, false, &s);

    if (!rc)
        rc = ws__store_verify(s);
    if (!rc)
        rc = ws__store_exec(s, "DELETE FROM lock", "clear");
    if (!rc)
        rc = ws__store_journal(s).ops->begin(s, &run);
    if (!rc)
        rc = ws__store_journal(s).ops->replay(s, &run, count_answer, &tally);
    if (rc)
        fail_msg("image %d: %s", (int)power.images, ws_ctx_error(ctx)->message);
    if (tally.n < power.acked || tally.n > power.acked + 1)
        fail_msg("image %d: %d of %d there", (int)power.images, (int)tally.n,
                 (int)power.acked);
    assert_int_equal(t_append(ctx, s, &run, tally.n + 1), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
    power.images++;
    power.kept += tally.n;
}

/* A large transaction is whole or not there: the text of an image is that of
 * before or after. */
static const char *before_text, *after_text;

static void check_text(const char *path)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;
    char *text = NULL;

    if (ws__store_open(ctx, path, false, &s) || !(text = t_text(ctx, s)))
        fail_msg("image %d: %s", (int)power.images, ws_ctx_error(ctx)->message);
    if (strcmp(text, after_text) != 0 &&
        (power.acked || strcmp(text, before_text) != 0))
        fail_msg("image %d: neither all nor nothing", (int)power.images);
    power.kept += !strcmp(text, after_text);
    power.images++;
    ws__free(ctx, text);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void power_loss(void)
{
    char path[80], name[96];

    snprintf(path, sizeof(path), "%s/image.db", t_dir);
    snprintf(name, sizeof(name), "%s-shm", path);
    unlink(name);
    t_vfs.on = false;
    make_image(path);
    (after_text ? check_text : check_image)(path);
    t_vfs.on = true;
}

/* --- following the files ------------------------------------------------- */

/* A journal's first sync syncs its folder, and with it all names in it. */
static void sync_folder(void)
{
    for (size_t i = 0; i < power.n; i++) {
        struct disk *d = &power.disk[i];
        bool removed = d->nlate && d->late[d->nlate - 1].op == T_DELETE;

        if (removed)
            settle_all(d);
        d->exists = d->exists || (d->born && !removed);
        d->born = false;
    }
}

static int follow(const struct t_call *c)
{
    struct disk *d = disk_of(c->path);

    if (!d)
        return SQLITE_OK;
    if ((c->op == T_WRITE || c->op == T_SYNC || c->op == T_TRUNCATE ||
         c->op == T_DELETE) &&
        !ws__rng_below(&power.rng, power.period))
        power_loss();
    if (c->op == T_OPEN && (c->n & SQLITE_OPEN_CREATE) &&
        !ws__fs_exists(c->path)) {
        d->born = true;
    } else if (c->op == T_SYNC) {
        settle_all(d);
        sync_folder();
    } else if (c->op == T_WRITE || c->op == T_TRUNCATE) {
        be_late(d, c);
    } else if (c->op == T_DELETE) {
        be_late(d, c);
        if (c->n) /* with its folder */
            sync_folder();
    }
    return SQLITE_OK;
}

static void one_life(struct ws_ctx *ctx, unsigned appends)
{
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__store *s;
    char sql[64];

    t_vfs.on = true;
    s = t_open(ctx);
    snprintf(sql, sizeof(sql), "PRAGMA wal_autocheckpoint = %d",
             (int)ws__rng_below(&power.rng, 60) + 4);
    assert_int_equal(ws__store_exec(s, sql, "set"), 0);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    for (unsigned i = 0; i < appends; i++) {
        assert_int_equal(t_append(ctx, s, &run, power.acked + 1), 0);
        power.acked++;
        power_loss();
    }
    assert_int_equal(ws__store_journal(s).ops->end(s, &run), 0);
    ws__store_close(s);
    power_loss();
    t_vfs.on = false;
}

static void clear_disks(void)
{
    for (size_t i = 0; i < power.n; i++) {
        forget(&power.disk[i]);
        free(power.disk[i].data);
        memset(&power.disk[i], 0, sizeof(power.disk[i]));
    }
    power.n = 0;
}

static void lose_power(bool no_shm)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    memset(&power, 0, sizeof(power));
    ws__rng_seed(&power.rng, 17);
    power.period = 12;
    t_vfs_start(follow);
    t_vfs.no_shm = no_shm;
    for (unsigned long i = t_rounds(2); i--;)
        one_life(ctx, 12);
    t_vfs_stop();
    assert_true(power.images > 40);
    assert_true(power.kept > power.images);
    clear_disks();
    ws_ctx_free(ctx);
}

static void test_log(void **state)
{
    (void)state;
    lose_power(false);
}

static void test_journal(void **state)
{
    (void)state;
    lose_power(true);
}

/* Where there is no shared memory a file must not ask for a log: its bytes 18
 * and 19 say so. */
static void without_log(void)
{
    FILE *f = fopen(t_path, "r+b");

    assert_non_null(f);
    assert_int_equal(fseek(f, 18, SEEK_SET), 0);
    assert_int_equal(fwrite("\1\1", 1, 2, f), 2);
    fclose(f);
}

/* Bringing a file of format 1 up to date, and importing its text. */
static void one_large(struct ws_ctx *ctx)
{
    struct ws__store *s;
    struct disk *d;

    clear_disks();
    t_format1(t_path);
    if (t_vfs.no_shm)
        without_log();
    d = disk_of(t_path); /* has been there long */
    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 20, &d->data, &d->n), 0);
    d->exists = true;
    power.acked = 0;
    before_text = after_text;
    t_vfs.on = true;
    s = t_open(ctx);
    power.acked = 1;
    power_loss();
    ws__store_close(s);
    power_loss();
    t_vfs.on = false;
    assert_int_equal(unlink(t_path), 0);

    clear_disks();
    s = t_open(ctx);
    ws__store_close(s);
    d = disk_of(t_path);
    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 20, &d->data, &d->n), 0);
    d->exists = true;
    power.acked = 0;
    before_text = "";
    t_vfs.on = true;
    s = t_open(ctx);
    power_loss();
    assert_int_equal(t_import(ctx, s, after_text), 0);
    power.acked = 1;
    power_loss();
    ws__store_close(s);
    power_loss();
    t_vfs.on = false;
    assert_int_equal(unlink(t_path), 0);
}

static void large(bool no_shm)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;
    char *text;

    memset(&power, 0, sizeof(power));
    ws__rng_seed(&power.rng, 23);
    power.period = 4;
    t_format1(t_path);
    s = t_open(ctx); /* for writing, so that closing leaves no log */
    after_text = text = t_text(ctx, s);
    ws__store_close(s);
    assert_int_equal(unlink(t_path), 0);
    t_vfs_start(follow);
    t_vfs.no_shm = no_shm;
    for (unsigned long i = t_rounds(6); i--;)
        one_large(ctx);
    t_vfs_stop();
    assert_true(power.images > 100);
    after_text = NULL;
    clear_disks();
    ws__free(ctx, text);
    ws_ctx_free(ctx);
}

static void test_large_log(void **state)
{
    (void)state;
    large(false);
}

static void test_large_journal(void **state)
{
    (void)state;
    large(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
        T(test_log),
        T(test_journal),
        T(test_large_log),
        T(test_large_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
