/*
 * t_measure_sanitize.c: what a log of compute-sanitizer says; candidates that
 * are watched together; and the buffers there. The device is the null one;
 * whoever opens it below a program gets the log that the test wants.
 */
#include "measure/t_measure_once.h"

#include <unistd.h>

#define GOOD "kernel k\nmul 1 0 2\ntime 1000\nif V 9 fill 1 7\n"
#define CLEAN "========= ERROR SUMMARY: 0 errors\n"
#define RACE                                                                   \
    "========= Error: Race reported\n"                                         \
    "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 "           \
    "warnings)\n"

/* --- logs -------------------------------------------------------------------
 */

static const struct log {
    const char *text;
    long found;
    const char *words;
} logs[] = {
    {"", -1, ""},
    {"no line of the tool's\n", -1, ""},
    {"========= COMPUTE-SANITIZER\n" CLEAN, 0, ""},
    {CLEAN, 0, ""},
    {"========= ERROR SUMMARY: 3 errors", 3, ""}, /* no end of the line */
    {"========= Invalid __global__ read of size 4 bytes\n"
     "=========     at k+0x40\n=========\n========= ERROR SUMMARY: 1 error\n",
     1, "Invalid __global__ read of size 4 bytes"},
    {"========= Invalid __global__ read of size 4 bytes\n", 1,
     "Invalid __global__ read of size 4 bytes"},
    {"========= Barrier error detected. Missing init\n========= Error: Target "
     "application terminated\n",
     1, "Barrier error detected. Missing init"},
    {"========= Uninitialized __global__ memory read\n========= Another\n"
     "========= ERROR SUMMARY: 2 errors\n",
     2, "Uninitialized __global__ memory read"},
    {RACE, 2, "Error: Race reported"},
    {"========= RACECHECK SUMMARY: 3 hazards displayed (0 errors, 3 "
     "warnings)\n",
     0, ""},
    {"========= RACECHECK SUMMARY: 0 hazards displayed\n", 0, ""},
    {"========= Error: Target application terminated\n", -1,
     "Error: Target application terminated"},
    {"=========\n========= \n" CLEAN, 0, ""},
    {"========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 5 errors\n",
     5, ""},
    {"========= ERROR SUMMARY: 5 errors\n========= ERROR SUMMARY: 0 errors\n",
     5, ""},
};

static void logs_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(logs); i++) {
        char words[300] = "x", few[9];
        long found = 7;
        size_t n = strlen(logs[i].text);
        char *exact = malloc(n + !n); /* nothing is read behind it */

        assert_non_null(exact);
        memcpy(exact, logs[i].text, n);
        ws__sanitizer_read(exact, n, &found, words, sizeof(words));
        if (found != logs[i].found || strcmp(words, logs[i].words) != 0)
            fail_msg("log %zu: %ld, '%s'", i, found, words);
        ws__sanitizer_read(exact, n, &found, few, sizeof(few));
        assert_memory_equal(few, logs[i].words,
                            strlen(few)); /* as much as there is room for */
        free(exact);
    }
}

/* --- candidates ------------------------------------------------------------
 */

static struct {
    char dir[600];
    const char *say[4];   /* by tool, of its Nth start first the others; NULL:
                             no log */
    const char *first[4]; /* of the first start, instead */
    _Atomic int starts[4];
} fake;

static int tool_of(const char *name)
{
    static const char *const tools[] = {"memcheck", "racecheck", "initcheck",
                                        "synccheck"};

    for (int i = 0; i < 4; i++)
        if (!strcmp(name, tools[i]))
            return i;
    return -1;
}

/* Writes the log at once: nobody reads it before the device is closed. */
static int open_below(struct ws_ctx *ctx, const char *name,
                      struct ws__device *out)
{
    const char *const *w = ctx->worker_prefix, *path = NULL, *say;
    int tool = -1;

    for (size_t i = 0; w && w[i]; i++) {
        if (!strcmp(w[i], "--tool"))
            tool = tool_of(w[i + 1]);
        if (!strcmp(w[i], "--log-file"))
            path = w[i + 1];
    }
    if (path) {
        int nth;

        assert_true(tool >= 0);
        nth = ++fake.starts[tool];
        say = nth == 1 && fake.first[tool] ? fake.first[tool] : fake.say[tool];
        if (say) {
            FILE *f = fopen(path, "w");

            assert_non_null(f);
            fputs(say, f);
            fclose(f);
        }
    }
    return t_device_open(ctx, name, out);
}

/* Those of a run that was killed. */
static int forget_logs(void)
{
    char words[700];

    snprintf(words, sizeof(words), "rm -rf '%s'/sanitizer-*", fake.dir);
    return system(words);
}

