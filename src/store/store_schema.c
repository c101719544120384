/*
 * store_schema.c: what the file must be: tables, versions, verification.
 *
 * A file is ours if it bears our application id; its format is the user
 * version. Nothing is written to a file before that is known, so that a path
 * given by mistake costs nobody their data. An empty file (or none) gets the
 * tables in one transaction; two processes that race for it both look again
 * inside theirs, and one of them finds the work done.
 *
 * docs/store.md describes the tables for people who query them.
 */
#include "store/store_db.h"

#include "base/clock.h"
#include "base/banned.h"

#define STR_(x) #x
#define STR(x) STR_(x)

#define TYPE_UINT "INTEGER NOT NULL"
#define TYPE_TEXT "TEXT"
#define COLUMN(name, kind, field) " " #name " " TYPE_##kind ","
static const char tables[] =
    "CREATE TABLE identity("
    " id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE,"
    " family TEXT NOT NULL, device TEXT NOT NULL, driver TEXT NOT NULL,"
    " compiler TEXT NOT NULL, tool TEXT NOT NULL, protocol TEXT NOT NULL,"
    " units INTEGER NOT NULL, max_threads INTEGER NOT NULL,"
    " memory_bytes INTEGER NOT NULL, cache_bytes INTEGER NOT NULL,"
    " shared_bytes INTEGER NOT NULL, vector_bytes INTEGER NOT NULL,"
    " is_cpu INTEGER NOT NULL, sum INTEGER NOT NULL);"

    "CREATE TABLE run("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, begun_ns INTEGER NOT NULL,"
    " name TEXT NOT NULL, spec BLOB NOT NULL, device BLOB NOT NULL,"
    " strategy TEXT NOT NULL, seed INTEGER NOT NULL,"
    " sum INTEGER NOT NULL,"
    " UNIQUE(spec, device, strategy, seed));"

    "CREATE TABLE lock("
    " spec BLOB NOT NULL, device BLOB NOT NULL,"
    " run INTEGER NOT NULL REFERENCES run(id), pid INTEGER NOT NULL,"
    " started INTEGER NOT NULL, since_ns INTEGER NOT NULL,"
    " token INTEGER NOT NULL, host TEXT NOT NULL, boot TEXT NOT NULL,"
    " PRIMARY KEY(spec, device)) WITHOUT ROWID;"

    "CREATE TABLE value("
    " run INTEGER NOT NULL REFERENCES run(id), key TEXT NOT NULL,"
    " value TEXT NOT NULL, sum INTEGER NOT NULL,"
    " PRIMARY KEY(run, key)) WITHOUT ROWID;"

    WS__SQL_SPEC_TABLE

    "CREATE TABLE question("
    " run INTEGER NOT NULL REFERENCES run(id), seq INTEGER NOT NULL,"
    " id INTEGER NOT NULL, pair INTEGER NOT NULL, workload INTEGER NOT NULL,"
    " want INTEGER NOT NULL, effort INTEGER NOT NULL,"
    " a_kernel INTEGER NOT NULL, a_config BLOB NOT NULL,"
    " b_kernel INTEGER NOT NULL, b_config BLOB NOT NULL,"
    " sum INTEGER NOT NULL,"
    " PRIMARY KEY(run, seq), UNIQUE(run, id)) WITHOUT ROWID;"

    "CREATE TABLE trial("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " run INTEGER NOT NULL REFERENCES run(id), question INTEGER NOT NULL,"
    " part INTEGER NOT NULL, identity INTEGER REFERENCES identity(id),"
    " kernel INTEGER NOT NULL, config BLOB NOT NULL,"
    " workload INTEGER NOT NULL, effort INTEGER NOT NULL,"
    " did INTEGER NOT NULL, verdict INTEGER NOT NULL, reason TEXT,"
    " candidate_hash BLOB NOT NULL, workload_hash BLOB NOT NULL,"
    " input_seed INTEGER NOT NULL, cache INTEGER NOT NULL,"
    " inner INTEGER NOT NULL, block INTEGER NOT NULL,"
    " spent_ns INTEGER NOT NULL, wall_ns INTEGER NOT NULL,"
    " nsample INTEGER NOT NULL, sample_ns BLOB NOT NULL,"
    " binary_bytes INTEGER NOT NULL, build_ns INTEGER NOT NULL,"
    " registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL,"
    " shared_bytes INTEGER NOT NULL, private_bytes INTEGER NOT NULL,"
    " max_threads INTEGER NOT NULL, binary_hash BLOB NOT NULL,"
    " blocks_per_unit INTEGER NOT NULL, mhz INTEGER NOT NULL,"
    " slowed INTEGER NOT NULL, kept_slowed INTEGER NOT "
    "NULL," WS__TRIAL_COLUMNS_4(COLUMN) WS__TRIAL_COLUMNS_5(
        COLUMN) " wrong_tensor INTEGER NOT NULL, wrong_bad INTEGER NOT NULL,"
                " wrong_total INTEGER NOT NULL, wrong_nan INTEGER NOT NULL,"
                " wrong_unwritten INTEGER NOT NULL, wrong_max_abs REAL NOT "
                "NULL,"
                " wrong_max_rel REAL NOT NULL, wrong_rms_err REAL NOT NULL,"
                " wrong_rms_ref REAL NOT NULL, wrong_worst INTEGER NOT NULL,"
                " wrong_first INTEGER NOT NULL, wrong_worst_got REAL NOT NULL,"
                " wrong_worst_want REAL NOT NULL, wrong_first_got REAL NOT "
                "NULL,"
                " wrong_first_want REAL NOT NULL, wrong_allowed REAL NOT NULL,"
                " sum INTEGER NOT NULL,"
                " UNIQUE(run, question, part));"

                "CREATE INDEX trial_by_content"
                " ON trial(candidate_hash, workload_hash, effort);"

                "PRAGMA application_id = " STR(
                    WS__STORE_APPLICATION_ID) ";"
                                              "PRAGMA user_version = " STR(
                                                  WS__STORE_FORMAT);

