/*
 * t_tune.c: a whole tune through the public interface while something fails:
 * every allocation, every operation of the device with each of its codes,
 * every call to the file system, in turn. Each time: the code fits, nothing
 * leaks, the store verifies, what it held is still there; and the same command
 * without the failure ends with the same answer as one that never met it, no
 * trial twice.
 *
 * The device is `null` in this process, its times are stated, so the answer of
 * a tune is known to the digit. This program is its own worker for the
 * reference (and for isolate:null). Points are sampled: all of the first ones,
 * then every WS_STRIDE-th with an offset by WS_SEED; WS_SOAK=1 takes them all.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "device/device.h"
#include "reference/reference.h"
#include "store/store.h"

#define SPEC "tests/data/torture/kernels/twice.yaml"
#define WORKER_ENV "WS_T_TUNE_WORKER"
#define NEVER "fault:999999999:"
#define FIRST 16 /* points that are taken one by one */

/* ---- the reference, and this program as a worker ------------------------- */

static int run_twice(const struct ws__ref_call *call)
{
    const struct ws__ref_tensor *a = &call->tensor[0], *c = &call->tensor[1];

    for (uint64_t i = 0; i < a->elements; i++)
        c->result[i] = 2 * ws__dtype_get(a->dtype, a->data, (size_t)i);
    return 0;
}

static const struct ws__native_reference twice = {.abi = 1,
                                                  .name = "twice",
                                                  .run = run_twice};
const struct ws__native_reference *const ws__native_table[] = {&twice, NULL};

static void work(void)
{
    struct ws_ctx *c = ws_ctx_new(NULL);
    enum ws__worker_role role;
    int rc = WS_ENOMEM;

    if (c)
        rc = ws__worker_hello(c, WS__WORKER_FD, &role);
    if (rc >= 0)
        rc = role == WS__ROLE_REFERENCE ? ws__reference_serve(c, WS__WORKER_FD)
                                        : ws__device_serve(c, WS__WORKER_FD);
    _exit(rc < 0);
}

/* ---- one tune ------------------------------------------------------------ */

/* In memory, if it can be: a store syncs at every trial. */
static char folder[32] = "/dev/shm/ws_t_tune_XXXXXX";
static char store[100], pack[100], cache[100], exe[512];
static long points, stride = 1;
static uint64_t seed;

struct answer {
    int rc, stopped;
    uint64_t trials, ops; /* ops: of the device, where nothing fails */
    char text[2000];      /* the rows */
};

static void print_rows(const struct ws_tune_result *r, struct answer *a)
{
    size_t used = 0;

    for (size_t i = 0; i < r->nrow && used < sizeof(a->text); i++) {
        const struct ws_tune_row *w = &r->row[i];

        used += (size_t)snprintf(a->text + used, sizeof(a->text) - used,
                                 "%s: %s %.6g -> %.6g, ok %llu failed %llu\n",
                                 w->workload, w->config ? w->config : "none",
                                 w->default_ns, w->best_ns,
                                 (unsigned long long)w->ok,
                                 (unsigned long long)w->failed);
    }
}

static int tune_in(struct ws_ctx *ctx, const char *device, struct answer *out)
{
    struct ws_tune_opts o = {.size = sizeof(o),
                             .device = device,
                             .strategy = "grid",
                             .store = store,
                             .pack = pack,
                             .budget_trials = 20,
                             .seed = 5};
    struct ws_tune_result *r = NULL;
    struct ws_spec *spec = NULL;
    int rc = ws_spec_open(ctx, SPEC, NULL, &spec);

    if (rc == 0)
        rc = ws_tune(spec, &o, &r);
    if (rc == 0) {
        out->stopped = r->stopped;
        out->trials = r->trials;
        print_rows(r, out);
        if (!r->stopped && r->pack_status)
            out->stopped = r->pack_status;
    }
    if (rc < 0)
        snprintf(out->text, sizeof(out->text), "%s",
                 ws_ctx_error(ctx)->message);
    out->rc = rc;
    ws_tune_result_free(ctx, r);
    ws_spec_free(spec);
    return rc;
}