static int begin(void **state)
{
    ssize_t n = readlink("/proc/self/exe", fake.dir, sizeof(fake.dir) - 8);

    reset(state);
    if (n <= 0)
        return -1;
    strcpy(fake.dir + n, ".cache");
    if (forget_logs())
        return -1;
    for (int i = 0; i < 4; i++) {
        fake.say[i] = CLEAN;
        fake.first[i] = NULL;
        fake.starts[i] = 0;
    }
    return 0;
}

static int open_watched(struct ws_ctx *ctx, struct t_case *c,
                        struct ws__measure **out)
{
    const struct ws__measure_opts opts = {.builders = 1,
                                          .cache = WS__CACHE_WARM,
                                          .seed = 7};
    struct ws__measure_deps deps = t_deps;
    int rc;

    deps.device_open = open_below;
    ctx->cache_dir = ws__strdup(ctx, fake.dir);
    if (!ctx->cache_dir)
        return WS_ENOMEM;
    rc = ws__measure_open_with(ctx, &deps, &c->op, &c->kernel, 1, c->workload,
                               2, &opts, out);
    if (rc < 0)
        return rc;
    strcpy((*out)->info.id.family, "cuda");
    (*out)->sanitizer = ws__strdup(ctx, "/opt/compute-sanitizer");
    return (*out)->sanitizer ? 0 : WS_ENOMEM;
}

/* The gates of n candidates (V 0, 1, ...), asked as a tune does. */
static int ask_gates(struct ws__measure *m, size_t n, struct ws__trial t[][2])
{
    struct ws__evaluator ev = ws__measure_evaluator(m);
    struct ws__question q[4];
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        q[i] = t_question(i + 1, (int)i, (uint32_t)(i % 2));
        q[i].want = WS__WANT_BUILD | WS__WANT_PROOF | WS__WANT_SANITIZER;
        q[i].effort = WS__CONFIRM;
    }
    if (n > 1)
        rc = ev.ops->prefetch(ev.self, q, n);
    for (size_t i = 0; i < n && rc >= 0; i++)
        rc = t_answer(m, &q[i], t[i]);
    return rc;
}

static void watch(size_t n, struct ws__trial t[][2], struct once *o)
{
    memset(t, 0, n * sizeof(*t));
    once_begin(o, GOOD);
    assert_int_equal(open_watched(o->ctx, o->c, &o->m), 0);
    assert_true(ws__measure_can_sanitize(o->m));
    if (ask_gates(o->m, n, t) < 0)
        fail_msg("%s", o->ctx->err.message);
}

static void done(size_t n, struct ws__trial t[][2], struct once *o)
{
    for (size_t i = 0; i < n; i++)
        t_clear(o->ctx, t[i]);
    once_end(o);
}

static void assert_ends(struct ws__trial t[][2], size_t n,
                        enum ws__gate_end end)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ws__gate_end(&t[i][0], WS__GATE_SANITIZER), end);
}

static void together(void **state)
{
    struct ws__trial t[3][2];
    struct once o;

    (void)state;
    watch(3, t, &o);
    assert_ends(t, 3, WS__GATE_PASSED);
    for (int i = 0; i < 4; i++)
        assert_int_equal(fake.starts[i], 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(t[i][0].verdict, WS__V_OK);
        assert_true(t[i][0].did & WS__WANT_SANITIZER);
        assert_true(t[i][0].gate_ns[WS__GATE_SANITIZER] > 0);
        t_clear(o.ctx, t[i]);
    }
    /* What is known is not asked again, and costs nothing. */
    assert_int_equal(ask_gates(o.m, 1, t), 0);
    assert_ends(t, 1, WS__GATE_PASSED);
    assert_int_equal(fake.starts[0], 1);
    assert_true(t[0][0].gate_ns[WS__GATE_SANITIZER] < 1000000);
    done(3, t, &o);
}

/* A finding about several is asked again of each, by that tool only. */
static void whose_it_is(void **state)
{
    struct ws__trial t[3][2];
    struct once o;

    (void)state;
    fake.first[1] = RACE;
    watch(3, t, &o);
    assert_ends(t, 3, WS__GATE_PASSED);
    assert_int_equal(fake.starts[0] + fake.starts[2] + fake.starts[3], 3);
    assert_int_equal(fake.starts[1], 4);
    done(3, t, &o);

    begin(NULL);
    fake.say[1] = RACE;
    watch(2, t, &o);
    assert_ends(t, 2, WS__GATE_FAILED);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(t[i][0].verdict, WS__V_WRONG);
        T_ASSERT_HAS(t[i][0].reason,
                     "compute-sanitizer racecheck: Error: Race reported");
    }
    done(2, t, &o);
}

