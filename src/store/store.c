/*
 * store.c: the journal over SQLite. See store.h.
 *
 * An append is one transaction: the question, its place in the order of
 * answers (seq), and one or two trials, or nothing. With the log synced at
 * every commit, what an append has acknowledged is there after a power loss.
 *
 * Walks read with statements of their own, so that the function called may
 * use find, get and another walk. It must not append: the walk sees the
 * store as it was when it began.
 */
#include "store/store_db.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/banned.h"

/* --- opening ------------------------------------------------------------- */

/* Names that SQLite would take for something else than a file. */
static char *plain_path(struct ws_ctx *ctx, const char *path)
{
    if (path[0] == ':' || !strncmp(path, "file:", 5))
        return ws__path_join(ctx, ".", path);
    return ws__strdup(ctx, path);
}

static int make_folder(struct ws__store *s)
{
    char *dir = ws__path_dir(s->ctx, s->path);
    int rc;

    if (!dir)
        return WS_ENOMEM;
    rc = ws__fs_mkdirs(s->ctx, dir);
    ws__free(s->ctx, dir);
    return rc;
}

/* Is there a log beside the file, with pages that are not in it yet? */
static int has_log(struct ws__store *s, bool *has)
{
    size_t n = strlen(s->path) + 8;
    char *wal = ws__alloc(s->ctx, n, 1);

    if (!wal)
        return WS_ENOMEM;
    snprintf(wal, n, "%s-wal", s->path);
    *has = ws__fs_exists(wal);
    ws__free(s->ctx, wal);
    return 0;
}

static int connect_and_check(struct ws__store *s)
{
    bool has;
    int rc = ws__store_connect(s, false);

    if (!rc)
        rc = ws__store_set_up(s);
    if (!s->read_only || (rc != WS_EACCES && rc != WS_EIO && rc != WS_ENOENT))
        return rc;
    /* A reader of a log needs a file of shared memory beside it. Where none
     * can be made, a store without a log can be read as it lies. */
    if (!ws__fs_exists(s->path) || has_log(s, &has) < 0 || has)
        return rc;
    ws__store_disconnect(s);
    WS_TRY(ws__store_connect(s, true));
    return ws__store_set_up(s);
}

static void remove_files(const struct ws__store *s)
{
    static const char *const ends[] = {"-wal", "-shm", ""};
    struct ws__buf name;

    ws__buf_init(&name, s->ctx, 1 << 16);
    for (size_t i = 0; i < WS_COUNT(ends); i++) {
        name.len = 0;
        if (ws__buf_printf(&name, "%s%s", s->path, ends[i]) >= 0)
            unlink(name.data);
    }
    ws__buf_free(&name);
}

/* A full disk leaves a file of no bytes, which would be no store either. */
static void drop_unfilled(struct ws__store *s)
{
    struct ws_error why = s->ctx->err;
    struct stat st;

    if (!s->made || stat(s->path, &st) < 0 || st.st_size)
        return;
    ws__store_disconnect(s);
    remove_files(s);
    s->ctx->err = why;
}

int ws__store_open(struct ws_ctx *ctx, const char *path, bool read_only,
                   struct ws__store **out)
{
    struct ws__store *s;
    int rc = 0;

