/*
 * store_db.c: the connection to SQLite: errors, statements, transactions.
 *
 * Every code of SQLite becomes one of ours with the path and a hint, for what
 * a person can do differs: a full disk, a folder without permission, another
 * process and a damaged file ask for different things. Waiting for another
 * writer ends after WS__STORE_BUSY_MS, and not earlier when the context is
 * cancelled: a trial that was measured is worth the wait.
 *
 * All writing happens in immediate transactions: the lock is taken before
 * anything is read that the write depends on, so none ever has to be retried.
 * Before and after each, store_watch.c sees that the file is still the one
 * that bears the name.
 */
#include "store/store_db.h"

#include <errno.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/banned.h"

/* own, marks: names and places of the columns that are not in the list. */
#define INSERT(verb, table, own, marks, COLUMNS)                               \
    verb " INTO " table "(" own COLUMNS(WS__SQL_PLAIN) ") VALUES(" marks       \
    COLUMNS(WS__SQL_MARK) ")"

static const char *const kept_sql[WS__NSTORE_SQL] = {
    [WS__SQL_BEGIN] = "BEGIN IMMEDIATE",
    [WS__SQL_COMMIT] = "COMMIT",
    [WS__SQL_LOCK_GET] = "SELECT pid, started, since_ns, token, host, boot,"
                         " run FROM lock WHERE spec = ? AND device = ?",
    [WS__SQL_LOCK_HOLDER] = "SELECT token FROM lock WHERE run = ?",
    [WS__SQL_LOCK_PUT] =
        "INSERT OR REPLACE INTO lock(spec, device, run, pid, started,"
        " since_ns, token, host, boot) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [WS__SQL_LOCK_DROP] =
        "DELETE FROM lock WHERE spec = ? AND device = ? AND token = ?",
    [WS__SQL_LOCK_DROP_ALL] = "DELETE FROM lock WHERE token = ?",
    [WS__SQL_RUN_FIND] =
        "SELECT id, begun_ns FROM run WHERE spec = ? AND device = ?"
        " AND strategy = ? AND seed = ?",
    [WS__SQL_RUN_PUT] =
        INSERT("INSERT", "run", "sum, begun_ns", "0, ?", WS__RUN_COLUMNS),
    [WS__SQL_RUN_NAME] = "UPDATE run SET name = ?1, sum = ?3 WHERE id = ?2"
                         " AND (name <> ?1 OR sum <> ?3)",
    [WS__SQL_NEXT_SEQ] =
        "SELECT coalesce(max(seq), 0) + 1 FROM question WHERE run = ?",
    [WS__SQL_QUESTION_PUT] = INSERT("INSERT", "question", "run, seq, sum",
                                    "?, ?, ?", WS__QUESTION_COLUMNS),
    [WS__SQL_TRIAL_PUT] =
        INSERT("INSERT", "trial", "run, question, part, identity, sum, id",
               "?, ?, ?, ?, ?, ?", WS__TRIAL_COLUMNS),
    [WS__SQL_TRIAL_LAST] = "SELECT coalesce(max(id), 0) FROM trial",
    /* 4 and 5: CRASH and HANG, which may be another time's bad luck */
    [WS__SQL_TRIAL_FIND] =
        "SELECT " WS__SQL_TRIAL " FROM trial t JOIN run r ON r.id = t.run "
        "WHERE t.candidate_hash = ?1 AND t.workload_hash = ?2 "
        "AND r.device = ?3 AND t.effort >= ?4 AND (t.did & ?5) = ?5 "
        "AND t.part = 0 AND t.verdict NOT IN (4, 5, 8) "
        "ORDER BY t.effort DESC, t.id DESC LIMIT 1",
    [WS__SQL_VALUE_GET] =
        "SELECT value, sum FROM value WHERE run = ? AND key = ?",
    [WS__SQL_VALUE_PUT] = "INSERT OR REPLACE INTO value(run, key, value, sum)"
                          " VALUES(?, ?, ?, ?)",
    [WS__SQL_IDENTITY_PUT] = INSERT("INSERT OR IGNORE", "identity", "sum", "?",
                                    WS__IDENTITY_COLUMNS),
    [WS__SQL_IDENTITY_FIND] = "SELECT id FROM identity WHERE hash = ?",
    [WS__SQL_SPEC_GET] = "SELECT text, sum FROM spec WHERE hash = ?",
    [WS__SQL_SPEC_PUT] =
        "INSERT OR REPLACE INTO spec(hash, text, sum) VALUES(?, ?, ?)",
    [WS__SQL_COUNT] = "SELECT (SELECT count(*) FROM trial),"
                      " (SELECT count(*) FROM run)",
};

