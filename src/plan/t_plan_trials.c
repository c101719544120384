/*
 * t_plan_trials.c: a store's trials at the public interface: filters and the
 * newest, names, folders, and files that appear whole or not at all, whatever
 * allocation or file operation fails.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"

static char dir[32], store[64], file[64];

static const char *data_path(char *out, size_t n, const char *name)
{
    const char *root = getenv("WS_ROOT");

    snprintf(out, n, "%s/tests/%s", root ? root : ".", name);
    return out;
}

/* Each test gets a folder with what release 0.1.0 of format 1 left. */
static int set_up(void **state)
{
    char from[512], *data;
    struct ws_ctx *ctx = t_ctx(NULL);
    size_t n;
    (void)state;

    /* in memory if there is such a folder: thousands of files are synced */
    snprintf(dir, sizeof(dir), "%s/t_trials.XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(dir))
        return -1;
    snprintf(store, sizeof(store), "%s/store.db", dir);
    snprintf(file, sizeof(file), "%s/out.jsonl", dir);
    data_path(from, sizeof(from), "data/store/format1.db");
    if (ws__fs_read(ctx, from, 1 << 20, &data, &n) ||
        ws__fs_write(ctx, store, data, n))
        return -1;
    ws__free(ctx, data);
    ws_ctx_free(ctx);
    return 0;
}

static int tear_down(void **state)
{
    pid_t pid = fork();
    (void)state;

    if (!pid) {
        execlp("rm", "rm", "-rf", dir, (char *)NULL);
        _exit(1);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

/* --- listing ------------------------------------------------------------- */

struct seen {
    uint64_t id[32];
    size_t n;
    size_t nsample;
    char config[64], index[64], workload[64], strategy[32];
};

static int see(void *user, const struct ws_trial_info *t)
{
    struct seen *s = user;

    assert_true(s->n < WS_COUNT(s->id));
    s->id[s->n++] = t->id;
    s->nsample = t->nsample;
    snprintf(s->index, sizeof(s->index), "%s", t->config_index);
    snprintf(s->strategy, sizeof(s->strategy), "%s", t->strategy);
    snprintf(s->config, sizeof(s->config), "%s", t->config ? t->config : "?");
    snprintf(s->workload, sizeof(s->workload), "%s",
             t->workload ? t->workload : "?");
    assert_non_null(t->verdict);
    return 0;
}

static size_t list(struct ws_ctx *ctx, struct ws_trials_opts o, struct seen *s)
{
    o.size = sizeof(o);
    if (!o.store)
        o.store = store;
    memset(s, 0, sizeof(*s));
    assert_int_equal(ws_trials_each(ctx, &o, see, s), 0);
    return s->n;
}

static void test_filters(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_trials_opts none = {.store = store, .verdict = "fine"};
    struct seen s;
    (void)state;

#define LIST(...) list(ctx, (struct ws_trials_opts){__VA_ARGS__}, &s)
    assert_int_equal(LIST(.run = 0), 9);
    assert_int_equal(s.id[0], 1);
    assert_int_equal(s.id[8], 9);
    assert_string_equal(s.config, "?");
    assert_string_equal(s.index, "977");
    assert_string_equal(s.strategy, "hill");
    assert_int_equal(s.nsample, 4);
    assert_int_equal(LIST(.limit = 4), 4);
    assert_int_equal(s.id[0], 6);
    assert_int_equal(s.id[3], 9);
    assert_int_equal(LIST(.limit = 100), 9);
    assert_int_equal(LIST(.run = 2), 1);
    assert_int_equal(s.id[0], 9);
    assert_int_equal(LIST(.run = 1, .limit = 2), 2);
    assert_int_equal(s.id[1], 8);
    assert_int_equal(LIST(.run = 7), 0);
    assert_int_equal(LIST(.run = 7, .limit = 3), 0);
    assert_int_equal(LIST(.verdict = "ok"), 6);
    assert_int_equal(LIST(.verdict = "wrong"), 3);
    assert_int_equal(LIST(.device = "GPU"), 8); /* the first has no name */
    assert_int_equal(LIST(.device = "00000000000000090000"), 9);
    assert_int_equal(LIST(.device = "0000000"), 0); /* too short for a hash */
    assert_int_equal(LIST(.since_ns = UINT64_C(1700000000000000006)), 2);
    assert_int_equal(LIST(.workload = "00000000000000c80000000000000001"), 3);
    assert_int_equal(LIST(.workload = "M=1"), 0);
#undef LIST
    assert_int_equal(ws_trials_each(ctx, &none, see, &s), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "too_fast"));
    ws_ctx_free(ctx);
}

static int stop_at_second(void *user, const struct ws_trial_info *t)
{
    (void)user;
    return t->id == 2 ? 77 : 0;
}

static int count_run(void *user, const struct ws_run_info *r)
{
    size_t *n = user;

    ++*n;
    assert_int_equal(r->id, *n);
    assert_int_equal(r->trials, *n == 1 ? 8 : 1);
    assert_int_equal(r->verdicts[1], *n == 1 ? 6 : 0);
    assert_int_equal(r->verdicts[6], *n == 1 ? 2 : 1);
    assert_false(r->measuring);
    return 0;
}

static void test_walks(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_trials_opts o = {.size = sizeof(o), .store = dir};
    uint64_t trials, runs;
    size_t n = 0;
    (void)state;

    assert_int_equal(ws_trials_each(ctx, &o, stop_at_second, NULL), 77);
    assert_int_equal(ws_trials_runs(ctx, &o, count_run, &n), 0);
    assert_int_equal(n, 2);
    n = 1;
    o.run = 2;
    assert_int_equal(ws_trials_runs(ctx, &o, count_run, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(ws_trials_verify(ctx, dir, &trials, &runs), 0);
    assert_int_equal(trials, 9);
    assert_int_equal(runs, 2);
    assert_int_equal(ws_trials_verify(ctx, NULL, NULL, NULL), WS_EINVAL);
    ws_ctx_cancel(ctx);
    assert_int_equal(ws_trials_each(ctx, &o, stop_at_second, NULL), WS_ECANCEL);
    ws_ctx_free(ctx);
}

/* STORE may be the file, its folder, or the folder of the project. */
static void test_folders(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char project[64], path[80];
    (void)state;

    snprintf(project, sizeof(project), "%s/.wavesmith", dir);
    assert_int_equal(mkdir(project, 0777), 0);
    assert_int_equal(ws_trials_verify(ctx, project, NULL, NULL), WS_ENOENT);
    snprintf(path, sizeof(path), "%s/store.db", project);
    assert_int_equal(rename(store, path), 0);
    assert_int_equal(ws_trials_verify(ctx, path, NULL, NULL), 0);
    assert_int_equal(ws_trials_verify(ctx, project, NULL, NULL), 0);
    assert_int_equal(ws_trials_verify(ctx, dir, NULL, NULL), 0);
    assert_int_equal(ws_trials_verify(ctx, store, NULL, NULL), WS_ENOENT);
    ws_ctx_free(ctx);
}

/* Names come with what a tune wrote. */
static void test_names(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_trials_imported r;
    char from[512], new[64];
    struct ws_trials_import_opts o = {.size = sizeof(o), .store = new};
    struct seen s;
    (void)state;

    snprintf(new, sizeof(new), "%s/new/store.db", dir);
    o.file =
        data_path(from, sizeof(from), "fuzz/corpus/trials_import/tune3.jsonl");
    assert_int_equal(ws_trials_import(ctx, &o, &r), 0);
    assert_int_equal(r.trials, 2);
    assert_int_equal(r.specs, 1);
#define LIST(...)                                                              \
    list(ctx, (struct ws_trials_opts){.store = new, __VA_ARGS__}, &s)
    assert_int_equal(LIST(.workload = "M=1"), 1);
    assert_string_equal(s.config, "BX=8,COLS=1,UNROLL=4");
    assert_string_equal(s.workload, "M=1,N=1024,K=1024,T=float32");
    assert_int_equal(LIST(.workload = "K=1024,T=float32"), 2);
    assert_int_equal(LIST(.workload = "K=1024,T=float16"), 0);
    assert_int_equal(LIST(.workload = "K=102"), 0);
#undef LIST
    ws_ctx_free(ctx);
}

/* --- files --------------------------------------------------------------- */

static struct {
    long calls, fail_at;
} ops;

static bool fails(void)
{
    if (++ops.calls != ops.fail_at)
        return false;
    errno = EIO;
    return true;
}

static int f_open(const char *path, int flags, mode_t mode)
{
    return fails() ? -1 : open(path, flags, mode);
}

static ssize_t f_read(int fd, void *p, size_t n)
{
    return fails() ? -1 : read(fd, p, n);
}

static ssize_t f_write(int fd, const void *p, size_t n)
{
    return fails() ? -1 : write(fd, p, n < 1000 ? n : 1000);
}

static int f_fsync(int fd)
{
    return fails() ? -1 : fsync(fd);
}

static int f_close(int fd)
{
    int rc = close(fd);

    return fails() ? -1 : rc;
}

static int f_rename(const char *from, const char *to)
{
    return fails() ? -1 : rename(from, to);
}

static int f_mkdir(const char *path, mode_t mode)
{
    return fails() ? -1 : mkdir(path, mode);
}

static int f_unlink(const char *path)
{
    return unlink(path);
}

static const struct ws__fs_ops failing = {f_open,  f_read,   f_write, f_fsync,
                                          f_close, f_rename, f_mkdir, f_unlink};

static void expect_no_temporary(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)))
        if (strstr(e->d_name, ".tmp"))
            fail_msg("'%s' is left", e->d_name);
    closedir(d);
}

/* The file has the old content or the new, and nothing is left beside it. */
static void test_export_failures(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_trials_export_opts o = {.size = sizeof(o),
                                      .store = store,
                                      .file = file};
    uint64_t records;
    char *text;
    size_t n;
    int rc;
    (void)state;

    for (long i = 1;; i++) {
        assert_int_equal(ws__fs_write(ctx, file, "{old", 4), 0);
        ops.calls = 0;
        ops.fail_at = i;
        ws__fs_set_ops(&failing);
        rc = ws_trials_export(ctx, &o, &records);
        ws__fs_set_ops(NULL);
        assert_int_equal(ws__fs_read(ctx, file, 1 << 20, &text, &n), 0);
        if (rc) {
            assert_int_equal(rc, WS_EIO);
            assert_true(!strcmp(text, "{old") || n > 5000);
        } else {
            assert_true(n > 5000);
        }
        ws__free(ctx, text);
        expect_no_temporary(dir);
        if (ops.calls < i)
            break;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(records, 10);
    ws_ctx_free(ctx);
}

static void test_import_failures(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char new[64];
    struct ws_trials_export_opts out = {.size = sizeof(out),
                                        .store = store,
                                        .file = file};
    struct ws_trials_import_opts in = {.size = sizeof(in),
                                       .store = new,
                                       .file = file};
    struct ws_trials_imported r;
    uint64_t trials;
    int rc;
    (void)state;

    snprintf(new, sizeof(new), "%s/a/b/store.db", dir);
    assert_int_equal(ws_trials_export(ctx, &out, NULL), 0);
    for (long i = 1;; i++) {
        ops.calls = 0;
        ops.fail_at = i;
        ws__fs_set_ops(&failing);
        rc = ws_trials_import(ctx, &in, &r);
        ws__fs_set_ops(NULL);
        if (ops.calls < i)
            break;
        if (rc) { /* nothing, or an empty store */
            assert_int_equal(rc, WS_EIO);
            if (ws__fs_exists(new)) {
                assert_int_equal(ws_trials_verify(ctx, new, &trials, NULL), 0);
                assert_int_equal(trials, 0);
            }
        }
    }
    assert_int_equal(rc, 0);
    assert_int_equal(ws_trials_verify(ctx, new, &trials, NULL), 0);
    assert_int_equal(trials, 9);
    ws_ctx_free(ctx);
}

/* --- memory -------------------------------------------------------------- */

static int all_of_it(struct ws_ctx *ctx, void *user)
{
    struct ws_trials_opts o = {.size = sizeof(o), .store = store, .limit = 5};
    struct ws_trials_export_opts out = {.size = sizeof(out),
                                        .store = store,
                                        .file = file};
    char new[64];
    struct ws_trials_import_opts in = {.size = sizeof(in),
                                       .store = new,
                                       .file = file};
    struct ws_trials_imported r;
    struct seen s = {.n = 0};
    size_t n = 0;
    (void)user;

    snprintf(new, sizeof(new), "%s/new.db", dir);
    WS_TRY(ws_trials_each(ctx, &o, see, &s));
    o.limit = 0;
    WS_TRY(ws_trials_runs(ctx, &o, count_run, &n));
    WS_TRY(ws_trials_export(ctx, &out, NULL));
    WS_TRY(ws_trials_import(ctx, &in, &r));
    assert_true(r.trials == 9 || r.matched == 10);
    return ws_trials_verify(ctx, new, NULL, NULL);
}

static void test_torture(void **state)
{
    (void)state;
    assert_true(t_torture(all_of_it, NULL) > 50);
}

/* --- results of other tools ---------------------------------------------- */

static const char space[] =
    "{\"General\": {\"BenchmarkName\": \"k\"}, \"ConfigurationSpace\":"
    " {\"TuningParameters\": ["
    "{\"Name\": \"BM\", \"Values\": \"[16, 32, 64]\", \"Default\": 16},"
    "{\"Name\": \"BN\", \"Values\": \"[8, 16]\", \"Default\": 8}]}}";
static const char matrix[] = "BM,BN,time_ms\n64,16,0.75\n16,8,1.5\n32,8,1.25\n"
                             "128,8,9\n";

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* In, out in each format, and in again: the same times by the same names. */
static int exchange(struct ws_ctx *ctx, void *user)
{
    static const char *const formats[] = {"csv", "t4", "cache"};
    char t1[64], csv[64], one[64], two[64];
    struct ws_trials_import_opts in = {.size = sizeof(in),
                                       .store = one,
                                       .file = csv,
                                       .device = "A100"};
    struct ws_trials_export_opts out = {.size = sizeof(out),
                                        .store = one,
                                        .file = file};
    struct ws_trials_opts o = {.size = sizeof(o), .store = two, .limit = 1};
    struct ws_trials_imported r;
    struct seen s = {.n = 0};
    int rc;
    (void)user;

    snprintf(t1, sizeof(t1), "%s/t1.json", dir);
    snprintf(csv, sizeof(csv), "%s/r.csv", dir);
    snprintf(one, sizeof(one), "%s/one.db", dir);
    put_text(t1, space);
    put_text(csv, matrix);
    WS_TRY(ws_spec_open(ctx, t1, NULL, &in.spec));
    out.spec = in.spec;
    WS_TRY_DONE(ws_trials_import(ctx, &in, &r));
    assert_int_equal(r.trials + r.specs + r.matched, 4);
    assert_int_equal(r.foreign, 1);
    in.file = file;
    in.store = two;
    for (size_t i = 0; i < WS_COUNT(formats); i++) {
        snprintf(two, sizeof(two), "%s/%s.db", dir, formats[i]);
        out.format = formats[i];
        WS_TRY_DONE(ws_trials_export(ctx, &out, NULL));
        WS_TRY_DONE(ws_trials_import(ctx, &in, &r));
        s.n = 0;
        WS_TRY_DONE(ws_trials_each(ctx, &o, see, &s));
        assert_string_equal(s.config, "BM=64,BN=16"); /* sorted now */
        assert_string_equal(s.strategy, "import");
    }
done:
    ws_spec_free(in.spec);
    return rc;
}

static void test_exchange(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_trials_export_opts out = {.size = sizeof(out),
                                        .store = store,
                                        .file = file,
                                        .format = "t4"};
    (void)state;

    assert_int_equal(exchange(ctx, NULL), 0);
    assert_int_equal(ws_trials_export(ctx, &out, NULL), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "--spec"));
    ws_ctx_free(ctx);
}

/* Once all are there, so that the stores are not the same each time. */
static void test_exchange_torture(void **state)
{
    (void)state;
    assert_true(t_torture(exchange, NULL) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
        T(test_filters), T(test_walks),           T(test_folders),
        T(test_names),   T(test_export_failures), T(test_import_failures),
        T(test_torture), T(test_exchange),        T(test_exchange_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
