/*
 * store_db.h: what the files of the store share; private to the folder.
 *
 * Rows are described once, as lists of columns: (name in SQL, kind, field of
 * the struct). The lists make the SQL text, the binding, the reading and the
 * checksum, so that a field cannot be in one and missing in another.
 */
#ifndef WS_STORE_DB_H
#define WS_STORE_DB_H

#include <sqlite3.h>

#include "store/store.h"

#define WS__STORE_APPLICATION_ID 0x57536d74 /* "WSmt" */
#define WS__STORE_FORMAT 5
#define WS__TEXT_FORMAT 4
#define WS__STORE_BUSY_MS 5000

/* Kinds: UINT any unsigned integer, enum or bool; F64 double; HASH ws__hash;
 * CONFIG ws__config; TEXT owned string or NULL; CHARS char array; SAMPLES
 * the pointer, of as many doubles as the trial's nsample says. */
#define WS__TRIAL_COLUMNS(X)                                                   \
    X(kernel, UINT, candidate.kernel)                                          \
    X(config, CONFIG, candidate.config)                                        \
    X(workload, UINT, workload)                                                \
    X(effort, UINT, effort)                                                    \
    X(did, UINT, did)                                                          \
    X(verdict, UINT, verdict)                                                  \
    X(reason, TEXT, reason)                                                    \
    X(wrong_tensor, UINT, mismatch.tensor)                                     \
    X(wrong_bad, UINT, mismatch.bad)                                           \
    X(wrong_total, UINT, mismatch.total)                                       \
    X(wrong_nan, UINT, mismatch.nan)                                           \
    X(wrong_unwritten, UINT, mismatch.unwritten)                               \
    X(wrong_max_abs, F64, mismatch.max_abs)                                    \
    X(wrong_max_rel, F64, mismatch.max_rel)                                    \
    X(wrong_rms_err, F64, mismatch.rms_err)                                    \
    X(wrong_rms_ref, F64, mismatch.rms_ref)                                    \
    X(wrong_worst, UINT, mismatch.worst)                                       \
    X(wrong_first, UINT, mismatch.first)                                       \
    X(wrong_worst_got, F64, mismatch.worst_got)                                \
    X(wrong_worst_want, F64, mismatch.worst_want)                              \
    X(wrong_first_got, F64, mismatch.first_got)                                \
    X(wrong_first_want, F64, mismatch.first_want)                              \
    X(wrong_allowed, F64, mismatch.allowed)                                    \
    X(binary_bytes, UINT, res.binary_bytes)                                    \
    X(build_ns, UINT, res.build_ns)                                            \
    X(registers, UINT, res.registers)                                          \
    X(spill_bytes, UINT, res.spill_bytes)                                      \
    X(shared_bytes, UINT, res.shared_bytes)                                    \
    X(private_bytes, UINT, res.private_bytes)                                  \
    X(max_threads, UINT, res.max_threads)                                      \
    X(binary_hash, HASH, res.binary)                                           \
    X(input_seed, UINT, input_seed)                                            \
    X(nsample, UINT, nsample)                                                  \
    X(sample_ns, SAMPLES, sample_ns)                                           \
    X(block, UINT, block)                                                      \
    X(cache, UINT, cache)                                                      \
    X(inner, UINT, inner)                                                      \
    X(spent_ns, UINT, spent_ns)                                                \
    X(wall_ns, UINT, wall_ns)                                                  \
    X(candidate_hash, HASH, candidate_hash)                                    \
    X(workload_hash, HASH, workload_hash)                                      \
    WS__TRIAL_COLUMNS_3(X) WS__TRIAL_COLUMNS_4(X) WS__TRIAL_COLUMNS_5(X)

/* Of format 3; older rows have zeros there. */
#define WS__TRIAL_COLUMNS_3(X)                                                 \
    X(blocks_per_unit, UINT, res.blocks_per_unit)                              \
    X(mhz, UINT, mhz)                                                          \
    X(slowed, UINT, slowed)                                                    \
    X(kept_slowed, UINT, kept_slowed)
