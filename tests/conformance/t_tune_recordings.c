/*
 * t_tune_recordings.c: a whole tune on recordings, through the public
 * interface: on the matrices that lie in the tree and on those of the data
 * folder where it is present. The best recorded time is found again by a
 * reader that shares nothing with ours; what a run that was stopped and
 * continued leaves is what an undisturbed one leaves; and what is
 * missing is neither counted nor kept.
 */
#include "base/t_base.h"

#include <unistd.h>
#include <zlib.h>

#include "base/fs.h"
#include "store/store.h"

#define GEMM "tests/perf/h200/gemm.yaml"
#define ATTN "tests/perf/h200/attn.yaml"
#define MOE "tests/perf/h200/moe.yaml"
#define GEMM_DATA "tests/data/h200/gemm.csv.gz"
#define ATTN_DATA "tests/data/h200/attn.csv.gz"
#define MOE_DATA "tests/data/h200/moe.csv.gz"

static struct ws_ctx *ctx;
static char dir[40];

/* The same string for the same name, for ever. */
static const char *in_dir(const char *name)
{
    static char path[32][100];
    char want[100];

    snprintf(want, sizeof(want), "%s/%s", dir, name);
    for (size_t i = 0; i < WS_COUNT(path); i++) {
        if (!*path[i])
            memcpy(path[i], want, sizeof(want));
        if (!strcmp(path[i], want))
            return path[i];
    }
    fail_msg("too many names");
    return NULL;
}

static void fresh(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[64];

    for (char db = 'a'; db <= 'd'; db++)
        for (size_t i = 0; i < WS_COUNT(ends); i++) {
            snprintf(name, sizeof(name), "%c.db%s", db, ends[i]);
            unlink(in_dir(name));
        }
}

