/* t_record.c: recording, replaying, faults: what files may be, what differs
 * and how that is told, and what is remembered over a crash. That every
 * operation comes back as it was is tested on all members in
 * tests/conformance/t_device.c. */
#include "base/t_base.h"

#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/recfile.h"

#define SOURCE "kernel k\n add 0 1\n time 1000\n"
#define BYTES ((uint64_t)64)

static char folder[] = "/tmp/wavesmith-t_record-XXXXXX";
static char path[64]; /* of the recording of the running test */

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "%s/x.wsrec", folder);
    unlink(path);
    return 0;
}

static int open_as(struct ws_ctx *ctx, const char *way, const char *inner,
                   struct ws__device *d)
{
    char name[160];

    snprintf(name, sizeof(name), "%s:%s%s%s", way, path, inner ? ":" : "",
             inner ? inner : "");
    return ws__device_open(ctx, name, d);
}

/* What is asked of a device; `add` tells one text of the kernel from another.
 */
static int work(struct ws_ctx *ctx, struct ws__device *d, float first,
                const char *source, double *ns, float *got)
{
    const struct ws__device_ops *o = d->ops;
    const char *entry = "k";
    struct ws__build b = {.source = source, .entry = &entry, .nentry = 1};
    struct ws__dev_arg arg = {.kind = WS__ARG_TENSOR};
    struct ws__dev_launch l = {.entry = "k",
                               .grid = {1, 1, 1},
                               .block = {1, 1, 1},
                               .arg = &arg,
                               .narg = 1};
    struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    struct ws__dev_batch batch = {
        .prog = &seq, .nprog = 1, .nset = 1, .rounds = 1, .inner = 1};
    float v[BYTES / 4] = {0};
    struct ws__dev_sample s;
    struct ws__built built;
    size_t n;

    WS_TRY(o->build(d->self, &b, &built));
    ws__free(ctx, built.log);
    l.module = built.module;
    WS_TRY(o->alloc(d->self, BYTES, 64, 0, &arg.buffer));
    v[0] = first;
    WS_TRY(o->write(d->self, arg.buffer, 0, v, BYTES));
    WS_TRY(o->run(d->self, &batch, &s, &n));
    if (n != 1)
        return WS_EBUG;
    *ns = s.ns;
    WS_TRY(o->read(d->self, arg.buffer, 0, got, 4));
    o->release(d->self, arg.buffer);
    o->unload(d->self, built.module);
    return 0;
}

/* The first of a batch is timed by both clocks. */
static void both_times_are_kept(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    const struct ws__dev_seq nothing = {0};
    const struct ws__dev_batch b = {
        .prog = &nothing, .nprog = 1, .nset = 1, .rounds = 3, .inner = 2};
    struct ws__dev_sample s[2][3];
    struct ws__device d;
    size_t n;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(open_as(ctx, i ? "replay" : "record",
                                 i ? NULL : "null", &d),
                         0);
        assert_int_equal(d.ops->run(d.self, &b, s[i], &n), 0);
        assert_int_equal(n, 3);
        ws__device_close(&d);
    }
    assert_true(s[0][0].ns > 0 && s[0][0].host_ns == s[0][0].ns);
    assert_true(s[0][1].host_ns == 0);
    for (int i = 0; i < 3; i++)
        assert_true(s[1][i].ns == s[0][i].ns &&
                    s[1][i].host_ns == s[0][i].host_ns);
    ws_ctx_free(ctx);
}

static void record(float first)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device d;
    double ns;
    float got;

    assert_int_equal(open_as(ctx, "record", "null", &d), 0);
    assert_int_equal(work(ctx, &d, first, SOURCE, &ns, &got), 0);
    ws__device_close(&d);
    ws_ctx_free(ctx);
}

static void assert_has(struct ws_ctx *ctx, const char *words)
{
    if (!strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("'%s' is not in: %s", words, ws_ctx_error(ctx)->message);
}

/* --- counts --------------------------------------------------------------- */

/* The null device has none, which is recorded like any other failure. */
static int count(struct ws__device *d, const char *const *metric, size_t n,
                 double *value, uint32_t *passes)
{
    const struct ws__dev_launch l = {.entry = "k",
                                     .grid = {1, 1, 1},
                                     .block = {1, 1, 1}};
    const struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};

    return d->ops->count(d->self, &seq, 0, metric, n, value, passes);
}

