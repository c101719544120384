/*
 * store_import.c: what was read from text, into a store: all or nothing.
 *
 * A run's answers are a list, and a store and a file may both hold a part of
 * it. Where both have an answer they must be the same, bit by bit; what the
 * file has beyond the store's is appended in its order, so the run continues
 * as if it had been measured here. A gap is refused, for a run with one could
 * not be replayed. Numbers of trials are kept where they lie above all that
 * are taken (so in an empty store), and given anew elsewhere.
 *
 * A run that is being measured at the moment is left alone: its process knows
 * by heart what the store held.
 */
#include "store/store_text.h"

#include "base/banned.h"

static int contradicts(struct ws__store *s, const struct ws__import *in,
                       const struct ws__record *r, const char *fmt, ...)
    WS_PRINTF(4, 5);

static int contradicts(struct ws__store *s, const struct ws__import *in,
                       const struct ws__record *r, const char *fmt, ...)
{
    struct ws__loc loc = {.file = in->name, .line = r->line};
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ws__fail_at(s->ctx, WS_EINVAL, &loc, "%s", text);
    return ws__hint(s->ctx,
                    "nothing was imported; import into another store to keep "
                    "both");
}

/* --- measurers and runs -------------------------------------------------- */

static int put_identity(struct ws__store *s, struct ws__import_identity *id,
                        bool *same)
{
    struct ws__identity there;
    sqlite3_stmt *q;
    int rc, at = 0;

    WS_TRY(ws__store_put_identity(s, &id->identity));
    WS_TRY(ws__store_prepare(
        s, "SELECT " WS__SQL_IDENTITY " FROM identity i WHERE i.hash = ?", &q));
    ws__store_bind_hash(q, 1, id->identity.hash);
    rc = ws__store_step(s, q, "read");
    if (rc > 0) {
        id->row = sqlite3_column_int64(q, 0);
        rc = ws__store_read_identity(s, q, &at, &there);
    }
    sqlite3_finalize(q);
    *same = rc >= 0 &&
            ws__columns_same(&ws__identity_columns, &there, &id->identity);
    return rc < 0 ? rc : 0;
}

static int put_run(struct ws__store *s, struct ws__import_run *r,
                   struct ws__import_counts *counts)
{
    uint64_t begun_ns;
    int rc = ws__store_find_run(s, &r->run, &begun_ns);

    WS_TRY(rc);
    WS_TRY(ws__store_check_free(s, &r->run));
    if (!rc) {
        counts->runs++;
        WS_TRY(ws__store_put_run(s, r->begun_ns, &r->run));
    }
    WS_TRY(ws__store_next_seq(s, &r->run, &r->there));
    r->there--;
    return 0;
}

static int prepare(struct ws__store *s, struct ws__import *in,
                   struct ws__import_counts *counts)
{
    bool same;

    for (size_t i = 0; i < in->nidentity; i++) {
        WS_TRY(put_identity(s, &in->identity[i], &same));
        for (size_t k = 0; !same && k < in->nrecord; k++)
            if (in->record[k].kind == WS__RECORD_TRIAL &&
                in->record[k].identity == i)
                return contradicts(s, in, &in->record[k],
                                   "the store holds another measurer of this "
                                   "hash");
    }
    for (size_t i = 0; i < in->nrun; i++)
        WS_TRY(put_run(s, &in->run[i], counts));
    return 0;
}

/* --- trials -------------------------------------------------------------- */

static const char there_sql[] =
    "SELECT " WS__SQL_QUESTION ", " WS__SQL_TRIAL
    " FROM question q JOIN trial t ON t.run = q.run AND t.question = q.id"
    " WHERE q.run = ? AND q.seq = ? AND t.part = ?";

/* Is the store's answer of this place the record's? */
static int compare(struct ws__store *s, sqlite3_stmt *q,
                   const struct ws__import *in, const struct ws__record *r,
                   bool *same)
{
    int64_t identity =
        r->identity == WS__NO_IDENTITY ? 0 : in->identity[r->identity].row;
    static const struct ws__hash none;
    struct ws__question question;
    struct ws__trial trial;
    int rc, at = 0;

    *same = false;
    sqlite3_bind_int64(q, 1, (int64_t)in->run[r->run].run.id);
    sqlite3_bind_int64(q, 2, (int64_t)r->seq);
    sqlite3_bind_int64(q, 3, (int64_t)r->part);
    rc = ws__store_step(s, q, "read");
    if (rc > 0)
        rc = ws__store_read_question(s, q, &at, &question);
    else
        return rc;
    WS_TRY(rc);
    *same = sqlite3_column_int64(q, at + 4) == identity;
    WS_TRY(ws__store_read_trial(s, q, &at, &trial));
    /* Imports once left out what a candidate without a source is. */
    if (ws__hash_eq(trial.candidate_hash, none))
        trial.candidate_hash = r->trial.candidate_hash;
    *same = *same &&
            ws__columns_same(&ws__question_columns, &question, &r->question) &&
            ws__columns_same(&ws__trial_columns, &trial, &r->trial);
    ws__trial_clear(s->ctx, &trial);
    return 0;
}

