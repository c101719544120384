/*
 * t_store_damage.c: bits flipped and pieces lost anywhere in a store's file
 * or its log. Nothing crashes, and nothing that was not written is shown for
 * something that was: every row that comes is one of those put in, and what
 * verifies exports to the same text.
 *
 * A flipped bit in the log looks to SQLite like the end of the log: what comes
 * after it is gone, as after a power loss, and what is left must be whole.
 */
#include "store/t_store_vfs.h"

#include "base/fs.h"
#include "base/hash.h"

#define ANSWERS 24

struct made {
    struct ws_ctx *ctx;
    struct ws__identity id;
    char *text; /* its export */
    uint64_t seen, last;
    const char *how;
};

static struct ws__identity measurer(void)
{
    struct ws__identity id = {.units = 4};

    snprintf(id.device, sizeof(id.device), "a device");
    snprintf(id.compiler, sizeof(id.compiler), "a compiler of some length");
    ws__identity_seal(&id);
    return id;
}

static int describe(struct ws_ctx *ctx, struct ws__store *s)
{
    struct ws__workload w = {.name = "one"};
    struct ws__parts p;
    int rc =
        ws__parts_make(ctx, (struct ws__hash){1, 7}, NULL, NULL, 0, &w, 1, &p);

    if (!rc)
        rc = ws__store_describe(s, &p);
    ws__parts_free(&p);
    return rc;
}

static void make(struct ws_ctx *ctx, struct ws__store *s)
{
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__identity id = measurer();

    assert_int_equal(describe(ctx, s), 0);
    assert_int_equal(ws__store_set_identity(s, &id), 0);
    assert_int_equal(ws__store_journal(s).ops->begin(s, &run), 0);
    for (uint64_t i = 1; i <= ANSWERS; i++)
        assert_int_equal(t_append(ctx, s, &run, i), 0);
    assert_int_equal(ws__store_journal(s).ops->put(s, &run, "key", "value"), 0);
    assert_int_equal(ws__store_journal(s).ops->end(s, &run), 0);
}

static char *export_text(struct ws_ctx *ctx, struct ws__store *s, int *rc)
{
    struct ws__buf b;
    uint64_t records;

    ws__buf_init(&b, ctx, 1 << 26);
    *rc = ws__store_export(s, &(struct ws__export_opts){0}, &b, &records);
    if (!*rc)
        return ws__buf_take(&b);
    ws__buf_free(&b);
    return NULL;
}

/* --- what may be seen ---------------------------------------------------- */

static int check_row(void *user, const struct ws__store_row *r)
{
    struct ws__question q = t_question(r->question.id, false);
    struct made *m = user;
    struct ws__trial want;
    bool same;

    t_trial(m->ctx, r->question.id, 20, &want);
    same = t_same(&want, &r->trial) && !memcmp(&q, &r->question, sizeof(q)) &&
           r->question.id >= 1 && r->question.id <= ANSWERS &&
           !strcmp(r->run.strategy, "grid") && r->run.spec.lo == 1 &&
           r->run.seed == 1 && r->has_identity &&
           !memcmp(&r->identity, &m->id, sizeof(m->id));
    ws__trial_clear(m->ctx, &want);
    if (!same)
        fail_msg("%s: trial %d is another one", m->how, (int)r->trial.id);
    m->seen++;
    return 0;
}

static int check_answer(void *user, const struct ws__question *q,
                        const struct ws__trial *t, size_t n)
{
    struct made *m = user;
    struct ws__trial want;

    assert_int_equal(n, 1);
    if (q->id != ++m->last)
        fail_msg("%s: answer %d is missing", m->how, (int)m->last);
    t_trial(m->ctx, q->id, 20, &want);
    assert_true(t_same(&want, t));
    ws__trial_clear(m->ctx, &want);
    return 0;
}

static int ignore_sum(void *user, const struct ws__store_sum *sum)
{
    (void)user, (void)sum;
    return 0;
}

static void find_all(struct made *m, struct ws__store *s)
{
    for (uint64_t i = 1; i <= ANSWERS; i++) {
        struct ws__trial t, want;
        int rc = ws__store_journal(s).ops->find(s, (struct ws__hash){i, 100},
                                                (struct ws__hash){i % 4, 200},
                                                (struct ws__hash){8, 9},
                                                WS__SCREEN, 1, &t);

        if (rc != 1)
            continue;
        t_trial(m->ctx, i, 20, &want);
        assert_true(t_same(&want, &t));
        ws__trial_clear(m->ctx, &want);
        ws__trial_clear(m->ctx, &t);
    }
}

/* Reads all that there is to read. */
static void look(struct made *m, bool prefix_is_fine)
{
    struct ws__run run = {.id = 1};
    struct ws__store *s;
    struct ws__parts p;
    char *v, *text;
    int rc = ws__store_open(m->ctx, t_path, true, &s);

    if (rc) {
        assert_true(ws_ctx_error(m->ctx)->hint[0]);
        return;
    }
    m->seen = m->last = 0;
    ws__store_rows(s, &(struct ws__store_range){0}, check_row, m);
    ws__store_journal(s).ops->replay(s, &run, check_answer, m);
    ws__store_runs(s, ignore_sum, NULL);
    find_all(m, s);
    if (ws__store_parts(s, (struct ws__hash){1, 7}, &p) == 1)
        assert_string_equal(p.workload[0].name, "one");
    ws__parts_free(&p);
    if (ws__store_journal(s).ops->get(s, &run, "key", &v) == 1) {
        assert_string_equal(v, "value");
        ws__free(m->ctx, v);
    }
    rc = ws__store_verify(s);
    text = export_text(m->ctx, s, &rc);
    if (rc)
        assert_true(rc == WS_ECORRUPT || rc == WS_EIO || rc == WS_EBUSY);
    else if (!prefix_is_fine)
        assert_string_equal(text, m->text);
    else if (strncmp(text, m->text, 20) != 0 && *text)
        fail_msg("%s: a log of something else", m->how);
    ws__free(m->ctx, text);
    ws__store_close(s);
}