    *out = NULL;
    if (!*path)
        return ws__fail(ctx, WS_EINVAL, "the store's path is empty");
    s = ws__alloc(ctx, 1, sizeof(*s));
    if (!s)
        return WS_ENOMEM;
    s->ctx = ctx;
    s->read_only = read_only;
    s->busy_ns = WS__STORE_BUSY_MS * UINT64_C(1000000);
    s->token = ws__rng_at(ws__wall_ns(), (uint64_t)getpid()) ^ (uintptr_t)s;
    s->path = plain_path(ctx, path);
    if (!s->path)
        rc = WS_ENOMEM;
    else if (!read_only)
        rc = make_folder(s);
    else if (!ws__fs_exists(path)) {
        ws__fail(ctx, WS_ENOENT, "there is no store '%s'", path);
        rc = ws__hint(ctx, "measure something first, or check the path");
    }
    if (rc >= 0) {
        s->made = !read_only && !ws__fs_exists(s->path);
        rc = connect_and_check(s);
    }
    if (rc < 0) {
        drop_unfilled(s);
        ws__store_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ws__store_close(struct ws__store *s)
{
    if (!s)
        return;
    if (s->nlock)
        ws__store_unlock_all(s);
    ws__store_disconnect(s);
    ws__free(s->ctx, s->path);
    ws__free(s->ctx, s);
}

void ws__store_discard(struct ws__store *s)
{
    struct ws_ctx *ctx = s ? s->ctx : NULL;
    struct ws_error why;
    uint64_t trials, runs;

    if (!s)
        return;
    why = ctx->err;
    if (s->made && ws__store_count(s, &trials, &runs) >= 0 && !trials &&
        !runs) {
        ws__store_disconnect(s);
        remove_files(s);
    }
    ws__store_close(s);
    ctx->err = why;
}

int ws__store_set_identity(struct ws__store *s, const struct ws__identity *id)
{
    sqlite3_stmt *q;
    int64_t row = 0;
    int rc;

    WS_TRY(ws__store_begin(s, "write the identity to"));
    rc = ws__store_put_identity(s, id);
    if (rc >= 0)
        rc = ws__store_kept(s, WS__SQL_IDENTITY_FIND, &q);
    if (rc >= 0) {
        ws__store_bind_hash(q, 1, id->hash);
        rc = ws__store_step(s, q, "read");
        if (rc > 0)
            row = sqlite3_column_int64(q, 0);
        ws__store_done(q);
    }
    rc = ws__store_finish(s, rc, "write the identity to");
    if (rc >= 0)
        s->identity = row;
    return rc < 0 ? rc : 0;
}

int ws__store_count(struct ws__store *s, uint64_t *trials, uint64_t *runs)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_kept(s, WS__SQL_COUNT, &q));
    rc = ws__store_step(s, q, "read");
    if (rc > 0) {
        *trials = (uint64_t)sqlite3_column_int64(q, 0);
        *runs = (uint64_t)sqlite3_column_int64(q, 1);
    }
    ws__store_done(q);
    return rc < 0 ? rc : 0;
}

/* --- runs ---------------------------------------------------------------- */

int ws__store_find_run(struct ws__store *s, struct ws__run *run,
                       uint64_t *begun_ns)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_kept(s, WS__SQL_RUN_FIND, &q));
    ws__store_bind_hash(q, 1, run->spec);
    ws__store_bind_hash(q, 2, run->device);
    sqlite3_bind_text(q, 3, run->strategy, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 4, (int64_t)run->seed);
    rc = ws__store_step(s, q, "read");
    if (rc > 0) {
        run->id = (uint64_t)sqlite3_column_int64(q, 0);
        *begun_ns = (uint64_t)sqlite3_column_int64(q, 1);
    }
    ws__store_done(q);
    return rc;
}

static int begin_inside(struct ws__store *s, struct ws__run *run)
{
    uint64_t begun_ns = ws__wall_ns();
    int rc = ws__store_find_run(s, run, &begun_ns);

    if (rc > 0)
        rc = ws__store_rename_run(s, begun_ns, run);
    else if (!rc)
        rc = ws__store_put_run(s, begun_ns, run);
    return rc < 0 ? rc : ws__store_lock(s, run);
}

static int journal_begin(void *self, struct ws__run *run)
{
    struct ws__store *s = self;
    struct ws__run r = *run;
    int rc;

    WS_TRY(ws__store_begin(s, "begin a run in"));
    rc = ws__store_finish(s, begin_inside(s, &r), "begin a run in");
    if (rc < 0)
        return rc;
    s->nlock++;
    run->id = r.id;
    return 0;
}

static int journal_end(void *self, struct ws__run *run)
{
    struct ws__store *s = self;

    WS_TRY(ws__store_unlock(s, run));
    if (s->nlock)
        s->nlock--;
    return ws__store_watch(s);
}