static void counts_are_told_apart(void **state)
{
    static const char *const metric[] = {"a", "b"}, *const other[] = {"a", "c"};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device d;
    double v[2] = {1, 1};
    uint32_t passes = 1;

    (void)state;
    assert_int_equal(open_as(ctx, "record", "null", &d), 0);
    assert_int_equal(count(&d, metric, 2, v, &passes), WS_ENOTSUP);
    ws__device_close(&d);
    assert_int_equal(open_as(ctx, "replay", NULL, &d), 0);
    assert_int_equal(count(&d, metric, 2, v, &passes), WS_ENOTSUP);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "have no counters"));
    assert_true(isnan(v[0]) && isnan(v[1]) && passes == 0);
    ws__device_close(&d);
    ws_ctx_free(ctx);
    ctx = t_ctx(NULL);
    assert_int_equal(open_as(ctx, "replay", NULL, &d), 0);
    assert_int_equal(count(&d, other, 2, v, &passes), WS_EMISS);
    assert_non_null(strstr(ws_ctx_error(ctx)->message,
                           "asked for count 'k' flush 0, metrics 2, launches "
                           "1, recorded the same with other content"));
    ws__device_close(&d);
    ws_ctx_free(ctx);
}

/* Results of a count as a file may have them: passes, how many, values. */
static int results(const uint32_t head[2], const double *value, size_t n,
                   double out[2], uint64_t *passes)
{
    static const char *const metric[] = {"a", "b"};
    const struct ws__dev_launch l = {.entry = "k"};
    const struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__call c = {.op = WS__CALL_COUNT,
                         .arg = {0, 2, 1},
                         .seq = &seq,
                         .metric = metric,
                         .value = out};
    struct ws__recreader r = {.ctx = ctx, .path = "x", .version = 3};
    struct ws__record rec = {.op = WS__CALL_COUNT};
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, ctx, 1 << 10);
    ws__put_u32(&b, head[0]);
    ws__put_u32(&b, head[1]);
    for (size_t i = 0; i < n; i++)
        ws__put_f64(&b, value[i]);
    rec.result = ws__reader_of(&b);
    rc = ws__rec_results(&r, &rec, &c);
    *passes = c.result;
    ws__buf_free(&b);
    ws_ctx_free(ctx);
    return rc;
}

static void counts_of_a_file_are_checked(void **state)
{
    static const double good[] = {1.5, (double)NAN},
                        endless[] = {1.5, (double)INFINITY};
    double v[2];
    uint64_t passes;

    (void)state;
    assert_int_equal(results((uint32_t[]){4, 2}, good, 2, v, &passes), 0);
    assert_true(v[0] == 1.5 && isnan(v[1]) && passes == 4);
    assert_int_equal(results((uint32_t[]){4, 2}, good, 1, v, &passes),
                     WS_ECORRUPT);
    assert_true(isnan(v[0]) && isnan(v[1]));
    assert_int_equal(results((uint32_t[]){4, 1}, good, 1, v, &passes),
                     WS_ECORRUPT);
    assert_int_equal(results((uint32_t[]){4, 3}, good, 2, v, &passes),
                     WS_ECORRUPT);
    assert_int_equal(results((uint32_t[]){4, 2}, endless, 2, v, &passes),
                     WS_ECORRUPT);
    assert_true(isnan(v[0]) && isnan(v[1]));
}

/* --- replaying ------------------------------------------------------------ */

static void replays(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device d;
    double ns = 0;
    float got = 0;
    uint64_t h;

    (void)state;
    record(5);
    assert_int_equal(open_as(ctx, "replay", NULL, &d), 0);
    assert_string_equal(d.ops->info(d.self)->name, "null:0");
    assert_int_equal(work(ctx, &d, 5, SOURCE, &ns, &got), 0);
    assert_true(ns == 1000 && got == 6);
    assert_int_equal(d.ops->hash(d.self, 1, &h), WS_EMISS);
    assert_has(ctx, "operation 9 differs");
    assert_has(ctx, "asked for hash buffer 1, recorded nothing more");
    ws__device_close(&d);
    /* A context goes on where it was: there is no second opening. */
    assert_int_equal(open_as(ctx, "replay", NULL, &d), WS_EMISS);
    ws_ctx_free(ctx);
}

static void tells_what_differs(void **state)
{
    static const struct {
        float first;
        const char *source, *words;
    } other[] = {
        {5, "kernel k\n add 0 2\n time 1000\n",
         "operation 2 differs from the recording"},
        {5, "kernel k\n add 0 2\n time 1000\n",
         "asked for build 'k', recorded the same with other content"},
        {6, SOURCE,
         "asked for write buffer 1, offset 0, bytes 64, recorded "
         "the same with other content"},
    };

    (void)state;
    record(5);
    for (size_t i = 0; i < WS_COUNT(other); i++) {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct ws__device d;
        double ns;
        float got;

        assert_int_equal(open_as(ctx, "replay", NULL, &d), 0);
        assert_int_equal(work(ctx, &d, other[i].first, other[i].source, &ns,
                              &got),
                         WS_EMISS);
        assert_has(ctx, other[i].words);
        /* from there on it says nothing */
        assert_int_equal(work(ctx, &d, 5, SOURCE, &ns, &got), WS_EMISS);
        assert_has(ctx, other[i].words);
        ws__device_close(&d);
        ws_ctx_free(ctx);
    }
}

