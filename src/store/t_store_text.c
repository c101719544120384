/*
 * t_store_text.c: older formats, descriptions, and a store as text: what is
 * exported and imported again is the same bit by bit and goes on in the same
 * way, and whatever goes wrong leaves the store as it was.
 */
#include "store/t_store.h"

#include <fcntl.h>

#include "base/fs.h"

#define NTRIALS 8 /* that put_runs appends */

/* --- what the tests put in ----------------------------------------------- */

static struct ws__identity an_identity(const char *device)
{
    struct ws__identity id = {.family = "null", .units = 108, .is_cpu = true};

    snprintf(id.device, sizeof(id.device), "%s", device);
    snprintf(id.protocol, sizeof(id.protocol), "p \"1\"\n\xc3\xa9");
    ws__identity_seal(&id);
    return id;
}

static int append_answer(struct ws_ctx *ctx, struct ws__store *s,
                         const struct ws__run *run, uint64_t id)
{
    struct ws__journal j = ws__store_journal(s);
    struct ws__question q = t_question(id, id % 3 == 0);
    struct ws__trial t[2];
    size_t n = q.pair ? 2 : 1;
    int rc;

    for (size_t i = 0; i < n; i++)
        t_half(ctx, &q, i, 4 + i, &t[i]);
    rc = j.ops->append(j.self, run, &q, t, n);
    for (size_t i = 0; i < n; i++)
        ws__trial_clear(ctx, &t[i]);
    return rc;
}

/* A description of the five kernels and four workloads that t_trial.c's
 * numbers point to. */
static void describe(struct ws_ctx *ctx, uint64_t spec, struct ws__parts *p)
{
    static const char *const name[] = {"a", "\"b\"", "c", "d", "e"};
    struct ws__value v[2000];
    struct ws__param param[4];
    struct ws__kernel *k = ws__alloc(ctx, WS_COUNT(name), sizeof(*k));
    struct ws__workload w[4];

    memset(w, 0, sizeof(w));
    memset(param, 0, sizeof(param));
    for (size_t i = 0; i < WS_COUNT(v); i++)
        v[i] = (struct ws__value){.type = WS__INT, .u.i = (int64_t)i * 2};
    for (size_t i = 0; i < WS_COUNT(param); i++)
        param[i] = (struct ws__param){.name = i ? "BN" : "BM",
                                      .value = v,
                                      .nvalue = WS_COUNT(v)};
    for (size_t i = 0; i < WS_COUNT(name); i++) {
        k[i].name = name[i];
        k[i].hash.lo = i;
        k[i].nparam = i;
        memcpy(k[i].param, param, sizeof(param));
    }
    for (size_t i = 0; i < 4; i++)
        w[i].name = i ? "M=2" : "M=1";
    assert_int_equal(ws__parts_make(ctx, (struct ws__hash){spec, 7}, NULL, k,
                                    WS_COUNT(name), w, 4, p),
                     0);
    ws__free(ctx, k);
}

/* Two runs, the first without a measurer for its first answer. */
static void put_runs(struct ws_ctx *ctx, struct ws__store *s)
{
    struct ws__journal j = ws__store_journal(s);
    struct ws__run a = t_run(1, "grid", UINT64_MAX), b = t_run(2, "hill", 5);
    struct ws__identity id = an_identity("gpu \"x\"");
    struct ws__parts p;

    describe(ctx, 1, &p);
    assert_int_equal(ws__store_describe(s, &p), 0);
    ws__parts_free(&p);
    assert_int_equal(j.ops->begin(j.self, &a), 0);
    assert_int_equal(append_answer(ctx, s, &a, 1), 0);
    assert_int_equal(ws__store_set_identity(s, &id), 0);
    assert_int_equal(j.ops->begin(j.self, &b), 0);
    assert_int_equal(append_answer(ctx, s, &b, 2), 0);
    assert_int_equal(append_answer(ctx, s, &a, 3), 0);
    assert_int_equal(append_answer(ctx, s, &a, 2), 0);
    assert_int_equal(append_answer(ctx, s, &a, 6), 0);
    assert_int_equal(append_answer(ctx, s, &b, 1), 0);
    assert_int_equal(j.ops->put(j.self, &a, "state", "one \xff"), 0);
    assert_int_equal(j.ops->put(j.self, &b, "state", ""), 0);
    assert_int_equal(j.ops->end(j.self, &a), 0);
    assert_int_equal(j.ops->end(j.self, &b), 0);
}

static char *export_text(struct ws_ctx *ctx, struct ws__store *s, size_t *n)
{
    struct ws__buf b;
    uint64_t records;
    int rc;

    ws__buf_init(&b, ctx, (size_t)1 << 30);
    rc = ws__store_export(s, &(struct ws__export_opts){0}, &b, &records);
    if (rc)
        print_error("%s\n", ws_ctx_error(ctx)->message);
    assert_int_equal(rc, 0);
    *n = b.len;
    return ws__buf_take(&b);
}