/* What the file says that it is. */
struct stamp {
    int64_t application, version, tables;
};

static int read_stamp(struct ws__store *s, struct stamp *st)
{
    WS_TRY(ws__store_int(s, "SELECT count(*) FROM sqlite_schema", &st->tables));
    WS_TRY(ws__store_int(s, "PRAGMA application_id", &st->application));
    return ws__store_int(s, "PRAGMA user_version", &st->version);
}

static bool is_empty(const struct stamp *st)
{
    return !st->application && !st->version && !st->tables;
}

static int check_stamp(struct ws__store *s, const struct stamp *st)
{
    if (st->application != WS__STORE_APPLICATION_ID) {
        ws__fail(s->ctx, WS_ECORRUPT,
                 "'%s' is not a store: it is a database of another program",
                 s->path);
        return ws__hint(s->ctx, "give another path; the file is left as it "
                                "is");
    }
    if (st->version > WS__STORE_FORMAT) {
        ws__fail(s->ctx, WS_EVERSION,
                 "the store '%s' has format %lld, this program knows formats "
                 "up to %d",
                 s->path, (long long)st->version, WS__STORE_FORMAT);
        return ws__hint(s->ctx, "use the newer release that wrote it, or give "
                                "another path");
    }
    if (st->version < 1)
        return ws__store_damaged(s, "its format is %lld",
                                 (long long)st->version);
    return 0;
}

/* A write-ahead log if the file system allows one (it needs shared memory);
 * else the journal stays, synced harder. Two processes that make a new file
 * may meet here, where SQLite answers "busy" without waiting. */