/* What returns nothing tells it at the next operation. */
static void misses_in_silence(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device d;
    double ns;
    float got;

    (void)state;
    record(5);
    assert_int_equal(open_as(ctx, "replay", NULL, &d), 0);
    d.ops->release(d.self, 7);
    ws__error_clear(ctx);
    assert_int_equal(work(ctx, &d, 5, SOURCE, &ns, &got), WS_EMISS);
    assert_has(ctx, "asked for release buffer 7, recorded build 'k'");
    ws__device_close(&d);
    ws_ctx_free(ctx);
}

static int crash_and_again(struct ws_ctx *ctx, const char *way,
                           const char *inner, double *ns)
{
    struct ws__device d;
    float got;
    int rc;

    WS_TRY(open_as(ctx, way, inner, &d));
    rc = work(ctx, &d, 5, SOURCE, ns, &got);
    assert_int_equal(rc, WS_ECRASH);
    assert_has(ctx, "operation 4 ('write') fails by request");
    assert_true(d.ops->fill(d.self, 1, 0) == WS_ECRASH);
    ws__device_close(&d);
    WS_TRY(open_as(ctx, way, inner, &d));
    rc = work(ctx, &d, 5, SOURCE, ns, &got);
    ws__device_close(&d);
    return rc;
}

static void goes_on_after_a_crash(void **state)
{
    static const char inner[] = "fault:4=ECRASH:null";
    struct ws_ctx *ctx = t_ctx(NULL);
    double ns = 0;

    (void)state;
    assert_int_equal(crash_and_again(ctx, "record", inner, &ns), 0);
    ws_ctx_free(ctx);
    ctx = t_ctx(NULL);
    ns = 0;
    assert_int_equal(crash_and_again(ctx, "replay", NULL, &ns), 0);
    assert_true(ns == 1000);
    ws_ctx_free(ctx);
}

/* --- files ---------------------------------------------------------------- */

static void never_written_over(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device d;

    (void)state;
    record(5);
    assert_int_equal(open_as(ctx, "record", "null", &d), WS_EINVAL);
    assert_has(ctx, "is there already");
    ws_ctx_free(ctx);
}

static int replay_all(struct ws_ctx *ctx)
{
    struct ws__device d;
    double ns;
    float got;
    int rc = open_as(ctx, "replay", NULL, &d);

    if (rc == 0)
        rc = work(ctx, &d, 5, SOURCE, &ns, &got);
    ws__device_close(&d);
    return rc;
}

static void write_file(const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* Every byte changed in turn, every length. */
static void damage_is_noticed(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char *data = NULL;
    size_t n = 0;
    int rc;

    (void)state;
    record(5);
    assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &data, &n), 0);
    ws_ctx_free(ctx);
    for (size_t i = 0; i < 2 * n; i++) {
        bool cut = i >= n;

        if (!cut)
            data[i] ^= 0x55;
        write_file(data, cut ? i - n : n);
        ctx = t_ctx(NULL);
        rc = replay_all(ctx);
        if (cut)
            assert_true(rc == WS_ECORRUPT || rc == WS_EMISS);
        else if (i == 8)
            assert_int_equal(rc, WS_EVERSION);
        else if (i < 8)
            assert_int_equal(rc, WS_ECORRUPT);
        else if (i > 16)
            assert_true(rc == WS_ECORRUPT || rc == WS_EMISS);
        ws_ctx_free(ctx);
        if (!cut)
            data[i] ^= 0x55;
    }
    ctx = t_ctx(NULL);
    ws__free(ctx, data);
    ws_ctx_free(ctx);
}

static void reads_have_a_limit(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    uint64_t bytes = WS__REC_READ_MAX + 1;
    void *p = malloc(bytes);
    struct ws__device d;
    uint32_t b;

    (void)state;
    assert_non_null(p);
    assert_int_equal(open_as(ctx, "record", "null", &d), 0);
    assert_int_equal(d.ops->alloc(d.self, bytes, 0, 0, &b), 0);
    assert_int_equal(d.ops->read(d.self, b, 0, p, bytes), WS_ELIMIT);
    assert_has(ctx, "does not fit into a recording");
    /* a recording with a hole would be worthless */
    assert_int_equal(d.ops->fill(d.self, b, 0), WS_ELIMIT);
    ws__device_close(&d);
    ws_ctx_free(ctx);
    free(p);
}

/* --- what fails ----------------------------------------------------------- */

static int fs_calls, fs_fail_at;

static bool fs_trip(int e)
{
    errno = e;
    return ++fs_calls == fs_fail_at;
}

static int f_open(const char *p, int flags, mode_t mode)
{
    return fs_trip(EACCES) ? -1 : open(p, flags, mode);
}

