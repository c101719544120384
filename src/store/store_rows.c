/*
 * store_rows.c: structs to rows and back, by the lists of columns.
 *
 * A round trip is exact to the bit. Unsigned 64-bit numbers are stored as
 * signed ones of the same bits. SQLite has no NaN (it becomes NULL) and may
 * turn -0.0 into 0, so these two are stored as blobs of their 8 bytes. Hashes
 * are blobs whose hex is what ws__hash_hex prints; configs and samples are
 * little-endian arrays.
 *
 * A row carries a checksum over its content and its keys: SQLite's integrity
 * check sees a broken tree but not a flipped bit inside a value.
 */
#include "store/store_db.h"

#include <math.h>

#include "base/banned.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "blobs are written as they lie in memory");

#define COLUMN(type, name, kind, field)                                        \
    {#name, WS__KIND_##kind, offsetof(type, field), sizeof(((type *)0)->field)},
#define COLUMN_T(name, kind, field) COLUMN(struct ws__trial, name, kind, field)
#define COLUMN_Q(name, kind, field)                                            \
    COLUMN(struct ws__question, name, kind, field)
#define COLUMN_R(name, kind, field) COLUMN(struct ws__run, name, kind, field)
#define COLUMN_I(name, kind, field)                                            \
    COLUMN(struct ws__identity, name, kind, field)

static const struct ws__column trial_column[] = {WS__TRIAL_COLUMNS(COLUMN_T)};
static const struct ws__column question_column[] = {
    WS__QUESTION_COLUMNS(COLUMN_Q)};
static const struct ws__column run_column[] = {WS__RUN_COLUMNS(COLUMN_R)};
static const struct ws__column identity_column[] = {
    WS__IDENTITY_COLUMNS(COLUMN_I)};

#define ONE(name, kind, field) +1
#define ADDED_3 (0 WS__TRIAL_COLUMNS_3(ONE))
#define ADDED_4 (0 WS__TRIAL_COLUMNS_4(ONE))
#define ADDED_5 (0 WS__TRIAL_COLUMNS_5(ONE))
#define COLUMNS(list, by_2, by_3, by_4)                                        \
    {                                                                          \
        list, WS_COUNT(list),                                                  \
        {                                                                      \
            WS_COUNT(list) - (by_2) - (by_3) - (by_4),                         \
                WS_COUNT(list) - (by_3) - (by_4), WS_COUNT(list) - (by_4),     \
                WS_COUNT(list)                                                 \
        }                                                                      \
    }

const struct ws__columns ws__trial_columns =
    COLUMNS(trial_column, ADDED_3, ADDED_4, ADDED_5);
const struct ws__columns ws__question_columns =
    COLUMNS(question_column, 0, 0, 0);
const struct ws__columns ws__run_columns = COLUMNS(run_column, 0, 0, 0);
const struct ws__columns ws__identity_columns =
    COLUMNS(identity_column, 0, 0, 0);

/* --- scalars ------------------------------------------------------------- */

static uint64_t load_uint(const void *p, size_t size)
{
    uint32_t v32;
    uint64_t v64;

    if (size == 1)
        return *(const unsigned char *)p;
    if (size == 4) {
        memcpy(&v32, p, 4);
        return v32;
    }
    memcpy(&v64, p, 8);
    return v64;
}

/* False if it does not fit: the row is damaged. One byte is a bool. */
static bool store_uint(void *p, size_t size, uint64_t v)
{
    uint32_t v32 = (uint32_t)v;

    if (size == 1) {
        *(bool *)p = v == 1;
        return v <= 1;
    }
    if (size == 4) {
        memcpy(p, &v32, 4);
        return v == v32;
    }
    memcpy(p, &v, 8);
    return true;
}

static void hash_bytes_of(struct ws__hash h, unsigned char out[16])
{
    for (int i = 0; i < 8; i++) {
        out[i] = (unsigned char)(h.hi >> (56 - 8 * i));
        out[8 + i] = (unsigned char)(h.lo >> (56 - 8 * i));
    }
}

static struct ws__hash hash_of_bytes(const unsigned char *p)
{
    struct ws__hash h = {0, 0};

    for (int i = 0; i < 8; i++) {
        h.hi = h.hi << 8 | p[i];
        h.lo = h.lo << 8 | p[8 + i];
    }
    return h;
}

void ws__store_bind_hash(sqlite3_stmt *q, int at, struct ws__hash h)
{
    unsigned char b[16];

    hash_bytes_of(h, b);
    sqlite3_bind_blob(q, at, b, sizeof(b), SQLITE_TRANSIENT);
}

static void bind_double(sqlite3_stmt *q, int at, double v)
{
    if (isnan(v) || (v == 0 && signbit(v)))
        sqlite3_bind_blob(q, at, &v, sizeof(v), SQLITE_TRANSIENT);
    else
        sqlite3_bind_double(q, at, v);
}

static size_t config_n(const struct ws__config *c)
{
    return c->n < WS__MAX_PARAMS ? c->n : WS__MAX_PARAMS;
}

/* --- checksums ----------------------------------------------------------- */

static struct ws__hash sum_keys(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t k[4] = {a, b, c, d};

    return ws__hash_bytes(k, sizeof(k));
}

static uint64_t sum_row(struct ws__hash h, const struct ws__column *c, size_t n,
                        const void *row)
{
    for (size_t i = 0; i < n; i++) {
        const void *p = (const char *)row + c[i].off;
        const struct ws__trial *t = row;
        const struct ws__config *config = p;
        const char *text;

        switch (c[i].kind) {
        case WS__KIND_UINT:
            h = ws__hash_u64(h, load_uint(p, c[i].size));
            break;
        case WS__KIND_F64:
        case WS__KIND_HASH:
            h = ws__hash_mix(h, p, c[i].size);
            break;
        case WS__KIND_CONFIG:
            h = ws__hash_mix(h, config->at, 2 * config_n(config));
            break;
        case WS__KIND_TEXT:
            memcpy(&text, p, sizeof(text));
            h = ws__hash_u64(ws__hash_str(h, text), text != NULL);
            break;
        case WS__KIND_CHARS:
            h = ws__hash_str(h, p);
            break;
        case WS__KIND_SAMPLES:
            h = ws__hash_mix(h, t->nsample ? (const void *)t->sample_ns : "",
                             t->nsample * sizeof(double));
            break;
        }
    }
    return h.lo;
}

/* A number that is not 0, or a text that is there. */
static bool is_set(const struct ws__trial *t, const struct ws__column *c)
{
    const char *p = (const char *)t + c->off;
    const char *text;

    if (c->kind != WS__KIND_TEXT)
        return load_uint(p, c->size) != 0;
    memcpy(&text, p, sizeof(text));
    return text != NULL;
}

/* Columns that came with a later format count where one is set, so that older
 * rows keep their sums. */
static uint64_t trial_sum(struct ws__hash keys, const struct ws__trial *t)
{
    const struct ws__columns *c = &ws__trial_columns;
    size_t format = 0;

    for (size_t i = c->upto[0]; i < c->n; i++)
        if (is_set(t, &c->at[i]))
            while (i >= c->upto[format])
                format++;
    return sum_row(keys, c->at, c->upto[format], t);
}

/* --- writing ------------------------------------------------------------- */

/* Failures to bind (memory) show as a failure to step. */
static void bind_row(sqlite3_stmt *q, int at, const struct ws__column *c,
                     size_t n, const void *row)
{
    for (size_t i = 0; i < n; i++, at++) {
        const void *p = (const char *)row + c[i].off;
        const struct ws__trial *t = row;
        const struct ws__config *config = p;
        struct ws__hash h;
        const char *text;
        double v;

        switch (c[i].kind) {
        case WS__KIND_UINT:
            sqlite3_bind_int64(q, at, (int64_t)load_uint(p, c[i].size));
            break;
        case WS__KIND_F64:
            memcpy(&v, p, sizeof(v));
            bind_double(q, at, v);
            break;
        case WS__KIND_HASH:
            memcpy(&h, p, sizeof(h));
            ws__store_bind_hash(q, at, h);
            break;
        case WS__KIND_CONFIG:
            sqlite3_bind_blob(q, at, config->at, (int)(2 * config_n(config)),
                              SQLITE_TRANSIENT);
            break;
        case WS__KIND_TEXT:
            memcpy(&text, p, sizeof(text));
            sqlite3_bind_text(q, at, text, -1, SQLITE_TRANSIENT);
            break;
        case WS__KIND_CHARS:
            sqlite3_bind_text(q, at, p, -1, SQLITE_TRANSIENT);
            break;
        case WS__KIND_SAMPLES:
            sqlite3_bind_blob64(q, at, t->nsample ? t->sample_ns : p,
                                t->nsample * sizeof(double), SQLITE_STATIC);
            break;
        }
    }
}

static int insert(struct ws__store *s, sqlite3_stmt *q, const char *verb)
{
    int rc = ws__store_step(s, q, verb);

    ws__store_done(q);
    return rc;
}

int ws__store_put_question(struct ws__store *s, uint64_t run, uint64_t seq,
                           const struct ws__question *q)
{
    const size_t n = WS_COUNT(question_column);
    sqlite3_stmt *st;

    WS_TRY(ws__store_kept(s, WS__SQL_QUESTION_PUT, &st));
    sqlite3_bind_int64(st, 1, (int64_t)run);
    sqlite3_bind_int64(st, 2, (int64_t)seq);
    sqlite3_bind_int64(st, 3,
                       (int64_t)sum_row(sum_keys(run, seq, 0, 0),
                                        question_column, n, q));
    bind_row(st, 4, question_column, n, q);
    return insert(s, st, "append to");
}

int ws__store_put_trial(struct ws__store *s, uint64_t run, unsigned part,
                        struct ws__trial *t)
{
    const size_t n = WS_COUNT(trial_column);
    uint64_t sum =
        trial_sum(sum_keys(run, t->question, part, (uint64_t)s->identity), t);
    sqlite3_stmt *st;

    WS_TRY(ws__store_kept(s, WS__SQL_TRIAL_PUT, &st));
    sqlite3_bind_int64(st, 1, (int64_t)run);
    sqlite3_bind_int64(st, 2, (int64_t)t->question);
    sqlite3_bind_int64(st, 3, (int64_t)part);
    if (s->identity)
        sqlite3_bind_int64(st, 4, s->identity);
    sqlite3_bind_int64(st, 5, (int64_t)sum);
    if (t->id)
        sqlite3_bind_int64(st, 6, (int64_t)t->id);
    bind_row(st, 7, trial_column, n, t);
    WS_TRY(insert(s, st, "append to"));
    t->id = (uint64_t)sqlite3_last_insert_rowid(s->db);
    return 0;
}

static uint64_t run_sum(uint64_t begun_ns, const struct ws__run *run)
{
    return sum_row(sum_keys(run->id, begun_ns, 0, 0), run_column,
                   WS_COUNT(run_column), run);
}

/* The number is given by SQLite, and is part of the checksum. */
int ws__store_put_run(struct ws__store *s, uint64_t begun_ns,
                      struct ws__run *run)
{
    sqlite3_stmt *st;

    WS_TRY(ws__store_kept(s, WS__SQL_RUN_PUT, &st));
    sqlite3_bind_int64(st, 1, (int64_t)begun_ns);
    bind_row(st, 2, run_column, WS_COUNT(run_column), run);
    WS_TRY(insert(s, st, "begin a run in"));
    run->id = (uint64_t)sqlite3_last_insert_rowid(s->db);
    return ws__store_rename_run(s, begun_ns, run);
}

int ws__store_rename_run(struct ws__store *s, uint64_t begun_ns,
                         const struct ws__run *run)
{
    sqlite3_stmt *st;

    WS_TRY(ws__store_kept(s, WS__SQL_RUN_NAME, &st));
    sqlite3_bind_text(st, 1, run->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, (int64_t)run->id);
    sqlite3_bind_int64(st, 3, (int64_t)run_sum(begun_ns, run));
    return insert(s, st, "begin a run in");
}

static uint64_t identity_sum(const struct ws__identity *id)
{
    return sum_row(sum_keys(0, 0, 0, 0), identity_column,
                   WS_COUNT(identity_column), id);
}

int ws__store_put_identity(struct ws__store *s, const struct ws__identity *id)
{
    sqlite3_stmt *st;

    WS_TRY(ws__store_kept(s, WS__SQL_IDENTITY_PUT, &st));
    sqlite3_bind_int64(st, 1, (int64_t)identity_sum(id));
    bind_row(st, 2, identity_column, WS_COUNT(identity_column), id);
    return insert(s, st, "write the identity to");
}

int ws__store_sum_identity(struct ws__store *s, int64_t row,
                           const struct ws__identity *id)
{
    sqlite3_stmt *st;
    int rc;

    WS_TRY(
        ws__store_prepare(s, "UPDATE identity SET sum = ? WHERE id = ?", &st));
    sqlite3_bind_int64(st, 1, (int64_t)identity_sum(id));
    sqlite3_bind_int64(st, 2, row);
    rc = ws__store_step(s, st, "write the identity to");
    sqlite3_finalize(st);
    return rc;
}

static uint64_t value_sum(uint64_t run, const char *key, const char *value)
{
    return ws__hash_str(ws__hash_str(sum_keys(run, 0, 0, 0), key), value).lo;
}

int ws__store_put_value(struct ws__store *s, uint64_t run, const char *key,
                        const char *value)
{
    sqlite3_stmt *st;

    WS_TRY(ws__store_kept(s, WS__SQL_VALUE_PUT, &st));
    sqlite3_bind_int64(st, 1, (int64_t)run);
    sqlite3_bind_text(st, 2, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 3, value, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 4, (int64_t)value_sum(run, key, value));
    return insert(s, st, "write to");
}

/* --- reading ------------------------------------------------------------- */

static bool read_double(sqlite3_stmt *q, int at, void *out)
{
    double v;

    if (sqlite3_column_type(q, at) == SQLITE_BLOB) {
        if (sqlite3_column_bytes(q, at) != sizeof(v))
            return false;
        memcpy(&v, sqlite3_column_blob(q, at), sizeof(v));
    } else {
        v = sqlite3_column_double(q, at);
    }
    memcpy(out, &v, sizeof(v));
    return true;
}

bool ws__store_read_hash(sqlite3_stmt *q, int at, struct ws__hash *out)
{
    if (sqlite3_column_type(q, at) != SQLITE_BLOB ||
        sqlite3_column_bytes(q, at) != 16)
        return false;
    *out = hash_of_bytes(sqlite3_column_blob(q, at));
    return true;
}

static bool read_config(sqlite3_stmt *q, int at, void *out)
{
    struct ws__config *c = out;
    int bytes = sqlite3_column_bytes(q, at);

    memset(c, 0, sizeof(*c));
    if (bytes % 2 || bytes > (int)sizeof(c->at))
        return false;
    c->n = (uint16_t)(bytes / 2);
    if (bytes)
        memcpy(c->at, sqlite3_column_blob(q, at), (size_t)bytes);
    return true;
}

static int read_text(struct ws__store *s, sqlite3_stmt *q, int at, void *out)
{
    const char *text = (const char *)sqlite3_column_text(q, at);
    char *copy = text ? ws__strdup(s->ctx, text) : NULL;

    if (text && !copy)
        return WS_ENOMEM;
    memcpy(out, &copy, sizeof(copy));
    return 0;
}

/* 0: read; 1: not what was written; or WS_ENOMEM. */
static int read_samples(struct ws__store *s, sqlite3_stmt *q, int at,
                        struct ws__trial *t)
{
    const void *p = sqlite3_column_blob(q, at);
    size_t bytes = (size_t)sqlite3_column_bytes(q, at);

    if (bytes / sizeof(double) != t->nsample || bytes % sizeof(double))
        return 1;
    if (!bytes)
        return 0;
    t->sample_ns = ws__alloc(s->ctx, t->nsample, sizeof(double));
    if (!t->sample_ns)
        return WS_ENOMEM;
    memcpy(t->sample_ns, p, bytes);
    return 0;
}

/* As read_samples. */
static int read_column(struct ws__store *s, sqlite3_stmt *q, int at,
                       const struct ws__column *c, void *row)
{
    void *p = (char *)row + c->off;
    const unsigned char *text;

    switch (c->kind) {
    case WS__KIND_UINT:
        return !store_uint(p, c->size, (uint64_t)sqlite3_column_int64(q, at));
    case WS__KIND_F64:
        return !read_double(q, at, p);
    case WS__KIND_HASH:
        return !ws__store_read_hash(q, at, p);
    case WS__KIND_CONFIG:
        return !read_config(q, at, p);
    case WS__KIND_TEXT:
        return read_text(s, q, at, p);
    case WS__KIND_CHARS:
        text = sqlite3_column_text(q, at);
        return !text ||
               snprintf(p, c->size, "%s", (const char *)text) >= (int)c->size;
    case WS__KIND_SAMPLES:
        return read_samples(s, q, at, row);
    }
    return 1;
}

static int read_row(struct ws__store *s, sqlite3_stmt *q, int *at,
                    const struct ws__column *c, size_t n, void *row)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < n; i++, ++*at)
        rc = read_column(s, q, *at, &c[i], row);
    return rc;
}