static int import_text(struct ws_ctx *ctx, struct ws__store *s,
                       const char *text, size_t n,
                       struct ws__import_counts *counts)
{
    struct ws__import *in;
    int rc;

    WS_TRY(ws__import_new(ctx, "in.jsonl", text, n, &in));
    rc = ws__store_import(s, in, counts);
    ws__import_free(in);
    return rc;
}

static struct ws__store *open_at(struct ws_ctx *ctx, const char *name)
{
    char path[64];
    struct ws__store *s;

    snprintf(path, sizeof(path), "%s/%s", t_dir, name);
    assert_int_equal(ws__store_open(ctx, path, false, &s), 0);
    return s;
}

/* --- an older format ----------------------------------------------------- */

/* The files that the code of older formats wrote (two runs as t_trial makes
 * them). */
static int old_format = 1;

static void data_path(char *out, size_t size, const char *end)
{
    const char *root = getenv("WS_ROOT");

    snprintf(out, size, "%s/tests/data/store/format%d.%s", root ? root : ".",
             old_format, end);
}

static void make_old(void)
{
    char path[512];

    data_path(path, sizeof(path), "db");
    for (size_t i = 0; i < 2; i++) { /* what a reader left behind */
        char beside[512];

        snprintf(beside, sizeof(beside), "%s%s", t_path, i ? "-shm" : "-wal");
        unlink(beside);
    }
    t_copy(path, t_path);
}

struct old {
    struct ws_ctx *ctx;
    size_t n;
    uint64_t last;
};

static int check_old(void *user, const struct ws__store_row *r)
{
    struct old *old = user;
    struct ws__trial want;

    t_half(old->ctx, &r->question, r->part == 2, 4 + (r->part == 2), &want);
    want.res.blocks_per_unit = want.mhz = want.slowed = want.kept_slowed = 0;
    want.gates = 0;
    ws__free(old->ctx, want.counters);
    want.counters = NULL;
    memset(want.gate_ns, 0, sizeof(want.gate_ns));
    assert_true(t_same(&want, &r->trial));
    assert_true(r->trial.id > old->last);
    assert_int_equal(r->has_identity, r->trial.id > 1);
    if (r->has_identity)
        assert_string_equal(r->identity.device, "gpu \"x\"");
    assert_true(r->begun_ns > 0);
    ws__trial_clear(old->ctx, &want);
    old->last = r->trial.id;
    old->n++;
    return 0;
}

static void expect_old(struct ws_ctx *ctx, struct ws__store *s)
{
    struct old old = {.ctx = ctx};
    struct ws__run run = t_run(1, "grid", UINT64_MAX);
    char *v;

    if (ws__store_verify(s))
        fail_msg("%s", ws_ctx_error(ctx)->message);
    assert_int_equal(ws__store_rows(s, &(struct ws__store_range){0}, check_old,
                                    &old),
                     0);
    assert_int_equal(old.n, 9);
    run.id = 1;
    assert_int_equal(ws__store_journal(s).ops->get(s, &run, "state", &v), 1);
    assert_string_equal(v, "two words");
    ws__free(ctx, v);
}

static int64_t format_of_file(void)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    int64_t v;

    assert_int_equal(sqlite3_open(t_path, &db), SQLITE_OK);
    sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &q, NULL);
    sqlite3_step(q);
    v = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return v;
}