/* --- answers ------------------------------------------------------------- */

int ws__store_next_seq(struct ws__store *s, const struct ws__run *run,
                       uint64_t *seq)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_kept(s, WS__SQL_NEXT_SEQ, &q));
    sqlite3_bind_int64(q, 1, (int64_t)run->id);
    rc = ws__store_step(s, q, "append to");
    *seq = rc > 0 ? (uint64_t)sqlite3_column_int64(q, 0) : 0;
    ws__store_done(q);
    return rc < 0 ? rc : 0;
}

static int append_inside(struct ws__store *s, const struct ws__run *run,
                         const struct ws__question *q, struct ws__trial *t,
                         size_t n)
{
    uint64_t seq;

    WS_TRY(ws__store_check_lock(s, run));
    WS_TRY(ws__store_next_seq(s, run, &seq));
    WS_TRY(ws__store_put_question(s, run->id, seq, q));
    for (size_t i = 0; i < n; i++) {
        t[i].question = q->id;
        t[i].id = 0;
        WS_TRY(ws__store_put_trial(s, run->id, n == 2 ? (unsigned)i + 1 : 0,
                                   &t[i]));
    }
    return 0;
}

static int journal_append(void *self, const struct ws__run *run,
                          const struct ws__question *q, struct ws__trial *t,
                          size_t n)
{
    struct ws__store *s = self;
    int rc;

    if (n != (q->pair ? 2u : 1u))
        return ws__fail(s->ctx, WS_EINVAL,
                        "question %llu cannot be answered by %zu trials",
                        (unsigned long long)q->id, n);
    WS_TRY(ws__store_begin(s, "append to"));
    rc = ws__store_finish(s, append_inside(s, run, q, t, n), "append to");
    for (size_t i = 0; rc < 0 && i < n; i++)
        t[i].id = 0;
    return rc;
}

/* --- walks --------------------------------------------------------------- */

struct walk {
    uint64_t seq; /* of the answer before */
    struct ws__question question;
    struct ws__trial trial[2];
};

static int replay_one(struct ws__store *s, sqlite3_stmt *q, struct walk *w,
                      size_t *n)
{
    int rc = 1, at = 0;

    *n = 0;
    if ((uint64_t)sqlite3_column_int64(q, 1) != ++w->seq)
        return ws__store_damaged(s, "answer %llu of a run is missing",
                                 (unsigned long long)w->seq);
    WS_TRY(ws__store_read_question(s, q, &at, &w->question));
    while (*n < (w->question.pair ? 2u : 1u)) {
        struct ws__question same;

        if (*n) { /* the second of a pair is the next row */
            WS_TRY(rc = ws__store_step(s, q, "read"));
            at = 0;
            if (rc)
                WS_TRY(ws__store_read_question(s, q, &at, &same));
        }
        if (!rc || (*n && same.id != w->question.id))
            return ws__store_damaged(s, "half of pair %llu is missing",
                                     (unsigned long long)w->question.id);
        WS_TRY(ws__store_read_trial(s, q, &at, &w->trial[*n]));
        ++*n;
    }
    return 0;
}

static int journal_replay(void *self, const struct ws__run *run,
                          int (*fn)(void *user, const struct ws__question *q,
                                    const struct ws__trial *t, size_t n),
                          void *user)
{
    struct ws__store *s = self;
    sqlite3_stmt *q;
    struct walk w = {.seq = 0};
    int rc;

    WS_TRY(ws__store_prepare(s,
                             "SELECT " WS__SQL_QUESTION ", " WS__SQL_TRIAL
                             " FROM question q LEFT JOIN trial t"
                             " ON t.run = q.run AND t.question = q.id"
                             " WHERE q.run = ? ORDER BY q.seq, t.part",
                             &q));
    sqlite3_bind_int64(q, 1, (int64_t)run->id);
    while ((rc = ws__store_step(s, q, "read")) > 0) {
        size_t n;

        rc = replay_one(s, q, &w, &n);
        if (rc >= 0)
            rc = fn(user, &w.question, w.trial, n);
        while (n)
            ws__trial_clear(s->ctx, &w.trial[--n]);
        if (rc)
            break;
    }
    sqlite3_finalize(q);
    return rc;
}

