/*
 * t_worker_lies.c: a worker that answers wrongly: rubbish, half of something,
 * lengths that nobody has, another type, a version that is not ours, nothing
 * at all. This program is its own worker: it behaves until a given request,
 * then lies in a given way. The tool's side must say so with a code and words,
 * soon, and be as it was: no process, no memory, no descriptor left.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/spawn.h"
#include "device/devwire.h"

#define LIE_ENV "WS_T_LIE" /* "<which> <after how many answers>" */
#define LIMIT_NS 300000000u
#define SOON_NS 20000000000u

/* --- the worker ------------------------------------------------------------
 */

struct link {
    int sock;
    int answers, lie_at;
    unsigned char head[8]; /* of the answer to be sent */
};

static void put(int sock, const void *p, size_t n)
{
    while (n) {
        ssize_t done = send(sock, p, n, MSG_NOSIGNAL);

        if (done <= 0)
            _exit(9);
        p = (const char *)p + done;
        n -= (size_t)done;
    }
}

static void put_head(int sock, uint32_t length, uint32_t type)
{
    const uint32_t head[2] = {length, type};

    put(sock, head, sizeof(head));
}

static void rubbish(int sock, uint32_t type, size_t n, uint64_t seed)
{
    struct ws__rng r;

    ws__rng_seed(&r, seed);
    put_head(sock, (uint32_t)n, type);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)ws__rng_u64(&r);

        if (i < 4 && seed % 2) /* a status of 0, so that more is read */
            c = 0;
        put(sock, &c, 1);
    }
}

static void lie(int sock, uint32_t type, const char *which)
{
    static const char *const names[] = {
        "silent",     "exit",       "half head", "half body", "huge",
        "other type", "empty",      "short",     "code",      "twice",
        "noise",      "no message", "crash",     "rubbish",   "rubbish 0",
    };
    const uint32_t code[2] = {0x7fffffff, 0}, fail = (uint32_t)WS_EDEVICE;
    size_t i = 0;

    while (i < WS_COUNT(names) && strcmp(names[i], which))
        i++;
    switch (i) {
    case 0:
        pause();
        break;
    case 1:
        _exit(7);
    case 2:
        put(sock, "\1\0\0", 3);
        _exit(0);
    case 3:
        put_head(sock, 100, type);
        put(sock, "0123456789", 10);
        _exit(0);
    case 4:
        put_head(sock, 0xfffffff0u, type);
        pause();
        break;
    case 5:
        put_head(sock, 4, type + 1);
        put(sock, &code[1], 4);
        break;
    case 6:
        put_head(sock, 0, type);
        break;
    case 7:
        put_head(sock, 4, type);
        put(sock, &code[1], 4);
        break;
    case 8:
        put_head(sock, 4, type);
        put(sock, &code[0], 4);
        break;
    case 9:
        put_head(sock, 4, type);
        put(sock, &code[1], 4);
        put_head(sock, 4, type);
        put(sock, &code[1], 4);
        break;
    case 10:
        for (int k = 0; k < 4096; k++)
            put(sock, which, 5);
        _exit(0);
    case 11:
        put_head(sock, 4, type);
        put(sock, &fail, 4);
        break;
    case 12:
        raise(SIGSEGV);
        break;
    case 13:
        rubbish(sock, type, 300, 1);
        break;
    default:
        rubbish(sock, type, 300, 2);
        break;
    }
    pause();
}

/* Answers a count of two metrics with these bits, and that many values. */
static void lie_of_counts(int sock, uint32_t type, const char *which)
{
    static const struct {
        const char *which;
        uint32_t passes, n;
        double value[3];
    } counts[] = {
        {"good", 2, 2, {1.5, NAN, 0}},
        {"none", 0, 2, {NAN, NAN, 0}},
        {"few", 1, 1, {1, 0, 0}},
        {"many", 1, 3, {1, 2, 3}},
        {"infinite", 1, 2, {1, INFINITY, 0}},
        {"unasked", 0, 2, {1, 2, 0}},
    };

    for (size_t i = 0; i < WS_COUNT(counts); i++) {
        const uint32_t bytes = 8 * counts[i].n;
        const uint32_t head[2] = {0, counts[i].passes};
        const uint64_t length = bytes;

        if (strcmp(counts[i].which, which))
            continue;
        put_head(sock, (uint32_t)(sizeof(head) + sizeof(length)) + bytes, type);
        put(sock, head, sizeof(head));
        put(sock, &length, sizeof(length));
        put(sock, counts[i].value, bytes);
    }
    pause();
}