static int setup(void **state)
{
    (void)state;
    /* Thousands of appends that wait for the disk would take a minute. */
    snprintf(dir, sizeof(dir), "%s/t_tune_rec_XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    ctx = t_ctx(NULL);
    return ctx && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    fresh();
    unlink(in_dir("t1.json"));
    unlink(in_dir("part.csv"));
    return rmdir(dir);
}

static char *data_path(const char *name)
{
    static char path[2][600];
    static unsigned at;
    char *p = path[at++ % 2];
    const char *data = getenv("WS_DATA");

    snprintf(p, sizeof(path[0]), "%s/benchmark_hub/%s",
             data ? data : "../shared/data", name);
    if (!ws__fs_exists(p))
        SKIP("no '%s'", p);
    return p;
}

/* --- a reader of its own ----------------------------------------------------
 */

/* The least value of column `time` in rows whose column `where` is `is`, and
 * which are not baselines (an empty `need`); and how many such rows. */
static double least(const char *path, const char *time, const char *where,
                    const char *is, const char *need, size_t *rows)
{
    static char line[1 << 16];
    gzFile f = gzopen(path, "rb");
    int col[3] = {-1, -1, -1};
    const char *names[3] = {time, where, need};
    double best = 1e300;

    assert_non_null(f);
    *rows = 0;
    for (size_t n = 0; gzgets(f, line, sizeof(line)); n++) {
        char *cell[64] = {NULL}, *s = line;
        int ncell = 0;

        line[strcspn(line, "\r\n")] = '\0';
        while (s && ncell < 64)
            cell[ncell++] = strsep(&s, ",");
        for (int i = 0; !n && i < ncell; i++)
            for (int k = 0; k < 3; k++)
                if (!strcmp(cell[i], names[k]))
                    col[k] = i;
        assert_true(col[0] >= 0 && col[1] >= 0 && col[2] >= 0);
        if (!n || strcmp(cell[col[1]], is) != 0 || !*cell[col[2]])
            continue;
        ++*rows;
        if (strtod(cell[col[0]], NULL) < best)
            best = strtod(cell[col[0]], NULL);
    }
    gzclose(f);
    return best;
}

/* --- tunes ------------------------------------------------------------------
 */

static struct ws_tune_opts on(const char *recordings, const char *store)
{
    return (struct ws_tune_opts){.size = sizeof(struct ws_tune_opts),
                                 .recordings = recordings,
                                 .store = in_dir(store),
                                 .budget_trials = 60};
}

static struct ws_tune_result *tune(const char *spec_path,
                                   const struct ws_tune_opts *o)
{
    struct ws_tune_result *r = NULL;
    struct ws_spec *spec;

    assert_int_equal(ws_spec_open(ctx, spec_path, NULL, &spec), 0);
    if (ws_tune(spec, o, &r) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    ws_spec_free(spec);
    return r;
}

static void same_rows(const struct ws_tune_result *a,
                      const struct ws_tune_result *b)
{
    assert_int_equal(a->nrow, b->nrow);
    assert_int_equal(a->trials, b->trials);
    assert_int_equal(a->missed, b->missed);
    for (size_t i = 0; i < a->nrow; i++) {
        const struct ws_tune_row *x = &a->row[i], *y = &b->row[i];

        assert_string_equal(x->workload, y->workload);
        assert_true(x->best_ns == y->best_ns);
        assert_true(x->default_ns == y->default_ns);
        assert_true(x->speedup_lo == y->speedup_lo);
        assert_true(x->regret == y->regret);
        assert_int_equal(x->ok, y->ok);
        assert_int_equal(x->failed, y->failed);
        assert_int_equal(!x->config, !y->config);
        if (x->config)
            assert_string_equal(x->config, y->config);
        assert_int_equal(!x->failure, !y->failure);
        if (x->failure)
            assert_string_equal(x->failure, y->failure);
    }
}

struct digest {
    struct ws__hash h;
    size_t n;
};

static int digest_one(void *user, const struct ws__run *run,
                      const struct ws__question *q, const struct ws__trial *t)
{
    struct digest *d = user;

    (void)run;
    d->h = ws__hash_u64(ws__hash_u64(d->h, q->id), q->pair);
    d->h = ws__hash_mix(d->h, &t->candidate, sizeof(t->candidate));
    d->h = ws__hash_u64(ws__hash_u64(d->h, t->verdict), t->block);
    d->h = ws__hash_u64(d->h, t->workload);
    d->h = ws__hash_mix(d->h, t->sample_ns, t->nsample * sizeof(double));
    d->n++;
    return 0;
}

/* Of all that a store holds, in order. */
static struct digest digest(const char *store)
{
    struct digest d = {{1, 2}, 0};
    struct ws__store *s;

    assert_int_equal(ws__store_open(ctx, in_dir(store), true, &s), 0);
    assert_int_equal(ws__store_verify(s), 0);
    assert_int_equal(ws__store_each(s, digest_one, &d), 0);
    ws__store_close(s);
    return d;
}

static uint64_t cancel_at;

static void stop_there(void *user, const struct ws_tune_progress *p)
{
    (void)user;
    if (p->done + p->reused >= cancel_at)
        ws_ctx_cancel(ctx);
}

/* --- tests ------------------------------------------------------------------
 */

static void h200(void **state)
{
    static const struct {
        const char *spec, *file;
        size_t rows, shapes;
        uint64_t foreign, budget;
    } cases[] = {
        /* 66 tilings for each shape, 10 more for 152 small ones. */
        {GEMM, GEMM_DATA, 16700, 230, 230, 300},
        {ATTN, ATTN_DATA, 3744, 117, 234, 200},
        {MOE, MOE_DATA, 3240, 81, 81, 5000},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        struct ws_tune_opts o = on(cases[i].file, "a.db");
        struct ws_tune_result *r;
        double best = 1e300, all;
        size_t rows;

        fresh();
        o.where = "pass=3";
        o.budget_trials = cases[i].budget;
        o.strategy = "grid";
        r = tune(cases[i].spec, &o);
        all = least(cases[i].file, "median_us", "pass", "3", "bm", &rows);
        assert_int_equal(r->nrow, cases[i].shapes);
        assert_int_equal(r->recorded, rows);
        assert_int_equal(rows, cases[i].rows);
        assert_int_equal(r->foreign, cases[i].foreign); /* baselines */
        assert_int_equal(r->missed, 0);
        for (size_t w = 0; w < r->nrow; w++) {
            assert_true(r->row[w].oracle_ns > 0);
            assert_true(r->row[w].best_ns >= r->row[w].oracle_ns);
            assert_false(r->row[w].confirmed);
            if (cases[i].budget > rows) /* all was asked */
                assert_true(r->row[w].regret < 1e-12);
            if (r->row[w].oracle_ns < best)
                best = r->row[w].oracle_ns;
        }
        assert_true(best - all * 1e3 < 1e-6 && all * 1e3 - best < 1e-6);
        ws_tune_result_free(ctx, r);
    }
}

static void refused(void **state)
{
    struct ws_tune_opts o = on(GEMM_DATA, "a.db");
    struct ws_tune_result *r;
    struct ws_spec *spec;
    const struct ws_error *e = ws_ctx_error(ctx);

    (void)state;
    fresh();
    assert_int_equal(ws_spec_open(ctx, GEMM, NULL, &spec), 0);
    assert_int_equal(ws_tune(spec, &o, &r), WS_ESPEC); /* three passes */
    assert_string_equal(e->file, GEMM_DATA);
    assert_int_equal(e->line, 16932);
    o.where = "pass=3";
    o.pack = in_dir("x.wspack");
    assert_int_equal(ws_tune(spec, &o, &r), WS_EINVAL);
    assert_non_null(strstr(e->message, "no source"));
    o.pack = NULL;
    o.where = "pass=4";
    assert_int_equal(ws_tune(spec, &o, &r), WS_EINVAL);
    assert_non_null(strstr(e->message, "no row has 'pass=4'"));
    o.where = NULL;
    o.recordings = "tests/data/h200/none.csv";
    assert_int_equal(ws_tune(spec, &o, &r), WS_ENOENT);
    o.recordings = NULL;
    assert_int_equal(ws_tune(spec, &o, &r), WS_EINVAL);
    assert_non_null(strstr(e->message, "has no source"));
    assert_null(r);
    assert_false(ws__fs_exists(in_dir("a.db")));
    ws_spec_free(spec);
}

/* Fixed seed, every strategy: the same answers in the same order, also in a
 * store that holds other runs; another seed asks for others. */
static void seeds(void **state)
{
    const char *strategy, *about;

    (void)state;
    for (unsigned i = 0; (strategy = ws_strategy_name(i, &about)); i++) {
        struct ws_tune_opts o = on(GEMM_DATA, "a.db");
        struct ws_tune_result *a, *b;

        fresh();
        o.where = "pass=3";
        o.strategy = strategy;
        o.budget_trials = 400;
        a = tune(GEMM, &o);
        o.store = in_dir("b.db");
        o.seed = 1;
        b = tune(GEMM, &o);
        ws_tune_result_free(ctx, b);
        if (!strcmp(strategy, "random"))
            assert_false(ws__hash_eq(digest("a.db").h, digest("b.db").h));
        o.seed = 0;
        b = tune(GEMM, &o);
        same_rows(a, b);
        assert_int_equal(b->reused, 0);
        ws_tune_result_free(ctx, b);
        ws_tune_result_free(ctx, a);
    }
}

static const char small[] =
    "{\"General\": {\"BenchmarkName\": \"bowl\"}, \"ConfigurationSpace\": "
    "{\"TuningParameters\": ["
    "{\"Name\": \"A\", \"Values\": \"[i for i in range(20)]\", \"Default\": "
    "99}, {\"Name\": \"B\", \"Values\": \"[i for i in range(20)]\", "
    "\"Default\": %d}], "
    "\"Conditions\": [{\"Expression\": \"A + B != 3\"}]}}";

static void write_text(const char *name, const char *text)
{
    assert_int_equal(ws__fs_write(ctx, in_dir(name), text, strlen(text)), 0);
}

/* A bowl of which `keep_one_in` of three rows are recorded. */
static void write_bowl(int dflt, int keep_of_three)
{
    static char text[1 << 16];
    size_t at = 0;

    snprintf(text, sizeof(text), small, dflt);
    write_text("t1.json", text);
    at += (size_t)snprintf(text, sizeof(text), "A,B,time_us,status\n");
    for (int i = 0; i < 400; i++) {
        int a = i / 20, b = i % 20;

        if ((i * 7 + a) % 3 >= keep_of_three)
            continue;
        if (i % 11 == 5)
            at += (size_t)snprintf(text + at, sizeof(text) - at,
                                   "%d,%d,,RuntimeFailedConfig\n", a, b);
        else
            at += (size_t)snprintf(text + at, sizeof(text) - at,
                                   "%d,%d,%d,ok\n", a, b,
                                   100 + (a - 12) * (a - 12) +
                                       (b - 13) * (b - 13));
    }
    write_text("part.csv", text);
}

static void incomplete(void **state)
{
    struct ws_tune_opts o = on(in_dir("part.csv"), "a.db");
    struct ws_tune_result *r;

    (void)state;
    for (int keep = 1; keep <= 3; keep++) {
        fresh();
        write_bowl(0, keep);
        o.budget_trials = 1000;
        o.strategy = "random";
        r = tune(in_dir("t1.json"), &o);
        assert_int_equal(r->nrow, 1);
        assert_string_equal(r->row->workload, "recorded");
        assert_int_equal(r->missed > 0, keep < 3);
        /* All that is recorded was found, nothing else counted. */
        assert_int_equal(r->row->ok + r->row->failed + (r->row->default_ns > 0),
                         r->recorded);
        assert_int_equal(r->row->filtered, 0);
        assert_int_equal(r->row->oracle_ns > 0, keep == 3);
        if (keep == 3)
            assert_true(r->row->oracle_ns == 100e3 && r->row->best_ns == 100e3);
        ws_tune_result_free(ctx, r);
    }
    /* The default breaks the constraint: the best alone is known. */
    fresh();
    write_bowl(3, 3);
    r = tune(in_dir("t1.json"), &o);
    assert_false(r->row->default_ns > 0);
    assert_true(r->row->best_ns == 100e3 && r->row->speedup == 1);
    assert_non_null(strstr(r->row->failure, "A + B != 3"));
    ws_tune_result_free(ctx, r);
}

/* Stopped anywhere and continued, under misses and failures: the same store,
 * the same rows. */
static void interrupted(void **state)
{
    const char *strategy, *about;

    (void)state;
    write_bowl(0, 2);
    for (unsigned i = 0; (strategy = ws_strategy_name(i, &about)); i++) {
        struct ws_tune_opts o = on(in_dir("part.csv"), "a.db");
        struct ws_tune_result *a, *b = NULL;
        struct ws_ctx *was = ctx;
        struct digest whole;
        int stops = 0;

        fresh();
        o.strategy = strategy;
        o.seed = 5;
        a = tune(in_dir("t1.json"), &o);
        /* These two ask what fits before they plan, so they miss nothing. */
        if (strcmp(strategy, "wave") && strcmp(strategy, "anchors"))
            assert_true(a->missed > 5);
        whole = digest("a.db");
        o.store = in_dir("b.db");
        o.progress = stop_there;
        for (cancel_at = 3;; cancel_at += 9) {
            ctx = t_ctx(NULL); /* one that was cancelled stays so */
            b = tune(in_dir("t1.json"), &o);
            if (!b->stopped)
                break;
            stops++;
            assert_int_equal(b->stopped, WS_ECANCEL);
            ws_tune_result_free(ctx, b);
            ws_ctx_free(ctx);
        }
        assert_true(stops >= 3);
        same_rows(a, b);
        assert_int_equal(digest("b.db").n, whole.n);
        assert_true(ws__hash_eq(digest("b.db").h, whole.h));
        ws_tune_result_free(ctx, b);
        ws_ctx_free(ctx);
        ctx = was;
        ws_tune_result_free(ctx, a);
    }
}

/* What a tune left in its store answers another one. */
static void from_store(void **state)
{
    struct ws_tune_opts o = on(in_dir("part.csv"), "a.db");
    struct ws_tune_result *a, *b;

    (void)state;
    fresh();
    write_bowl(0, 3);
    o.strategy = "grid";
    o.budget_trials = 1000;
    a = tune(in_dir("t1.json"), &o);
    o.recordings = in_dir("a.db");
    o.store = in_dir("b.db");
    b = tune(in_dir("t1.json"), &o);
    assert_int_equal(b->missed, 0);
    assert_int_equal(b->reused, 0); /* another identity */
    assert_true(b->row->oracle_ns == 100e3);
    assert_string_equal(b->row->config, a->row->config);
    assert_int_equal(b->row->ok, a->row->ok);
    assert_int_equal(b->row->failed, a->row->failed);
    ws_tune_result_free(ctx, b);
    /* Two identities in one store do not mix. */
    o.store = in_dir("a.db");
    b = tune(in_dir("t1.json"), &o);
    ws_tune_result_free(ctx, b);
    {
        struct ws_spec *spec;

        assert_int_equal(ws_spec_open(ctx, in_dir("t1.json"), NULL, &spec), 0);
        o.store = in_dir("c.db");
        assert_int_equal(ws_tune(spec, &o, &b), WS_EINVAL);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, "more than one"));
        ws_spec_free(spec);
    }
    ws_tune_result_free(ctx, a);
}

