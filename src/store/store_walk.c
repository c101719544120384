/*
 * store_walk.c: reading everything: trials with all that they belong to, runs
 * with their sums, values.
 *
 * Each walk is one statement, which sees the store as it was when it began,
 * also while others append. Checksums are compared on the way.
 */
#include "store/store_db.h"

#include "base/banned.h"

static int read_row(struct ws__store *s, sqlite3_stmt *q,
                    struct ws__store_row *r)
{
    uint64_t begun_ns;
    int at = 0;

    WS_TRY(ws__store_read_run(s, q, &at, &r->run, &begun_ns));
    r->begun_ns = begun_ns;
    r->seq = (uint64_t)sqlite3_column_int64(q, at + 1);
    WS_TRY(ws__store_read_question(s, q, &at, &r->question));
    r->part = (unsigned)sqlite3_column_int64(q, at + 3);
    r->has_identity = sqlite3_column_type(q, at + 4) != SQLITE_NULL;
    WS_TRY(ws__store_read_trial(s, q, &at, &r->trial));
    if (!r->has_identity)
        return 0;
    if (ws__store_read_identity(s, q, &at, &r->identity) >= 0)
        return 0;
    ws__trial_clear(s->ctx, &r->trial);
    return ws_ctx_error(s->ctx)->code;
}

int ws__store_rows(struct ws__store *s, const struct ws__store_range *range,
                   int (*fn)(void *user, const struct ws__store_row *row),
                   void *user)
{
    static const char *const order[] = {"ORDER BY t.id", "ORDER BY t.id DESC"};
    uint64_t to = range->to ? range->to : INT64_MAX;
    struct ws__store_row row;
    struct ws__buf sql;
    sqlite3_stmt *q;
    int rc;

    ws__buf_init(&sql, s->ctx, 1 << 16);
    rc = ws__buf_printf(
        &sql, "%s %s",
        "SELECT " WS__SQL_RUN ", " WS__SQL_QUESTION ", " WS__SQL_TRIAL
        ", " WS__SQL_IDENTITY
        " FROM trial t JOIN question q ON q.run = t.run AND q.id = t.question"
        " JOIN run r ON r.id = t.run LEFT JOIN identity i ON i.id = t.identity"
        " WHERE t.id >= ?1 AND t.id <= ?2 AND ?3 IN (0, t.run)",
        order[range->backward]);
    if (rc >= 0)
        rc = ws__store_prepare(s, sql.data, &q);
    ws__buf_free(&sql);
    WS_TRY(rc);
    sqlite3_bind_int64(q, 1, (int64_t)range->from);
    sqlite3_bind_int64(q, 2, (int64_t)to);
    sqlite3_bind_int64(q, 3, (int64_t)range->run);
    while ((rc = ws__store_step(s, q, "read")) > 0) {
        memset(&row, 0, sizeof(row));
        rc = read_row(s, q, &row);
        if (rc < 0)
            break;
        rc = fn(user, &row);
        ws__trial_clear(s->ctx, &row.trial);
        if (rc)
            break;
    }
    sqlite3_finalize(q);
    return rc;
}

int ws__store_last(struct ws__store *s, uint64_t *id)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_kept(s, WS__SQL_TRIAL_LAST, &q));
    rc = ws__store_step(s, q, "read");
    *id = rc > 0 ? (uint64_t)sqlite3_column_int64(q, 0) : 0;
    ws__store_done(q);
    return rc < 0 ? rc : 0;
}

struct each {
    int (*fn)(void *user, const struct ws__run *run,
              const struct ws__question *q, const struct ws__trial *t);
    void *user;
};

static int pass_on(void *user, const struct ws__store_row *r)
{
    const struct each *e = user;

    return e->fn(e->user, &r->run, &r->question, &r->trial);
}

int ws__store_each(struct ws__store *s,
                   int (*fn)(void *user, const struct ws__run *run,
                             const struct ws__question *q,
                             const struct ws__trial *t),
                   void *user)
{
    struct each e = {fn, user};

    return ws__store_rows(s, &(struct ws__store_range){0}, pass_on, &e);
}

/* --- runs ---------------------------------------------------------------- */

