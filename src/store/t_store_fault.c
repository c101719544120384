/*
 * t_store_fault.c: every operation on the files of a store fails in turn,
 * once or from then on, with each kind of failure, while a store is opened,
 * used and closed. Whatever happened: errors are told with a code that fits
 * and a hint; the store opens again and verifies; all that was acknowledged
 * is there, and at most the one append that failed beside it.
 */
#include "store/t_store_vfs.h"

#include <sys/resource.h>
#include <signal.h>

#include "base/fs.h"

#define APPENDS 9

static struct {
    enum t_op op; /* that fails */
    long nth;     /* at this count */
    bool for_ever;
    int code, number; /* SQLite's, errno */
    long seen;        /* of that kind */
} fault;

static int fail_nth(const struct t_call *call)
{
    if (call->op != fault.op)
        return SQLITE_OK;
    fault.seen++;
    if (fault.seen != fault.nth && !(fault.for_ever && fault.seen > fault.nth))
        return SQLITE_OK;
    errno = fault.number;
    return fault.code;
}

/* Answers 1, 2, 3...; every third checks a value and every fourth a pair. */
static int append_some(struct ws_ctx *ctx, struct ws__store *s,
                       struct ws__run *run, uint64_t *acked)
{
    for (uint64_t id = *acked + 1; id <= APPENDS; id++) {
        WS_TRY(t_append(ctx, s, run, id));
        *acked = id;
        if (id % 3 == 0)
            WS_TRY(ws__store_journal(s).ops->put(s, run, "k", "v"));
    }
    return 0;
}

static int use(struct ws_ctx *ctx, struct ws__store *s, uint64_t *acked)
{
    struct ws__identity id = {.device = "d"};
    struct ws__run run = t_run(1, "grid", 1);

    WS_TRY(ws__store_exec(s, "PRAGMA wal_autocheckpoint = 12", "set"));
    ws__identity_seal(&id);
    WS_TRY(ws__store_set_identity(s, &id));
    WS_TRY(ws__store_journal(s).ops->begin(s, &run));
    WS_TRY(append_some(ctx, s, &run, acked));
    return ws__store_journal(s).ops->end(s, &run);
}

struct tally {
    uint64_t n;
};

static int count_answer(void *user, const struct ws__question *q,
                        const struct ws__trial *t, size_t n)
{
    struct tally *tally = user;
    (void)t, (void)n;

    assert_int_equal(q->id, ++tally->n);
    return 0;
}

static void expect_whole(struct ws_ctx *ctx, uint64_t acked, const char *when)
{
    struct ws__run run = t_run(1, "grid", 1);
    struct tally tally = {0};
    struct ws__store *s;
    int rc = ws__store_open(ctx, t_path, false, &s);

    if (!rc)
        rc = ws__store_verify(s);
    if (!rc) /* what a failing unlock left is ours */
        rc = ws__store_exec(s, "DELETE FROM lock", "clear");
    if (!rc)
        rc = ws__store_journal(s).ops->begin(s, &run);
    if (!rc)
        rc = ws__store_journal(s).ops->replay(s, &run, count_answer, &tally);
    if (rc)
        fail_msg("%s: op %d at %ld: %s", when, fault.op, fault.nth,
                 ws_ctx_error(ctx)->message);
    if (tally.n < acked || tally.n > acked + 1)
        fail_msg("%s: op %d at %ld: %d of %d there", when, fault.op, fault.nth,
                 (int)tally.n, (int)acked);
    /* and it can be written to */
    assert_int_equal(t_append(ctx, s, &run, tally.n + 1), 0);
    ws__store_close(s);
}