static int append(struct ws__store *s, struct ws__import *in,
                  struct ws__record *r, uint64_t *last)
{
    uint64_t run = in->run[r->run].run.id;
    int64_t before = s->identity;
    int rc;

    if (r->part < 2)
        WS_TRY(ws__store_put_question(s, run, r->seq, &r->question));
    if (r->trial.id <= *last)
        r->trial.id = *last + 1;
    s->identity =
        r->identity == WS__NO_IDENTITY ? 0 : in->identity[r->identity].row;
    rc = ws__store_put_trial(s, run, r->part, &r->trial);
    s->identity = before;
    *last = r->trial.id;
    return rc;
}

static int take_old(struct ws__store *s, struct ws__import *in,
                    struct ws__record *r, sqlite3_stmt *there,
                    struct ws__import_counts *counts)
{
    bool same;
    int rc = compare(s, there, in, r, &same);

    ws__store_done(there);
    WS_TRY(rc);
    counts->matched += same;
    return same ? 0
                : contradicts(s, in, r,
                              "answer %llu of run %llu in the store is another "
                              "one",
                              (unsigned long long)r->seq,
                              (unsigned long long)in->run[r->run].run.id);
}

static int take_new(struct ws__store *s, struct ws__import *in,
                    struct ws__record *r, uint64_t *last,
                    struct ws__import_counts *counts)
{
    struct ws__import_run *run = &in->run[r->run];
    int rc;

    if (r->part < 2 && r->seq != run->there + 1)
        return contradicts(s, in, r,
                           "answers %llu to %llu of this run are missing",
                           (unsigned long long)run->there + 1,
                           (unsigned long long)r->seq - 1);
    rc = append(s, in, r, last);
    if (rc == WS_EINVAL)
        return contradicts(s, in, r,
                           "question %llu of this run is answered already",
                           (unsigned long long)r->question.id);
    WS_TRY(rc);
    counts->trials++;
    run->there = r->seq;
    return 0;
}

/* --- the rest ------------------------------------------------------------ */

static int take_value(struct ws__store *s, struct ws__import *in,
                      struct ws__record *r, struct ws__import_counts *counts)
{
    const struct ws__run *run = &in->run[r->run].run;
    struct ws__journal j = ws__store_journal(s);
    char *there = NULL;
    int rc = j.ops->get(j.self, run, r->key, &there);

    if (!rc) {
        counts->values++;
        rc = ws__store_put_value(s, run->id, r->key, r->value);
    } else if (rc > 0) {
        counts->matched++;
        if (strcmp(there, r->value) != 0)
            rc = contradicts(s, in, r,
                             "value '%.60s' of this run is another one in the "
                             "store",
                             r->key);
    }
    ws__free(s->ctx, there);
    return rc < 0 ? rc : 0;
}

static int take_spec(struct ws__store *s, struct ws__record *r,
                     struct ws__import_counts *counts)
{
    bool fresh;

    WS_TRY(ws__store_put_parts(s, &r->parts, false, &fresh));
    counts->specs += fresh;
    counts->matched += !fresh;
    return 0;
}

static int take_all(struct ws__store *s, struct ws__import *in,
                    struct ws__import_counts *counts)
{
    sqlite3_stmt *there;
    uint64_t last;
    bool old = false;
    int rc;

    WS_TRY(prepare(s, in, counts));
    WS_TRY(ws__store_last(s, &last));
    WS_TRY(rc = ws__store_prepare(s, there_sql, &there));
    for (size_t i = 0; rc >= 0 && i < in->nrecord; i++) {
        struct ws__record *r = &in->record[i];

        if (r->kind == WS__RECORD_SPEC)
            rc = take_spec(s, r, counts);
        else if (r->kind == WS__RECORD_VALUE)
            rc = take_value(s, in, r, counts);
        else {
            /* the second half goes where the first went */
            old = r->part == 2 ? old : r->seq <= in->run[r->run].there;
            rc = old ? take_old(s, in, r, there, counts)
                     : take_new(s, in, r, &last, counts);
        }
    }
    sqlite3_finalize(there);
    return rc < 0 ? rc : 0;
}

int ws__store_import(struct ws__store *s, struct ws__import *in,
                     struct ws__import_counts *counts)
{
    int rc;

    memset(counts, 0, sizeof(*counts));
    counts->lines = in->nrecord;
    WS_TRY(ws__store_begin(s, "import into"));
    rc = ws__store_finish(s, take_all(s, in, counts), "import into");
    if (rc < 0)
        memset(counts, 0, sizeof(*counts));
    return rc;
}
