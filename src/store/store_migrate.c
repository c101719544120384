/*
 * store_migrate.c: from older formats to the present one.
 *
 * A writer brings an older file up to date in one transaction: it is either
 * of the old format, complete, or of the new one. Not while an older release
 * measures into it: that one would go on writing rows of its format. A reader
 * may not write; it gets temporary views that show an older file as if it
 * were new.
 *
 * Format 2 added checksums to the tables that had none (identity, run, value)
 * and the table spec. Formats 3 to 5 added columns to trial; zero or NULL in
 * all of them leaves a row's checksum as it was.
 */
#include "store/store_db.h"

#include "base/banned.h"

static const char to_2[] =
    "ALTER TABLE identity ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE run ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE value ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;" //
    WS__SQL_SPEC_TABLE "PRAGMA user_version = 2";

#define ADD_COLUMN(name, kind, field)                                          \
    "ALTER TABLE trial ADD COLUMN " #name " " WS__SQL_LATER_##kind ";"
static const char to_3[] =
    WS__TRIAL_COLUMNS_3(ADD_COLUMN) "PRAGMA user_version = 3";
static const char to_4[] =
    WS__TRIAL_COLUMNS_4(ADD_COLUMN) "PRAGMA user_version = 4";
static const char to_5[] =
    WS__TRIAL_COLUMNS_5(ADD_COLUMN) "PRAGMA user_version = 5";

/* A temporary name hides the one of the file. */
static const char bridge_1[] =
    "PRAGMA temp_store = MEMORY;"
    "CREATE TEMP VIEW identity AS SELECT *, 0 AS sum FROM main.identity;"
    "CREATE TEMP VIEW run AS SELECT *, 0 AS sum FROM main.run;"
    "CREATE TEMP VIEW value AS SELECT *, 0 AS sum FROM main.value;"
    "CREATE TEMP TABLE spec(hash BLOB, text TEXT, sum INTEGER)";

#define NONE(name, kind, field) ", " WS__SQL_NONE_##kind " AS " #name
static const char bridge_2[] =
    "CREATE TEMP VIEW trial AS SELECT *" WS__TRIAL_COLUMNS_3(NONE)
        WS__TRIAL_COLUMNS_4(NONE) WS__TRIAL_COLUMNS_5(NONE) " FROM main.trial";
static const char bridge_3[] =
    "CREATE TEMP VIEW trial AS SELECT *" WS__TRIAL_COLUMNS_4(NONE)
        WS__TRIAL_COLUMNS_5(NONE) " FROM main.trial";
static const char bridge_4[] =
    "CREATE TEMP VIEW trial AS SELECT *" WS__TRIAL_COLUMNS_5(
        NONE) " FROM main.trial";

/* The row after the one seen last: 1, or 0. Each is read by a statement of its
 * own, so that nothing is written into a walk. */
static int next_run(struct ws__store *s, struct ws__run *run,
                    uint64_t *begun_ns)
{
    sqlite3_stmt *q;
    int rc, at = 0;

    WS_TRY(ws__store_prepare(s,
                             "SELECT " WS__SQL_RUN " FROM run r"
                             " WHERE r.id > ? ORDER BY r.id LIMIT 1",
                             &q));
    sqlite3_bind_int64(q, 1, (int64_t)run->id);
    rc = ws__store_step(s, q, "bring up to date");
    if (rc > 0) {
        rc = ws__store_read_run(s, q, &at, run, begun_ns);
        rc = rc < 0 ? rc : 1;
    }
    sqlite3_finalize(q);
    return rc;
}

static int check_runs(struct ws__store *s)
{
    struct ws__run run = {.id = 0};
    uint64_t begun_ns;
    int rc;

    while ((rc = next_run(s, &run, &begun_ns)) > 0)
        WS_TRY(ws__store_check_free(s, &run));
    return rc;
}