static ssize_t f_write(int fd, const void *p, size_t n)
{
    return fs_trip(ENOSPC) ? -1 : write(fd, p, n);
}

static int f_fsync(int fd)
{
    return fs_trip(EIO) ? -1 : fsync(fd);
}

static int f_close(int fd)
{
    int rc = close(fd);

    return fs_trip(EIO) ? -1 : rc;
}

static const struct ws__fs_ops failing = {
    .open = f_open,
    .read = read,
    .write = f_write,
    .fsync = f_fsync,
    .close = f_close,
};

static void files_fail(void **state)
{
    (void)state;
    for (fs_fail_at = 1;; fs_fail_at++) {
        struct t_alloc a = {0};
        struct ws_ctx *ctx = t_ctx(&a);
        struct ws__device d;
        double ns;
        float got;
        struct stat st;
        int rc;

        unlink(path);
        fs_calls = 0;
        ws__fs_set_ops(&failing);
        rc = open_as(ctx, "record", "null", &d);
        if (rc == 0)
            rc = work(ctx, &d, 5, SOURCE, &ns, &got);
        ws__device_close(&d);
        ws__fs_set_ops(NULL);
        ws_ctx_free(ctx);
        assert_int_equal(a.live, 0);
        assert_true(rc == 0 || rc == WS_EACCES || rc == WS_EFULL ||
                    rc == WS_EIO);
        /* nothing is left that holds no call and blocks the next try */
        assert_true(stat(path, &st) < 0 || st.st_size > 16);
        if (fs_calls < fs_fail_at)
            break;
    }
    assert_true(fs_fail_at > 4);
}

static int record_body(struct ws_ctx *ctx, void *user)
{
    struct ws__device d;
    double ns;
    float got;
    int rc;

    (void)user;
    unlink(path);
    rc = open_as(ctx, "record", "null", &d);
    if (rc == 0)
        rc = work(ctx, &d, 5, SOURCE, &ns, &got);
    ws__device_close(&d);
    return rc;
}

static int replay_body(struct ws_ctx *ctx, void *user)
{
    (void)user;
    return replay_all(ctx);
}

static void memory_fails(void **state)
{
    (void)state;
    assert_true(t_torture(record_body, NULL) > 10);
    unlink(path);
    record(5);
    assert_true(t_torture(replay_body, NULL) > 5);
}

/* --- faults --------------------------------------------------------------- */

static int fill_once(struct ws_ctx *ctx, const char *name)
{
    struct ws__device d;
    uint32_t b = 0;
    int rc = ws__device_open(ctx, name, &d);

    if (rc == 0)
        rc = d.ops->alloc(d.self, BYTES, 0, 0, &b);
    if (rc == 0)
        rc = d.ops->fill(d.self, b, 1);
    ws__device_close(&d);
    return rc;
}

/* Counted over openings; only one fails. */
static void one_operation_fails(void **state)
{
    static const struct {
        const char *name;
        int rc[3];
    } list[] = {
        {"fault:1:null", {WS_EDEVICE, 0, 0}},
        {"fault:2=ELAUNCH:null", {WS_ELAUNCH, 0, 0}},
        {"fault:fill@2=ENOMEM:null", {0, WS_ENOMEM, 0}},
        {"fault:*@4=ECRASH:null", {0, WS_ECRASH, 0}},
        {"fault:open@3=ENODEVICE:null", {0, 0, WS_ENODEVICE}},
        {"fault:read@1:null", {0, 0, 0}},
        {"fault:fill@1:fault:fill@1=EIO:null", {WS_EDEVICE, WS_EIO, 0}},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(list); i++) {
        struct t_alloc a = {0};
        struct ws_ctx *ctx = t_ctx(&a);

        for (int k = 0; k < 3; k++)
            assert_int_equal(fill_once(ctx, list[i].name), list[i].rc[k]);
        ws_ctx_free(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(both_times_are_kept, set_up),
        cmocka_unit_test_setup(counts_are_told_apart, set_up),
        cmocka_unit_test_setup(counts_of_a_file_are_checked, set_up),
        cmocka_unit_test_setup(replays, set_up),
        cmocka_unit_test_setup(tells_what_differs, set_up),
        cmocka_unit_test_setup(misses_in_silence, set_up),
        cmocka_unit_test_setup(goes_on_after_a_crash, set_up),
        cmocka_unit_test_setup(never_written_over, set_up),
        cmocka_unit_test_setup(damage_is_noticed, set_up),
        cmocka_unit_test_setup(reads_have_a_limit, set_up),
        cmocka_unit_test_setup(files_fail, set_up),
        cmocka_unit_test_setup(memory_fails, set_up),
        cmocka_unit_test_setup(one_operation_fails, set_up),
    };
    int rc;

    if (!mkdtemp(folder))
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return rc;
}