static int set_journal(struct ws__store *s)
{
    uint64_t until = ws__now_ns() + s->busy_ns;
    sqlite3_stmt *q;
    int rc;
    bool wal;

    do {
        rc = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode = WAL", -1, &q,
                                NULL);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(q);
        wal = rc == SQLITE_ROW &&
              !sqlite3_stricmp((const char *)sqlite3_column_text(q, 0), "wal");
        sqlite3_finalize(q);
        if ((rc & 0xff) == SQLITE_BUSY)
            ws__sleep_ns(2000000);
    } while ((rc & 0xff) == SQLITE_BUSY && ws__now_ns() < until);
    if (rc != SQLITE_ROW)
        return ws__store_fail(s, rc, "open");
    return ws__store_exec(s,
                          wal ? "PRAGMA synchronous = FULL"
                              : "PRAGMA synchronous = EXTRA",
                          "open");
}

/* What is found inside of the transaction counts: another process may have
 * made the tables, or brought them up to date, meanwhile. */
static int make_or_migrate(struct ws__store *s)
{
    struct stamp st;

    WS_TRY(read_stamp(s, &st));
    if (is_empty(&st))
        return ws__store_exec(s, tables, "create");
    WS_TRY(check_stamp(s, &st));
    s->format = st.version;
    return st.version < WS__STORE_FORMAT ? ws__store_migrate(s) : 0;
}

static int set_up_tables(struct ws__store *s)
{
    int rc;

    WS_TRY(ws__store_begin(s, "create"));
    rc = ws__store_finish(s, make_or_migrate(s), "create");
    if (rc >= 0)
        s->format = WS__STORE_FORMAT;
    return rc;
}

int ws__store_set_up(struct ws__store *s)
{
    struct stamp st;

    WS_TRY(read_stamp(s, &st));
    if (is_empty(&st) && s->read_only) {
        ws__fail(s->ctx, WS_ENOENT, "the store '%s' is empty", s->path);
        return ws__hint(s->ctx, "measure something first");
    }
    if (!is_empty(&st))
        WS_TRY(check_stamp(s, &st));
    s->format = st.version;
    if (s->read_only)
        return st.version < WS__STORE_FORMAT ? ws__store_bridge(s) : 0;
    WS_TRY(set_journal(s));
    return st.version < WS__STORE_FORMAT ? set_up_tables(s) : 0;
}

/* --- verification -------------------------------------------------------- */

/* Each yields the number of the first row that breaks a rule. */
static const struct {
    const char *sql, *what;
} rules[] = {
    {"SELECT id FROM trial WHERE length(sample_ns) <> nsample * 8",
     "the samples of trial %lld are not as many as it says"},
    {"SELECT id FROM trial WHERE verdict NOT BETWEEN 0 AND 10",
     "trial %lld has an unknown verdict"},
    {"SELECT id FROM trial WHERE effort NOT BETWEEN 0 AND 2",
     "trial %lld has an unknown effort"},
    {"SELECT t.id FROM trial t LEFT JOIN run r ON r.id = t.run"
     " WHERE r.id IS NULL",
     "trial %lld belongs to no run"},
    {"SELECT t.id FROM trial t LEFT JOIN identity i ON i.id = t.identity"
     " WHERE t.identity IS NOT NULL AND i.id IS NULL",
     "the measurer of trial %lld is missing"},
    {"SELECT t.id FROM trial t LEFT JOIN question q"
     " ON q.run = t.run AND q.id = t.question WHERE q.id IS NULL",
     "trial %lld answers no question"},
    {"SELECT q.run FROM question q LEFT JOIN run r ON r.id = q.run"
     " WHERE r.id IS NULL",
     "questions of run %lld are there, the run is not"},
    {"SELECT run FROM question GROUP BY run"
     " HAVING min(seq) <> 1 OR max(seq) <> count(*)",
     "answers of run %lld are missing"},
    {"SELECT q.run FROM question q WHERE"
     " (SELECT sum(1 + 100 * (part <> 0)) FROM trial t WHERE t.run = q.run"
     "  AND t.question = q.id) IS NOT CASE q.pair WHEN 0 THEN 1 ELSE 202 END",
     "a question of run %lld has not the trials that it should"},
    {"SELECT v.run FROM value v LEFT JOIN run r ON r.id = v.run"
     " WHERE r.id IS NULL",
     "values of run %lld are there, the run is not"},
};

