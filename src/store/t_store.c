/*
 * t_store.c: what goes in comes out bit by bit and in order; finding, locks,
 * versions and every way a file can be unfit. Crashes: t_store_crash.c.
 */
#include "store/t_store.h"

#include <fcntl.h>
#include <signal.h>

#include "base/clock.h"
#include "base/fs.h"

/* --- round trip ---------------------------------------------------------- */

struct seen {
    struct ws_ctx *ctx;
    struct ws__run run;
    uint64_t ids[64];
    size_t n, trials;
};

/* Questions 1..: every third is a pair; sizes of samples vary. */
static int check_answer(void *user, const struct ws__question *q,
                        const struct ws__trial *t, size_t n)
{
    struct seen *seen = user;
    struct ws__question want_q = t_question(q->id, q->id % 3 == 0);

    assert_memory_equal(q, &want_q, sizeof(want_q));
    assert_int_equal(n, q->id % 3 ? 1 : 2);
    for (size_t i = 0; i < n; i++) {
        struct ws__trial want;

        t_half(seen->ctx, q, i, (size_t)q->id * 7 % 50 + i, &want);
        assert_true(t_same(&want, &t[i]));
        assert_true(t[i].id > 0);
        ws__trial_clear(seen->ctx, &want);
        seen->trials++;
    }
    seen->ids[seen->n++] = q->id;
    return seen->n == 50 ? 99 : 0;
}

static int pass_answer(void *user, const struct ws__question *q,
                       const struct ws__trial *t, size_t n)
{
    (void)user, (void)q, (void)t, (void)n;
    return 0;
}

static void append_answer(struct ws_ctx *ctx, struct ws__journal j,
                          const struct ws__run *run, uint64_t id)
{
    struct ws__question q = t_question(id, id % 3 == 0);
    struct ws__trial t[2];
    size_t n = q.pair ? 2 : 1;

    for (size_t i = 0; i < n; i++)
        t_half(ctx, &q, i, (size_t)id * 7 % 50 + i, &t[i]);
    assert_int_equal(j.ops->append(j.self, run, &q, t, n), 0);
    if (q.pair)
        assert_int_equal(t[1].id, t[0].id + 1);
    for (size_t i = 0; i < n; i++)
        ws__trial_clear(ctx, &t[i]);
}

static int check_each(void *user, const struct ws__run *run,
                      const struct ws__question *q, const struct ws__trial *t)
{
    struct seen *seen = user;

    assert_memory_equal(run, &seen->run, sizeof(*run));
    assert_int_equal(t->question, q->id);
    assert_true(!seen->n || t->id > seen->ids[seen->n - 1]);
    seen->ids[seen->n++] = t->id;
    return 0;
}