/* --- errors -------------------------------------------------------------- */

static int code_of_errno(int e)
{
    switch (e) {
    case EACCES:
    case EPERM:
    case EROFS:
        return WS_EACCES;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return WS_EFULL;
    case ENOENT:
    case ENOTDIR:
        return WS_ENOENT;
    default:
        return WS_EIO;
    }
}

static bool was_full(sqlite3_file *f)
{
    int e = 0;

    if (!f || !f->pMethods ||
        f->pMethods->xFileControl(f, SQLITE_FCNTL_LAST_ERRNO, &e) != SQLITE_OK)
        return false;
    return code_of_errno(e) == WS_EFULL;
}

/* SQLite calls only ENOSPC full. What a quota or a limit of the size of files
 * stopped is known to the file, while errno has gone through its cleaning up
 * by then. */
static bool no_space(sqlite3 *db, int rc)
{
    sqlite3_file *file = NULL, *log = NULL;

    if (rc != SQLITE_IOERR_WRITE && rc != SQLITE_IOERR_TRUNCATE)
        return false;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    return was_full(file) || was_full(log);
}

static int code_of(sqlite3 *db, int rc)
{
    if (rc == SQLITE_IOERR_NOMEM)
        return WS_ENOMEM;
    if (no_space(db, rc))
        return WS_EFULL;
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return WS_ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return WS_EBUSY;
    case SQLITE_FULL:
        return WS_EFULL;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR: /* a table that should be there is not */
        return WS_ECORRUPT;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return WS_EACCES;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return code_of_errno(sqlite3_system_errno(db));
    case SQLITE_CONSTRAINT:
        return WS_EINVAL;
    case SQLITE_TOOBIG:
        return WS_ELIMIT;
    default:
        return WS_EIO;
    }
}

static const char *hint_of(int code)
{
    switch (code) {
    case WS_EBUSY:
        return "another process is writing; run the same again when it is "
               "done";
    case WS_EFULL:
        return "free some space, or raise the limit of the size of files "
               "('ulimit -f'), then run the same again: what was appended "
               "before is kept";
    case WS_ECORRUPT:
        return "move the file away or give another path; it is left as it is";
    case WS_EACCES:
        return "the file and its folder must be writable; check owner and "
               "mode, or give another path";
    case WS_ENOENT:
        return "check the path";
    case WS_EINVAL:
        return "each question of a run is answered once";
    default:
        return "the file system refuses; see the system's log if it persists";
    }
}

int ws__store_fail(struct ws__store *s, int sqlite_rc, const char *verb)
{
    int code = code_of(s->db, sqlite_rc);

    if (code == WS_ENOMEM)
        return ws__nomem(s->ctx);
    /* Where a file cannot be made SQLite looks for one to read, and that is
     * the error it tells; the folder is there, we made it. */
    if (code == WS_ENOENT && !s->read_only)
        code = WS_EACCES;
    ws__fail(s->ctx, code, "cannot %s the store '%s': %s", verb, s->path,
             s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(sqlite_rc));
    return ws__hint(s->ctx, "%s", hint_of(code));
}

int ws__store_damaged(struct ws__store *s, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ws__fail(s->ctx, WS_ECORRUPT, "the store '%s' is damaged: %s", s->path,
             text);
    return ws__hint(s->ctx, "restore the file from a copy, or move it away "
                            "and measure again");
}

/* --- connection ---------------------------------------------------------- */

static int on_busy(void *user, int tries)
{
    struct ws__store *s = user;
    uint64_t now = ws__now_ns();

    if (!tries)
        s->busy_until_ns = now + s->busy_ns;
    if (now > s->busy_until_ns)
        return 0;
    ws__sleep_ns(tries < 20 ? 500000 : 5000000);
    return 1;
}

/* "file:" and the path, with what means something in a URI encoded. */
static int make_uri(struct ws__store *s, struct ws__buf *b)
{
    ws__buf_init(b, s->ctx, (size_t)1 << 16);
    ws__buf_puts(b, s->path[0] == '/' ? "file://" : "file:");
    for (const char *p = s->path; *p; p++)
        if (*p == '%' || *p == '?' || *p == '#')
            ws__buf_printf(b, "%%%02x", (unsigned)*p);
        else
            ws__buf_add(b, p, 1);
    return ws__buf_puts(b, "?immutable=1");
}