/* Of format 4. */
#define WS__TRIAL_COLUMNS_4(X)                                                 \
    X(gates, UINT, gates)                                                      \
    X(filter_ns, UINT, gate_ns[WS__GATE_FILTER])                               \
    X(compile_ns, UINT, gate_ns[WS__GATE_BUILD])                               \
    X(result_ns, UINT, gate_ns[WS__GATE_RESULT])                               \
    X(timed_ns, UINT, gate_ns[WS__GATE_TIMED])                                 \
    X(state_ns, UINT, gate_ns[WS__GATE_STATE])                                 \
    X(floor_ns, UINT, gate_ns[WS__GATE_FLOOR])                                 \
    X(values_ns, UINT, gate_ns[WS__GATE_VALUES])                               \
    X(shapes_ns, UINT, gate_ns[WS__GATE_SHAPES])                               \
    X(sanitizer_ns, UINT, gate_ns[WS__GATE_SANITIZER])                         \
    X(again_ns, UINT, gate_ns[WS__GATE_AGAIN])
/* Of format 5. */
#define WS__TRIAL_COLUMNS_5(X) X(counters, TEXT, counters)

#define WS__QUESTION_COLUMNS(X)                                                \
    X(id, UINT, id)                                                            \
    X(pair, UINT, pair)                                                        \
    X(workload, UINT, workload)                                                \
    X(want, UINT, want)                                                        \
    X(effort, UINT, effort)                                                    \
    X(a_kernel, UINT, a.kernel)                                                \
    X(a_config, CONFIG, a.config)                                              \
    X(b_kernel, UINT, b.kernel)                                                \
    X(b_config, CONFIG, b.config)

#define WS__RUN_COLUMNS(X)                                                     \
    X(name, CHARS, name)                                                       \
    X(spec, HASH, spec)                                                        \
    X(device, HASH, device)                                                    \
    X(strategy, CHARS, strategy)                                               \
    X(seed, UINT, seed)

#define WS__IDENTITY_COLUMNS(X)                                                \
    X(hash, HASH, hash)                                                        \
    X(family, CHARS, family)                                                   \
    X(device, CHARS, device)                                                   \
    X(driver, CHARS, driver)                                                   \
    X(compiler, CHARS, compiler)                                               \
    X(tool, CHARS, tool)                                                       \
    X(protocol, CHARS, protocol)                                               \
    X(units, UINT, units)                                                      \
    X(max_threads, UINT, max_threads)                                          \
    X(memory_bytes, UINT, memory_bytes)                                        \
    X(cache_bytes, UINT, cache_bytes)                                          \
    X(shared_bytes, UINT, shared_bytes)                                        \
    X(vector_bytes, UINT, vector_bytes)                                        \
    X(is_cpu, UINT, is_cpu)

/* Of a column that came later: its type, and what older rows have. */
#define WS__SQL_LATER_UINT "INTEGER NOT NULL DEFAULT 0"
#define WS__SQL_LATER_TEXT "TEXT"
#define WS__SQL_NONE_UINT "0"
#define WS__SQL_NONE_TEXT "NULL"

/* Text of SQL: ", t.kernel, t.config, ...", ", kernel, ..." and ", ?, ?". */
#define WS__SQL_T(name, kind, field) ", t." #name
#define WS__SQL_Q(name, kind, field) ", q." #name
#define WS__SQL_R(name, kind, field) ", r." #name
#define WS__SQL_I(name, kind, field) ", i." #name
#define WS__SQL_PLAIN(name, kind, field) ", " #name
#define WS__SQL_MARK(name, kind, field) ", ?"

/* What the readers below expect, in this order, from a column on. */
#define WS__SQL_TRIAL                                                          \
    "t.id, t.run, t.question, t.part, t.identity, t.sum" WS__TRIAL_COLUMNS(    \
        WS__SQL_T)
#define WS__SQL_QUESTION "q.run, q.seq, q.sum" WS__QUESTION_COLUMNS(WS__SQL_Q)
#define WS__SQL_RUN "r.id, r.begun_ns, r.sum" WS__RUN_COLUMNS(WS__SQL_R)
#define WS__SQL_IDENTITY "i.id, i.sum" WS__IDENTITY_COLUMNS(WS__SQL_I)