static void test_round_trip(void **state)
{
    static const uint64_t order[] = {1, 3, 2, 6, 5, 4, 7, 8, 9, 10};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__journal j = ws__store_journal(s);
    struct ws__run run = t_run(1, "grid", UINT64_MAX), other = run;
    struct seen seen = {.ctx = ctx};
    uint64_t trials, runs;
    (void)state;

    assert_int_equal(j.ops->abi, 1);
    assert_int_equal(j.ops->begin(j.self, &run), 0);
    assert_int_equal(run.id, 1);
    for (size_t i = 0; i < WS_COUNT(order); i++)
        append_answer(ctx, j, &run, order[i]);
    assert_int_equal(j.ops->end(j.self, &run), 0);
    ws__store_close(s);

    s = t_open(ctx);
    j = ws__store_journal(s);
    assert_int_equal(j.ops->begin(j.self, &other), 0);
    assert_int_equal(other.id, run.id);
    assert_int_equal(j.ops->replay(j.self, &other, check_answer, &seen), 0);
    assert_int_equal(seen.n, WS_COUNT(order));
    assert_memory_equal(seen.ids, order, sizeof(order));
    assert_int_equal(ws__store_count(s, &trials, &runs), 0);
    assert_int_equal(trials, 13);
    assert_int_equal(trials, seen.trials);
    assert_int_equal(runs, 1);
    assert_int_equal(ws__store_verify(s), 0);
    memset(&seen, 0, sizeof(seen));
    seen.run = other;
    assert_int_equal(ws__store_each(s, check_each, &seen), 0);
    assert_int_equal(seen.n, 13);
    /* the walk ends where the function says so */
    memset(&seen, 0, sizeof(seen));
    seen.ctx = ctx;
    seen.n = 49;
    assert_int_equal(j.ops->replay(j.self, &other, check_answer, &seen), 99);
    assert_int_equal(seen.n, 50);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void test_append_refuses(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *ro;
    struct ws__journal j = ws__store_journal(s);
    struct ws__run run = t_run(1, "grid", 1), never = t_run(2, "grid", 1);
    struct ws__question q = t_question(1, true);
    struct ws__trial t = {0};
    uint64_t trials, runs;
    (void)state;

    assert_int_equal(j.ops->begin(j.self, &run), 0);
    assert_int_equal(t_append(ctx, s, &run, 1), 0);
    assert_int_equal(t_append(ctx, s, &run, 1), WS_EINVAL); /* twice */
    assert_int_equal(j.ops->append(j.self, &run, &q, &t, 1), WS_EINVAL);
    assert_int_equal(t_append(ctx, s, &never, 1), WS_EBUSY); /* not begun */
    assert_int_equal(t_append(ctx, s, &run, 2), 0);
    assert_int_equal(ws__store_count(s, &trials, &runs), 0);
    assert_int_equal(trials, 2);

    assert_int_equal(ws__store_open(ctx, t_path, true, &ro), 0);
    j = ws__store_journal(ro);
    assert_int_equal(t_append(ctx, ro, &run, 3), WS_EACCES);
    assert_int_equal(j.ops->begin(j.self, &never), WS_EACCES);
    assert_int_equal(j.ops->put(j.self, &run, "k", "v"), WS_EACCES);
    assert_int_equal(ws__store_verify(ro), 0);
    ws__store_close(ro);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void test_identity(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__journal j = ws__store_journal(s);
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__identity a = {.device = "gpu \"x\"", .units = 108}, b = a;
    int64_t n = -1;
    (void)state;

    b.is_cpu = true;
    ws__identity_seal(&a);
    ws__identity_seal(&b);
    assert_int_equal(j.ops->begin(j.self, &run), 0);
    assert_int_equal(t_append(ctx, s, &run, 1), 0);
    assert_int_equal(ws__store_set_identity(s, &a), 0);
    assert_int_equal(t_append(ctx, s, &run, 2), 0);
    assert_int_equal(ws__store_set_identity(s, &b), 0);
    assert_int_equal(ws__store_set_identity(s, &a), 0);
    assert_int_equal(t_append(ctx, s, &run, 3), 0);
    assert_int_equal(ws__store_int(s, "SELECT count(*) FROM identity", &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(
        ws__store_int(s,
                      "SELECT count(*) FROM trial t JOIN identity i ON i.id ="
                      " t.identity WHERE i.units = 108 AND i.is_cpu = 0 AND"
                      " i.device = 'gpu \"x\"'",
                      &n),
        0);
    assert_int_equal(n, 2);
    assert_int_equal(ws__store_verify(s), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void test_values(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__journal j = ws__store_journal(s);
    struct ws__run a = t_run(1, "grid", 1), b = t_run(2, "grid", 1);
    char *v = NULL;
    (void)state;

    assert_int_equal(j.ops->begin(j.self, &a), 0);
    assert_int_equal(j.ops->begin(j.self, &b), 0);
    assert_int_equal(j.ops->get(j.self, &a, "k", &v), 0);
    assert_int_equal(j.ops->put(j.self, &a, "k", "one"), 0);
    assert_int_equal(j.ops->put(j.self, &a, "k", "two"), 0);
    assert_int_equal(j.ops->put(j.self, &b, "k", ""), 0);
    assert_int_equal(j.ops->get(j.self, &a, "k", &v), 1);
    assert_string_equal(v, "two");
    ws__free(ctx, v);
    assert_int_equal(j.ops->get(j.self, &b, "k", &v), 1);
    assert_string_equal(v, "");
    ws__free(ctx, v);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* Numbered in the order in which two openings of the store add them, each run
 * by itself; values of like names do not count. */
static void test_append_value(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *other;
    struct ws__journal j = ws__store_journal(s);
    struct ws__run a = t_run(1, "grid", 1), b = t_run(2, "grid", 1);
    uint64_t n = 0;
    char *v = NULL;
    (void)state;

    other = t_open(ctx);
    assert_int_equal(j.ops->begin(j.self, &a), 0);
    assert_int_equal(j.ops->begin(j.self, &b), 0);
    assert_int_equal(ws__store_append_value(s, a.id, "x", "one", &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(j.ops->put(j.self, &a, "x.000001.after", "7"), 0);
    assert_int_equal(j.ops->put(j.self, &a, "xy.000001", "7"), 0);
    assert_int_equal(ws__store_append_value(other, a.id, "x", "two", &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(ws__store_append_value(s, b.id, "x", "b", &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(ws__store_append_value(s, a.id, "x", "three", &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(j.ops->get(j.self, &a, "x.000002", &v), 1);
    assert_string_equal(v, "two");
    ws__free(ctx, v);
    ws__store_close(other);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- find ---------------------------------------------------------------- */

static int find(struct ws__journal j, uint64_t candidate,
                enum ws__effort effort, unsigned did, uint64_t *id)
{
    struct ws__store *s = j.self;
    struct ws__trial t;
    int rc = j.ops->find(j.self, (struct ws__hash){candidate, 100},
                         (struct ws__hash){0, 200}, (struct ws__hash){8, 9},
                         effort, did, &t);

    if (rc != 1)
        return rc;
    *id = t.question;
    ws__trial_clear(s->ctx, &t);
    return 1;
}

static void append_found(struct ws_ctx *ctx, struct ws__journal j,
                         const struct ws__run *run, uint64_t id, bool pair,
                         struct ws__trial like)
{
    struct ws__question q = t_question(id, pair);
    struct ws__trial t[2];

    for (int i = 0; i < 2; i++) {
        t_trial(ctx, id, 3, &t[i]);
        t[i].candidate_hash = like.candidate_hash;
        t[i].candidate_hash.hi = 100;
        t[i].workload_hash = (struct ws__hash){0, 200};
        t[i].effort = like.effort;
        t[i].did = like.did;
        t[i].verdict = like.verdict;
    }
    assert_int_equal(j.ops->append(j.self, run, &q, t, pair ? 2 : 1), 0);
    ws__trial_clear(ctx, &t[0]);
    ws__trial_clear(ctx, &t[1]);
}

static void test_find(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__journal j = ws__store_journal(s);
    struct ws__run run = t_run(1, "grid", 1), foreign = t_run(1, "grid", 1);
    struct ws__trial t = {.verdict = WS__V_OK, .did = 3};
    uint64_t id = 0;
    (void)state;

    assert_int_equal(j.ops->begin(j.self, &run), 0);
    foreign.device.lo = 77;
    assert_int_equal(j.ops->begin(j.self, &foreign), 0);
#define ADD(r, id_, pair, ...)                                                 \
    append_found(ctx, j, r, id_, pair, (struct ws__trial){__VA_ARGS__})

    ADD(&run, 1, false, .candidate_hash = {1, 0}, .effort = WS__NORMAL,
        .did = 3, .verdict = WS__V_OK);
    assert_int_equal(find(j, 1, WS__NORMAL, 3, &id), 1);
    assert_int_equal(id, 1);
    assert_int_equal(find(j, 1, WS__SCREEN, 1, &id), 1);
    assert_int_equal(find(j, 1, WS__CONFIRM, 3, &id), 0);
    assert_int_equal(find(j, 1, WS__NORMAL, 4, &id), 0);
    assert_int_equal(find(j, 1, WS__NORMAL, 7, &id), 0);
    assert_int_equal(find(j, 2, WS__SCREEN, 0, &id), 0);

    /* the highest effort, then the latest */
    ADD(&run, 2, false, .candidate_hash = {1, 0}, .effort = WS__CONFIRM,
        .did = 7, .verdict = WS__V_WRONG);
    ADD(&run, 3, false, .candidate_hash = {1, 0}, .effort = WS__NORMAL,
        .did = 7, .verdict = WS__V_OK);
    assert_int_equal(find(j, 1, WS__SCREEN, 3, &id), 1);
    assert_int_equal(id, 2);

    /* not of pairs, of bad luck, of another device or workload */
    ADD(&run, 4, true, .candidate_hash = {4, 0}, .did = 7, .verdict = WS__V_OK);
    ADD(&run, 5, false, .candidate_hash = {4, 0}, .did = 7,
        .verdict = WS__V_CRASH);
    ADD(&run, 6, false, .candidate_hash = {4, 0}, .did = 7,
        .verdict = WS__V_HANG);
    ADD(&run, 7, false, .candidate_hash = {4, 0}, .did = 7,
        .verdict = WS__V_MEMORY);
    ADD(&foreign, 1, false, .candidate_hash = {4, 0}, .did = 7,
        .verdict = WS__V_OK);
    assert_int_equal(find(j, 4, WS__SCREEN, 1, &id), 0);
    assert_int_equal(j.ops->find(j.self, (struct ws__hash){1, 100},
                                 (struct ws__hash){1, 200},
                                 (struct ws__hash){8, 9}, 0, 0, &t),
                     0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void test_find_uses_index(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__buf sql;
    sqlite3_stmt *q;
    char plan[256] = "";
    (void)state;

    assert_int_equal(ws__store_kept(s, WS__SQL_TRIAL_FIND, &q), 0);
    ws__buf_init(&sql, ctx, 1 << 16);
    ws__buf_printf(&sql, "EXPLAIN QUERY PLAN %s", sqlite3_sql(q));
    assert_int_equal(ws__store_prepare(s, sql.data, &q), 0);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    snprintf(plan, sizeof(plan), "%s", (const char *)sqlite3_column_text(q, 3));
    sqlite3_finalize(q);
    assert_non_null(strstr(plan, "trial_by_content"));
    ws__buf_free(&sql);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- locks --------------------------------------------------------------- */

/* A child that holds the run's lock; returns when it does. */
static pid_t start_holder(uint64_t spec)
{
    int fd[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (!pid) {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct ws__store *s;
        struct ws__run run = t_run(spec, "grid", 1);

        if (ws__store_open(ctx, t_path, false, &s) ||
            ws__store_journal(s).ops->begin(s, &run))
            _exit(1);
        if (write(fd[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(fd[1]);
    assert_int_equal(read(fd[0], &byte, 1), 1);
    close(fd[0]);
    return pid;
}

static void test_lock(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__journal j = ws__store_journal(s);
    struct ws__run same = t_run(1, "grid", 1), seed = t_run(1, "wave", 2),
                   other = t_run(2, "grid", 1), device = t_run(1, "grid", 1);
    char text[32];
    pid_t pid;
    (void)state;

    device.device.hi = 5;
    pid = start_holder(1);
    assert_int_equal(j.ops->begin(j.self, &same), WS_EBUSY);
    snprintf(text, sizeof(text), "process %d, started 20", (int)pid);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, text));
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "spec-1.yaml"));
    assert_true(ws_ctx_error(ctx)->hint[0]);
    assert_int_equal(j.ops->begin(j.self, &seed), WS_EBUSY);
    assert_int_equal(seed.id, 0);
    assert_int_equal(j.ops->begin(j.self, &other), 0);
    assert_int_equal(j.ops->begin(j.self, &device), 0);

    /* dead, first as a zombie */
    kill(pid, SIGKILL);
    while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT))
        ;
    assert_int_equal(j.ops->begin(j.self, &seed), 0);
    assert_int_equal(j.ops->end(j.self, &seed), 0);
    waitpid(pid, NULL, 0);
    pid = start_holder(1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(j.ops->begin(j.self, &same), 0);
    assert_int_equal(j.ops->begin(j.self, &same), WS_EBUSY); /* by ourselves */
    assert_int_equal(t_append(ctx, s, &same, 1), 0);
    ws__store_close(s);
    s = t_open(ctx); /* closing unlocked */
    assert_int_equal(ws__store_journal(s).ops->begin(s, &same), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* The same pid means nothing if it started at another time or boot. */
static void test_lock_of_the_past(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *old = t_open(ctx), *s = t_open(ctx);
    struct ws__journal a = ws__store_journal(old), b = ws__store_journal(s);
    struct ws__run run = t_run(1, "grid", 1);
    (void)state;

    assert_int_equal(a.ops->begin(a.self, &run), 0);
    assert_int_equal(b.ops->begin(b.self, &run), WS_EBUSY);
    t_raw("UPDATE lock SET host = 'elsewhere', boot = 'x'");
    assert_int_equal(b.ops->begin(b.self, &run), WS_EBUSY);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "host 'elsewhere'"));
    t_raw("DELETE FROM lock");
    assert_int_equal(b.ops->begin(b.self, &run), 0);
    t_raw("UPDATE lock SET started = started + 1");
    assert_int_equal(a.ops->begin(a.self, &run), 0);
    t_raw("UPDATE lock SET boot = 'before'");
    assert_int_equal(b.ops->begin(b.self, &run), 0);
    /* who lost the lock does not write */
    assert_int_equal(t_append(ctx, old, &run, 1), WS_EBUSY);
    assert_int_equal(t_append(ctx, s, &run, 1), 0);
    /* nor does it unlock for the other */
    ws__store_close(old);
    assert_int_equal(t_append(ctx, s, &run, 2), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void test_busy(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__run run = t_run(1, "grid", 1);
    sqlite3 *db;
    (void)state;

    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    assert_int_equal(sqlite3_open(t_path, &db), SQLITE_OK);
    sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    s->busy_ns = 20000000;
    assert_int_equal(t_append(ctx, s, &run, 1), WS_EBUSY);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_equal(t_append(ctx, s, &run, 1), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- unfit files --------------------------------------------------------- */

static char *slurp(struct ws_ctx *ctx, size_t *n)
{
    char *data = NULL;

    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 26, &data, n), 0);
    return data;
}

/* Opening fails with `code` and changes no byte. */
static void expect_refused(struct ws_ctx *ctx, int code)
{
    struct ws__store *s;
    size_t n, m;
    char *before = slurp(ctx, &n), *after;

    for (int ro = 0; ro < 2; ro++) {
        assert_int_equal(ws__store_open(ctx, t_path, ro, &s), code);
        assert_null(s);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, t_path));
        assert_true(ws_ctx_error(ctx)->hint[0]);
    }
    after = slurp(ctx, &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    ws__free(ctx, before);
    ws__free(ctx, after);
}

static void test_unfit_files(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;
    char text[5000];
    (void)state;

    memset(text, 'x', sizeof(text));
    assert_int_equal(ws__fs_write(ctx, t_path, text, sizeof(text)), 0);
    expect_refused(ctx, WS_ECORRUPT);
    assert_int_equal(ws__fs_write(ctx, t_path, text, 5), 0);
    expect_refused(ctx, WS_ECORRUPT);
    unlink(t_path);
    t_raw("CREATE TABLE bookmarks(x); INSERT INTO bookmarks VALUES(1)");
    expect_refused(ctx, WS_ECORRUPT);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "another program"));
    unlink(t_path);
    ws__store_close(t_open(ctx));
    t_raw("PRAGMA user_version = 7");
    expect_refused(ctx, WS_EVERSION);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "format 7"));
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "up to 5"));
    t_raw("PRAGMA user_version = 0");
    expect_refused(ctx, WS_ECORRUPT);
    unlink(t_path);

    assert_int_equal(ws__store_open(ctx, t_path, true, &s), WS_ENOENT);
    assert_int_equal(ws__store_open(ctx, "", false, &s), WS_EINVAL);
    assert_int_equal(ws__fs_write(ctx, t_path, "", 0), 0);
    assert_int_equal(ws__store_open(ctx, t_path, true, &s), WS_ENOENT);
    ws__store_close(t_open(ctx)); /* an empty file may become one */
    ws_ctx_free(ctx);
}

/* Runs `body` as somebody without rights on what root owns. */
static int as_nobody(int (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (!pid) {
        if (!getuid() && (setgid(65534) || setuid(65534)))
            _exit(99);
        _exit(body());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int open_rw(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;

    return -ws__store_open(ctx, t_path, false, &s);
}

static int read_ro(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;
    uint64_t trials = 0, runs;
    int rc = ws__store_open(ctx, t_path, true, &s);

    if (rc)
        return -rc;
    rc = ws__store_count(s, &trials, &runs);
    return rc ? -rc : 100 + (int)trials;
}

static void test_permissions(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;
    struct ws__run run = t_run(1, "grid", 1);
    (void)state;

    snprintf(t_path, sizeof(t_path), "%s/a b?#%%41/s.db", t_dir);
    s = t_open(ctx);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    assert_int_equal(t_append(ctx, s, &run, 1), 0);
    ws__store_close(s);
    assert_int_equal(chmod(t_dir, 0755), 0);

    assert_int_equal(chmod(t_path, 0444), 0); /* readable, folder not ours */
    snprintf(t_path, sizeof(t_path), "%s/a b?#%%41", t_dir);
    assert_int_equal(chmod(t_path, 0555), 0);
    snprintf(t_path, sizeof(t_path), "%s/a b?#%%41/s.db", t_dir);
    assert_int_equal(as_nobody(open_rw), -WS_EACCES);
    assert_int_equal(as_nobody(read_ro), 101);
    assert_int_equal(chmod(t_path, 0666), 0); /* writable, the folder not */
    assert_int_equal(as_nobody(open_rw), -WS_EACCES);
    assert_int_equal(as_nobody(read_ro), 101);
    assert_int_equal(chmod(t_path, 0600), 0);
    if (!getuid())
        assert_int_equal(as_nobody(read_ro), -WS_EACCES);
    snprintf(t_path, sizeof(t_path), "%s/a b?#%%41/new.db", t_dir);
    assert_int_equal(as_nobody(open_rw), -WS_EACCES);
    snprintf(t_path, sizeof(t_path), "%s/a b?#%%41/new/new.db", t_dir);
    assert_int_equal(as_nobody(open_rw), -WS_EACCES);
    snprintf(t_path, sizeof(t_path), "%s/a b?#%%41", t_dir);
    chmod(t_path, 0755);
    ws_ctx_free(ctx);
}

/* The folder of a name is a file, the name a folder. */
static void test_odd_paths(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;
    char here[256];
    (void)state;

    assert_int_equal(ws__store_open(ctx, t_dir, false, &s), WS_EIO);
    assert_int_equal(ws__fs_write(ctx, t_path, "", 0), 0);
    snprintf(t_path, sizeof(t_path), "%s/store.db/x.db", t_dir);
    assert_int_equal(ws__store_open(ctx, t_path, false, &s), WS_EIO);
    /* names with a meaning to SQLite are files like others */
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(t_dir), 0);
    assert_int_equal(ws__store_open(ctx, ":memory:", false, &s), 0);
    ws__store_close(s);
    assert_true(ws__fs_exists(":memory:"));
    assert_int_equal(ws__store_open(ctx, "file:x", false, &s), 0);
    ws__store_close(s);
    assert_true(ws__fs_exists("file:x"));
    assert_int_equal(chdir(here), 0);
    ws_ctx_free(ctx);
}

static void test_full(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__run run = t_run(1, "grid", 1);
    struct seen seen = {.ctx = ctx};
    uint64_t trials, runs, n = 1;
    int64_t pages;
    char sql[64];
    int rc;
    (void)state;

    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    assert_int_equal(ws__store_int(s, "PRAGMA page_count", &pages), 0);
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", (int)pages + 4);
    assert_int_equal(ws__store_exec(s, sql, "limit"), 0);
    while (!(rc = t_append(ctx, s, &run, n)) && n < 1000)
        n++;
    assert_int_equal(rc, WS_EFULL);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, t_path));
    assert_true(n > 1);
    /* nothing by half, and reading goes on */
    assert_int_equal(ws__store_verify(s), 0);
    assert_int_equal(ws__store_count(s, &trials, &runs), 0);
    assert_int_equal(trials, n - 1);
    assert_int_equal(t_append(ctx, s, &run, n), WS_EFULL);
    assert_int_equal(ws__store_exec(s, "PRAGMA max_page_count = 100000",
                                    "limit"),
                     0);
    assert_int_equal(t_append(ctx, s, &run, n), 0);
    assert_int_equal(ws__store_verify(s), 0);
    seen.run = run;
    assert_true(n < WS_COUNT(seen.ids));
    assert_int_equal(ws__store_each(s, check_each, &seen), 0);
    assert_int_equal(seen.n, n);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- meddling ------------------------------------------------------------ */

static void cut_file(const char *path, off_t bytes)
{
    assert_int_equal(truncate(path, bytes), 0);
}

static void meddle(int how)
{
    char log[80], other[80];

    snprintf(log, sizeof(log), "%s-wal", t_path);
    snprintf(other, sizeof(other), "%s/other", t_dir);
    switch (how) {
    case 0:
        assert_int_equal(unlink(t_path), 0);
        break;
    case 1: /* a copy in its place */
        t_copy(t_path, other);
        assert_int_equal(rename(other, t_path), 0);
        break;
    case 2:
        assert_int_equal(rename(t_path, other), 0);
        break;
    case 3:
        cut_file(t_path, 0);
        break;
    case 4:
        cut_file(t_path, 4096);
        break;
    case 5:
        assert_int_equal(unlink(log), 0);
        break;
    case 6:
        t_copy(log, other);
        assert_int_equal(rename(other, log), 0);
        break;
    default:
        cut_file(log, 0);
    }
}

/* Whatever happens to the file beside us, no append to a file that nobody will
 * find is acknowledged; the one that was under way when the log was cut may
 * be, not the next. */
static void test_meddling(void **state)
{
    static const char *const words[] = {"removed", "removed", "removed", "cut",
                                        "cut",     "removed", "removed", "cut"};
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (int how = 0; how < 8; how++) {
        struct ws__store *s = t_open(ctx);
        struct ws__journal j = ws__store_journal(s);
        struct ws__run run = t_run(1, "grid", 1);

        assert_int_equal(j.ops->begin(j.self, &run), 0);
        for (uint64_t id = 1; id < 4; id++)
            assert_int_equal(t_append(ctx, s, &run, id), 0);
        if (how == 3 || how == 4)
            assert_int_equal(ws__store_exec(s, "PRAGMA wal_checkpoint", "x"),
                             0);
        assert_int_equal(t_append(ctx, s, &run, 4), 0);
        meddle(how);
        if (t_append(ctx, s, &run, 5) != WS_EIO)
            fail_msg("not noticed: %d", how);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, t_path));
        assert_non_null(strstr(ws_ctx_error(ctx)->message, words[how]));
        assert_non_null(strstr(ws_ctx_error(ctx)->message, "while in use"));
        assert_true(ws_ctx_error(ctx)->hint[0]);
        assert_int_equal(j.ops->end(j.self, &run), WS_EIO);
        ws__store_close(s);
        t_teardown(NULL);
        assert_int_equal(t_setup(NULL), 0);
    }
    ws_ctx_free(ctx);
}

/* What others may do to a store that is in use. */
static void test_no_meddling(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *other;
    struct ws__journal j = ws__store_journal(s);
    struct ws__run run = t_run(1, "grid", 1);
    uint64_t id = 1;
    (void)state;

    assert_int_equal(j.ops->begin(j.self, &run), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t_append(ctx, s, &run, id++), 0);
        t_raw("PRAGMA wal_checkpoint(TRUNCATE)");
        assert_int_equal(t_append(ctx, s, &run, id++), 0);
        t_raw("PRAGMA wal_checkpoint(RESTART)");
        assert_int_equal(t_append(ctx, s, &run, id++), 0);
        other = t_open(ctx);
        ws__store_close(other);
        assert_int_equal(ws__store_open(ctx, t_path, true, &other), 0);
        ws__store_close(other);
    }
    assert_int_equal(j.ops->end(j.self, &run), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- damage -------------------------------------------------------------- */

static int compare_to_made(void *user, const struct ws__run *run,
                           const struct ws__question *q,
                           const struct ws__trial *t)
{
    struct seen *seen = user;
    struct ws__question want_q = t_question(q->id, false);
    struct ws__trial want;
    (void)run;

    assert_memory_equal(q, &want_q, sizeof(want_q));
    t_trial(seen->ctx, q->id, 20, &want);
    assert_true(t_same(&want, t));
    ws__trial_clear(seen->ctx, &want);
    seen->n++;
    return 0;
}

/* Damaged files are refused, or the damage is where nothing of a trial is. */
static void expect_noticed(struct ws_ctx *ctx, size_t trials)
{
    struct seen seen = {.ctx = ctx};
    struct ws__store *s;
    int rc = ws__store_open(ctx, t_path, true, &s);

    if (!rc) {
        struct ws__run run = {.id = 1};

        ws__store_journal(s).ops->replay(s, &run, pass_answer, NULL);
        rc = ws__store_verify(s);
    }
    if (!rc) {
        assert_int_equal(ws__store_each(s, compare_to_made, &seen), 0);
        assert_int_equal(seen.n, trials);
    } else {
        assert_true(rc == WS_ECORRUPT || rc == WS_EVERSION || rc == WS_EIO ||
                    rc == WS_ENOENT || rc == WS_EACCES);
        assert_true(ws_ctx_error(ctx)->hint[0]);
    }
    ws__store_close(s);
}

static void test_damage(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__rng rng;
    size_t n, trials = 40;
    char *data;
    (void)state;

    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    for (size_t i = 1; i <= trials; i++)
        assert_int_equal(t_append(ctx, s, &run, i), 0);
    ws__store_close(s);
    data = slurp(ctx, &n);
    expect_noticed(ctx, trials);
    ws__rng_seed(&rng, 3);
    for (int k = 0; k < 200; k++) {
        size_t at = (size_t)ws__rng_below(&rng, n);
        char old = data[at];
        FILE *f = fopen(t_path, "wb");

        data[at] ^= (char)(1 << ws__rng_below(&rng, 8));
        assert_int_equal(fwrite(data, 1, n, f), n);
        fclose(f);
        expect_noticed(ctx, trials);
        data[at] = old;
    }
    for (int k = 0; k < 40; k++) {
        size_t cut = (size_t)ws__rng_below(&rng, n);
        FILE *f = fopen(t_path, "wb");

        if (cut) {
            assert_int_equal(fwrite(data, 1, cut, f), cut);
        }
        fclose(f);
        expect_noticed(ctx, trials);
    }
    ws__free(ctx, data);
    ws_ctx_free(ctx);
}

/* Each rule of verification is broken once, past the store. */
static void test_verify(void **state)
{
    static const char *const damage[] = {
        "UPDATE trial SET nsample = nsample + 1 WHERE id = 2",
        "UPDATE trial SET verdict = 11 WHERE id = 2",
        "UPDATE trial SET effort = 3 WHERE id = 2",
        "UPDATE trial SET run = 9 WHERE id = 2",
        "UPDATE trial SET identity = 5 WHERE id = 2",
        "UPDATE trial SET question = 8 WHERE id = 2",
        "UPDATE trial SET part = 1 WHERE id = 2",
        "UPDATE trial SET reason = 'other' WHERE id = 2",
        "UPDATE trial SET wrong_max_abs = x'00' WHERE id = 2",
        "UPDATE trial SET candidate_hash = x'00' WHERE id = 2",
        "UPDATE trial SET config = x'00' WHERE id = 2",
        "UPDATE trial SET registers = -1 WHERE id = 2",
        "UPDATE question SET want = 1 WHERE id = 2",
        "UPDATE question SET pair = 5 WHERE id = 2",
        "UPDATE run SET spec = x'00'",
        "DELETE FROM question WHERE id = 2",
        "DELETE FROM question WHERE id = 2; DELETE FROM trial WHERE id = 2",
        "DELETE FROM trial WHERE id = 2",
        "DELETE FROM run",
        "INSERT INTO value VALUES(9, 'a', 'b', 0)",
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t i = 0; i < WS_COUNT(damage); i++) {
        struct ws__store *s = t_open(ctx);
        struct ws__run run = t_run(1, "grid", 1);

        assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
        for (uint64_t k = 1; k < 4; k++)
            assert_int_equal(t_append(ctx, s, &run, k), 0);
        assert_int_equal(ws__store_verify(s), 0);
        t_raw(damage[i]);
        if (ws__store_verify(s) != WS_ECORRUPT)
            fail_msg("not noticed: %s", damage[i]);
        assert_true(ws_ctx_error(ctx)->hint[0]);
        ws__store_close(s);
        unlink(t_path);
    }
    ws_ctx_free(ctx);
}

/* --- memory -------------------------------------------------------------- */

static int use_store(struct ws_ctx *ctx, struct ws__store *s)
{
    struct ws__journal j = ws__store_journal(s);
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__identity id = {.family = "null"};
    struct ws__trial found;
    char *v;
    int rc;

    WS_TRY(ws__store_set_identity(s, &id));
    WS_TRY(j.ops->begin(j.self, &run));
    WS_TRY(j.ops->put(j.self, &run, "k", "v"));
    WS_TRY(rc = j.ops->get(j.self, &run, "k", &v));
    ws__free(ctx, v);
    WS_TRY(j.ops->replay(j.self, &run, pass_answer, NULL));
    WS_TRY(rc = j.ops->find(j.self, (struct ws__hash){2, 100},
                            (struct ws__hash){2, 200}, (struct ws__hash){8, 9},
                            0, 0, &found));
    assert_int_equal(rc, 1);
    ws__trial_clear(ctx, &found);
    WS_TRY(ws__store_verify(s));
    return j.ops->end(j.self, &run);
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    struct ws__store *s;
    int rc;
    (void)user;

    WS_TRY(ws__store_open(ctx, t_path, false, &s));
    rc = use_store(ctx, s);
    ws__store_close(s);
    return rc;
}

static void test_torture(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__run run = t_run(1, "grid", 1);
    (void)state;

    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    assert_int_equal(t_append(ctx, s, &run, 1), 0);
    assert_int_equal(t_append(ctx, s, &run, 2), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
    assert_true(t_torture(torture_body, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
        T(test_round_trip),       T(test_append_refuses),
        T(test_identity),         T(test_values),
        T(test_append_value),     T(test_find),
        T(test_find_uses_index),  T(test_lock),
        T(test_lock_of_the_past), T(test_busy),
        T(test_unfit_files),      T(test_permissions),
        T(test_odd_paths),        T(test_full),
        T(test_damage),           T(test_meddling),
        T(test_no_meddling),      T(test_verify),
        T(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