int ws__store_read_trial(struct ws__store *s, sqlite3_stmt *q, int *at,
                         struct ws__trial *t)
{
    const size_t n = WS_COUNT(trial_column);
    uint64_t key[6]; /* id, run, question, part, identity, sum */
    int rc;

    memset(t, 0, sizeof(*t));
    for (size_t i = 0; i < WS_COUNT(key); i++, ++*at)
        key[i] = (uint64_t)sqlite3_column_int64(q, *at);
    t->id = key[0];
    t->question = key[2];
    rc = read_row(s, q, at, trial_column, n, t);
    if (!rc && trial_sum(sum_keys(key[1], key[2], key[3], key[4]), t) != key[5])
        rc = 1;
    if (!rc)
        return 0;
    ws__trial_clear(s->ctx, t);
    return rc < 0 ? rc
                  : ws__store_damaged(s, "trial %llu is not what was written",
                                      (unsigned long long)key[0]);
}

int ws__store_read_question(struct ws__store *s, sqlite3_stmt *q, int *at,
                            struct ws__question *out)
{
    const size_t n = WS_COUNT(question_column);
    uint64_t key[3]; /* run, seq, sum */
    int rc;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < WS_COUNT(key); i++, ++*at)
        key[i] = (uint64_t)sqlite3_column_int64(q, *at);
    rc = read_row(s, q, at, question_column, n, out);
    if (!rc && sum_row(sum_keys(key[0], key[1], 0, 0), question_column, n,
                       out) != key[2])
        rc = 1;
    return rc <= 0 ? rc
                   : ws__store_damaged(s,
                                       "question %llu of run %llu is not "
                                       "what was written",
                                       (unsigned long long)out->id,
                                       (unsigned long long)key[0]);
}