static void check_error(struct ws_ctx *ctx, int rc)
{
    const struct ws_error *e = ws_ctx_error(ctx);

    if (rc != WS_EIO && rc != WS_EFULL && rc != WS_EACCES && rc != WS_ENOENT &&
        rc != WS_EBUSY)
        fail_msg("op %d at %ld: %s: %s", fault.op, fault.nth,
                 ws_status_name(rc), e->message);
    if (!strstr(e->message, t_path) || !e->hint[0])
        fail_msg("op %d at %ld: '%s' hint '%s'", fault.op, fault.nth,
                 e->message, e->hint);
}

static void clear_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[96];

    for (size_t i = 0; i < WS_COUNT(ends); i++) {
        snprintf(name, sizeof(name), "%s%s", t_path, ends[i]);
        unlink(name);
    }
}

/* One run of everything with the fault set; true if it came to pass. */
static bool one_fault(struct ws_ctx *ctx)
{
    struct ws__store *s = NULL;
    uint64_t acked = 0;
    int rc;

    clear_files();
    fault.seen = 0;
    t_vfs.on = true;
    rc = ws__store_open(ctx, t_path, false, &s);
    if (!rc)
        rc = use(ctx, s, &acked);
    if (rc)
        check_error(ctx, rc);
    if (rc && s && acked) { /* reading goes on once the fault is gone */
        t_vfs.on = false;
        if (ws__store_verify(s))
            fail_msg("op %d at %ld: %s", fault.op, fault.nth,
                     ws_ctx_error(ctx)->message);
    }
    ws__store_close(s);
    t_vfs.on = false;
    expect_whole(ctx, acked, rc ? "after a failure" : "unharmed");
    return fault.seen >= fault.nth;
}

/* What is tried with each fault. */
static bool (*body)(struct ws_ctx *ctx);

static void all_faults(enum t_op op, int code, int number)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    /* Every one for the first dozen and in a soak, then fewer and fewer. */
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (long n = 1;; n += n < 12 || t_rounds(1) > 1 ? 1 : n / 6) {
            fault.op = op;
            fault.nth = n;
            fault.for_ever = for_ever;
            fault.code = code;
            fault.number = number;
            if (!body(ctx))
                break;
        }
    if (op == T_WRITE || op == T_SYNC) /* others may not be needed */
        assert_true(fault.seen > 0);
    ws_ctx_free(ctx);
}

static void every_kind(void)
{
    all_faults(T_OPEN, SQLITE_CANTOPEN, EIO);
    all_faults(T_WRITE, SQLITE_IOERR_WRITE, EIO);
    all_faults(T_WRITE, SQLITE_FULL, ENOSPC);
    all_faults(T_SYNC, SQLITE_IOERR_FSYNC, EIO);
    all_faults(T_TRUNCATE, SQLITE_IOERR_TRUNCATE, EIO);
    all_faults(T_SIZE, SQLITE_IOERR_FSTAT, EIO);
    all_faults(T_LOCK, SQLITE_IOERR_LOCK, EIO);
    all_faults(T_DELETE, SQLITE_IOERR_DELETE, EIO);
    all_faults(T_READ, SQLITE_IOERR_READ, EIO);
}

static void test_log(void **state)
{
    (void)state;
    body = one_fault;
    t_vfs_start(fail_nth);
    every_kind();
    all_faults(T_SHM_MAP, SQLITE_IOERR_SHMMAP, EIO);
    t_vfs_stop();
}

static void test_journal(void **state)
{
    (void)state;
    body = one_fault;
    t_vfs_start(fail_nth);
    t_vfs.no_shm = true;
    every_kind();
    t_vfs_stop();
}

/* --- large transactions -------------------------------------------------- */

static char *before_text, *after_text; /* of the store, without and with */

/* As it was, or with everything: what the store holds after `rc`. */
static void expect_all_or_nothing(struct ws_ctx *ctx, int rc)
{
    struct ws__store *s;
    char *text = NULL;

    if (ws__store_open(ctx, t_path, true, &s) || !(text = t_text(ctx, s)))
        fail_msg("op %d at %ld: %s", fault.op, fault.nth,
                 ws_ctx_error(ctx)->message);
    if (strcmp(text, after_text) != 0 &&
        (!rc || strcmp(text, before_text) != 0))
        fail_msg("op %d at %ld: neither all nor nothing", fault.op, fault.nth);
    ws__free(ctx, text);
    ws__store_close(s);
}