static void try_old(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(1, "grid", UINT64_MAX);
    struct ws__store *s;
    char *before, *after;
    size_t n, m;

    make_old();
    /* a reader changes nothing, and sees all */
    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 26, &before, &n), 0);
    assert_int_equal(ws__store_open(ctx, t_path, true, &s), 0);
    expect_old(ctx, s);
    after = export_text(ctx, s, &m);
    ws__free(ctx, after);
    ws__store_close(s);
    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 26, &after, &m), 0);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    ws__free(ctx, before);
    ws__free(ctx, after);

    s = t_open(ctx);
    expect_old(ctx, s);
    assert_int_equal(format_of_file(), WS__STORE_FORMAT);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    assert_int_equal(run.id, 1);
    assert_int_equal(append_answer(ctx, s, &run, 7), 0);
    ws__store_close(s);
    s = t_open(ctx);
    assert_int_equal(ws__store_verify(s), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* A reader that opened the file before it was brought up to date goes on. */
static void try_meanwhile(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *reader, *writer;

    make_old();
    assert_int_equal(ws__store_open(ctx, t_path, true, &reader), 0);
    expect_old(ctx, reader);
    writer = t_open(ctx);
    expect_old(ctx, reader);
    ws__store_close(writer);
    expect_old(ctx, reader);
    ws__store_close(reader);
    ws_ctx_free(ctx);
}

/* Not while somebody measures with the release that knows only format 1. */
static void try_in_use(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s;

    make_old();
    t_raw("INSERT INTO lock SELECT spec, device, id, 1, 0, 0, 1, 'elsewhere',"
          " '' FROM run WHERE id = 1");
    assert_int_equal(ws__store_open(ctx, t_path, false, &s), WS_EBUSY);
    assert_int_equal(format_of_file(), old_format);
    assert_int_equal(ws__store_open(ctx, t_path, true, &s), 0);
    ws__store_close(s);
    t_raw("DELETE FROM lock");
    ws__store_close(t_open(ctx));
    assert_int_equal(format_of_file(), WS__STORE_FORMAT);
    ws_ctx_free(ctx);
}

static int open_body(struct ws_ctx *ctx, void *user)
{
    struct ws__store *s;
    int rc = ws__store_open(ctx, t_path, false, &s);
    (void)user;

    if (rc < 0) /* as it was */
        assert_int_equal(format_of_file(), old_format);
    else
        assert_int_equal(format_of_file(), WS__STORE_FORMAT);
    if (!rc) {
        unlink(t_path);
        ws__store_close(s);
        make_old();
    }
    return rc;
}

static void try_torture(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    make_old();
    assert_true(t_torture(open_body, NULL) > 5);
    ws_ctx_free(ctx);
}

static void test_old(void **state)
{
    (void)state;
    for (old_format = 1; old_format < WS__STORE_FORMAT; old_format++) {
        try_old();
        try_meanwhile();
        try_in_use();
        try_torture();
    }
}

/* Text of format 1 or 2 has not the later columns; of the next it must have. */
static void test_old_text(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__import_counts c;
    struct ws__store *s;
    char path[512], name[32], word[32], *text, *at;
    size_t n;
    (void)state;

    for (unsigned format = 1; format < WS__TEXT_FORMAT; format++) {
        old_format = format == 1 ? 1 : (int)format + 1; /* that holds it */
        data_path(path, sizeof(path), "jsonl");
        assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &text, &n), 0);
        snprintf(name, sizeof(name), "old%u.db", format);
        s = open_at(ctx, name);
        if (import_text(ctx, s, text, n, &c))
            fail_msg("%s", ws_ctx_error(ctx)->message);
        expect_old(ctx, s);
        ws__store_close(s);
        snprintf(word, sizeof(word), "\"format\":%u", format);
        at = strstr(text, word);
        assert_non_null(at);
        at[strlen("\"format\":")]++;
        snprintf(name, sizeof(name), "older%u.db", format);
        s = open_at(ctx, name);
        assert_int_equal(import_text(ctx, s, text, n, &c), WS_EPARSE);
        ws__store_close(s);
        ws__free(ctx, text);
    }
    ws_ctx_free(ctx);
}

/* --- descriptions -------------------------------------------------------- */

static void test_parts(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__candidate c = {.kernel = 2, .config = {.n = 2, .at = {3, 1}}};
    struct ws__parts p, q;
    struct ws__buf b;
    (void)state;

    describe(ctx, 1, &p);
    assert_int_equal(ws__store_parts(s, p.spec, &q), 0);
    ws__parts_free(&q);
    assert_int_equal(ws__store_describe(s, &p), 0);
    assert_int_equal(ws__store_describe(s, &p), 0);
    assert_int_equal(ws__store_parts(s, p.spec, &q), 1);
    assert_string_equal(q.kernel[1].name, "\"b\"");
    assert_string_equal(ws__parts_workload(&q, 3)->axes, "M=2");
    assert_null(ws__parts_workload(&q, 4));
    ws__buf_init(&b, ctx, 1000);
    assert_int_equal(ws__parts_config(&q, &c, &b), 1);
    assert_string_equal(b.data, "BM=6,BN=2");
    c.config.at[1] = 2000;
    assert_int_equal(ws__parts_config(&q, &c, &b), 0);
    c.config.n = 1;
    assert_int_equal(ws__parts_config(&q, &c, &b), 0);
    c.kernel = 3;
    assert_int_equal(ws__parts_config(&q, &c, &b), 0);
    ws__buf_free(&b);
    ws__parts_free(&q);
    /* a workload was renamed */
    p.workload[0].name = "new";
    assert_int_equal(ws__store_describe(s, &p), 0);
    assert_int_equal(ws__store_parts(s, p.spec, &q), 1);
    assert_string_equal(q.workload[0].name, "new");
    ws__parts_free(&q);
    assert_int_equal(ws__store_verify(s), 0);
    t_raw("UPDATE spec SET text = replace(text, 'BM', 'BX')");
    assert_int_equal(ws__store_verify(s), WS_ECORRUPT);
    assert_int_equal(ws__store_parts(s, p.spec, &q), WS_ECORRUPT);
    ws__parts_free(&q);
    ws__parts_free(&p);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- runs ---------------------------------------------------------------- */

static int see_run(void *user, const struct ws__store_sum *sum)
{
    size_t *n = user;

    ++*n;
    assert_int_equal(sum->run.id, *n);
    assert_int_equal(sum->trials, *n == 1 ? 6 : 2);
    assert_int_equal(sum->verdict[WS__V_OK], sum->trials - 1);
    assert_int_equal(sum->verdict[WS__V_WRONG], 1);
    assert_int_equal(sum->spent_ns, *n == 1 ? 21000 : 3000);
    assert_int_equal(sum->samples, *n == 1 ? 4 + 4 + 9 + 9 : 8);
    assert_string_equal(sum->device, "gpu \"x\"");
    assert_int_equal(sum->measuring, *n == 2);
    if (*n == 2)
        assert_int_equal(sum->pid, getpid());
    return 0;
}

static void test_runs(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__run b = t_run(2, "hill", 5);
    size_t n = 0;
    (void)state;

    put_runs(ctx, s);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &b), 0);
    assert_int_equal(ws__store_runs(s, see_run, &n), 0);
    assert_int_equal(n, 2);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- round trip ---------------------------------------------------------- */