static int journal_find(void *self, struct ws__hash candidate,
                        struct ws__hash work, struct ws__hash device,
                        enum ws__effort effort, unsigned did,
                        struct ws__trial *out)
{
    struct ws__store *s = self;
    sqlite3_stmt *q;
    int rc, at = 0;

    WS_TRY(ws__store_kept(s, WS__SQL_TRIAL_FIND, &q));
    ws__store_bind_hash(q, 1, candidate);
    ws__store_bind_hash(q, 2, work);
    ws__store_bind_hash(q, 3, device);
    sqlite3_bind_int64(q, 4, (int64_t)effort);
    sqlite3_bind_int64(q, 5, (int64_t)did);
    rc = ws__store_step(s, q, "read");
    if (rc > 0) {
        rc = ws__store_read_trial(s, q, &at, out);
        rc = rc < 0 ? rc : 1;
    }
    ws__store_done(q);
    return rc;
}

/* --- values -------------------------------------------------------------- */

static int journal_get(void *self, const struct ws__run *run, const char *key,
                       char **value)
{
    struct ws__store *s = self;
    sqlite3_stmt *q;
    int rc, at = 0;

    WS_TRY(ws__store_kept(s, WS__SQL_VALUE_GET, &q));
    sqlite3_bind_int64(q, 1, (int64_t)run->id);
    sqlite3_bind_text(q, 2, key, -1, SQLITE_STATIC);
    rc = ws__store_step(s, q, "read");
    if (rc > 0) {
        rc = ws__store_read_value(s, q, &at, run->id, key, value);
        rc = rc < 0 ? rc : 1;
    }
    ws__store_done(q);
    return rc;
}

static int journal_put(void *self, const struct ws__run *run, const char *key,
                       const char *value)
{
    struct ws__store *s = self;

    WS_TRY(ws__store_begin(s, "write to"));
    return ws__store_finish(s, ws__store_put_value(s, run->id, key, value),
                            "write to");
}

static int append_value(struct ws__store *s, uint64_t run, const char *prefix,
                        const char *value, uint64_t *number)
{
    char key[96];
    sqlite3_stmt *q;
    int rc;

    snprintf(key, sizeof(key), "%.40s.[0-9][0-9][0-9][0-9][0-9][0-9]", prefix);
    WS_TRY(ws__store_prepare(
        s, "SELECT count(*) FROM value WHERE run = ? AND key GLOB ?", &q));
    sqlite3_bind_int64(q, 1, (int64_t)run);
    sqlite3_bind_text(q, 2, key, -1, SQLITE_STATIC);
    rc = ws__store_step(s, q, "append to");
    *number = rc > 0 ? (uint64_t)sqlite3_column_int64(q, 0) + 1 : 0;
    sqlite3_finalize(q);
    WS_TRY(rc);
    snprintf(key, sizeof(key), "%.40s.%06llu", prefix,
             (unsigned long long)*number);
    return ws__store_put_value(s, run, key, value);
}

int ws__store_append_value(struct ws__store *s, uint64_t run,
                           const char *prefix, const char *value,
                           uint64_t *number)
{
    WS_TRY(ws__store_begin(s, "append to"));
    return ws__store_finish(s, append_value(s, run, prefix, value, number),
                            "append to");
}

static const struct ws__journal_ops journal_ops = {
    .abi = 1,
    .name = "store",
    .begin = journal_begin,
    .append = journal_append,
    .replay = journal_replay,
    .find = journal_find,
    .get = journal_get,
    .put = journal_put,
    .end = journal_end,
};

struct ws__journal ws__store_journal(struct ws__store *s)
{
    return (struct ws__journal){&journal_ops, s};
}