/* What a file of format 1 has no checksums of. */
static bool is_summed(const struct ws__store *s)
{
    return s->format >= 2;
}

int ws__store_read_run(struct ws__store *s, sqlite3_stmt *q, int *at,
                       struct ws__run *run, uint64_t *begun_ns)
{
    uint64_t sum;
    int rc;

    memset(run, 0, sizeof(*run));
    run->id = (uint64_t)sqlite3_column_int64(q, (*at)++);
    *begun_ns = (uint64_t)sqlite3_column_int64(q, (*at)++);
    sum = (uint64_t)sqlite3_column_int64(q, (*at)++);
    rc = read_row(s, q, at, run_column, WS_COUNT(run_column), run);
    if (!rc && is_summed(s))
        rc = run_sum(*begun_ns, run) != sum;
    return rc <= 0 ? rc
                   : ws__store_damaged(s, "run %llu is not what was written",
                                       (unsigned long long)run->id);
}

int ws__store_read_identity(struct ws__store *s, sqlite3_stmt *q, int *at,
                            struct ws__identity *id)
{
    int64_t row = sqlite3_column_int64(q, (*at)++);
    uint64_t sum = (uint64_t)sqlite3_column_int64(q, (*at)++);
    int rc;

    memset(id, 0, sizeof(*id));
    rc = read_row(s, q, at, identity_column, WS_COUNT(identity_column), id);
    if (!rc && is_summed(s))
        rc = identity_sum(id) != sum;
    return rc <= 0
               ? rc
               : ws__store_damaged(s, "measurer %lld is not what was written",
                                   (long long)row);
}