static void data_folder(void **state)
{
    static const struct {
        const char *spec, *file;
        size_t n;
    } cases[] = {
        {"T1_convolution_milo.json", "convolution_milo__A100.csv.gz", 4362},
        {"T1_convolution_milo.json", "convolution_milo__A4000.csv.gz", 4362},
        {"T1_convolution_milo.json", "convolution_milo__A6000.csv.gz", 4362},
        {"T1_dedispersion_milo.json", "dedispersion_milo__A100.csv.gz", 11130},
        {"T1_dedispersion_milo.json", "dedispersion_milo__A4000.csv.gz", 11130},
        {"T1_convolution.json", "convolution__RTX_3090.csv.gz", 6768},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        struct ws_tune_opts o = on(data_path(cases[i].file), "a.db");
        struct ws_tune_result *r;
        double best;
        size_t ok;

        fresh();
        o.budget_trials = 200;
        best = least(o.recordings, "time_ms_median", "status", "ok",
                     "time_ms_median", &ok);
        r = tune(data_path(cases[i].spec), &o);
        assert_int_equal(r->recorded, cases[i].n);
        assert_int_equal(r->missed, 0);
        assert_true(r->row->oracle_ns == best * 1e6);
        assert_true(r->row->best_ns >= r->row->oracle_ns);
        printf("# %s: %.1f%% over the best\n", cases[i].file,
               r->row->regret * 100);
        ws_tune_result_free(ctx, r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h200),        cmocka_unit_test(refused),
        cmocka_unit_test(seeds),       cmocka_unit_test(incomplete),
        cmocka_unit_test(interrupted), cmocka_unit_test(from_store),
        cmocka_unit_test(data_folder),
    };

    return cmocka_run_group_tests_name("tune on recordings", tests, setup,
                                       teardown);
}