static void test_round_trip(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *copy = open_at(ctx, "copy.db");
    struct ws__run a = t_run(1, "grid", UINT64_MAX);
    struct ws__identity id = an_identity("gpu \"x\"");
    struct ws__import_counts c;
    char *text, *again;
    size_t n, m;
    (void)state;

    put_runs(ctx, s);
    text = export_text(ctx, s, &n);
    assert_int_equal(import_text(ctx, copy, text, n, &c), 0);
    assert_int_equal(c.lines, 1 + NTRIALS + 2);
    assert_int_equal(c.trials, NTRIALS);
    assert_int_equal(c.runs, 2);
    assert_int_equal(c.specs, 1);
    assert_int_equal(c.values, 2);
    assert_int_equal(c.matched, 0);
    again = export_text(ctx, copy, &m);
    assert_string_equal(text, again);
    ws__free(ctx, again);

    /* once more changes nothing */
    assert_int_equal(import_text(ctx, copy, text, n, &c), 0);
    assert_int_equal(c.trials + c.runs + c.specs + c.values, 0);
    assert_int_equal(c.matched, c.lines);
    again = export_text(ctx, copy, &m);
    assert_string_equal(text, again);
    ws__free(ctx, again);

    /* both go on in the same way */
    assert_int_equal(ws__store_set_identity(copy, &id), 0);
    for (int i = 0; i < 2; i++) {
        struct ws__store *one = i ? copy : s;

        assert_int_equal(ws__store_journal(one).ops->begin(one, &a), 0);
        assert_int_equal(append_answer(ctx, one, &a, 9), 0);
        assert_int_equal(ws__store_journal(one).ops->end(one, &a), 0);
        assert_int_equal(ws__store_verify(one), 0);
    }
    ws__free(ctx, text);
    text = export_text(ctx, s, &n);
    again = export_text(ctx, copy, &m);
    assert_string_equal(text, again);
    ws__free(ctx, again);
    ws__free(ctx, text);
    ws__store_close(copy);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* A store that has a part takes the rest; numbers are given anew. */
static void test_merge(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *copy = open_at(ctx, "copy.db");
    struct ws__run b = t_run(2, "hill", 5), c = t_run(3, "grid", 1);
    struct ws__identity id = an_identity("gpu \"x\"");
    struct ws__import_counts counts;
    uint64_t trials, runs;
    char *text;
    size_t n;
    (void)state;

    put_runs(ctx, s);
    assert_int_equal(ws__store_set_identity(copy, &id), 0);
    assert_int_equal(ws__store_journal(copy).ops->begin(copy, &c), 0);
    assert_int_equal(append_answer(ctx, copy, &c, 3), 0);
    assert_int_equal(append_answer(ctx, copy, &c, 4), 0);
    assert_int_equal(ws__store_journal(copy).ops->begin(copy, &b), 0);
    assert_int_equal(append_answer(ctx, copy, &b, 2), 0);
    assert_int_equal(ws__store_journal(copy).ops->end(copy, &b), 0);
    text = export_text(ctx, s, &n);
    /* c is being measured all the time, and is not in the file */
    assert_int_equal(import_text(ctx, copy, text, n, &counts), 0);
    assert_int_equal(counts.trials, NTRIALS - 1);
    assert_int_equal(counts.matched, 1);
    assert_int_equal(counts.runs, 1);
    assert_int_equal(ws__store_verify(copy), 0);
    assert_int_equal(ws__store_count(copy, &trials, &runs), 0);
    assert_int_equal(trials, 4 + NTRIALS - 1);
    assert_int_equal(runs, 3);
    ws__free(ctx, text);
    ws__store_close(copy);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- refusals ------------------------------------------------------------ */

/* Replaces the first `from` after line `line` began, in a copy. */
static char *edited(struct ws_ctx *ctx, const char *text, unsigned line,
                    const char *from, const char *to, size_t *n)
{
    const char *at = text;
    struct ws__buf b;

    for (unsigned i = 1; i < line; i++)
        at = strchr(at, '\n') + 1;
    at = strstr(at, from);
    if (!at)
        fail_msg("no '%s'", from);
    ws__buf_init(&b, ctx, 1 << 24);
    ws__buf_add(&b, text, (size_t)(at - text));
    ws__buf_puts(&b, to);
    ws__buf_puts(&b, at + strlen(from));
    assert_int_equal(b.failed, 0);
    *n = b.len;
    return ws__buf_take(&b);
}

/* Line 1 describes; 2 to 9 are trials, 4 and 5 a pair as 7 and 8; 10 and 11
 * are values. */
static const struct edit {
    unsigned line;
    const char *from, *to, *word;
    int code;
} edits[] = {
    {1, "\"spec\",", "\"spec\" ", "not JSON", WS_EPARSE},
    {1, "\"format\":4", "\"format\":5", "format 5", WS_EVERSION},
    {2, "{", "[{", "not JSON", WS_EPARSE},
    {2, "\"wavesmith\":\"trial\"", "\"wavesmith\":\"trail\"", "'trail'",
     WS_EPARSE},
    {3, "\"wavesmith\"", "\"format\"", "duplicate", WS_EPARSE},
    {3, "\"id\":2", "\"id\":0", "'id' is 0", WS_EPARSE},
    {3, "\"id\":2", "\"id\":9007199254740993", "'id'", WS_EPARSE},
    {3, "\"seed\":", "\"sead\":", "'seed'", WS_EPARSE},
    {3, "\"seed\":5", "\"seed\":5,\"more\":1", "'more'", WS_EPARSE},
    {3, "\"seed\":5", "\"seed\":-5", "'seed'", WS_EPARSE},
    {2, "\"18446744073709551615\"", "\"18446744073709551616\"", "'seed'",
     WS_EPARSE},
    {3, "\"strategy\":\"hill\"", "\"strategy\":null", "'strategy'", WS_EPARSE},
    {3, "\"strategy\":\"hill\"",
     "\"strategy\":\"h2345678901234567890123456789012\"", "31 bytes",
     WS_EPARSE},
    {3, "\"nsample\":4", "\"nsample\":5", "'sample_ns'", WS_EPARSE},
    {3, "\"did\":7", "\"did\":8", "'did'", WS_EPARSE},
    {3, "\"cache\":2", "\"cache\":3", "cache mode", WS_EPARSE},
    {3, "\"effort\":2", "\"effort\":3", "effort", WS_EPARSE},
    {3, "\"pair\":0", "\"pair\":1", "'pair'", WS_EPARSE},
    {3, "\"pair\":0", "\"pair\":2", "'pair'", WS_EPARSE},
    {3, "\"part\":0", "\"part\":3", "'part'", WS_EPARSE},
    {3, "\"verdict\":1", "\"verdict\":11", "verdict", WS_EPARSE},
    {3, "\"registers\":4294967295", "\"registers\":4294967296", "'registers'",
     WS_EPARSE},
    {3, "\"config\":[", "\"config\":[65536,", "65536", WS_EPARSE},
    {3, "\"nan:7ff8000000000000\"", "\"nan:7ff0000000000000\"", "no number",
     WS_EPARSE},
    {3, "\"verdict\":\"ok\"", "\"verdict\":\"wrong\"", "does not agree",
     WS_EPARSE},
    {4, "\"part\":1", "\"part\":0", "'pair'", WS_EPARSE},
    {5, "\"part\":2", "\"part\":1", "its kernel", WS_EPARSE},
    {5, "\"want\":5", "\"want\":4", "half of a pair", WS_EPARSE},
    {6, "\"seq\":3", "\"seq\":4", "3 to 3 of this run are missing", WS_EINVAL},
    {6, "\"question\":{\"seq\":3,\"id\":2", "\"question\":{\"seq\":3,\"id\":1",
     "answered already", WS_EINVAL},
    {3, "\"units\":108", "\"units\":109", "earlier line", WS_EPARSE},
    /* an answer to another question, or none */
    {3, "\"part\":0,\"kernel\":2", "\"part\":0,\"kernel\":4", "its kernel",
     WS_EPARSE},
    {3, "\"a_kernel\":2", "\"a_kernel\":3", "its kernel", WS_EPARSE},
    {3, "\"config\":[1954,1985]", "\"config\":[9999,1985]", "its config",
     WS_EPARSE},
    {3, "\"config\":[1954,1985]", "\"config\":[]", "its config", WS_EPARSE},
    {3, "\"workload\":2,\"effort\":2,\"did\"",
     "\"workload\":99,\"effort\":2,\"did\"", "its workload", WS_EPARSE},
    {3, "\"effort\":2,\"did\"", "\"effort\":1,\"did\"", "its effort",
     WS_EPARSE},
    {3, "\"did\":7", "\"did\":3", "'did'", WS_EPARSE},
    {3, "\"want\":5", "\"want\":0", "wants nothing", WS_EPARSE},
    {3, "\"wrong_total\":\"18446744073709551613\"", "\"wrong_total\":5",
     "more elements", WS_EPARSE},
    {3, "\"sample_ns\":[2.2,", "\"sample_ns\":[-2.2,", "no time", WS_EPARSE},
    {3, "\"sample_ns\":[2.2,", "\"sample_ns\":[0,", "no time", WS_EPARSE},
    {3, "\"sample_ns\":[2.2,", "\"sample_ns\":[\"inf\",", "no time", WS_EPARSE},
    {3, "\"sample_ns\":[2.2,", "\"sample_ns\":[\"nan:7ff8000000000000\",",
     "no time", WS_EPARSE},
    {10, "\"value\":{\"hex\":\"", "\"value\":{\"hex\":\"0", "'value'",
     WS_EPARSE},
};

static void test_refuses(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *copy = open_at(ctx, "copy.db");
    struct ws__import_counts c;
    uint64_t trials, runs;
    char *text;
    size_t n, m;
    (void)state;

    put_runs(ctx, s);
    text = export_text(ctx, s, &n);
    for (size_t i = 0; i < WS_COUNT(edits); i++) {
        const struct edit *e = &edits[i];
        char *other = edited(ctx, text, e->line, e->from, e->to, &m);
        const struct ws_error *err = ws_ctx_error(ctx);
        int rc = import_text(ctx, copy, other, m, &c);
        /* the measurer of line 3 is first told there: line 4 disagrees */
        unsigned line = e->line + (strstr(e->from, "units") != NULL);

        if (rc != e->code || err->line != line ||
            strcmp(err->file, "in.jsonl") != 0 ||
            !strstr(err->message, e->word) || !err->hint[0])
            fail_msg("edit %zu: %d, line %u: %s", i, rc, err->line,
                     err->message);
        ws__free(ctx, other);
    }
    assert_int_equal(ws__store_count(copy, &trials, &runs), 0);
    assert_int_equal(trials + runs, 0);
    /* half of a pair at the end, and cut lines */
    for (size_t cut = n - 1; cut > n - 300; cut -= 7)
        assert_int_equal(import_text(ctx, copy, text, cut, &c),
                         cut == n - 1 ? 0 : WS_EPARSE);
    ws__free(ctx, text);
    ws__store_close(copy);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* The config in words, where the numbers can be told. */
static void test_words(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *copy = open_at(ctx, "copy.db");
    struct ws__import_counts c;
    char *text, *other;
    size_t n, m;
    (void)state;

    put_runs(ctx, s);
    text = export_text(ctx, s, &n);
    assert_non_null(strstr(text, "\"config\":\"BM=1954\""));
    assert_non_null(strstr(text, "\"kernel\":\"\\\"b\\\"\""));
    other = edited(ctx, text, 2, "BM=1954", "BM=1952", &m);
    assert_int_equal(import_text(ctx, copy, other, m, &c), WS_EPARSE);
    assert_int_equal(ws_ctx_error(ctx)->line, 2);
    ws__free(ctx, other);
    other = edited(ctx, text, 2, "\"workload\":\"M=2\"", "\"workload\":\"M=3\"",
                   &m);
    assert_int_equal(import_text(ctx, copy, other, m, &c), WS_EPARSE);
    ws__free(ctx, other);
    ws__free(ctx, text);
    ws__store_close(copy);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* Question and trial agree, and are of nothing that the specification has. */
static void test_unknown(void **state)
{
    static const char *const one[][2] = {
        {"\"a_kernel\":1", "\"a_kernel\":7"},
        {"\"a_config\":[977]", "\"a_config\":[9999]"},
        {"\"workload\":1,\"want\"", "\"workload\":99,\"want\""},
    };
    static const char *const two[][2] = {
        {"\"part\":0,\"kernel\":1", "\"part\":0,\"kernel\":7"},
        {"\"config\":[977]", "\"config\":[9999]"},
        {"\"workload\":1,\"effort\":1,\"did\"",
         "\"workload\":99,\"effort\":1,\"did\""},
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__import *in;
    char *text, *half, *whole;
    size_t n, m;
    (void)state;

    put_runs(ctx, s);
    text = export_text(ctx, s, &n);
    for (size_t i = 0; i < WS_COUNT(one); i++) {
        half = edited(ctx, text, 2, one[i][0], one[i][1], &m);
        whole = edited(ctx, half, 2, two[i][0], two[i][1], &m);
        assert_int_equal(ws__import_new(ctx, "x", whole, m, &in), WS_EPARSE);
        assert_int_equal(ws_ctx_error(ctx)->line, 2);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, "specification"));
        ws__free(ctx, half);
        ws__free(ctx, whole);
    }
    ws__free(ctx, text);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void edit_kernel(struct ws__question *q, struct ws__trial *t)
{
    (void)q;
    t->candidate.kernel = 4;
}

static void edit_workload(struct ws__question *q, struct ws__trial *t)
{
    (void)q;
    t->workload = 99;
}

static void edit_sample(struct ws__question *q, struct ws__trial *t)
{
    (void)q;
    t->sample_ns[1] = 0;
}

static void edit_both(struct ws__question *q, struct ws__trial *t)
{
    q->a.kernel = t->candidate.kernel = 70;
}

static void edit_nothing(struct ws__question *q, struct ws__trial *t)
{
    (void)q, (void)t;
}

/* Rows whose checksums are right, and that nobody can have measured. */
static void test_verify_made_up(void **state)
{
    static void (*const edit[])(struct ws__question *, struct ws__trial *) = {
        edit_nothing, edit_kernel, edit_workload, edit_sample, edit_both};
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t i = 0; i < WS_COUNT(edit); i++) {
        struct ws__store *s = t_open(ctx);
        struct ws__journal j = ws__store_journal(s);
        struct ws__run run = t_run(1, "grid", 1);
        struct ws__question q = t_question(2, false);
        struct ws__parts p;
        struct ws__trial t;

        describe(ctx, 1, &p);
        assert_int_equal(ws__store_describe(s, &p), 0);
        ws__parts_free(&p);
        t_trial(ctx, 2, 3, &t);
        edit[i](&q, &t);
        assert_int_equal(j.ops->begin(j.self, &run), 0);
        assert_int_equal(j.ops->append(j.self, &run, &q, &t, 1), 0);
        assert_int_equal(ws__store_verify(s), i ? WS_ECORRUPT : 0);
        ws__trial_clear(ctx, &t);
        ws__store_close(s);
        unlink(t_path);
    }
    ws_ctx_free(ctx);
}

/* What a store holds is not contradicted, and nothing else comes in. */
static void test_contradictions(void **state)
{
    static const struct edit clash[] = {
        {6, "\"spent_ns\":2000", "\"spent_ns\":2001", "another one", 0},
        {5, "\"spent_ns\":3000", "\"spent_ns\":3001", "another one", 0},
        {6, "\"want\":5", "\"want\":4", "another one", 0},
        {2, "\"identity\":null", NULL, "another one", 0},
        {11, "\"value\":\"\"", "\"value\":\"x\"", "value 'state'", 0},
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__import_counts c;
    char *text, *after, *other;
    size_t n, m;
    (void)state;

    put_runs(ctx, s);
    text = export_text(ctx, s, &n);
    for (size_t i = 0; i < WS_COUNT(clash); i++) {
        const char *to = clash[i].to;
        char id[700] = "";

        if (!to) { /* the measurer of line 3 */
            const char *from = strstr(strchr(text, '\n') + 1, "\"identity\":{");

            snprintf(id, sizeof(id), "%.*s}", (int)(strchr(from, '}') - from),
                     from);
            to = id;
        }
        other = edited(ctx, text, clash[i].line, clash[i].from, to, &m);
        if (import_text(ctx, s, other, m, &c) != WS_EINVAL ||
            ws_ctx_error(ctx)->line != clash[i].line ||
            !strstr(ws_ctx_error(ctx)->message, clash[i].word))
            fail_msg("clash %zu: line %u: %s", i, ws_ctx_error(ctx)->line,
                     ws_ctx_error(ctx)->message);
        ws__free(ctx, other);
        after = export_text(ctx, s, &m);
        assert_string_equal(text, after);
        ws__free(ctx, after);
    }
    /* another measurer under the same hash */
    ws__store_close(s);
    s = t_open(ctx);
    assert_int_equal(ws__store_exec(s,
                                    "DELETE FROM trial; DELETE FROM question;"
                                    "DELETE FROM value; DELETE FROM run",
                                    "x"),
                     0);
    after = text;
    while ((other = strstr(after, "\"units\":108"))) {
        memcpy(other, "\"units\":109", 11);
        after = other;
    }
    assert_int_equal(import_text(ctx, s, text, n, &c), WS_EINVAL);
    assert_int_equal(ws_ctx_error(ctx)->line, 3);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "another measurer"));
    ws__free(ctx, text);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

static void test_in_use(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *other = t_open(ctx), *ro;
    struct ws__store *copy = open_at(ctx, "copy.db");
    struct ws__run b = t_run(2, "random", 77); /* same spec and device */
    struct ws__import_counts c;
    char *text;
    size_t n;
    (void)state;

    put_runs(ctx, s);
    text = export_text(ctx, s, &n);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &b), 0);
    assert_int_equal(import_text(ctx, other, text, n, &c), WS_EBUSY);
    /* also if the file's run is new here */
    assert_int_equal(ws__store_journal(copy).ops->begin(copy, &b), 0);
    assert_int_equal(import_text(ctx, copy, text, n, &c), WS_EBUSY);
    assert_int_equal(ws__store_journal(copy).ops->end(copy, &b), 0);
    assert_int_equal(ws__store_journal(s).ops->end(s, &b), 0);
    assert_int_equal(import_text(ctx, other, text, n, &c), 0);
    assert_int_equal(ws__store_open(ctx, t_path, true, &ro), 0);
    assert_int_equal(import_text(ctx, ro, text, n, &c), WS_EACCES);
    ws__store_close(ro);
    ws__free(ctx, text);
    ws__store_close(copy);
    ws__store_close(other);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* Appends to a run of its own until it is told to end. */
static void append_beside(int end)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__run run = t_run(9, "grid", 1);
    struct ws__store *s = t_open(ctx);
    char byte;

    if (ws__store_journal(s).ops->begin(s, &run))
        _exit(1);
    for (uint64_t id = 1; read(end, &byte, 1) < 0; id++)
        if (t_append(ctx, s, &run, id))
            _exit(2);
    ws__store_close(s);
    ws_ctx_free(ctx);
    _exit(0);
}

/* Exports are whole and imports get in while another process measures. */
static void test_beside(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx), *other = open_at(ctx, "copy.db");
    struct ws__import_counts c;
    char *text, *first;
    size_t n, m;
    int end[2], status;
    pid_t pid;
    (void)state;

    put_runs(ctx, other);
    first = export_text(ctx, other, &m);
    assert_int_equal(pipe(end), 0);
    assert_int_equal(fcntl(end[0], F_SETFL, O_NONBLOCK), 0);
    pid = fork();
    if (!pid) {
        close(end[1]);
        append_beside(end[0]);
    }
    for (int i = 0; i < 12; i++) {
        struct ws__store *copy = open_at(ctx, "beside.db");
        char name[64];

        text = export_text(ctx, s, &n);
        assert_int_equal(import_text(ctx, copy, text, n, &c), 0);
        ws__free(ctx, text);
        assert_int_equal(ws__store_verify(copy), 0);
        ws__store_close(copy);
        snprintf(name, sizeof(name), "%s/beside.db", t_dir);
        unlink(name);
        if (i == 5) {
            assert_int_equal(import_text(ctx, s, first, m, &c), 0);
            assert_int_equal(c.trials, NTRIALS);
        }
    }
    close(end[0]);
    close(end[1]);
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(ws__store_verify(s), 0);
    ws__free(ctx, first);
    ws__store_close(other);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* A damaged store is not exported. */
static void test_export_refuses(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct ws__run run = t_run(4, "grid", 1);
    struct ws__buf b;
    uint64_t records;
    (void)state;

    put_runs(ctx, s);
    ws__buf_init(&b, ctx, 4000);
    assert_int_equal(ws__store_export(s, &(struct ws__export_opts){0}, &b,
                                      &records),
                     WS_ELIMIT);
    ws__buf_free(&b);
    ws__buf_init(&b, ctx, 1 << 24);
    assert_int_equal(ws__store_export(s, &(struct ws__export_opts){.run = 2},
                                      &b, &records),
                     0);
    assert_int_equal(records, 3);
    ws__buf_free(&b);
    t_raw("DELETE FROM question WHERE id = 3");
    ws__buf_init(&b, ctx, 1 << 24);
    assert_int_equal(ws__store_export(s, &(struct ws__export_opts){0}, &b,
                                      &records),
                     WS_ECORRUPT);
    ws__buf_free(&b);
    /* and can be written to still */
    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    ws__store_close(s);
    ws_ctx_free(ctx);
}

/* --- memory -------------------------------------------------------------- */

static int export_body(struct ws_ctx *ctx, void *user)
{
    struct ws__store *s;
    struct ws__buf b;
    uint64_t records;
    int rc;
    (void)user;

    WS_TRY(ws__store_open(ctx, t_path, true, &s));
    ws__buf_init(&b, ctx, 1 << 24);
    rc = ws__store_export(s, &(struct ws__export_opts){0}, &b, &records);
    ws__buf_free(&b);
    ws__store_close(s);
    return rc;
}

struct torture {
    const char *text;
    size_t n;
    char path[64];
};

static int import_body(struct ws_ctx *ctx, void *user)
{
    const struct torture *t = user;
    struct ws__import_counts c;
    struct ws__store *s;
    uint64_t trials = 0, runs = 0;
    int rc;

    WS_TRY(ws__store_open(ctx, t->path, false, &s));
    rc = import_text(ctx, s, t->text, t->n, &c);
    if (rc < 0 && ws__store_count(s, &trials, &runs) == 0)
        assert_int_equal(trials + runs, 0);
    ws__store_close(s);
    if (!rc)
        unlink(t->path);
    return rc;
}

static void test_torture(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__store *s = t_open(ctx);
    struct torture t;
    char *text;
    (void)state;

    put_runs(ctx, s);
    text = export_text(ctx, s, &t.n);
    t.text = text;
    ws__store_close(s);
    assert_true(t_torture(export_body, NULL) > 10);
    snprintf(t.path, sizeof(t.path), "%s/new.db", t_dir);
    assert_true(t_torture(import_body, &t) > 10);
    ws__free(ctx, text);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
        T(test_old),
        T(test_old_text),
        T(test_parts),
        T(test_runs),
        T(test_round_trip),
        T(test_merge),
        T(test_refuses),
        T(test_words),
        T(test_unknown),
        T(test_verify_made_up),
        T(test_contradictions),
        T(test_in_use),
        T(test_beside),
        T(test_export_refuses),
        T(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