/* Writes into it; what it says does not matter, as long as it says it. */
static void meddle(struct made *m)
{
    struct ws__run run = t_run(1, "grid", 1);
    struct ws__store *s;

    if (ws__store_open(m->ctx, t_path, false, &s))
        return;
    describe(m->ctx, s);
    ws__store_set_identity(s, &m->id);
    if (!ws__store_journal(s).ops->begin(s, &run))
        for (uint64_t i = ANSWERS + 1; i < ANSWERS + 4; i++)
            if (t_append(m->ctx, s, &run, i))
                break;
    ws__store_close(s);
}

/* --- damage -------------------------------------------------------------- */

static void clear_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[96];

    for (size_t i = 0; i < WS_COUNT(ends); i++) {
        snprintf(name, sizeof(name), "%s%s", t_path, ends[i]);
        unlink(name);
    }
}

static void put_file(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    if (n)
        assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* One bit, one byte, a stretch of zeros, or a stretch copied elsewhere. */
static const char *damage(struct ws__rng *rng, char *data, size_t n)
{
    size_t at = (size_t)ws__rng_below(rng, n), len, from;

    switch (ws__rng_below(rng, 8)) {
    case 0:
        len = (size_t)ws__rng_below(rng, n - at) % 700;
        memset(data + at, 0, len);
        return "zeros";
    case 1:
        len = (size_t)ws__rng_below(rng, n - at) % 700;
        from = (size_t)ws__rng_below(rng, n - len);
        memmove(data + at, data + from, len);
        return "a copy";
    case 2:
        data[at] = (char)ws__rng_u64(rng);
        return "a byte";
    default:
        data[at] ^= (char)(1 << ws__rng_below(rng, 8));
        return "a bit";
    }
}

static void test_file(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct made m = {.ctx = ctx, .id = measurer()};
    struct ws__store *s = t_open(ctx);
    struct ws__rng rng;
    char *data, *copy;
    size_t n;
    int rc;
    (void)state;

    make(ctx, s);
    m.text = export_text(ctx, s, &rc);
    assert_int_equal(rc, 0);
    ws__store_close(s);
    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 26, &data, &n), 0);
    copy = malloc(n);
    m.how = "unharmed";
    look(&m, false);
    assert_int_equal(m.seen, ANSWERS);
    assert_int_equal(m.last, ANSWERS);
    ws__rng_seed(&rng, 5);
    for (unsigned long k = t_rounds(400); k--;) {
        memcpy(copy, data, n);
        m.how = damage(&rng, copy, n);
        clear_files();
        put_file(t_path, copy, n);
        look(&m, false);
        if (k % 4 == 0)
            meddle(&m);
    }
    free(copy);
    ws__free(ctx, data);
    ws__free(ctx, m.text);
    ws_ctx_free(ctx);
}

static void test_log(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct made m = {.ctx = ctx, .id = measurer()};
    struct ws__store *s = t_open(ctx);
    struct ws__rng rng;
    char *data, *log, *copy, name[96];
    size_t n, nlog;
    int rc;
    (void)state;

    snprintf(name, sizeof(name), "%s-wal", t_path);
    make(ctx, s);
    m.text = export_text(ctx, s, &rc);
    assert_int_equal(rc, 0);
    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 26, &data, &n), 0);
    assert_int_equal(ws__fs_read(ctx, name, 1 << 26, &log, &nlog), 0);
    ws__store_close(s);
    copy = malloc(nlog);
    ws__rng_seed(&rng, 6);
    for (unsigned long k = t_rounds(200); k--;) {
        memcpy(copy, log, nlog);
        m.how = damage(&rng, copy, nlog);
        clear_files();
        put_file(t_path, data, n);
        put_file(name, copy, nlog);
        look(&m, true);
        if (k % 4 == 0)
            meddle(&m);
    }
    free(copy);
    ws__free(ctx, data);
    ws__free(ctx, log);
    ws__free(ctx, m.text);
    ws_ctx_free(ctx);
}

/* Pieces missing at the end, as a copy that broke off has. */
static void test_cut(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct made m = {.ctx = ctx, .id = measurer(), .how = "cut"};
    struct ws__store *s = t_open(ctx);
    char *data;
    size_t n;
    int rc;
    (void)state;

    make(ctx, s);
    m.text = export_text(ctx, s, &rc);
    ws__store_close(s);
    assert_int_equal(ws__fs_read(ctx, t_path, 1 << 26, &data, &n), 0);
    for (size_t cut = 1; cut < n; cut += cut < 600 ? 97 : 1777) {
        clear_files();
        put_file(t_path, data, n - cut);
        look(&m, false);
        meddle(&m);
    }
    ws__free(ctx, data);
    ws__free(ctx, m.text);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
        T(test_file),
        T(test_log),
        T(test_cut),
    };
    int rc;

    /* for its quick syncs */
    t_vfs_start(NULL);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    t_vfs_stop();
    return rc;
}