static struct ws_ctx *new_ctx(struct t_alloc *a)
{
    struct ws_alloc alloc = {t_realloc, t_free, a};
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .turn_dir = getenv("WAVESMITH_TURNS"),
                            .alloc = &alloc,
                            .worker_path = exe,
                            .share_dir = ".",
                            .cache_dir = cache};

    return ws_ctx_new(&o);
}

/* In a context of its own, which must be empty afterwards. */
static struct answer tune(const char *device, struct t_alloc *a)
{
    struct t_alloc none = {0};
    struct answer out = {0};
    struct ws_ctx *ctx;

    a = a ? a : &none;
    ctx = new_ctx(a);
    if (!ctx) {
        out.rc = WS_ENOMEM;
        return out;
    }
    tune_in(ctx, device, &out);
    if (!strncmp(device, NEVER, strlen(NEVER)) && !a->fail_at)
        out.ops = *ws__ctx_counter(ctx, "fault:999999999");
    ws_ctx_free(ctx);
    assert_int_equal(a->live, 0);
    return out;
}

static void clean(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        char path[400];

        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        if (unlink(path) && errno == EISDIR)
            rmdir(path); /* where workers compile */
    }
    if (d)
        closedir(d);
}

/* ---- what the store holds ------------------------------------------------ */

#define MAX_TRIALS 200

struct held {
    size_t n;
    uint64_t key[MAX_TRIALS]; /* by what was asked and answered */
    bool single[MAX_TRIALS];  /* not of a pair, and not asked once more */
    uint64_t asked[MAX_TRIALS];
};

static int see(void *user, const struct ws__run *run,
               const struct ws__question *q, const struct ws__trial *t)
{
    struct held *h = user;
    struct ws__hash x = {t->workload, (uint64_t)t->effort};

    (void)run;
    (void)q;
    assert_true(h->n < MAX_TRIALS);
    x = ws__hash_mix(x, t->candidate.config.at, sizeof(t->candidate.config.at));
    h->asked[h->n] = x.lo;
    /* A default's crash or hang is, since all is compared with it. */
    h->single[h->n] =
        !t->block && !(t->effort == WS__NORMAL &&
                       (t->verdict == WS__V_HANG || t->verdict == WS__V_CRASH));
    x = ws__hash_u64(ws__hash_u64(x, (uint64_t)t->verdict), t->block);
    h->key[h->n++] = ws__hash_u64(x, t->id).lo;
    return 0;
}

static void look(struct held *h)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    struct ws__store *s = NULL;

    memset(h, 0, sizeof(*h));
    if (access(store, F_OK) == 0) {
        if (ws__store_open(ctx, store, false, &s) < 0 ||
            ws__store_verify(s) < 0 || ws__store_each(s, see, h) < 0)
            fail_msg("the store: %s", ws_ctx_error(ctx)->message);
        ws__store_close(s);
    }
    ws_ctx_free(ctx);
    assert_int_equal(a.live, 0);
}

static void none_twice(const struct held *h)
{
    for (size_t i = 0; i < h->n; i++)
        for (size_t k = 0; k < i; k++)
            if (h->single[i] && h->single[k] && h->asked[i] == h->asked[k])
                fail_msg("trials %zu and %zu are the same question", k, i);
}

static void none_lost(const struct held *before, const struct held *after)
{
    for (size_t i = 0; i < before->n; i++) {
        bool found = false;

        for (size_t k = 0; k < after->n; k++)
            found = found || before->key[i] == after->key[k];
        if (!found)
            fail_msg("trial %zu of %zu is lost", i, before->n);
    }
}

/* ---- after a failure ----------------------------------------------------- */

/* same: what failed is no verdict on a candidate, and changes nothing. */
static struct answer whole; /* of a tune that meets no failure */