/* Passes requests on to a child that serves the null device, answers back. */
static void work(const char *how)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    enum ws__worker_role role;
    int pair[2], at = 0, used = 0;
    struct ws__buf in;
    uint32_t type;

    if (sscanf(how, "%d %n", &at, &used) != 1 || !ctx ||
        ws__worker_hello(ctx, WS__WORKER_FD, &role) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        _exit(8);
    signal(SIGCHLD, SIG_IGN);
    if (!fork()) {
        close(pair[0]);
        close(WS__WORKER_FD);
        ws__device_serve(ctx, pair[1]);
        _exit(0);
    }
    close(pair[1]);
    ws__buf_init(&in, ctx, WS__WIRE_MAX);
    for (int n = 0;; n++) {
        int fd = -1;

        if (ws__wire_recv(ctx, WS__WORKER_FD, &type, &in, &fd, 0) < 0)
            _exit(0);
        if (n == at && !strncmp(how + used, "count ", 6))
            lie_of_counts(WS__WORKER_FD, type, how + used + 6);
        if (n == at)
            lie(WS__WORKER_FD, type, how + used);
        if (ws__wire_send(ctx, pair[0], type, in.data, in.len, fd) < 0 ||
            ws__wire_recv(ctx, pair[0], &type, &in, NULL, 0) < 0 ||
            ws__wire_send(ctx, WS__WORKER_FD, type, in.data, in.len, -1) < 0)
            _exit(0);
        if (fd >= 0)
            close(fd);
    }
}

/* --- the tool ---------------------------------------------------------------
 */

static char exe[512];

static int count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* One of each operation; the number of requests that this makes. */
#define REQUESTS 12
static int everything(struct ws_ctx *ctx)
{
    const char *entry = "k";
    struct ws__build b = {.source = "kernel k\n time 7\n",
                          .entry = &entry,
                          .nentry = 1};
    struct ws__dev_launch l = {.entry = "k",
                               .grid = {1, 1, 1},
                               .block = {1, 1, 1}};
    struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    struct ws__dev_batch batch = {
        .prog = &seq, .nprog = 1, .nset = 1, .rounds = 3, .inner = 1};
    struct ws__dev_sample s[3];
    struct ws__built built;
    struct ws__device d;
    uint32_t buf[2] = {0, 0};
    uint64_t h;
    int64_t at;
    size_t n;
    char bytes[16] = "";
    const char *const metric = "m";
    double value = 0;
    uint32_t passes;
    int rc;

    WS_TRY(ws__device_open(ctx, "isolate:null", &d));
    d.ops->set_limit(d.self, LIMIT_NS);
    memset(&built, 0, sizeof(built));
    WS_TRY_DONE(d.ops->build(d.self, &b, &built));
    ws__free(ctx, built.log);
    l.module = built.module;
    for (int i = 0; i < 2; i++)
        WS_TRY_DONE(d.ops->alloc(d.self, 16, 0, 0, &buf[i]));
    WS_TRY_DONE(d.ops->write(d.self, buf[0], 0, bytes, 16));
    WS_TRY_DONE(d.ops->read(d.self, buf[0], 0, bytes, 16));
    WS_TRY_DONE(d.ops->fill(d.self, buf[0], 0));
    WS_TRY_DONE(d.ops->copy(d.self, buf[1], buf[0]));
    WS_TRY_DONE(d.ops->hash(d.self, buf[0], &h));
    WS_TRY_DONE(d.ops->guard(d.self, buf[0], &at));
    WS_TRY_DONE(d.ops->run(d.self, &batch, s, &n));
    rc = d.ops->count(d.self, &seq, 0, &metric, 1, &value, &passes);
    if (rc == WS_ENOTSUP) /* the truth */
        rc = 0;
    if (rc == 0 && !isnan(value))
        rc = WS_EBUG; /* null counts nothing */
done:
    ws__device_close(&d);
    return rc;
}