/* Also what brings an older file up to date. */
#define WS__SQL_SPEC_TABLE                                                     \
    "CREATE TABLE spec(hash BLOB PRIMARY KEY, text TEXT NOT NULL,"             \
    " sum INTEGER NOT NULL) WITHOUT ROWID;"

enum ws__kind {
    WS__KIND_UINT,
    WS__KIND_F64,
    WS__KIND_HASH,
    WS__KIND_CONFIG,
    WS__KIND_TEXT,
    WS__KIND_CHARS,
    WS__KIND_SAMPLES
};

struct ws__column {
    const char *name;
    enum ws__kind kind;
    size_t off, size;
};

/* The lists as tables, for code that walks them. */
struct ws__columns {
    const struct ws__column *at;
    size_t n;
    size_t upto[WS__TEXT_FORMAT]; /* as many as text of format i + 1 has */
};
extern const struct ws__columns ws__trial_columns, ws__question_columns,
    ws__run_columns, ws__identity_columns;

/* Statements prepared once and kept. */
enum ws__store_sql {
    WS__SQL_BEGIN,
    WS__SQL_COMMIT,
    WS__SQL_LOCK_GET,
    WS__SQL_LOCK_HOLDER,
    WS__SQL_LOCK_PUT,
    WS__SQL_LOCK_DROP,
    WS__SQL_LOCK_DROP_ALL,
    WS__SQL_RUN_FIND,
    WS__SQL_RUN_PUT,
    WS__SQL_RUN_NAME,
    WS__SQL_NEXT_SEQ,
    WS__SQL_QUESTION_PUT,
    WS__SQL_TRIAL_PUT,
    WS__SQL_TRIAL_LAST,
    WS__SQL_TRIAL_FIND,
    WS__SQL_VALUE_GET,
    WS__SQL_VALUE_PUT,
    WS__SQL_IDENTITY_PUT,
    WS__SQL_IDENTITY_FIND,
    WS__SQL_SPEC_GET,
    WS__SQL_SPEC_PUT,
    WS__SQL_COUNT,
    WS__NSTORE_SQL
};

struct ws__store {
    struct ws_ctx *ctx;
    sqlite3 *db;
    char *path;
    bool read_only;
    bool made;        /* the file was not there before */
    int64_t format;   /* of the file; below ours only if read_only */
    int64_t identity; /* row of the measurer; 0: none told */
    uint64_t token;   /* tells our locks from those of other handles */
    size_t nlock;     /* runs begun and not ended */
    uint64_t busy_ns, busy_until_ns; /* how long to wait for a writer */
    uint64_t bytes;                  /* the file had at least; it only grows */
    uint64_t wal_dev, wal_node;      /* its log, once there was one */
    bool has_wal, wal_begun;
    sqlite3_stmt *stmt[WS__NSTORE_SQL];
};

/* --- store_db.c ---------------------------------------------------------- */

/* Sets the error from SQLite's code and this connection; returns ours. */
int ws__store_fail(struct ws__store *s, int sqlite_rc, const char *verb);
int ws__store_damaged(struct ws__store *s, const char *fmt, ...)
    WS_PRINTF(2, 3);
int ws__store_connect(struct ws__store *s, bool immutable);
void ws__store_disconnect(struct ws__store *s);
int ws__store_exec(struct ws__store *s, const char *sql, const char *verb);
/* A statement of one's own (finalize it) and a kept one (done resets it). */
int ws__store_prepare(struct ws__store *s, const char *sql, sqlite3_stmt **out);
int ws__store_kept(struct ws__store *s, enum ws__store_sql id,
                   sqlite3_stmt **out);
void ws__store_done(sqlite3_stmt *q);
/* 1: a row, 0: no more, or an error. */
int ws__store_step(struct ws__store *s, sqlite3_stmt *q, const char *verb);
/* First column of the first row; no row is an error. */
int ws__store_int(struct ws__store *s, const char *sql, int64_t *out);
/* Transactions for writing. finish commits if rc is not negative, else takes
 * all back; returns rc or the error of the commit. */
int ws__store_begin(struct ws__store *s, const char *verb);
int ws__store_finish(struct ws__store *s, int rc, const char *verb);

/* --- store.c ------------------------------------------------------------- */

/* 1 found: sets run->id. */
int ws__store_find_run(struct ws__store *s, struct ws__run *run,
                       uint64_t *begun_ns);