static bool is_one_of(int code, const int *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (code == list[i])
            return true;
    return code == 0;
}

/* How it ended is one of `codes` (or well); then the same again without the
 * failure. same: to the same answer as ever. */
static void check(const char *what, long at, const struct answer *a,
                  const int *codes, size_t n, bool same)
{
    static struct held before, after;
    struct answer again;

    points++;
    if (!is_one_of(a->rc, codes, n) || !is_one_of(a->stopped, codes, n))
        fail_msg("%s %ld: %s, stopped by %s: %s", what, at,
                 ws_status_name(a->rc), ws_status_name(a->stopped), a->text);
    if (same && a->rc == 0 && a->stopped == 0)
        assert_string_equal(a->text, whole.text);
    look(&before);
    none_twice(&before);
    again = tune(NEVER "null", NULL);
    if (again.rc || again.stopped || (same && strcmp(again.text, whole.text)))
        fail_msg("%s %ld, again: %s, %s:\n%s", what, at,
                 ws_status_name(again.rc), ws_status_name(again.stopped),
                 again.text);
    if (!same && !a->rc && !a->stopped && strcmp(again.text, a->text) &&
        strcmp(again.text, whole.text))
        fail_msg("%s %ld, again:\n%sfirst:\n%s", what, at, again.text, a->text);
    look(&after);
    none_twice(&after);
    none_lost(&before, &after);
    clean();
}

/* Which points: all of the first, then by the stride. */
static long next(long at, long step)
{
    if (at < FIRST || stride == 0)
        return at + 1;
    step *= stride;
    return at == FIRST ? at + 1 + (long)(seed % (uint64_t)step) : at + step;
}

/* ---- allocations --------------------------------------------------------- */

static void memory(const char *device, long step)
{
    static const int codes[] = {WS_ENOMEM};
    long at = 1;

    for (;; at = next(at, step)) {
        struct t_alloc a = {.fail_at = at};
        struct answer r = tune(device, &a);

        check("allocation", at, &r, codes, WS_COUNT(codes), true);
        if (a.calls < at)
            break;
    }
    print_message("# of %ld allocations\n", at);
    assert_true(at > 300);
}

static void memory_runs_out(void **state)
{
    (void)state;
    memory(NEVER "null", 13);
}

static void memory_runs_out_in_a_worker(void **state)
{
    (void)state;
    memory(NEVER "isolate:null", 101);
}

/* ---- the device ---------------------------------------------------------- */

static const struct {
    const char *code;
    int codes[2]; /* how the tune may end */
    bool verdict; /* one is believed, and kept */
} faults[] = {
    {"EDEVICE", {WS_EDEVICE, 0}, false},
    {"ECRASH", {WS_EDEVICE, WS_ECRASH}, false},
    {"EPROTO", {WS_EDEVICE, WS_EPROTO}, false},
    {"ENOMEM", {WS_ENOMEM, 0}, false},
    {"EIO", {WS_EIO, 0}, false},
    {"EFULL", {WS_EFULL, 0}, false},
    {"EMISS", {WS_EMISS, 0}, false},
    {"ETIMEOUT", {WS_EDEVICE, WS_ETIMEOUT}, true},
    {"EDEVMEM", {WS_EDEVMEM, WS_EDEVICE}, true},
    {"ELAUNCH", {WS_ELAUNCH, WS_EDEVICE}, true},
    {"EBUILD", {WS_EBUILD, WS_EDEVICE}, true},
};

static void device(const char *inner, size_t i, long step)
{
    long at = 1;

    for (;; at = next(at, step)) {
        char name[100];
        struct answer r;

        snprintf(name, sizeof(name), "fault:%ld=%s:%s", at, faults[i].code,
                 inner);
        r = tune(name, NULL);
        check(name, at, &r, faults[i].codes, 2, !faults[i].verdict);
        if ((uint64_t)at > whole.ops)
            break;
    }
}