static bool one_import(struct ws_ctx *ctx)
{
    struct ws__store *s;
    int rc;

    clear_files();
    s = t_open(ctx);
    assert_int_equal(t_import(ctx, s, before_text), 0);
    fault.seen = 0;
    t_vfs.on = true;
    rc = t_import(ctx, s, after_text);
    if (rc)
        check_error(ctx, rc);
    t_vfs.on = false;
    ws__store_close(s);
    expect_all_or_nothing(ctx, rc);
    return fault.seen >= fault.nth;
}

/* Bringing a file of format 1 up to date: its text is the same. */
static bool one_migration(struct ws_ctx *ctx)
{
    struct ws__store *s = NULL;
    int rc;

    clear_files();
    t_format1(t_path);
    fault.seen = 0;
    t_vfs.on = true;
    rc = ws__store_open(ctx, t_path, false, &s);
    if (rc)
        check_error(ctx, rc);
    t_vfs.on = false;
    ws__store_close(s);
    expect_all_or_nothing(ctx, rc);
    return fault.seen >= fault.nth;
}

static void writing_kinds(void)
{
    all_faults(T_WRITE, SQLITE_FULL, ENOSPC);
    all_faults(T_SYNC, SQLITE_IOERR_FSYNC, EIO);
    all_faults(T_READ, SQLITE_IOERR_READ, EIO);
}

static void test_large(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;
    (void)state;

    t_vfs_start(fail_nth);
    t_format1(t_path);
    assert_int_equal(ws__store_open(ctx, t_path, true, &s), 0);
    after_text = before_text = t_text(ctx, s);
    ws__store_close(s);
    body = one_migration;
    writing_kinds();

    before_text = ws__strdup(ctx, "");
    body = one_import;
    writing_kinds();
    t_vfs_stop();
    ws__free(ctx, before_text);
    ws__free(ctx, after_text);
    ws_ctx_free(ctx);
}

/* --- a limit of the size of files ---------------------------------------- */

/* In a process of its own: appends until the limit; 0 if all is as promised. */
static int fill(uint64_t limit)
{
    struct rlimit r = {limit, limit};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__store *s;
    uint64_t id = 1;
    int rc;

    signal(SIGXFSZ, SIG_IGN);
    if (ws__store_open(ctx, t_path, false, &s) ||
        ws__store_journal(s).ops->begin(s, &run) || setrlimit(RLIMIT_FSIZE, &r))
        return 1;
    while (!(rc = t_append(ctx, s, &run, id)) && id < 100000)
        id++;
    if (rc != WS_EFULL) {
        print_error("%s: %s\n", ws_status_name(rc), ws_ctx_error(ctx)->message);
        return 2;
    }
    if (ws__store_verify(s))
        return 3;
    ws__store_close(s);
    return id > 1 ? 0 : 4;
}

static void test_size_limit(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__store *s;
    struct tally tally;
    (void)state;

    for (uint64_t limit = 300000; limit < 330000; limit += 3700) {
        int status;
        pid_t pid = fork();

        if (!pid)
            _exit(fill(limit));
        waitpid(pid, &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        s = t_open(ctx);
        assert_int_equal(ws__store_verify(s), 0);
        assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
        tally.n = 0;
        assert_int_equal(ws__store_journal(s).ops->replay(s, &run, count_answer,
                                                          &tally),
                         0);
        assert_true(tally.n > 0);
        assert_int_equal(t_append(ctx, s, &run, tally.n + 1), 0);
        ws__store_close(s);
        unlink(t_path);
    }
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
        T(test_log),
        T(test_journal),
        T(test_large),
        T(test_size_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