int ws__store_next_seq(struct ws__store *s, const struct ws__run *run,
                       uint64_t *seq);

/* --- store_watch.c ------------------------------------------------------- */

/* WS_EIO: the file or its log is not any more what is open. */
int ws__store_watch(struct ws__store *s);

/* --- store_rows.c -------------------------------------------------------- */

void ws__store_bind_hash(sqlite3_stmt *q, int at, struct ws__hash h);
/* False if the column holds no hash. */
bool ws__store_read_hash(sqlite3_stmt *q, int at, struct ws__hash *out);
int ws__store_put_question(struct ws__store *s, uint64_t run, uint64_t seq,
                           const struct ws__question *q);
/* part: 0 alone, 1 and 2 of a pair. Sets t->id, which is 0, or the number to
 * be given. */
int ws__store_put_trial(struct ws__store *s, uint64_t run, unsigned part,
                        struct ws__trial *t);
/* Sets run->id; renames the run of run->id. */
int ws__store_put_run(struct ws__store *s, uint64_t begun_ns,
                      struct ws__run *run);
int ws__store_rename_run(struct ws__store *s, uint64_t begun_ns,
                         const struct ws__run *run);
/* Keeps the row of this hash if there is one. */
int ws__store_put_identity(struct ws__store *s, const struct ws__identity *id);
int ws__store_sum_identity(struct ws__store *s, int64_t row,
                           const struct ws__identity *id);
int ws__store_put_value(struct ws__store *s, uint64_t run, const char *key,
                        const char *value);
/* Reading, from column `*at` of a row, which moves on. Trials and values are
 * owned by the caller on success. */
int ws__store_read_trial(struct ws__store *s, sqlite3_stmt *q, int *at,
                         struct ws__trial *t);
int ws__store_read_question(struct ws__store *s, sqlite3_stmt *q, int *at,
                            struct ws__question *out);
int ws__store_read_run(struct ws__store *s, sqlite3_stmt *q, int *at,
                       struct ws__run *run, uint64_t *begun_ns);
int ws__store_read_identity(struct ws__store *s, sqlite3_stmt *q, int *at,
                            struct ws__identity *id);
/* value, sum; of this run and key. */
int ws__store_read_value(struct ws__store *s, sqlite3_stmt *q, int *at,
                         uint64_t run, const char *key, char **value);
/* All columns of the list, bit by bit. */
bool ws__columns_same(const struct ws__columns *c, const void *a,
                      const void *b);

/* --- store_parts.c ------------------------------------------------------- */

/* The text of a description, without the braces around it. */
int ws__parts_print(struct ws__buf *b, const struct ws__parts *p);
/* Every description reads and is what was written. */
int ws__store_check_parts(struct ws__store *s);
/* Inside a transaction; replace: even if there is one of that hash. *fresh:
 * there was none. */
int ws__store_put_parts(struct ws__store *s, const struct ws__parts *p,
                        bool replace, bool *fresh);

/* --- store_migrate.c ----------------------------------------------------- */

/* Inside a transaction: from s->format, in steps, to ours. */
int ws__store_migrate(struct ws__store *s);
/* Lets a reader see an older file as if it were of our format. */
int ws__store_bridge(struct ws__store *s);

/* --- store_lock.c -------------------------------------------------------- */

/* Inside a transaction: refuses (WS_EBUSY) or takes the lock. */
int ws__store_lock(struct ws__store *s, const struct ws__run *run);
/* WS_EBUSY if a live process measures this specification on this device. */
int ws__store_check_free(struct ws__store *s, const struct ws__run *run);
/* For those who only look: who measures, if anybody does. */
int ws__store_holder(struct ws__store *s, const struct ws__run *run,
                     bool *measuring, int64_t *pid);
/* Is the lock on this run ours still? */
int ws__store_check_lock(struct ws__store *s, const struct ws__run *run);
int ws__store_unlock(struct ws__store *s, const struct ws__run *run);
void ws__store_unlock_all(struct ws__store *s);

/* --- store_schema.c ------------------------------------------------------ */

/* Checks what the file is; makes the tables in an empty one. */
int ws__store_set_up(struct ws__store *s);

#endif