static int check_rules(struct ws__store *s)
{
    for (size_t i = 0; i < WS_COUNT(rules); i++) {
        sqlite3_stmt *q;
        int64_t row = 0;
        char text[128];
        int rc;

        WS_TRY(ws__store_prepare(s, rules[i].sql, &q));
        rc = ws__store_step(s, q, "verify");
        if (rc > 0)
            row = sqlite3_column_int64(q, 0);
        sqlite3_finalize(q);
        if (rc < 0)
            return rc;
        if (rc) {
            const char *mark = strchr(rules[i].what, '%');

            snprintf(text, sizeof(text), "%.*s%lld%s",
                     (int)(mark - rules[i].what), rules[i].what, (long long)row,
                     mark + 4);
            return ws__store_damaged(s, "%s", text);
        }
    }
    return 0;
}

static int check_sqlite(struct ws__store *s)
{
    sqlite3_stmt *q;
    char text[256] = "";
    int rc;

    WS_TRY(ws__store_prepare(s, "PRAGMA integrity_check(1)", &q));
    rc = ws__store_step(s, q, "verify");
    if (rc > 0)
        snprintf(text, sizeof(text), "%s",
                 (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    if (rc < 0)
        return rc;
    return strcmp(text, "ok") ? ws__store_damaged(s, "%s", text) : 0;
}

/* Also what the checksums cannot see: rows that were made up. */
struct seen {
    struct ws__store *s;
    struct ws__parts parts; /* of the specification seen last */
    bool known;
};

static int see_spec(struct seen *seen, struct ws__hash spec)
{
    if (seen->known && ws__hash_eq(seen->parts.spec, spec))
        return 0;
    ws__parts_free(&seen->parts);
    WS_TRY(ws__store_parts(seen->s, spec, &seen->parts));
    seen->parts.spec = spec;
    seen->known = true;
    return 0;
}

/* Do the numbers stand for something, where it is known what they can? */
static int check_numbers(struct seen *seen, const struct ws__store_row *row)
{
    const struct ws__parts *p = &seen->parts;
    struct ws__buf b;
    int rc;

    WS_TRY(see_spec(seen, row->run.spec));
    if (!p->nkernel)
        return 0;
    ws__buf_init(&b, seen->s->ctx, 1 << 20);
    rc = ws__parts_config(p, &row->trial.candidate, &b);
    ws__buf_free(&b);
    WS_TRY(rc);
    if (rc && ws__parts_has_workload(p, row->trial.workload))
        return 0;
    return ws__store_damaged(seen->s,
                             "trial %llu is of no kernel, config or workload "
                             "of its specification",
                             (unsigned long long)row->trial.id);
}

static int see_row(void *user, const struct ws__store_row *row)
{
    const struct ws__question *q = &row->question;
    const char *why =
        ws__trial_flaw(q, row->part == 2 ? &q->b : &q->a, &row->trial);
    struct seen *seen = user;

    if (why)
        return ws__store_damaged(seen->s,
                                 "trial %llu does not fit its question: %s",
                                 (unsigned long long)row->trial.id, why);
    return check_numbers(seen, row);
}

static int see_run(void *user, const struct ws__store_sum *sum)
{
    (void)user, (void)sum;
    return 0;
}

static int see_value(void *user, const struct ws__run *run, uint64_t begun_ns,
                     const char *key, const char *value)
{
    (void)user, (void)run, (void)begun_ns, (void)key, (void)value;
    return 0;
}

/* Reading every row compares its checksum. */
int ws__store_verify(struct ws__store *s)
{
    struct seen seen = {.s = s};
    int rc;

    WS_TRY(check_sqlite(s));
    WS_TRY(check_rules(s));
    WS_TRY(ws__store_check_parts(s));
    WS_TRY(ws__store_runs(s, see_run, NULL));
    WS_TRY(ws__store_values(s, see_value, NULL));
    rc = ws__store_rows(s, &(struct ws__store_range){0}, see_row, &seen);
    ws__parts_free(&seen.parts);
    return rc;
}