/* No word of a tool is neither way. */
static void no_word(void **state)
{
    struct ws__trial t[2][2];
    struct once o;

    (void)state;
    fake.say[2] = NULL;
    watch(2, t, &o);
    assert_ends(t, 2, WS__GATE_ABSENT);
    assert_int_equal(t[0][0].verdict, WS__V_OK);
    assert_int_equal(fake.starts[2], 3);
    done(2, t, &o);
}

/* A worker that crashes by what the tool saw takes it along before it sums up.
 */
static void no_summary(void **state)
{
    struct ws__trial t[1][2];
    struct once o;

    (void)state;
    fake.first[0] = "========= Invalid __global__ write of size 4 bytes\n";
    watch(1, t, &o);
    assert_ends(t, 1, WS__GATE_FAILED);
    T_ASSERT_HAS(t[0][0].reason, "memcheck: Invalid __global__ write");
    done(1, t, &o);
}

/* --- buffers ---------------------------------------------------------------
 */

static size_t fills, hashes;

static void look(struct t_script *x, struct ws__device *d,
                 const struct ws__dev_batch *b, struct ws__dev_sample *y,
                 size_t n)
{
    (void)x;
    (void)d;
    (void)y;
    (void)n;
    fills += b->prog->nfill;
    hashes += b->prog->nhash;
}

/* Exactly their size, filled by nobody; one launch. */
static void buffers_are_bare(void **state)
{
    const char *const argv[] = {"program", NULL};
    struct ws__below below = {.argv = argv, .folder = "/f", .name = "n"};
    const struct ws__measure_opts opts = {.builders = 1,
                                          .cache = WS__CACHE_WARM,
                                          .below = &below};
    struct ws__question q = t_question(1, 0, 0);
    struct ws__measure *m;
    struct ws__trial t[2];
    struct once o;
    char log[64];
    long runs;

    (void)state;
    q.want = WS__WANT_BUILD | WS__WANT_VERDICT;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    assert_true(t_script.guards && t_script.shifts);
    below.log = log;
    below.log_size = sizeof(log);
    below.given = o.m->problem;
    assert_int_equal(t_measure_open(o.c, &opts, &m), 0);
    assert_string_equal(log, "/f/n-1.log");
    runs = t_reference_runs;
    t_script.guards = t_script.shifts = 0;
    t_script.launches = 0;
    t_script.after_run = look;
    fills = hashes = 0;
    for (int bad = 0; bad < 2; bad++) {
        q.a.config.at[0] = bad ? 9 : 0;
        assert_int_equal(t_answer(m, &q, t), 0);
        assert_int_equal(t[0].verdict, bad ? WS__V_WRONG : WS__V_OK);
        assert_int_equal(t[0].input_seed, below.given->seed);
        t_clear(o.ctx, t);
    }
    assert_int_equal(t_script.guards | t_script.shifts, 0);
    assert_int_equal(t_script.launches, 2);
    assert_int_equal(fills + hashes, 0);
    assert_int_equal(t_reference_runs, runs);
    ws__measure_close(m);
    once_end(&o);
}

/* --- memory ----------------------------------------------------------------
 */

static int body(struct ws_ctx *ctx, void *user)
{
    struct t_case *c = t_case_new(ctx, GOOD);
    struct ws__measure *m = NULL;
    struct ws__trial t[2][2];
    int rc = c ? open_watched(ctx, c, &m) : WS_ENOMEM;

    (void)user;
    memset(t, 0, sizeof(t));
    if (rc >= 0)
        rc = ask_gates(m, 2, t);
    if (rc >= 0)
        assert_ends(t, 2, WS__GATE_PASSED);
    for (size_t i = 0; i < 2; i++)
        t_clear(ctx, t[i]);
    ws__measure_close(m);
    t_case_free(c);
    return rc < 0 ? rc : 0;
}

static void memory_is_short(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 100);
    assert_int_equal(t_script.live, 0);
}

/* No log, no folder of one is left. */
static int end(void **state)
{
    char words[700];
    FILE *f;
    int n = 0;

    (void)state;
    snprintf(words, sizeof(words), "ls -d '%s'/sanitizer-* 2>/dev/null",
             fake.dir);
    f = popen(words, "r");
    while (f && fgets(words, sizeof(words), f))
        n++;
    if (f)
        pclose(f);
    return n ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_are_read),
        cmocka_unit_test_setup_teardown(together, begin, end),
        cmocka_unit_test_setup_teardown(whose_it_is, begin, end),
        cmocka_unit_test_setup_teardown(no_word, begin, end),
        cmocka_unit_test_setup_teardown(no_summary, begin, end),
        cmocka_unit_test_setup(buffers_are_bare, begin),
        cmocka_unit_test_setup_teardown(memory_is_short, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