static void device_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(faults); i++)
        device("null", i, 113);
}

static void device_fails_in_a_worker(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(faults); i++)
        device("isolate:null", i, 797);
}

/* ---- files --------------------------------------------------------------- */

static struct {
    long calls, at;
    int e;
} fs;

static bool trip(void)
{
    errno = fs.e;
    return ++fs.calls == fs.at;
}

static int f_open(const char *path, int flags, mode_t mode)
{
    return trip() ? -1 : open(path, flags, mode);
}
static ssize_t f_read(int fd, void *p, size_t n)
{
    return trip() ? -1 : read(fd, p, n);
}
static ssize_t f_write(int fd, const void *p, size_t n)
{
    return trip() ? -1 : write(fd, p, n);
}
static int f_fsync(int fd)
{
    return trip() ? -1 : fsync(fd);
}
static int f_close(int fd)
{
    int rc = close(fd);

    return trip() ? -1 : rc;
}
static int f_rename(const char *from, const char *to)
{
    return trip() ? -1 : rename(from, to);
}
static int f_mkdir(const char *path, mode_t mode)
{
    return trip() ? -1 : mkdir(path, mode);
}
static int f_unlink(const char *path)
{
    return trip() ? -1 : unlink(path);
}

static const struct ws__fs_ops failing = {f_open,  f_read,   f_write, f_fsync,
                                          f_close, f_rename, f_mkdir, f_unlink};

static void files_fail(void **state)
{
    static const struct {
        int e, code;
    } list[] = {{ENOSPC, WS_EFULL}, {EIO, WS_EIO}, {EACCES, WS_EACCES}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(list); i++)
        for (long at = 1;; at++) {
            struct answer r;

            fs.calls = 0;
            fs.at = at;
            fs.e = list[i].e;
            ws__fs_set_ops(&failing);
            r = tune(NEVER "null", NULL);
            ws__fs_set_ops(NULL);
            check("file operation", at, &r, &list[i].code, 1, true);
            if (fs.calls < at)
                break;
        }
}

/* ---- the whole ----------------------------------------------------------- */

static int setup(void **state)
{
    const char *soak = getenv("WS_SOAK"), *s = getenv("WS_SEED");
    struct held h;

    (void)state;
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) <= 0 ||
        setenv(WORKER_ENV, "1", 1))
        return -1;
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/ws_t_tune_XXXXXX");
        if (!mkdtemp(folder))
            return -1;
    }
    snprintf(store, sizeof(store), "%s/store.db", folder);
    snprintf(pack, sizeof(pack), "%s/t.wspack", folder);
    snprintf(cache, sizeof(cache), "%s", folder);
    stride = soak && *soak ? 0 : 1;
    seed = s ? strtoull(s, NULL, 10) : ws__wall_ns() / 1000;
    print_message("# WS_SEED=%llu\n", (unsigned long long)seed);
    whole = tune(NEVER "null", NULL);
    print_message("%s", whole.text);
    look(&h);
    none_twice(&h);
    print_message("# %zu trials, %llu operations of the device\n", h.n,
                  (unsigned long long)whole.ops);
    clean();
    return whole.rc || whole.stopped || !h.n ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    print_message("# %ld points\n", points);
    clean();
    return rmdir(folder);
}

/* A failed test leaves its store behind. */
static int tidy(void **state)
{
    (void)state;
    ws__fs_set_ops(NULL);
    clean();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(memory_runs_out, tidy),
        cmocka_unit_test_teardown(memory_runs_out_in_a_worker, tidy),
        cmocka_unit_test_teardown(device_fails, tidy),
        cmocka_unit_test_teardown(device_fails_in_a_worker, tidy),
        cmocka_unit_test_teardown(files_fail, tidy),
    };

    if (getenv(WORKER_ENV))
        work();
    return cmocka_run_group_tests(tests, setup, teardown);
}