static int sum_runs(struct ws__store *s)
{
    struct ws__run run = {.id = 0};
    uint64_t begun_ns;
    int rc;

    while ((rc = next_run(s, &run, &begun_ns)) > 0)
        WS_TRY(ws__store_rename_run(s, begun_ns, &run));
    return rc;
}

static int next_identity(struct ws__store *s, int64_t *row,
                         struct ws__identity *id)
{
    sqlite3_stmt *q;
    int rc, at = 0;

    WS_TRY(ws__store_prepare(s,
                             "SELECT " WS__SQL_IDENTITY " FROM identity i"
                             " WHERE i.id > ? ORDER BY i.id LIMIT 1",
                             &q));
    sqlite3_bind_int64(q, 1, *row);
    rc = ws__store_step(s, q, "bring up to date");
    if (rc > 0) {
        *row = sqlite3_column_int64(q, 0);
        rc = ws__store_read_identity(s, q, &at, id);
        rc = rc < 0 ? rc : 1;
    }
    sqlite3_finalize(q);
    return rc;
}

static int sum_identities(struct ws__store *s)
{
    struct ws__identity id;
    int64_t row = 0;
    int rc;

    while ((rc = next_identity(s, &row, &id)) > 0)
        WS_TRY(ws__store_sum_identity(s, row, &id));
    return rc;
}

static int next_value(struct ws__store *s, int64_t *run, char **key,
                      char **value)
{
    sqlite3_stmt *q;
    int rc, at = 2;

    WS_TRY(ws__store_prepare(s,
                             "SELECT run, key, value, sum FROM value"
                             " WHERE (run, key) > (?, ?)"
                             " ORDER BY run, key LIMIT 1",
                             &q));
    sqlite3_bind_int64(q, 1, *run);
    sqlite3_bind_text(q, 2, *key ? *key : "", -1, SQLITE_TRANSIENT);
    rc = ws__store_step(s, q, "bring up to date");
    if (rc > 0) {
        const char *text = (const char *)sqlite3_column_text(q, 1);

        ws__free(s->ctx, *key);
        *key = ws__strdup(s->ctx, text ? text : "");
        *run = sqlite3_column_int64(q, 0);
        rc = *key ? ws__store_read_value(s, q, &at, (uint64_t)*run, *key, value)
                  : WS_ENOMEM;
        rc = rc < 0 ? rc : 1;
    }
    sqlite3_finalize(q);
    return rc;
}

static int sum_values(struct ws__store *s)
{
    char *key = NULL, *value = NULL;
    int64_t run = 0;
    int rc;

    while ((rc = next_value(s, &run, &key, &value)) > 0) {
        rc = ws__store_put_value(s, (uint64_t)run, key, value);
        ws__free(s->ctx, value);
        value = NULL;
        if (rc < 0)
            break;
    }
    ws__free(s->ctx, key);
    return rc;
}

static int migrate_1(struct ws__store *s)
{
    WS_TRY(ws__store_exec(s, to_2, "bring up to date"));
    WS_TRY(check_runs(s));
    WS_TRY(sum_runs(s)); /* the sums that are there are not looked at yet */
    WS_TRY(sum_identities(s));
    return sum_values(s);
}

int ws__store_migrate(struct ws__store *s)
{
    if (s->format < 2)
        WS_TRY(migrate_1(s));
    else
        WS_TRY(check_runs(s));
    if (s->format < 3)
        WS_TRY(ws__store_exec(s, to_3, "bring up to date"));
    if (s->format < 4)
        WS_TRY(ws__store_exec(s, to_4, "bring up to date"));
    return ws__store_exec(s, to_5, "bring up to date");
}

int ws__store_bridge(struct ws__store *s)
{
    if (s->format < 2)
        WS_TRY(ws__store_exec(s, bridge_1, "read"));
    return ws__store_exec(s,
                          s->format < 3   ? bridge_2
                          : s->format < 4 ? bridge_3
                                          : bridge_4,
                          "read");
}