int ws__store_connect(struct ws__store *s, bool immutable)
{
    int flags = s->read_only ? SQLITE_OPEN_READONLY
                             : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    struct ws__buf uri;
    int rc;

    if (ws__fs_is_odd(s->path)) { /* opening a pipe would wait for ever */
        ws__fail(s->ctx, WS_EINVAL, "'%s' is no file, so no store", s->path);
        return ws__hint(s->ctx, "name a file, such as '.wavesmith/store.db'");
    }
    if (immutable) {
        rc = make_uri(s, &uri);
        if (!rc)
            rc = sqlite3_open_v2(uri.data, &s->db, flags | SQLITE_OPEN_URI,
                                 NULL);
        ws__buf_free(&uri);
        if (rc < 0)
            return rc;
    } else {
        rc = sqlite3_open_v2(s->path, &s->db, flags, NULL);
    }
    if (rc != SQLITE_OK)
        return ws__store_fail(s, sqlite3_extended_errcode(s->db), "open");
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_handler(s->db, on_busy, s);
    /* A file from elsewhere may hold triggers and views: never run them. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (!s->read_only && sqlite3_db_readonly(s->db, "main") == 1) {
        ws__fail(s->ctx, WS_EACCES, "cannot write to the store '%s'", s->path);
        return ws__hint(s->ctx, "%s", hint_of(WS_EACCES));
    }
    return 0;
}

void ws__store_disconnect(struct ws__store *s)
{
    for (size_t i = 0; i < WS__NSTORE_SQL; i++) {
        sqlite3_finalize(s->stmt[i]);
        s->stmt[i] = NULL;
    }
    sqlite3_close(s->db);
    s->db = NULL;
}

/* --- statements ---------------------------------------------------------- */

int ws__store_exec(struct ws__store *s, const char *sql, const char *verb)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : ws__store_fail(s, rc, verb);
}

int ws__store_prepare(struct ws__store *s, const char *sql, sqlite3_stmt **out)
{
    int rc = sqlite3_prepare_v2(s->db, sql, -1, out, NULL);

    return rc == SQLITE_OK ? 0 : ws__store_fail(s, rc, "read");
}

int ws__store_kept(struct ws__store *s, enum ws__store_sql id,
                   sqlite3_stmt **out)
{
    if (!s->stmt[id]) {
        int rc =
            sqlite3_prepare_v3(s->db, kept_sql[id], -1,
                               SQLITE_PREPARE_PERSISTENT, &s->stmt[id], NULL);

        if (rc != SQLITE_OK)
            return ws__store_fail(s, rc, "read");
    }
    *out = s->stmt[id];
    return 0;
}

void ws__store_done(sqlite3_stmt *q)
{
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
}

int ws__store_step(struct ws__store *s, sqlite3_stmt *q, const char *verb)
{
    int rc = sqlite3_step(q);

    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : ws__store_fail(s, rc, verb);
}

int ws__store_int(struct ws__store *s, const char *sql, int64_t *out)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_prepare(s, sql, &q));
    rc = ws__store_step(s, q, "read");
    if (rc > 0)
        *out = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    if (!rc)
        return ws__store_damaged(s, "nothing from \"%s\"", sql);
    return rc < 0 ? rc : 0;
}

/* --- transactions -------------------------------------------------------- */

int ws__store_begin(struct ws__store *s, const char *verb)
{
    sqlite3_stmt *q;
    int rc;

    if (s->read_only) {
        ws__fail(s->ctx, WS_EACCES,
                 "cannot %s the store '%s': it is open for "
                 "reading only",
                 verb, s->path);
        return ws__hint(s->ctx, "open it for writing");
    }
    WS_TRY(ws__store_watch(s));
    WS_TRY(ws__store_kept(s, WS__SQL_BEGIN, &q));
    rc = ws__store_step(s, q, verb);
    ws__store_done(q);
    return rc;
}

int ws__store_finish(struct ws__store *s, int rc, const char *verb)
{
    sqlite3_stmt *q;

    if (rc >= 0) {
        int end = ws__store_kept(s, WS__SQL_COMMIT, &q);

        if (end >= 0) {
            end = ws__store_step(s, q, verb);
            ws__store_done(q);
        }
        if (end >= 0)
            end = ws__store_watch(s);
        if (end < 0)
            rc = end;
    }
    /* Some failures have rolled back already. The error set stays. */
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}