int ws__store_read_value(struct ws__store *s, sqlite3_stmt *q, int *at,
                         uint64_t run, const char *key, char **value)
{
    const char *text = (const char *)sqlite3_column_text(q, (*at)++);
    uint64_t sum = (uint64_t)sqlite3_column_int64(q, (*at)++);

    if (!text || (is_summed(s) && value_sum(run, key, text) != sum))
        return ws__store_damaged(s,
                                 "value '%s' of run %llu is not what was "
                                 "written",
                                 key, (unsigned long long)run);
    *value = ws__strdup(s->ctx, text);
    return *value ? 0 : WS_ENOMEM;
}

/* --- comparing ----------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool ws__columns_same(const struct ws__columns *c, const void *a, const void *b)
{
    for (size_t i = 0; i < c->n; i++) {
        const void *x = (const char *)a + c->at[i].off;
        const void *y = (const char *)b + c->at[i].off;
        const struct ws__trial *s = a, *t = b;
        bool same;

        switch (c->at[i].kind) {
        case WS__KIND_TEXT:
            same = same_text(*(char *const *)x, *(char *const *)y);
            break;
        case WS__KIND_CHARS:
            same = !strcmp(x, y);
            break;
        case WS__KIND_SAMPLES: /* nsample comes before */
            same = !s->nsample || !memcmp(s->sample_ns, t->sample_ns,
                                          s->nsample * sizeof(double));
            break;
        default:
            same = !memcmp(x, y, c->at[i].size);
        }
        if (!same)
            return false;
    }
    return true;
}