static const struct {
    const char *how;
    int codes[3]; /* 0: what is said may be true */
} lies[] = {
    {"silent", {WS_ETIMEOUT}},
    {"exit", {WS_ECRASH}},
    {"half head", {WS_ECRASH}},
    {"half body", {WS_ECRASH}},
    {"huge", {WS_EPROTO, WS_ELIMIT, WS_ENOMEM}},
    {"other type", {WS_EPROTO}},
    {"empty", {WS_EPROTO}},
    {"short", {0, WS_EPROTO, WS_ETIMEOUT}},
    {"code", {WS_EPROTO}},
    {"twice", {0, WS_EPROTO, WS_ETIMEOUT}},
    {"noise", {WS_EPROTO, WS_ELIMIT, WS_ECRASH}},
    {"no message", {WS_EPROTO}},
    {"crash", {WS_ECRASH}},
    {"rubbish", {0, WS_EPROTO, WS_ETIMEOUT}},
    {"rubbish 0", {WS_EPROTO}},
};

static void each_lie(void **state)
{
    int fds = count_fds();

    (void)state;
    for (size_t i = 0; i < WS_COUNT(lies); i++)
        /* Opening has a limit of a minute: silence there is left out. */
        for (int at = i ? 0 : 1; at < REQUESTS; at++) {
            struct t_alloc a = {0};
            struct ws_ctx *ctx = t_ctx(&a);
            uint64_t t0 = ws__now_ns();
            const int *c = lies[i].codes;
            char how[64];
            int rc;

            snprintf(how, sizeof(how), "%d %s", at, lies[i].how);
            setenv(LIE_ENV, how, 1);
            ctx->worker_path = ws__strdup(ctx, exe);
            rc = everything(ctx);
            if (rc != c[0] && rc != c[1] && (rc != c[2] || !rc))
                fail_msg("'%s': %s: %s", how, ws_status_name(rc),
                         ws_ctx_error(ctx)->message);
            assert_true(rc == 0 || ws_ctx_error(ctx)->message[0]);
            assert_true(ws__now_ns() - t0 < SOON_NS);
            assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
            assert_int_equal(errno, ECHILD);
            ws_ctx_free(ctx);
            assert_int_equal(a.live, 0);
            assert_int_equal(count_fds(), fds);
        }
}

/* Without a lie all is well, or the test would test nothing. */
static void the_truth(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    setenv(LIE_ENV, "999 exit", 1);
    ctx->worker_path = ws__strdup(ctx, exe);
    if (everything(ctx) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    setenv(LIE_ENV, "11 exit", 1); /* REQUESTS is right */
    assert_int_equal(everything(ctx), WS_ECRASH);
    setenv(LIE_ENV, "12 exit", 1);
    assert_int_equal(everything(ctx), 0);
    ws_ctx_free(ctx);
}

/* A count of two metrics, the second request. */
static int count_two(struct ws_ctx *ctx, const char *how, double value[2],
                     uint32_t *passes)
{
    static const char *const metric[] = {"a", "b"};
    const struct ws__dev_launch l = {.entry = "k",
                                     .grid = {1, 1, 1},
                                     .block = {1, 1, 1}};
    const struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    struct ws__device d;
    char text[64];
    int rc;

    snprintf(text, sizeof(text), "1 count %s", how);
    setenv(LIE_ENV, text, 1);
    ws__free(ctx, ctx->worker_path);
    ctx->worker_path = ws__strdup(ctx, exe);
    assert_int_equal(ws__device_open(ctx, "isolate:null", &d), 0);
    d.ops->set_limit(d.self, LIMIT_NS);
    rc = d.ops->count(d.self, &seq, 0, metric, 2, value, passes);
    ws__device_close(&d);
    return rc;
}

static void lies_about_counts(void **state)
{
    static const char *const bad[] = {"few", "many", "infinite", "unasked"};
    struct ws_ctx *ctx = t_ctx(NULL);
    double v[2];
    uint32_t passes;

    (void)state;
    assert_int_equal(count_two(ctx, "good", v, &passes), 0);
    assert_true(v[0] == 1.5 && isnan(v[1]) && passes == 2);
    assert_int_equal(count_two(ctx, "none", v, &passes), 0);
    assert_true(isnan(v[0]) && isnan(v[1]) && passes == 0);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        v[0] = v[1] = 7;
        assert_int_equal(count_two(ctx, bad[i], v, &passes), WS_EPROTO);
        assert_true(isnan(v[0]) && isnan(v[1]) && passes == 0);
    }
    assert_int_equal(count_two(ctx, "silence", v, &passes), WS_ETIMEOUT);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "counting"));
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth),
        cmocka_unit_test(each_lie),
        cmocka_unit_test(lies_about_counts),
    };

    if (getenv(LIE_ENV))
        work(getenv(LIE_ENV));
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) <= 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