/* One row for each verdict that a run has, or one with NULL. */
static const char sums[] =
    "SELECT " WS__SQL_RUN
    ", t.verdict, count(t.id), sum(t.spent_ns), sum(t.nsample),"
    " max(t.wall_ns), coalesce("
    "(SELECT i.device FROM identity i WHERE i.hash = r.device),"
    " (SELECT i.device FROM trial u JOIN identity i"
    " ON i.id = u.identity WHERE u.run = r.id ORDER BY u.id LIMIT 1)),"
    " coalesce((SELECT i.protocol FROM identity i WHERE i.hash = r.device),"
    " (SELECT i.protocol FROM trial u JOIN identity i"
    " ON i.id = u.identity WHERE u.run = r.id ORDER BY u.id LIMIT 1))"
    " FROM run r LEFT JOIN trial t ON t.run = r.id"
    " GROUP BY r.id, t.verdict ORDER BY r.id, t.verdict";

static void add_verdict(sqlite3_stmt *q, int at, struct ws__store_sum *sum)
{
    const unsigned char *device = sqlite3_column_text(q, at + 5);
    const unsigned char *protocol = sqlite3_column_text(q, at + 6);
    uint64_t n = (uint64_t)sqlite3_column_int64(q, at + 1);
    uint64_t last_ns = (uint64_t)sqlite3_column_int64(q, at + 4);
    int64_t verdict = sqlite3_column_int64(q, at);

    if (device)
        snprintf(sum->device, sizeof(sum->device), "%s", (const char *)device);
    if (protocol)
        snprintf(sum->protocol, sizeof(sum->protocol), "%s",
                 (const char *)protocol);
    sum->trials += n;
    if (verdict >= 0 && verdict <= WS__V_FILTERED)
        sum->verdict[verdict] += n;
    sum->spent_ns += (uint64_t)sqlite3_column_int64(q, at + 2);
    sum->samples += (uint64_t)sqlite3_column_int64(q, at + 3);
    if (last_ns > sum->last_ns)
        sum->last_ns = last_ns;
}

static int tell_sum(struct ws__store *s, struct ws__store_sum *sum,
                    int (*fn)(void *user, const struct ws__store_sum *sum),
                    void *user)
{
    WS_TRY(ws__store_holder(s, &sum->run, &sum->measuring, &sum->pid));
    return fn(user, sum);
}

int ws__store_runs(struct ws__store *s,
                   int (*fn)(void *user, const struct ws__store_sum *sum),
                   void *user)
{
    struct ws__store_sum sum = {.run.id = 0};
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_prepare(s, sums, &q));
    while ((rc = ws__store_step(s, q, "read")) > 0) {
        struct ws__run run;
        uint64_t begun_ns;
        int at = 0;

        rc = ws__store_read_run(s, q, &at, &run, &begun_ns);
        if (rc >= 0 && sum.run.id && sum.run.id != run.id)
            rc = tell_sum(s, &sum, fn, user);
        if (rc)
            break;
        if (sum.run.id != run.id)
            sum = (struct ws__store_sum){.run = run, .begun_ns = begun_ns};
        add_verdict(q, at, &sum);
    }
    sqlite3_finalize(q);
    return rc || !sum.run.id ? rc : tell_sum(s, &sum, fn, user);
}

/* --- values -------------------------------------------------------------- */

int ws__store_values(struct ws__store *s,
                     int (*fn)(void *user, const struct ws__run *run,
                               uint64_t begun_ns, const char *key,
                               const char *value),
                     void *user)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_prepare(s,
                             "SELECT " WS__SQL_RUN ", v.key, v.value, v.sum"
                             " FROM value v JOIN run r ON r.id = v.run"
                             " ORDER BY v.run, v.key",
                             &q));
    while ((rc = ws__store_step(s, q, "read")) > 0) {
        struct ws__run run;
        uint64_t begun_ns;
        const char *key;
        char *value = NULL;
        int at = 0;

        rc = ws__store_read_run(s, q, &at, &run, &begun_ns);
        if (rc < 0)
            break;
        key = (const char *)sqlite3_column_text(q, at++);
        rc = ws__store_read_value(s, q, &at, run.id, key ? key : "", &value);
        if (rc >= 0)
            rc = fn(user, &run, begun_ns, key ? key : "", value);
        ws__free(s->ctx, value);
        if (rc)
            break;
    }
    sqlite3_finalize(q);
    return rc;
}
